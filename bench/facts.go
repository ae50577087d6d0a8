package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// A Fact is a question that every contestant was asked. Answers are in the order
// of the contestants.
type Fact struct {
	Question string
	Answers  []string
}

// openSchema leaves names that it does not declare alone, as most tools' do.
const openSchema = `{
	"type": "object",
	"properties": {"command": {"type": "string"}, "timeout_ms": {"type": "integer"}},
	"required": ["command"]
}`

const closedSchema = `{
	"type": "object",
	"properties": {"command": {"type": "string"}, "timeout_ms": {"type": "integer"}},
	"required": ["command"],
	"additionalProperties": false
}`

const optionalSchema = `{"type": "object", "properties": {"command": {"type": "string"}, "timeout_ms": {"type": "integer"}}}`

// brokenSchema has a pattern that is no regular expression, beside a bound that
// could still be enforced.
const brokenSchema = `{
	"type": "object",
	"properties": {"command": {"type": "string", "pattern": "("}, "timeout_ms": {"type": "integer", "maximum": 10}}
}`

const exact = 1<<53 + 1 // the first integer that a float64 cannot hold

// Facts asks all peers. It starts the running program again for each of them, to
// see whether a handler's panic ends it: see [Child].
func Facts(ctx context.Context) []Fact {
	questions := []struct {
		text string
		ask  func(context.Context, Peer) string
	}{
		{"three violations in one call: how many does the model read of?", askThree},
		{"`command` twice: first `ls`, then `rm -rf /`", func(ctx context.Context, p Peer) string {
			return ranWith(ctx, p, openSchema, `{"command":"ls","command":"rm -rf /"}`)
		}},
		{"`COMMAND` after `command`, schema open", func(ctx context.Context, p Peer) string {
			return ranWith(ctx, p, openSchema, `{"command":"ls","COMMAND":"rm -rf /"}`)
		}},
		{"`COMMAND` after `command`, `additionalProperties: false`", func(ctx context.Context, p Peer) string {
			return ranWith(ctx, p, closedSchema, `{"command":"ls","COMMAND":"rm -rf /"}`)
		}},
		{"9007199254740993 (2^53+1) for an int64", askExact},
		{"`null` where an object is due, all fields optional", func(ctx context.Context, p Peer) string {
			return ranWith(ctx, p, optionalSchema, `null`)
		}},
		{"arguments cut off in a number: `…\"timeout_ms\":6`", func(ctx context.Context, p Peer) string {
			return ranWith(ctx, p, openSchema, `{"command":"ls","timeout_ms":6`)
		}},
		{"whole arguments, and the provider says that it cut the turn", askCut},
		{"a schema that does not compile", askBroken},
		{"a tool that does not exist, one letter off", askUnknown},
		{"a panic in a handler", askPanic},
		{"two calls, the first one slower: order of results", askOrder},
	}
	var facts []Fact
	for _, q := range questions {
		f := Fact{Question: q.text}
		for _, p := range Peers() {
			f.Answers = append(f.Answers, q.ask(ctx, p))
		}
		facts = append(facts, f)
	}
	return facts
}

// recorder is a tool that remembers what it ran with.
func recorder(schema string, ran *[]Command) Tool {
	return Tool{Name: "run_command", Schema: schema, Run: func(_ context.Context, c Command) (string, error) {
		*ran = append(*ran, c)
		return "ok", nil
	}}
}

// call opens p with one recording tool and makes one call. The error is that of
// opening.
func call(ctx context.Context, p Peer, schema string, c Call) (Answer, []Command, error) {
	var ran []Command
	s, err := p.Open(recorder(schema, &ran))
	if err != nil {
		return Answer{}, nil, err
	}
	defer s.Close()
	a := s.Ask(ctx, c)
	return a, ran, nil
}

// How a call that did not run ended, for all peers in the same words.
func refusal(a Answer) string {
	switch {
	case a.Err != nil:
		return "refused, error to the program"
	case a.Failed:
		return "refused"
	}
	return "not run, no result"
}

func ranWith(ctx context.Context, p Peer, schema, args string) string {
	return outcome(ctx, p, schema, Call{Name: "run_command", Args: args})
}

func outcome(ctx context.Context, p Peer, schema string, c Call) string {
	a, ran, err := call(ctx, p, schema, c)
	switch {
	case err != nil:
		return "does not open"
	case len(ran) == 0:
		return refusal(a)
	case ran[0].TimeoutMS != 0:
		return fmt.Sprintf("runs `%s` with %d", ran[0].Command, ran[0].TimeoutMS)
	}
	return fmt.Sprintf("runs `%s`", ran[0].Command)
}

func askThree(ctx context.Context, p Peer) string {
	a, ran, err := call(ctx, p, closedSchema, Call{Name: "run_command", Args: invalidArgs})
	if err != nil {
		return "does not open"
	}
	if len(ran) > 0 {
		return "runs"
	}
	text := a.Text
	if a.Err != nil {
		text = a.Err.Error()
	}
	return fmt.Sprint(named(text))
}

// named counts the faults of invalidArgs that text names.
func named(text string) int {
	n := 0
	// go-sdk and encoding/json name Go fields or JSON names; any will do.
	for _, names := range [][]string{{"/command", "command\"", ".command", "'command'"}, {"timeout_ms", "TimeoutMS"}, {"cwd"}} {
		if slices.ContainsFunc(names, func(s string) bool { return strings.Contains(text, s) }) {
			n++
		}
	}
	return n
}

