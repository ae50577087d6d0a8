package openai

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/llm"
	"github.com/callgate/callgate/provider/internal/wire"
)

// Limits are what the API accepts. It takes any property name.
var Limits = llm.Limits{
	Name:        llm.Word{Extra: "_-", Max: 64},
	ID:          llm.Word{Extra: "_-", Max: 40},
	RootRefused: []string{"oneOf", "anyOf", "allOf", "enum", "const", "not"},
	Images:      []string{"image/png", "image/jpeg", "image/gif", "image/webp"},
	ImageBytes:  20 << 20,
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
		out = append(append(out, `{"type":"function","function":{"name":`...), wire.Quote(t.Shown)...)
		if strings.TrimSpace(t.Description) != "" {
			out = append(append(out, `,"description":`...), wire.Quote(t.Description)...)
		}
		out = append(append(out, `,"parameters":`...), t.Schema...)
		out = append(out, "}}"...)
	}
	if out != nil {
		c.Tools = append(out, ']')
	}
	return c
}

// Name returns the name that the model is shown for a tool of the catalog.
func (c *Codec) Name(tool string) string { return c.view.Shown(tool) }

const provider = "openai"

// Decode reads a response of the API (its first choice), or the assistant's
// message alone, or the list of its tool_calls. Calls have the names of the
// catalog, and their arguments are the text that the model wrote, well-formed or
// not. A call that has no id, or that of another, gets one.
//
// An error means that the envelope cannot be read without guessing: no JSON, a
// member twice, a member in the wrong case or of the wrong type. What is wrong
// inside the arguments of a call is left to the gate.
func (c *Codec) Decode(data []byte) (llm.Response, error) {
	r := llm.Response{Message: llm.Message{Role: llm.Assistant}}
	if wire.Kind(data) == '[' {
		err := c.calls(&r, data)
		return r, err
	}
	o, err := wire.ReadObject("the response", data, slices.Concat(messageMembers, []string{"choices", "usage", "error"})...)
	if err != nil {
		return r, err
	}
	if e, ok := o.Get("error"); ok {
		return r, fmt.Errorf("the response is an error: %s", e)
	}
	choices, ok := o.Get("choices")
	if !ok {
		err := c.message(&r, o)
		return r, err
	}
	list, err := wire.ReadArray("choices", choices)
	if err != nil {
		return r, err
	}
	if len(list) == 0 {
		return r, fmt.Errorf("unreadable turn: the response has no choice")
	}
	choice, err := wire.ReadObject("the first choice", list[0], "message", "finish_reason")
	if err != nil {
		return r, err
	}
	if err := readEnd(o, choice, &r); err != nil {
		return r, err
	}
	raw, ok := choice.Get("message")
	if !ok {
		return r, fmt.Errorf("unreadable turn: the first choice has no message")
	}
	m, err := wire.ReadObject("the message", raw, messageMembers...)
	if err != nil {
		return r, err
	}
	err = c.message(&r, m)
	return r, err
}

// readEnd reads how the response ended and what it cost.
func readEnd(o, choice wire.Object, r *llm.Response) error {
	stop, err := choice.String("finish_reason")
	if err != nil {
		return err
	}
	switch stop {
	case "":
	case "stop":
		r.Stop = llm.EndTurn
	case "tool_calls":
		r.Stop = llm.ToolUse
	case "length":
		r.Stop, r.Cut = llm.MaxTokens, true
	case "content_filter":
		r.Stop = llm.Refusal
	default:
		r.Stop = llm.Other
	}
	raw, ok := o.Get("usage")
	if !ok {
		return nil
	}
	u, err := wire.ReadObject("the usage", raw, "prompt_tokens", "completion_tokens", "prompt_tokens_details")
	if err != nil {
		return err
	}
	if d, ok := u.Get("prompt_tokens_details"); ok {
		details, err := wire.ReadObject("the usage's details", d, "cached_tokens")
		if err != nil {
			return err
		}
		r.Usage.CacheRead = details.Int("cached_tokens")
	}
	r.Usage.Input = max(0, u.Int("prompt_tokens")-r.Usage.CacheRead)
	r.Usage.Output = u.Int("completion_tokens")
	return nil
}

