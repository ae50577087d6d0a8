// Embed puts a gate between a model's calls and two tools of the program's own:
// one typed, one with a schema of its own and a declared access.
//
//	go run ./examples/embed
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"

	"github.com/callgate/callgate"
)

func main() {
	var notes notebook
	var tools callgate.Registry
	if err := tools.Register(notes.add(), notes.read()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	gate := callgate.Dispatcher{Policy: callgate.AllowAll} // these tools touch nothing but memory

	// The two writes touch different pages and run at once; the read waits for
	// the write to its page. The last call is refused, with every fault.
	turn := callgate.Turn{Session: "example", Number: 1, Calls: []callgate.Call{
		{ID: "a", Name: "note.add", Arguments: json.RawMessage(`{"page": "today", "text": "buy milk", "priority": 2}`)},
		{ID: "b", Name: "note.add", Arguments: json.RawMessage(`{"page": "work", "text": "write docs"}`)},
		{ID: "c", Name: "note.read", Arguments: json.RawMessage(`{"page": "today"}`)},
		{ID: "d", Name: "note.add", Arguments: json.RawMessage(`{"page": "", "text": 7, "prio": 2}`)},
	}}
	for _, r := range gate.Dispatch(context.Background(), tools.Catalog(), turn) {
		fmt.Printf("%s %s\n%s\n\n", r.CallID, r.Status(), r)
	}
}

// A notebook has pages of notes.
type notebook struct {
	mu    sync.Mutex
	pages map[string][]string
}

type addInput struct {
	Page     string `json:"page" description:"page to write on" minLength:"1"`
	Text     string `json:"text" description:"what to write"`
	Priority int    `json:"priority,omitempty" description:"1 is the highest" minimum:"1" maximum:"3"`
}

func (n *notebook) add() callgate.Tool {
	t := callgate.Must(callgate.Func(callgate.Spec{
		Name: "note.add", Description: "Write a note on a page.",
		Annotations: callgate.Annotations{DestructiveHint: new(false), OpenWorldHint: new(false)},
	}, func(_ context.Context, in addInput) (string, error) {
		n.mu.Lock()
		defer n.mu.Unlock()
		if n.pages == nil {
			n.pages = map[string][]string{}
		}
		n.pages[in.Page] = append(n.pages[in.Page], in.Text)
		return fmt.Sprintf("%s has %d notes", in.Page, len(n.pages[in.Page])), nil
	}))
	t.Access = page(true)
	return t
}

func (n *notebook) read() callgate.Tool {
	return callgate.Tool{
		Spec: callgate.Spec{
			Name: "note.read", Description: "Read a page of notes.",
			InputSchema: json.RawMessage(`{"type": "object", "properties": {"page": {"type": "string"}}, "required": ["page"], "additionalProperties": false}`),
			Annotations: callgate.Annotations{ReadOnlyHint: true, OpenWorldHint: new(false)},
		},
		Access: page(false),
		Handler: func(_ context.Context, call callgate.Call) (callgate.Result, error) {
			var in struct{ Page string }
			if err := json.Unmarshal(call.Arguments, &in); err != nil {
				return callgate.Result{}, err
			}
			n.mu.Lock()
			defer n.mu.Unlock()
			notes, ok := n.pages[in.Page]
			if !ok {
				return callgate.Result{}, callgate.Errorf(callgate.ExecutionError, "there is no page %q; write one first", in.Page)
			}
			return callgate.Text(fmt.Sprint(notes)), nil
		},
	}
}

// page says which page a call touches.
func page(write bool) func(json.RawMessage) []callgate.Access {
	return func(args json.RawMessage) []callgate.Access {
		var in struct{ Page string }
		if json.Unmarshal(args, &in) != nil {
			return []callgate.Access{{Key: "note:", Write: write}}
		}
		return []callgate.Access{{Key: "note:" + in.Page, Write: write}}
	}
}
