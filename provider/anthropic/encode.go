package anthropic

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/llm"
	"github.com/callgate/callgate/provider/internal/wire"
)

// Results returns the one message of the user that answers all the calls of a
// turn, in their order, to be appended to the request's messages. It is an error
// if there are no results, or if two are for one call.
func (c *Codec) Results(results []callgate.Result) (json.RawMessage, error) {
	if err := wire.CheckResults(results); err != nil {
		return nil, err
	}
	out := []byte(`{"role":"user","content":[`)
	for i, r := range results {
		if i > 0 {
			out = append(out, ',')
		}
		out = appendResult(out, r, r.CallID)
	}
	return append(out, "]}"...), nil
}

// Messages returns the request's messages for a history, paired by [llm.Pair].
// Blocks that only another provider understands are left out.
func (c *Codec) Messages(history []llm.Message) (json.RawMessage, error) {
	history = llm.Pair(history, c.cat)
	ids := wire.NewIDs(Limits.ID, history)
	out := []byte{'['}
	for _, m := range history {
		if m.Role != llm.User && m.Role != llm.Assistant {
			return nil, fmt.Errorf("a message has the role %q", m.Role)
		}
		if content := c.content(m, ids); content != nil {
			if len(out) > 1 {
				out = append(out, ',')
			}
			out = append(append(out, `{"role":"`+string(m.Role)+`","content":[`...), content...)
			out = append(out, "]}"...)
		}
	}
	return append(out, ']'), nil
}

// Assistant returns one message of the assistant, for a program that keeps its
// history in the API's own form: the response's content, with the ids that the
// results carry and with arguments that the API takes back.
func (c *Codec) Assistant(m llm.Message) json.RawMessage {
	out := append([]byte(`{"role":"assistant","content":[`), c.content(m, nil)...)
	return append(out, "]}"...)
}

// content returns the blocks of m, separated by commas. Without ids, the calls
// keep theirs.
func (c *Codec) content(m llm.Message, ids *wire.IDs) []byte {
	id := func(s string) string {
		if ids == nil {
			return s
		}
		return ids.Shown(s)
	}
	var out []byte
	for _, b := range m.Blocks {
		before := len(out)
		if before > 0 {
			out = append(out, ',')
		}
		start := len(out)
		switch {
		case b.Type == llm.CallBlock:
			out = append(append(out, `{"type":"tool_use","id":`...), wire.Quote(id(b.Call.ID))...)
			out = append(append(out, `,"name":`...), wire.Quote(c.view.Shown(b.Call.Name))...)
			out = append(append(out, `,"input":`...), c.view.Replay(b.Call.Name, b.Call.Arguments)...)
			if b.Provider == provider && len(b.Raw) > 2 {
				out = append(append(out, ','), b.Raw[1:len(b.Raw)-1]...)
			}
			out = append(out, '}')
		case b.Type == llm.ResultBlock:
			out = appendResult(out, *b.Result, id(b.Result.CallID))
		case b.Provider == provider && len(b.Raw) > 0:
			out = append(out, b.Raw...)
		case b.Type == llm.TextBlock && strings.TrimSpace(b.Text) != "":
			out = appendText(out, b.Text)
		case b.Type == llm.ImageBlock:
			if media, ok := wire.ImageType(*b.Image, Limits); ok {
				out = appendImage(out, media, b.Image.Data)
			} else {
				out = appendText(out, fmt.Sprintf("[an image of %d bytes that cannot be shown]", len(b.Image.Data)))
			}
		}
		if len(out) == start {
			out = out[:before]
		}
	}
	return out
}

func appendResult(out []byte, r callgate.Result, id string) []byte {
	out = append(append(out, `{"type":"tool_result","tool_use_id":`...), wire.Quote(id)...)
	text := llm.ResultText(r)
	if images := images(r); images == nil {
		out = append(append(out, `,"content":`...), wire.Quote(text)...)
	} else {
		out = append(appendText(append(out, `,"content":[`...), text), images...)
		out = append(out, ']')
	}
	if r.IsError() {
		out = append(out, `,"is_error":true`...)
	}
	return append(out, '}')
}

// images returns the images of r as blocks, each after a comma. An image that
// the API refuses is still named in the text.
func images(r callgate.Result) []byte {
	var out []byte
	for _, content := range r.Content {
		if content.Type != "image" {
			continue
		}
		if media, ok := wire.ImageType(content, Limits); ok {
			out = appendImage(append(out, ','), media, content.Data)
		}
	}
	return out
}

func appendText(out []byte, text string) []byte {
	out = append(append(out, `{"type":"text","text":`...), wire.Quote(text)...)
	return append(out, '}')
}

func appendImage(out []byte, mediaType string, data []byte) []byte {
	out = append(out, `{"type":"image","source":{"type":"base64","media_type":"`+mediaType+`","data":"`...)
	return append(base64.StdEncoding.AppendEncode(out, data), `"}}`...)
}
