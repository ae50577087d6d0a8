package builtin

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/process"
)

// A Command is a tool that is a program in any language. It gets the arguments of
// a call, which satisfy the schema, as one JSON object on standard input; what it
// prints on standard output is the result. With an outputSchema it must print
// JSON, which is the structured content. An exit code other than 0 is a failure,
// told with the end of what the program printed on standard error.
type Command struct {
	callgate.Spec
	Args []string // the program and its fixed arguments; relative ones are not searched for in the workspace
	Env  process.Environment
	// Sandbox is what the program may touch; nil means what [Programs] says.
	Sandbox *process.Sandbox
	Access  func(args json.RawMessage) []callgate.Access
}

// The program's own time limit is the spec's; the dispatcher's comes later, so
// that what was printed until then is returned.
const commandSlack = 5 * time.Second

const commandTimeout = 120 * time.Second

// stderrKept is how much of standard error is told of a failure, in bytes.
const stderrKept = 4_000

// Command returns the tool of a program. Env of c replaces that of p if it has a
// workspace.
func (p *Programs) Command(c Command) (callgate.Tool, error) {
	if len(c.Args) == 0 || c.Args[0] == "" {
		return callgate.Tool{}, fmt.Errorf("tool %q: it names no program", c.Name)
	}
	env := c.Env
	if env.Workspace == "" {
		env = p.Env
	}
	if env.Workspace == "" {
		return callgate.Tool{}, errNoWorkspace
	}
	box := p.Sandbox
	if c.Sandbox != nil {
		box = *c.Sandbox
	}
	limit := c.Spec.Timeout()
	if limit <= 0 {
		limit = commandTimeout
	}
	spec := c.Spec.Clone()
	spec.TimeoutMS = (limit + commandSlack).Milliseconds()
	structured := len(spec.OutputSchema) > 0
	return callgate.Tool{Spec: spec, Access: c.Access, Handler: func(ctx context.Context, call callgate.Call) (callgate.Result, error) {
		res, kept, err := p.run(ctx, process.Command{
			Args: c.Args, Env: env, Sandbox: box, Stdin: bytes.NewReader(call.Arguments), Split: true, Timeout: limit,
		})
		if err != nil {
			return callgate.Result{}, err
		}
		var r callgate.Result
		ref, _ := kept.keep()
		text, cut := shown(res.Output)
		if text != "" {
			r.Content = []callgate.Content{{Type: "text", Text: text}}
		}
		if cut {
			r.Truncated, r.Artifact = true, ref
			note := fmt.Sprintf("Note: the output has %d bytes; its middle is left out", res.Output.Total)
			if ref != "" {
				note += ". The whole is kept: read_file with path " + ref + " pages it"
			}
			r.Notes = append(r.Notes, note+".")
		}
		r.Notes = append(r.Notes, sandboxNotes(res, box)...)
		if err := ended(res, box); err != nil {
			return withStderr(r, res), err
		}
		if res.ExitCode != 0 {
			return r, exitFailure(res)
		}
		if structured {
			if cut {
				return r, callgate.Errorf(callgate.ExecutionError, "the program ran, but its output of %d bytes is too long to be the JSON that its outputSchema promises", res.Output.Total)
			}
			r.Structured = bytes.TrimSpace(append(bytes.Clone(res.Output.Head), res.Output.Tail...))
		}
		return r, nil
	}}, nil
}

// exitFailure is the failure of a program that ended with a code other than 0.
func exitFailure(res process.Result) error {
	msg := exitLine(res)
	if said := stderrTail(res); said != "" {
		msg += "\n" + said
	}
	if hint := exitHint(res); hint != "" {
		msg += "\n" + hint
	}
	if line := process.WithheldLine(res.Withheld); line != "" {
		msg += "\n(" + line + ")"
	}
	return callgate.Errorf(callgate.ExecutionError, "%s", msg)
}

func withStderr(r callgate.Result, res process.Result) callgate.Result {
	if said := stderrTail(res); said != "" {
		r.Notes = append(r.Notes, "It printed on standard error:\n"+said)
	}
	return r
}

// stderrTail returns the end of what a program printed on standard error.
func stderrTail(res process.Result) string {
	b := append(bytes.Clone(res.Stderr.Head), res.Stderr.Tail...)
	if res.Stderr.Omitted() > 0 && len(res.Stderr.Tail) > 0 {
		b = res.Stderr.Tail
	}
	if noText(b) {
		return fmt.Sprintf("(%d bytes that are no text)", res.Stderr.Total)
	}
	if len(b) > stderrKept {
		b = b[len(b)-stderrKept:]
		if i := bytes.IndexByte(b, '\n'); i >= 0 && i < len(b)/2 {
			b = b[i+1:]
		}
		return "[...]\n" + strings.ToValidUTF8(strings.TrimSpace(string(b)), "")
	}
	return strings.TrimSpace(string(b))
}
