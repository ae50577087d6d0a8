package cli

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/agent"
	"github.com/callgate/callgate/artifact"
	"github.com/callgate/callgate/internal/turn"
	"github.com/callgate/callgate/journal"
	"github.com/callgate/callgate/llm"
	"github.com/callgate/callgate/process"
	"github.com/callgate/callgate/provider/scripted"
	"github.com/callgate/callgate/schema"
	"github.com/callgate/callgate/workspace"
)

//go:embed demo.script
var demoScript []byte

const demoTask = "Look around in the workspace and write a summary of what you find."

// demoFiles are what the workspace starts with.
var demoFiles = map[string]string{
	"README.md":    "# A workspace to play in\n\nWhat is to be done stands in docs/todo.md.\n",
	"docs/todo.md": "# Tasks\n\n- [ ] write a summary\n",
}

func demoCommand() *cobra.Command {
	var keep bool
	var box sandboxFlags
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Watch a scripted model work through the gate",
		Long: `Play a short story in a fresh temporary workspace: the model is a script, all
the rest is real, the gate, its rules and the file tools. It reads two files at once,
writes one and reads it back in order, corrects a bad argument from the place that the
error names, meets an unknown tool, a path that leads outside and a tool that may not
run, and uses bash: a key in the environment that bash does not see, a background
process that holds nothing up, a long output of which the middle is paged. It needs no
key and no network, and leaves nothing behind.`,
		Example: `  callgate demo
  callgate demo --keep`,
		Args: cobra.NoArgs,
		RunE: does(func(cmd *cobra.Command, _ []string) error {
			var s process.Sandbox
			if err := box.apply(cmd, &s); err != nil {
				return err
			}
			return demo(cmd.Context(), cmd.OutOrStdout(), s, keep)
		}),
	}
	box.add(cmd)
	cmd.Flags().BoolVar(&keep, "keep", false, "keep the workspace and say where it is")
	return cmd
}

func demo(ctx context.Context, w io.Writer, box process.Sandbox, keep bool) (err error) {
	dir, err := os.MkdirTemp("", "callgate-demo-")
	if err != nil {
		return err
	}
	kept := ""
	defer func() {
		if kept == "" {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}()
	root := filepath.Join(dir, "workspace")
	for name, text := range demoFiles {
		file := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			return err
		}
	}
	ws, err := workspace.Open(root)
	if err != nil {
		return err
	}
	g := &gate{workspace: ws, session: "demo", sandbox: box}
	defer g.close()
	if g.artifacts, err = artifact.Open(filepath.Join(dir, "artifacts"), artifact.Options{}); err != nil {
		return err
	}
	if g.journal, err = journal.Open(filepath.Join(dir, "journal.db"), journal.Options{Artifacts: g.artifacts, Sandbox: recordedLevel(box)}); err != nil {
		return err
	}
	mail, err := sendMail()
	if err != nil {
		return err
	}
	g.sandbox.Hide = append(g.sandbox.Hide, filepath.Join(dir, "artifacts"), filepath.Join(dir, "journal.db"))
	// A key that the caller has and its tools must not see.
	g.env.Caller = append(os.Environ(), "DEMO_API_KEY=k-demo-1234")
	g.env.Caches = filepath.Join(dir, "caches")
	if err := g.wire([]string{"write_file", "edit_file", "bash"}, nil, mail); err != nil {
		return err
	}
	steps, err := scripted.Parse(demoScript)
	if err != nil {
		return err
	}
	if r := process.Probe(); box.Level == process.Auto && r.Level == "" {
		steps = withoutShell(steps)
		g.unable = r
	}
	if keep {
		kept = root
	}
	return play(ctx, w, g, &scripted.Model{Steps: steps}, kept)
}

// withoutShell ends the story where the first program would run.
func withoutShell(steps []scripted.Step) []scripted.Step {
	for i := range steps {
		for _, c := range steps[i].Calls {
			if c.Name == "bash" {
				last := steps[i]
				last.Say, last.Calls = "There is no shell for me here. "+steps[len(steps)-1].Say, nil
				return append(steps[:i:i], last)
			}
		}
	}
	return steps
}

// play runs the script and tells what happens. The workspace will be removed
// unless it is kept.
func play(ctx context.Context, w io.Writer, g *gate, model *scripted.Model, kept string) error {
	s := &stage{w: w, paint: coloursFor(w), gate: g, spans: map[callgate.Identity]span{}}
	g.dispatcher.Observers = append(g.dispatcher.Observers, s.watch)
	s.line(s.paint.bold("The model is a script; the gate, its rules and the tools are real."))
	if line := noSandboxLine(g.sandbox); line != "" {
		s.line(s.paint.yellow(line))
	}
	for _, t := range g.unable.Tried {
		s.line(s.paint.yellow(fmt.Sprintf("No sandbox: %s does not start here (%s).", t.Level, visible(t.Err))))
	}
	if len(g.unable.Tried) > 0 {
		s.line(s.paint.yellow("So bash refuses, and its part of the story is left out; callgate demo --sandbox none shows it without one."))
	}
	s.line("")
	s.line("you: " + demoTask)
	begin := time.Now()
	a := agent.Agent{
		Model: model, Tools: func() *callgate.Catalog { return g.catalog }, Gate: &g.dispatcher,
		Session: g.session, OnMessage: s.tell,
	}
	out, err := a.Run(ctx, []llm.Message{llm.UserText(demoTask)})
	switch {
	case err != nil:
		return err
	case out.Reason == agent.Canceled:
		return context.Canceled
	case out.Reason != agent.FinalAnswer:
		return fmt.Errorf("the demo ended with %s", out.Reason)
	}
	if err := model.Done(); err != nil {
		return err
	}
	record, err := g.journal.Verify(ctx)
	if err != nil {
		return err
	}
	s.line("")
	s.line(fmt.Sprintf("Each call is in the journal, with who allowed it and what came of it: %d rows, and the chain over them holds.", record.Calls))
	what := "the workspace is removed"
	if kept != "" {
		what = "the workspace is kept: " + kept
	}
	s.line("")
	s.line(s.paint.bold(fmt.Sprintf("%d turns, %d calls: %d succeeded, %d failed, %d blocked, in %s; %s.", s.turns,
		s.calls, s.counts[callgate.Succeeded], s.counts[callgate.Failed], s.counts[callgate.Blocked], brief(time.Since(begin)), what)))
	return s.err
}

