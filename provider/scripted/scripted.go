// Package scripted is a model that plays a script. It needs no key and no
// network: demonstrations, tests and documentation run on it.
//
// A script is a list of steps, one for each turn of the model. A step says what
// the model must have been sent (all that a real model would read of the last
// message: the codes and pointers of failed calls, the words of the user) and
// what it answers. When the conversation and the script diverge, the error says
// at which step, what was expected and what came.
package scripted

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/llm"
)

// A Model plays Steps, one for each request. It is safe for concurrent use,
// though a script is a story with one order. The zero value has nothing to say.
type Model struct {
	Steps []Step

	mu       sync.Mutex
	requests []llm.Request
	found    []string // {{name}}, text, …
}

// A Step is one turn of the model.
type Step struct {
	// Line is where the step starts in the text it was parsed from; 0 if it
	// was not.
	Line int `json:"-"`
	// Expect are texts that the last message must contain, each of them, and
	// Reject texts that it must not.
	Expect []string `json:"expect,omitempty"`
	Reject []string `json:"reject,omitempty"`
	// Find are regular expressions by name. What each first matches in the last
	// message stands for {{name}} in the arguments of this step's calls and of
	// later ones, as the content of a JSON string: a model that uses what it
	// was told. One that matches nothing is a divergence.
	Find map[string]string `json:"find,omitempty"`
	// Check, if set, looks at the whole request. Its error ends the script.
	Check func(ctx context.Context, req llm.Request) error `json:"-"`

	// Say is what the model answers, and Calls what it proposes. A call that
	// has no id is given one.
	Say   string `json:"say,omitempty"`
	Calls []Call `json:"calls,omitempty"`
	// Stop is the reason that the model gives for stopping. Empty means the
	// honest one. [llm.MaxTokens] makes the response one that was cut off.
	Stop  llm.StopReason `json:"stop,omitempty"`
	Usage llm.Usage      `json:"usage,omitzero"`
	// Fail, if not empty, is an error of the model: it answers nothing.
	Fail string `json:"fail,omitempty"`
}

// A Call is what the model proposes. Arguments are sent as they stand, also if
// they are not JSON.
type Call struct {
	ID        string
	Name      string
	Arguments string
}

// A Divergence is the error of a conversation that is not that of the script.
type Divergence struct {
	Step    int    // counted from 1
	Line    int    // in the text of the script; 0 if it was not parsed
	Problem string // what was expected and is not so
	Got     string // what the model was sent last
}

func (d *Divergence) Error() string {
	at := fmt.Sprintf("step %d", d.Step)
	if d.Line > 0 {
		at += fmt.Sprintf(" (line %d)", d.Line)
	}
	return fmt.Sprintf("scripted: %s: %s; the model was sent:\n%s", at, d.Problem, indent(d.Got))
}

func indent(s string) string {
	return "    " + strings.ReplaceAll(strings.TrimRight(s, "\n"), "\n", "\n    ")
}

// Generate plays the next step.
func (m *Model) Generate(ctx context.Context, req llm.Request) (llm.Response, error) {
	if err := ctx.Err(); err != nil {
		return llm.Response{}, err
	}
	m.mu.Lock()
	m.requests = append(m.requests, req)
	n := len(m.requests)
	m.mu.Unlock()

	// A real model is sent the paired history, and so is this one.
	got := ""
	if sent := llm.Pair(req.Messages, req.Catalog); len(sent) > 0 {
		got = sent[len(sent)-1].Shown()
	}
	diverge := func(line int, format string, args ...any) (llm.Response, error) {
		return llm.Response{}, &Divergence{Step: n, Line: line, Problem: fmt.Sprintf(format, args...), Got: got}
	}
	if n > len(m.Steps) {
		return diverge(0, "the script has only %d steps", len(m.Steps))
	}
	s := m.Steps[n-1]
	for _, want := range s.Expect {
		if !strings.Contains(got, want) {
			return diverge(s.Line, "expected %q", want)
		}
	}
	for _, not := range s.Reject {
		if strings.Contains(got, not) {
			return diverge(s.Line, "did not expect %q", not)
		}
	}
	for name, pattern := range s.Find {
		re, err := regexp.Compile(pattern)
		if err != nil {
			return llm.Response{}, fmt.Errorf("scripted: step %d: find %s: %w", n, name, err)
		}
		text := re.FindString(got)
		if text == "" {
			return diverge(s.Line, "expected a match of %q", pattern)
		}
		m.mu.Lock()
		m.found = append([]string{"{{" + name + "}}", quoted(text)}, m.found...)
		m.mu.Unlock()
	}
	if s.Check != nil {
		if err := s.Check(ctx, req); err != nil {
			return llm.Response{}, fmt.Errorf("scripted: step %d: %w", n, err)
		}
	}
	if s.Fail != "" {
		return llm.Response{}, fmt.Errorf("scripted: step %d: %s", n, s.Fail)
	}
	m.mu.Lock()
	fill := strings.NewReplacer(m.found...)
	m.mu.Unlock()
	return s.response(n, fill), nil
}

// quoted returns text as it stands between the quotes of a JSON string.
func quoted(text string) string {
	b, _ := json.Marshal(text)
	return string(b[1 : len(b)-1])
}

func (s Step) response(n int, fill *strings.Replacer) llm.Response {
	calls := make([]callgate.Call, len(s.Calls))
	for i, c := range s.Calls {
		if c.ID == "" {
			c.ID = fmt.Sprintf("call_%d_%d", n, i+1)
		}
		calls[i] = callgate.Call{ID: c.ID, Name: c.Name}
		if c.Arguments != "" {
			calls[i].Arguments = json.RawMessage(fill.Replace(c.Arguments))
		}
	}
	r := llm.Response{Message: llm.AssistantText(s.Say, calls...).WithIDs(), Stop: s.Stop, Usage: s.Usage, Cut: s.Stop == llm.MaxTokens}
	if r.Stop == "" {
		r.Stop = llm.EndTurn
		if len(calls) > 0 {
			r.Stop = llm.ToolUse
		}
	}
	return r
}

// Requests returns what the model was asked so far.
func (m *Model) Requests() []llm.Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]llm.Request(nil), m.requests...)
}

// Done returns nil if every step was played, else an error that names the first
// one that was not.
func (m *Model) Done() error {
	if n := len(m.Requests()); n < len(m.Steps) {
		return fmt.Errorf("scripted: the conversation ended after %d of %d steps", n, len(m.Steps))
	}
	return nil
}