func askExact(ctx context.Context, p Peer) string {
	a, ran, err := call(ctx, p, openSchema, Call{Name: "run_command", Args: fmt.Sprintf(`{"command":"ls","timeout_ms":%d}`, exact)})
	switch {
	case err != nil:
		return "does not open"
	case len(ran) == 0:
		return refusal(a)
	case ran[0].TimeoutMS == exact:
		return "exact"
	}
	return fmt.Sprintf("arrives as %d", ran[0].TimeoutMS)
}

func askCut(ctx context.Context, p Peer) string {
	if !p.Turns {
		return "sees no turns"
	}
	return outcome(ctx, p, openSchema, Call{Name: "run_command", Args: `{"command":"ls"}`, Cut: true})
}

func askBroken(ctx context.Context, p Peer) string {
	if strings.HasPrefix(p.Name, "fantasy") {
		return "takes no schema"
	}
	a, ran, err := call(ctx, p, brokenSchema, Call{Name: "run_command", Args: `{"command":"ls","timeout_ms":60000}`})
	switch {
	case err != nil:
		return "tool refused"
	case len(ran) > 0:
		return "runs unchecked"
	}
	return refusal(a)
}

func askUnknown(ctx context.Context, p Peer) string {
	a, _, err := call(ctx, p, openSchema, Call{Name: "run_comand", Args: `{"command":"ls"}`})
	if err != nil {
		return "does not open"
	}
	near := ""
	text := a.Text
	if a.Err != nil {
		text = a.Err.Error()
	}
	if strings.Contains(text, "run_command") {
		near = ", names the tool that is there"
	}
	return refusal(a) + near
}

func askOrder(ctx context.Context, p Peer) string {
	if !p.Turns {
		return "sees no turns"
	}
	second := make(chan struct{})
	s, err := p.Open(Tool{Name: "run_command", Schema: openSchema, Run: func(ctx context.Context, c Command) (string, error) {
		if c.Command == "second" {
			close(second)
			return c.Command, nil
		}
		select {
		case <-second:
			time.Sleep(20 * time.Millisecond) // for the other result to be on its way
		case <-time.After(5 * time.Second):
			return "first waited in vain", nil
		}
		return c.Command, nil
	}})
	if err != nil {
		return "does not open"
	}
	defer s.Close()
	answers := s.Batch([]Call{{Name: "run_command", Args: `{"command":"first"}`}, {Name: "run_command", Args: `{"command":"second"}`}})(ctx)
	if len(answers) != 2 {
		return fmt.Sprintf("%d results", len(answers))
	}
	switch got := answers[0].Text + " " + answers[1].Text; got {
	case "first second":
		return "of the calls"
	case "second first":
		return "of completion"
	default:
		return got
	}
}

const childVariable = "CALLGATE_BENCH_PANIC"

// Child must be called first in main and TestMain. In a process that [Facts]
// started it calls a tool that panics, says what came of it and exits.
func Child() {
	name := os.Getenv(childVariable)
	if name == "" {
		return
	}
	for _, p := range Peers() {
		if p.Name == name {
			fmt.Print(panicIn(p))
			os.Exit(0)
		}
	}
	fmt.Fprintf(os.Stderr, "no peer is called %q\n", name)
	os.Exit(3)
}

func panicIn(p Peer) string {
	s, err := p.Open(Tool{Name: "run_command", Schema: openSchema, Run: func(context.Context, Command) (string, error) {
		panic("a handler's own fault")
	}})
	if err != nil {
		return "does not open"
	}
	a := s.Ask(context.Background(), Call{Name: "run_command", Args: `{"command":"ls"}`})
	text, how := a.Text, "a failed result"
	if a.Err != nil {
		text, how = a.Err.Error(), "an error to the program"
	}
	if strings.Contains(text, "goroutine ") {
		how += " with the stack in it"
	}
	return how
}

// askPanic watches from outside.
func askPanic(ctx context.Context, p Peer) string {
	self, err := os.Executable()
	if err != nil {
		return "cannot be asked: " + err.Error()
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), childVariable+"="+p.Name)
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && strings.Contains(string(exit.Stderr), "panic: a handler's own fault") {
		return "the process ends"
	}
	if err != nil {
		return "cannot be asked: " + err.Error()
	}
	return string(out)
}

// EngineFacts asks the engines that check a schema.
func EngineFacts() []Fact {
	const bounded = `{"type":"object","properties":{"timeout_ms":{"type":"integer","maximum":9007199254740992}}}`
	questions := []struct{ text, schema, args string }{
		{"three violations: how many does the error name?", closedSchema, invalidArgs},
		{"a name twice", openSchema, `{"command":"ls","command":"rm -rf /"}`},
		{"9007199254740993 against `maximum` 9007199254740992", bounded, `{"timeout_ms":9007199254740993}`},
		{"a byte that is not UTF-8", openSchema, "{\"command\":\"\xff\"}"},
		{"`1e400` for an integer", openSchema, `{"command":"ls","timeout_ms":1e400}`},
	}
	var facts []Fact
	for i, q := range questions {
		f := Fact{Question: q.text}
		for _, e := range Engines() {
			if e.Checks != "schema" {
				continue
			}
			verdict, err := e.Compile(Shape{Schema: q.schema})
			if err != nil {
				f.Answers = append(f.Answers, "does not compile")
				continue
			}
			err = verdict([]byte(q.args))
			switch {
			case err == nil:
				f.Answers = append(f.Answers, "valid")
			case i == 0:
				f.Answers = append(f.Answers, fmt.Sprint(named(err.Error())))
			default:
				f.Answers = append(f.Answers, "refused")
			}
		}
		facts = append(facts, f)
	}
	return facts
}