// sendMail returns a tool that no rule of the demo allows.
func sendMail() (callgate.Tool, error) {
	type input struct {
		To   string `json:"to"`
		Text string `json:"text"`
	}
	t, err := callgate.Func(callgate.Spec{Name: "demo.send_mail", Description: "Send a mail to somebody."},
		func(context.Context, input) (string, error) { return "", errors.New("the demo sends no mail") })
	t.Access = func(json.RawMessage) []callgate.Access { return []callgate.Access{{Key: "mail:", Write: true}} }
	return t, err
}

// A stage shows a conversation.
type stage struct {
	w     io.Writer
	paint colours
	gate  *gate
	err   error // of the first write that failed

	turns, calls int
	counts       map[callgate.Status]int
	turn         llm.Message // of the model, whose results are awaited

	mu    sync.Mutex
	spans map[callgate.Identity]span
}

// A span is when a handler was entered, and when its call was answered.
type span struct{ start, end time.Time }

// watch is a [callgate.Observer].
func (s *stage) watch(_ context.Context, e callgate.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.spans[e.Call.Identity]
	switch e.Kind {
	case callgate.Started:
		at.start = e.Time
	case callgate.Settled:
		at.end = e.Time
	}
	s.spans[e.Call.Identity] = at
}

func (s *stage) line(text string) {
	if s.err == nil {
		_, s.err = fmt.Fprintln(s.w, text)
	}
}

// tell shows a message as it joins the history.
func (s *stage) tell(_ context.Context, m llm.Message) error {
	if m.Role == llm.Assistant {
		s.turns++
		s.turn = m
		s.line("")
		s.line("model: " + m.Text())
		return s.err
	}
	calls, results := s.turn.Calls(), m.Results()
	if len(calls) > 1 {
		s.line(s.paint.faint("  " + s.order(calls)))
	}
	for i, r := range results {
		s.answer(calls[i], r)
	}
	return s.err
}

// order says how the calls of a turn were ordered, as the plan has it, and how
// it went by the clock.
func (s *stage) order(calls []callgate.Call) string {
	plan := s.gate.catalog.Plan(callgate.Turn{Session: s.gate.session, Number: s.turn.Turn, Calls: calls})
	var waits []string
	for i, step := range plan {
		for _, j := range step.After {
			waits = append(waits, fmt.Sprintf("call %d waits for call %d", i+1, j+1))
		}
	}
	if len(waits) > 0 {
		return "in order: " + strings.Join(waits, ", ") + ", since they touch the same file and one of them writes it"
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	text := fmt.Sprintf("%d calls at once, since none changes what another touches", len(calls))
	var first, last, end time.Time
	started := 0
	for _, step := range plan {
		at := s.spans[step.Call.Identity]
		if at.start.IsZero() {
			continue
		}
		if started++; started == 1 || at.start.Before(first) {
			first = at.start
		}
		if at.start.After(last) {
			last = at.start
		}
		if at.end.After(end) {
			end = at.end
		}
	}
	if started > 1 {
		text += fmt.Sprintf("; started %s apart, done after %s", brief(last.Sub(first)), brief(end.Sub(first)))
	}
	return text
}

// answer shows a call and its result.
func (s *stage) answer(c callgate.Call, r callgate.Result) {
	mark := s.paint.green("✓ " + brief(r.Duration))
	switch r.Status() {
	case callgate.Failed:
		mark = s.paint.red(fmt.Sprintf("✗ %s %s", r.Code, brief(r.Duration)))
	case callgate.Blocked:
		mark = s.paint.yellow("✗ " + string(r.Code))
	}
	if s.counts == nil {
		s.counts = map[callgate.Status]int{}
	}
	s.calls++
	s.counts[r.Status()]++
	s.line(fmt.Sprintf("● %s %s … %s", visible(clip(c.Name, 60)), subject(c.Arguments), mark))
	s.line(s.paint.faint(indent(clip(r.ModelText(), 200))))
}

// subject returns what a call is about, for a line: its path if it has one, else
// its arguments.
func subject(args json.RawMessage) string {
	shown := string(args)
	if schema.Strict(args) == nil {
		turn.Members(args, func(name string, value jsontext.Value) {
			if path, err := jsontext.AppendUnquote(nil, value); (name == "path" || name == "command") && err == nil && len(path) > 0 {
				shown = string(path)
			}
		})
	}
	return visible(clip(shown, 60))
}
