package builtin

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/artifact"
	"github.com/callgate/callgate/schema"
	"github.com/callgate/callgate/workspace"
)

// The words that a model sees of each tool stand beside its code: read_file.md
// and so on. The first line is for lists.
//
//go:embed *.md
var descriptions embed.FS

// Files makes the file tools of one workspace. Its fields must not be changed
// after the first call of Tools. The tools are safe for concurrent use, and share
// the memory of what each session has seen.
type Files struct {
	Workspace *workspace.Workspace
	// Artifacts has the outputs that were too long to show; read_file pages
	// them as artifact:ID. Nil: there are none.
	Artifacts *artifact.Store

	// OutputLimit bounds the text of a result, in characters; what a tool
	// leaves out for it can be asked for. 0 means 50,000; less than 4,000 means
	// 4,000.
	OutputLimit int

	seen memory
}

// Tools returns read_file, write_file, edit_file, glob and grep, in this order.
//
// For calls of one turn to keep their order where two names lead to one file, the
// dispatcher needs [Files.ResolveKey] as Resolve["file:"].
func (f *Files) Tools() ([]callgate.Tool, error) {
	if f.Workspace == nil {
		return nil, errors.New("builtin: Files has no Workspace")
	}
	var tools []callgate.Tool
	for _, make := range []func() (callgate.Tool, error){f.readFile, f.writeFile, f.editFile, f.glob, f.grep} {
		t, err := make()
		if err != nil {
			return nil, err
		}
		tools = append(tools, t)
	}
	return tools, nil
}

// ResolveKey returns the keys of what key ("file:" and a path of the workspace)
// names at this moment, links followed. It is meant for
// [callgate.Dispatcher.Resolve], under "file:".
func (f *Files) ResolveKey(key string) []string {
	name, ok := strings.CutPrefix(key, workspace.WholeKey)
	if !ok || name == "" {
		return []string{key}
	}
	return f.Workspace.Key(name)
}

func (f *Files) outputLimit() int {
	if f.OutputLimit == 0 {
		return 50_000
	}
	return max(f.OutputLimit, 4_000)
}

// spec returns what the file tools have in common: nothing of the world outside.
func (f *Files) spec(name, title string, a callgate.Annotations) callgate.Spec {
	words, err := descriptions.ReadFile(name + ".md")
	if err != nil {
		panic(err) // it is compiled in
	}
	a.OpenWorldHint = new(false)
	return callgate.Spec{
		Name: name, Title: title, Description: strings.TrimSpace(string(words)), Annotations: a, OutputLimit: f.outputLimit(),
	}
}

// An answer is what a file tool has to say: remarks, content for the model, and
// the same for a program.
type answer[Out any] struct {
	notes   []string
	content []callgate.Content
	value   Out
}

func (a *answer[Out]) text(s string) { a.content = []callgate.Content{{Type: "text", Text: s}} }

func (a *answer[Out]) note(format string, args ...any) {
	a.notes = append(a.notes, "Note: "+fmt.Sprintf(format, args...)+".")
}

// tool makes a tool whose results have both forms. session is "" for a call that
// belongs to none.
func tool[In, Out any](spec callgate.Spec, access func(In) []callgate.Access, fn func(ctx context.Context, session string, in In) (answer[Out], error)) (callgate.Tool, error) {
	var err error
	if spec.OutputSchema, err = schema.For[Out](); err != nil {
		return callgate.Tool{}, fmt.Errorf("tool %q: output: %w", spec.Name, err)
	}
	t, err := callgate.Func(spec, func(ctx context.Context, in In) (callgate.Result, error) {
		session := ""
		if x, ok := callgate.ExecutionFrom(ctx); ok && !x.Anonymous() {
			session = x.Call.Identity.Session
		}
		a, err := fn(ctx, session, in)
		r := callgate.Result{Notes: a.notes, Content: a.content}
		if err != nil {
			return r, err
		}
		if r.Structured, err = jsonv2.Marshal(a.value, jsonv2.Deterministic(true)); err != nil {
			return r, err
		}
		return r, nil
	})
	if err != nil {
		return callgate.Tool{}, err
	}
	t.Access = func(args json.RawMessage) []callgate.Access {
		var in In
		if err := schema.Bind(args, &in); err != nil {
			return []callgate.Access{{Key: workspace.WholeKey, Write: true}} // it will not run
		}
		return access(in)
	}
	return t, nil
}

// failed gives an error of the workspace the code that it has at the gate. Its
// text is already for the model.
func failed(err error) error {
	code := callgate.CodeOf(err)
	if errors.Is(err, workspace.ErrConflict) {
		code = callgate.Conflict
	}
	if e, ok := errors.AsType[*callgate.Error](err); ok && e.Code == code {
		return err
	}
	return &callgate.Error{Code: code, Message: err.Error(), Cause: err}
}

// notAFile refuses to change what is kept as an artifact.
func notAFile(op, path string) error {
	if strings.HasPrefix(path, artifact.Scheme) {
		return callgate.Errorf(callgate.ExecutionError, "%s %q: a kept output can be read and not changed; use a path of the workspace", op, path)
	}
	return nil
}
