package openai

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/llm"
	"github.com/callgate/callgate/provider/internal/wire"
)

// Results returns the list of messages that answer all the calls of a turn, in
// their order, to be appended to the request's messages. The API takes no images
// from a tool: they follow in one message of the user that says which call they
// belong to. It is an error if there are no results, or if two are for one call.
func (c *Codec) Results(results []callgate.Result) (json.RawMessage, error) {
	if err := wire.CheckResults(results); err != nil {
		return nil, err
	}
	e := encoder{codec: c}
	e.user(llm.Results(results))
	return e.list(), nil
}

// Messages returns the request's messages: the system prompt, unless it is
// empty, and a history, paired by [llm.Pair]. Blocks that only another provider
// understands are left out.
func (c *Codec) Messages(system string, history []llm.Message) (json.RawMessage, error) {
	history = llm.Pair(history, c.cat)
	e := encoder{codec: c, ids: wire.NewIDs(Limits.ID, history)}
	if strings.TrimSpace(system) != "" {
		e.add(append(append([]byte(`{"role":"system","content":`), wire.Quote(system)...), '}'))
	}
	for _, m := range history {
		switch m.Role {
		case llm.User:
			e.user(m)
		case llm.Assistant:
			e.add(e.assistant(m))
		default:
			return nil, fmt.Errorf("a message has the role %q", m.Role)
		}
	}
	return e.list(), nil
}

// Assistant returns one message of the assistant, for a program that keeps its
// history in the API's own form: the response's message, with the ids that the
// results carry and with arguments that are JSON.
func (c *Codec) Assistant(m llm.Message) json.RawMessage {
	e := encoder{codec: c}
	return e.assistant(m)
}

// An encoder collects messages.
type encoder struct {
	codec    *Codec
	ids      *wire.IDs // nil: ids stay
	messages [][]byte
}

func (e *encoder) add(message []byte) {
	if message != nil {
		e.messages = append(e.messages, message)
	}
}

func (e *encoder) list() json.RawMessage {
	out := []byte{'['}
	for i, m := range e.messages {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, m...)
	}
	return append(out, ']')
}

func (e *encoder) id(s string) string {
	if e.ids == nil {
		return s
	}
	return e.ids.Shown(s)
}

// user adds the messages for one of the user: results first, then the rest.
func (e *encoder) user(m llm.Message) {
	var images []byte
	for _, r := range m.Results() {
		id := wire.Quote(e.id(r.CallID))
		msg := append([]byte(`{"role":"tool","tool_call_id":`), id...)
		msg = append(append(msg, `,"content":`...), wire.Quote(llm.ResultText(r))...)
		e.add(append(msg, '}'))
		var shown []byte
		for _, content := range r.Content {
			if content.Type == "image" {
				shown = appendImage(shown, content)
			}
		}
		if shown != nil {
			images = appendText(images, fmt.Sprintf("Images that call %s gave:", e.id(r.CallID)))
			images = append(append(images, ','), shown...)
		}
	}
	rest := images
	text, plain := "", images == nil
	for _, b := range m.Blocks {
		switch b.Type {
		case llm.TextBlock:
			if strings.TrimSpace(b.Text) == "" {
				continue
			}
			if text != "" {
				text += "\n"
			}
			text += b.Text
			rest = appendText(rest, b.Text)
		case llm.ImageBlock:
			plain = false
			before := len(rest)
			if rest = appendImage(rest, *b.Image); len(rest) == before {
				rest = appendText(rest, fmt.Sprintf("[an image of %d bytes that cannot be shown]", len(b.Image.Data)))
			}
		}
	}
	if rest == nil {
		return
	}
	msg := []byte(`{"role":"user","content":`)
	if plain {
		msg = append(msg, wire.Quote(text)...)
	} else {
		msg = append(append(append(msg, '['), rest...), ']')
	}
	e.add(append(msg, '}'))
}

// assistant returns the message for one of the assistant, or nil if nothing in
// it can be sent.
func (e *encoder) assistant(m llm.Message) []byte {
	out := []byte(`{"role":"assistant"`)
	empty := len(out)
	if text := m.Text(); strings.TrimSpace(text) != "" {
		out = append(append(out, `,"content":`...), wire.Quote(text)...)
	} else if len(m.Calls()) > 0 {
		out = append(out, `,"content":null`...)
	}
	n := 0
	for _, b := range m.Blocks {
		if b.Type != llm.CallBlock {
			continue
		}
		if n == 0 {
			out = append(out, `,"tool_calls":[`...)
		} else {
			out = append(out, ',')
		}
		n++
		out = append(append(out, `{"id":`...), wire.Quote(e.id(b.Call.ID))...)
		out = append(append(out, `,"type":"function","function":{"name":`...), wire.Quote(e.codec.view.Shown(b.Call.Name))...)
		out = append(append(out, `,"arguments":`...), wire.Quote(string(e.codec.view.Replay(b.Call.Name, b.Call.Arguments)))...)
		out = append(out, '}')
		if b.Provider == provider && len(b.Raw) > 2 {
			out = append(append(out, ','), b.Raw[1:len(b.Raw)-1]...)
		}
		out = append(out, '}')
	}
	if n > 0 {
		out = append(out, ']')
	}
	if len(out) == empty {
		return nil
	}
	for _, b := range m.Blocks {
		if b.Type == llm.OpaqueBlock && b.Provider == provider && len(b.Raw) > 2 {
			out = append(append(out, ','), b.Raw[1:len(b.Raw)-1]...)
		}
	}
	return append(out, '}')
}

func appendText(out []byte, text string) []byte {
	if out != nil {
		out = append(out, ',')
	}
	out = append(append(out, `{"type":"text","text":`...), wire.Quote(text)...)
	return append(out, '}')
}

// appendImage appends an image, or nothing if the API would refuse it.
func appendImage(out []byte, c callgate.Content) []byte {
	media, ok := wire.ImageType(c, Limits)
	if !ok {
		return out
	}
	if out != nil {
		out = append(out, ',')
	}
	out = append(out, `{"type":"image_url","image_url":{"url":"data:`+media+`;base64,`...)
	return append(base64.StdEncoding.AppendEncode(out, c.Data), `"}}`...)
}
