package anthropic

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/llm"
	"github.com/callgate/callgate/provider/internal/wire"
)

// Limits are what the API accepts. Names of tools may have 128 characters by the
// reference, but gateways in front of the API, and older models, stop at 64.
var Limits = llm.Limits{
	Name:        llm.Word{Extra: "_-", Max: 64},
	Key:         llm.Word{Extra: "_.-", Max: 64},
	ID:          llm.Word{Extra: "_-", Max: 64},
	RootRefused: []string{"oneOf", "anyOf", "allOf"},
	Images:      []string{"image/png", "image/jpeg", "image/gif", "image/webp"},
	ImageBytes:  5 << 20 / 4 * 3, // the limit of 5 MiB holds for the base64
}

// A Codec speaks for one catalog. It is immutable, safe for concurrent use and
// made anew for each turn, as the catalog is.
type Codec struct {
	// Tools is the value of the request's tools member. It is nil if there are
	// no tools: leave the member out then.
	Tools json.RawMessage

	cat  *callgate.Catalog
	view *wire.View
}

// Encode returns the codec for a request that shows the model cat, which may be
// nil. A schema stays as it is except for what the API refuses; what is
// enforced is always the original.
func Encode(cat *callgate.Catalog) *Codec {
	c := &Codec{cat: cat, view: wire.NewView(cat, Limits)}
	var out []byte
	for i, t := range c.view.Tools() {
		out = append(out, "[,"[min(i, 1)])
		out = append(append(out, `{"name":`...), wire.Quote(t.Shown)...)
		if strings.TrimSpace(t.Description) != "" {
			out = append(append(out, `,"description":`...), wire.Quote(t.Description)...)
		}
		out = append(append(out, `,"input_schema":`...), t.Schema...)
		out = append(out, '}')
	}
	if out != nil {
		c.Tools = append(out, ']')
	}
	return c
}

// Name returns the name that the model is shown for a tool of the catalog.
func (c *Codec) Name(tool string) string { return c.view.Shown(tool) }

// Decode reads a response of the API, or the assistant's message alone, or the
// content of one. Calls have the names and the property names of the catalog;
// all other bytes of their arguments are those of the response. A call that has
// no id, or that of another, gets one.
//
// An error means that the envelope cannot be read without guessing: no JSON, a
// member twice, a member in the wrong case or of the wrong type. What is wrong
// inside the arguments of a call is left to the gate.
func (c *Codec) Decode(data []byte) (llm.Response, error) {
	r := llm.Response{Message: llm.Message{Role: llm.Assistant}}
	content := json.RawMessage(data)
	if wire.Kind(data) != '[' {
		o, err := wire.ReadObject("the response", data, "type", "role", "content", "stop_reason", "usage", "error")
		if err != nil {
			return r, err
		}
		if e, ok := o.Get("error"); ok {
			return r, fmt.Errorf("the response is an error: %s", e)
		}
		if role, err := o.String("role"); err != nil || role != "" && role != "assistant" {
			return r, fmt.Errorf("unreadable turn: the role is %q; expected assistant", role)
		}
		if err := readEnd(o, &r); err != nil {
			return r, err
		}
		if content, _ = o.Get("content"); content == nil {
			return r, fmt.Errorf("unreadable turn: the response has no content")
		}
	}
	if wire.Kind(content) == '"' {
		r.Message.Blocks = []llm.Block{{Type: llm.TextBlock, Text: wire.Unquote(content)}}
		return r, nil
	}
	blocks, err := wire.ReadArray("the content", content)
	if err != nil {
		return r, err
	}
	for i, raw := range blocks {
		b, err := c.block(fmt.Sprintf("block %d of the content", i), raw)
		if err != nil {
			return r, err
		}
		r.Message.Blocks = append(r.Message.Blocks, b)
	}
	r.Message = r.Message.WithIDs()
	return r, nil
}

// readEnd reads how the response ended and what it cost.
func readEnd(o wire.Object, r *llm.Response) error {
	stop, err := o.String("stop_reason")
	if err != nil {
		return err
	}
	switch stop {
	case "":
	case "end_turn", "tool_use", "stop_sequence", "refusal":
		r.Stop = llm.StopReason(stop)
	case "pause_turn":
		r.Stop = llm.Paused
	case "max_tokens", "model_context_window_exceeded":
		r.Stop, r.Cut = llm.MaxTokens, true
	default:
		r.Stop = llm.Other
	}
	if raw, ok := o.Get("usage"); ok {
		u, err := wire.ReadObject("the usage", raw, "input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
		if err != nil {
			return err
		}
		r.Usage = llm.Usage{Input: u.Int("input_tokens"), Output: u.Int("output_tokens"),
			CacheRead: u.Int("cache_read_input_tokens"), CacheWrite: u.Int("cache_creation_input_tokens")}
	}
	return nil
}

const provider = "anthropic"

// block reads one block of the assistant's content.
func (c *Codec) block(where string, raw json.RawMessage) (llm.Block, error) {
	o, err := wire.ReadObject(where, raw, "type", "text", "id", "name", "input")
	if err != nil {
		return llm.Block{}, err
	}
	kind, err := o.String("type")
	if err != nil {
		return llm.Block{}, err
	}
	switch kind {
	case "":
		return llm.Block{}, fmt.Errorf("unreadable turn: %s has no type", where)
	case "text":
		text, err := o.String("text")
		b := llm.Block{Type: llm.TextBlock, Text: text}
		if o.Others("type", "text") != nil { // citations
			b.Provider, b.Raw = provider, bytes.ToValidUTF8(raw, []byte("\uFFFD"))
		}
		return b, err
	case "tool_use":
		id, err := o.String("id")
		if err != nil {
			return llm.Block{}, err
		}
		name, err := o.String("name")
		if err != nil {
			return llm.Block{}, err
		}
		name = c.view.Name(name)
		input, _ := o.Member("input")
		b := llm.Block{Type: llm.CallBlock, Call: &callgate.Call{ID: id, Name: name, Arguments: c.view.Arguments(name, input)}}
		if b.Raw = o.Others("type", "id", "name", "input"); b.Raw != nil {
			b.Provider = provider
		}
		return b, nil
	}
	return llm.Block{Type: llm.OpaqueBlock, Provider: provider, Raw: bytes.ToValidUTF8(raw, []byte("\uFFFD"))}, nil
}