var messageMembers = []string{"role", "content", "refusal", "tool_calls", "function_call"}

// notReplayed are members of a message that say something to its reader and are
// refused, or mean nothing, when they are sent back.
var notReplayed = []string{"annotations", "audio"}

// message reads the assistant's message.
func (c *Codec) message(r *llm.Response, o wire.Object) error {
	if role, err := o.String("role"); err != nil || role != "" && role != "assistant" {
		return fmt.Errorf("unreadable turn: the role is %q; expected assistant", role)
	}
	if _, ok := o.Get("function_call"); ok {
		return fmt.Errorf("unreadable turn: the message has a function_call, which tool_calls replaced; it would be lost")
	}
	if raw := o.Others(slices.Concat(notReplayed, messageMembers)...); raw != nil {
		r.Message.Blocks = append(r.Message.Blocks, llm.Block{Type: llm.OpaqueBlock, Provider: provider, Raw: raw})
	}
	if err := content(r, o); err != nil {
		return err
	}
	if refusal, err := o.String("refusal"); err != nil {
		return err
	} else if refusal != "" {
		r.Message.Blocks = append(r.Message.Blocks, llm.Block{Type: llm.TextBlock, Text: refusal})
		r.Stop = llm.Refusal
	}
	if list, ok := o.Get("tool_calls"); ok {
		return c.calls(r, list)
	}
	return nil
}

// content reads what the assistant said: a string, or a list of parts.
func content(r *llm.Response, o wire.Object) error {
	raw, ok := o.Get("content")
	if !ok {
		return nil
	}
	if wire.Kind(raw) == '"' {
		if text := wire.Unquote(raw); text != "" {
			r.Message.Blocks = append(r.Message.Blocks, llm.Block{Type: llm.TextBlock, Text: text})
		}
		return nil
	}
	parts, err := wire.ReadArray("the content", raw)
	if err != nil {
		return err
	}
	for i, p := range parts {
		part, err := wire.ReadObject(fmt.Sprintf("part %d of the content", i), p, "type", "text", "refusal")
		if err != nil {
			return err
		}
		for _, member := range []string{"text", "refusal"} {
			text, err := part.String(member)
			if err != nil {
				return err
			}
			if text != "" {
				r.Message.Blocks = append(r.Message.Blocks, llm.Block{Type: llm.TextBlock, Text: text})
			}
		}
	}
	return nil
}

// calls reads the list of tool_calls.
func (c *Codec) calls(r *llm.Response, data []byte) error {
	list, err := wire.ReadArray("tool_calls", data)
	if err != nil {
		return err
	}
	for i, raw := range list {
		where := fmt.Sprintf("call %d", i)
		o, err := wire.ReadObject(where, raw, "id", "type", "function")
		if err != nil {
			return err
		}
		kind, err := o.String("type")
		if err != nil {
			return err
		}
		fn, ok := o.Get("function")
		if !ok || kind != "" && kind != "function" {
			return fmt.Errorf("unreadable turn: %s is of type %q and not a function's", where, kind)
		}
		id, err := o.String("id")
		if err != nil {
			return err
		}
		f, err := wire.ReadObject("the function of "+where, fn, "name", "arguments")
		if err != nil {
			return err
		}
		name, err := f.String("name")
		if err != nil {
			return err
		}
		name = c.view.Name(name)
		b := llm.Block{Type: llm.CallBlock, Call: &callgate.Call{ID: id, Name: name, Arguments: c.view.Arguments(name, arguments(f))}}
		// Some servers attach what they want back with the call, such as the
		// signature of the thought that led to it.
		if b.Raw = o.Others("id", "type", "function", "index"); b.Raw != nil {
			b.Provider = provider
		}
		r.Message.Blocks = append(r.Message.Blocks, b)
	}
	r.Message = r.Message.WithIDs()
	return nil
}

// arguments returns the text of the arguments. Servers that send the value itself
// instead of its text are taken at their word.
func arguments(f wire.Object) json.RawMessage {
	raw, ok := f.Member("arguments")
	if ok && wire.Kind(raw) == '"' {
		return wire.Text(raw)
	}
	return raw
}
