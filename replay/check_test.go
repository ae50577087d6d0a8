package replay_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/journal"
	"github.com/callgate/callgate/replay"
	"github.com/callgate/callgate/schema"
)

// A tool in short: name, schema of the arguments, words: read, idempotent,
// repair.
func spec(name, schema string, words ...string) callgate.Spec {
	s := callgate.Spec{Name: name, InputSchema: json.RawMessage(schema), Annotations: callgate.Annotations{
		ReadOnlyHint: slices.Contains(words, "read"), IdempotentHint: slices.Contains(words, "idempotent"), OpenWorldHint: new(false)}}
	if slices.Contains(words, "repair") {
		s.Repair = []string{"number_string"}
	}
	if slices.Contains(words, "described") {
		s.Description = "Another description."
	}
	return s
}

// catalog returns tools that answer with their arguments.
func catalog(t testing.TB, specs ...callgate.Spec) *callgate.Catalog {
	t.Helper()
	var r callgate.Registry
	for _, s := range specs {
		if err := r.Register(callgate.Tool{Spec: s, Handler: func(_ context.Context, c callgate.Call) (callgate.Result, error) {
			return callgate.Text(string(c.Arguments)), nil
		}}); err != nil {
			t.Fatal(err)
		}
	}
	return r.Catalog()
}

func verdict(v callgate.Verdict, rule string) callgate.Policy {
	return func(context.Context, callgate.Request) (callgate.Decision, error) {
		return callgate.Decision{Verdict: v, Rule: rule}, nil
	}
}

func call(name, args string) callgate.Call {
	return callgate.Call{ID: "c", Name: name, Arguments: json.RawMessage(args)}
}

func turnOf(number int, calls ...callgate.Call) callgate.Turn {
	return callgate.Turn{Session: "s", Number: number, Calls: calls}
}

// recorded dispatches turns as a program does that records them.
func recorded(t testing.TB, opts journal.Options, cat *callgate.Catalog, gate *callgate.Dispatcher, turns ...callgate.Turn) *journal.Journal {
	t.Helper()
	j, err := journal.Open(filepath.Join(t.TempDir(), "journal.db"), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	gate.Executor, gate.Observers = j.Executor(nil), []callgate.Observer{j.Observer()}
	if gate.Approver != nil {
		gate.Approver = j.Approver(gate.Approver)
	}
	for _, turn := range turns {
		gate.Dispatch(t.Context(), cat, turn)
	}
	return j
}

// lines returns the lines of a report without the one that counts.
func lines(r replay.Report) []string {
	all := strings.Split(strings.TrimSpace(r.String()), "\n")
	return all[:len(all)-1]
}

const (
	any1    = `{"type":"object"}`
	city    = `{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"}}}`
	strict  = `{"type":"object","properties":{"city":{"type":"string","minLength":3},"days":{"type":"integer","maximum":7}},"required":["city"],"additionalProperties":false}`
	lenient = `{"type":"object","properties":{"days":{"type":["integer","string"]}}}`
)

// Each kind of difference, and what is none.
func TestCheck(t *testing.T) {
	approve := func(yes bool) callgate.Approver {
		return func(context.Context, callgate.Request, callgate.Decision) (callgate.Answer, error) {
			return callgate.Answer{Approved: yes, By: "ann"}, nil
		}
	}
	allow, ask, deny := verdict(callgate.Allow, "a"), verdict(callgate.Ask, "q"), verdict(callgate.Deny, "d")
	for _, c := range []struct {
		why       string
		then, now callgate.Spec
		call      callgate.Call
		ruled     callgate.Policy // nil: allow
		approver  callgate.Approver
		rules     callgate.Policy // nil: allow
		want      []string
	}{
		{why: "nothing changed", then: spec("t", city), now: spec("t", city), call: call("t", `{"city":"Oslo"}`)},

		{why: "the tool is gone", then: spec("weather", city), now: spec("wether", city), call: call("weather", `{"city":"Oslo"}`),
			want: []string{`0/0 weather: unknown_tool: there is no tool named "weather"; did you mean "wether"?`}},
		{why: "the tool was gone then, too", then: spec("a", city), now: spec("a", city), call: call("nope", `{}`)},
		{why: "the tool is new", then: spec("a", city), now: spec("t", strict), call: call("t", `{"city":"Oslo"}`),
			want: []string{`0/0 t: new_tool: allow (rule a)`}},
		{why: "the tool is new, and takes other arguments", then: spec("a", city), now: spec("t", strict), call: call("t", `{}`),
			want: []string{`0/0 t: new_tool`, `0/0 t: invalid_arguments at /city: missing required field; expected string`}},

		{why: "the schema is stricter, and the call breaks at each place", then: spec("t", city), now: spec("t", strict), call: call("t", `{"city":"Ax","days":9,"x":1}`),
			want: []string{
				`0/0 t: invalid_arguments at /city: must have at least 3 characters, got 2`,
				`0/0 t: invalid_arguments at /days: must be at most 7, got 9`,
				`0/0 t: invalid_arguments at /x: unknown field; the fields here are city, days`,
				`0/0 t: definition`,
			}},
		{why: "the schema is stricter, and the call still holds", then: spec("t", city), now: spec("t", strict), call: call("t", `{"city":"Oslo"}`),
			want: []string{`0/0 t: definition`}},
		{why: "refused then and now, at the same place", then: spec("t", strict), now: spec("t", strict), call: call("t", `{"city":"Oslo","days":9}`)},
		{why: "refused then and now, at another place", then: spec("t", strict), now: spec("t", lenient), call: call("t", `{"city":"Oslo","days":1.5}`),
			want: []string{`0/0 t: definition`}}, // type, of both
		{why: "refused for more", then: spec("t", city), now: spec("t", strict), call: call("t", `{"days":"9"}`),
			want: []string{`0/0 t: invalid_arguments at /city: missing required field; expected string`, `0/0 t: definition`}},
		{why: "refused for less", then: spec("t", strict), now: spec("t", city), call: call("t", `{"days":"9"}`),
			want: []string{`0/0 t: accepted at /city: was missing required field; expected string`, `0/0 t: definition`}},
		{why: "refused then and valid now", then: spec("t", strict), now: spec("t", city), call: call("t", `{"days":9,"x":1}`),
			want: []string{
				`0/0 t: accepted at /city: missing required field; expected string, now allow (rule a)`,
				`0/0 t: accepted at /days: must be at most 7, got 9, now allow (rule a)`,
				`0/0 t: accepted at /x: unknown field; the fields here are city, days, now allow (rule a)`,
				`0/0 t: definition`,
			}},
		{why: "no JSON then and now", then: spec("t", city), now: spec("t", city), call: call("t", `{"city"`)},
		{why: "no JSON", then: spec("a", city), now: spec("t", city), call: call("t", `{"city":"a","city":"b"}`),
			want: []string{`0/0 t: new_tool`, `0/0 t: malformed_arguments: /city: duplicate member "city" at byte 12: a name may appear once in an object; send the arguments as one JSON object`}},
		{why: "repaired now, allowed then", then: spec("t", lenient), now: spec("t", city, "repair"), call: call("t", `{"days":"9"}`),
			want: []string{`0/0 t: repaired at /days: expected integer, got string "9"; the string holds the integer as text: send the integer itself, without quotes`, `0/0 t: definition`}},
		{why: "repaired now, refused then", then: spec("t", city), now: spec("t", city, "repair"), call: call("t", `{"days":"9"}`),
			want: []string{`0/0 t: repaired at /days: expected integer, got string "9"; the string holds the integer as text: send the integer itself, without quotes`, `0/0 t: definition`}},
		{why: "repaired then and now", then: spec("t", city, "repair"), now: spec("t", city, "repair"), call: call("t", `{"days":"9"}`)},

		{why: "allow, ask", then: spec("t", any1), now: spec("t", any1), call: call("t", `{}`), rules: ask,
			want: []string{`0/0 t: verdict: allow (rule a), now ask (rule q)`}},
		{why: "ask, deny", then: spec("t", any1), now: spec("t", any1), call: call("t", `{}`), ruled: ask, rules: deny,
			want: []string{`0/0 t: verdict: ask (rule q), now deny (rule d)`}},
		{why: "deny, allow", then: spec("t", any1), now: spec("t", any1), call: call("t", `{}`), ruled: deny,
			want: []string{`0/0 t: verdict: deny (rule d), now allow (rule a)`}},
		{why: "approved by a person, who would be asked again", then: spec("t", any1), now: spec("t", any1), call: call("t", `{}`), ruled: ask, approver: approve(true), rules: ask},
		{why: "approved by a person, denied now", then: spec("t", any1), now: spec("t", any1), call: call("t", `{}`), ruled: ask, approver: approve(true), rules: deny,
			want: []string{`0/0 t: verdict: ask (rule q), now deny (rule d)`}},
		{why: "declined by a person, who would be asked again", then: spec("t", any1), now: spec("t", any1), call: call("t", `{}`), ruled: ask, approver: approve(false), rules: ask},
		{why: "the same verdict by another rule", then: spec("t", any1), now: spec("t", any1), call: call("t", `{}`), rules: verdict(callgate.Allow, "b")},
		{why: "denied then and now", then: spec("t", any1), now: spec("t", any1), call: call("t", `{}`), ruled: deny, rules: verdict(callgate.Deny, "b")},
		{why: "refused before the rules were asked", then: spec("t", strict), now: spec("t", strict), call: call("t", `{}`), rules: deny},
		{why: "a policy that fails denies", then: spec("t", any1), now: spec("t", any1), call: call("t", `{}`),
			rules: func(context.Context, callgate.Request) (callgate.Decision, error) {
				return callgate.Decision{Verdict: callgate.Allow}, errors.New("no rules")
			},
			want: []string{`0/0 t: verdict: allow (rule a), now deny (rule policy.error)`}},
		{why: "a policy that panics denies", then: spec("t", any1), now: spec("t", any1), call: call("t", `{}`),
			rules: func(context.Context, callgate.Request) (callgate.Decision, error) { panic("no rules") },
			want:  []string{`0/0 t: verdict: allow (rule a), now deny (rule policy.error)`}},

		{why: "the effect", then: spec("t", any1, "read"), now: spec("t", any1), call: call("t", `{}`),
			want: []string{`0/0 t: effect: read-only, now once`, `0/0 t: definition`}},
		{why: "the words", then: spec("t", any1), now: spec("t", any1, "described"), call: call("t", `{}`),
			want: []string{`0/0 t: definition`}},
	} {
		t.Run(c.why, func(t *testing.T) {
			if c.ruled == nil {
				c.ruled = allow
			}
			if c.rules == nil {
				c.rules = allow
			}
			j := recorded(t, journal.Options{}, catalog(t, c.then), &callgate.Dispatcher{Policy: c.ruled, Approver: c.approver}, turnOf(0, c.call))
			r, err := replay.Check(t.Context(), j.Calls(t.Context(), "s"), catalog(t, c.now), c.rules)
			if err != nil {
				t.Fatal(err)
			}
			if r.Calls != 1 || r.Session != "s" {
				t.Errorf("%d calls of session %q were judged", r.Calls, r.Session)
			}
			got := lines(r)
			for i, l := range got {
				if head, digests, ok := strings.Cut(l, ": definition: "); ok {
					if !regexp.MustCompile(`^[0-9a-f]{12}…, now [0-9a-f]{12}…$`).MatchString(digests) {
						t.Errorf("digests: %s", digests)
					}
					got[i] = head + ": definition"
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
			info := 0
			for _, d := range r.Differences {
				if d.Info {
					info++
				}
				if d.Info != (d.What == replay.Definition) {
					t.Errorf("%v: for information is %v", d, d.Info)
				}
			}
			if r.Same() != (len(c.want) == info) {
				t.Errorf("the same is %v with %d differences, %d of them for information", r.Same(), len(c.want), info)
			}
		})
	}
}

// No call of a turn that was cut off runs, today either.
func TestACutTurnStaysRefused(t *testing.T) {
	cat := catalog(t, spec("t", any1))
	cut := turnOf(0, call("t", `{"a":1}`), call("u", `{}`), call("t", `{"a"`))
	cut.Cut = true
	j := recorded(t, journal.Options{}, cat, &callgate.Dispatcher{Policy: callgate.AllowAll}, cut, turnOf(1, call("t", `{"a"`), call("t", `{}`)))
	r, err := replay.Check(t.Context(), j.Calls(t.Context(), "s"), cat, callgate.AllowAll)
	if err != nil || len(r.Differences) > 0 || r.Calls != 5 {
		t.Errorf("%v, %v", r, err)
	}
}

// The newest run of a call counts, and calls keep their places where others of the
// turn left no row.
func TestTheNewestRunCounts(t *testing.T) {
	record := func(index, run int, code callgate.Code) journal.Record {
		c := call("t", `{}`)
		r := journal.Record{Identity: callgate.Identity{Session: "s", Index: index}, Run: run, Tool: "t", Arguments: c.Arguments, Digest: c.Digest(), Effect: "once",
			Verdict: "allow", Settled: true, State: callgate.Done, Code: code}
		if code == callgate.PermissionDenied {
			r.Verdict, r.State = "deny", callgate.NotStarted
		}
		return r
	}
	var asked []int
	policy := func(_ context.Context, req callgate.Request) (callgate.Decision, error) {
		asked = append(asked, req.Call.Identity.Index)
		return callgate.Decision{Verdict: callgate.Allow}, nil
	}
	records := []journal.Record{record(1, 0, callgate.PermissionDenied), record(1, 1, ""), record(3, 0, callgate.PermissionDenied)}
	r, err := replay.Check(t.Context(), each(records), catalog(t, spec("t", any1)), policy)
	if err != nil {
		t.Fatal(err)
	}
	if got := lines(r); !slices.Equal(got, []string{`0/3 t: verdict: deny, now allow`}) || r.Calls != 2 || !slices.Equal(asked, []int{1, 3}) {
		t.Errorf("%v\nasked about %v", r, asked)
	}
}

func each(records []journal.Record) iter.Seq2[journal.Record, error] {
	return func(yield func(journal.Record, error) bool) {
		for _, r := range records {
			if !yield(r, nil) {
				return
			}
		}
	}
}

// A record that nobody wrote is no ground for a report.
func TestWhatIsNotCredible(t *testing.T) {
	good := func() journal.Record {
		c := call("t", `{}`)
		return journal.Record{Identity: callgate.Identity{Session: "s"}, Tool: "t", Arguments: c.Arguments, Digest: c.Digest(), Verdict: "allow", Effect: "once"}
	}
	cat := catalog(t, spec("t", any1))
	for why, spoil := range map[string]func(*journal.Record){
		"other arguments":      func(r *journal.Record) { r.Arguments = json.RawMessage(`{"a":1}`) },
		"another tool":         func(r *journal.Record) { r.Tool = "u" },
		"a place before all":   func(r *journal.Record) { r.Identity.Index = -1 },
		"a place that is vast": func(r *journal.Record) { r.Identity.Index = 1 << 40 },
	} {
		r := good()
		spoil(&r)
		_, err := replay.Check(t.Context(), each([]journal.Record{good(), r}), cat, callgate.AllowAll)
		if err == nil || !strings.Contains(err.Error(), "call s/0/") || !strings.Contains(err.Error(), "audit verify") {
			t.Errorf("%s: %v", why, err)
		}
	}
	broken := errors.New("the disk is gone")
	_, err := replay.Check(t.Context(), func(yield func(journal.Record, error) bool) { yield(journal.Record{}, broken) }, cat, nil)
	if !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := replay.Check(ctx, each([]journal.Record{good()}), cat, callgate.AllowAll); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %v", err)
	}
}

// What was redacted is checked as it was stored, and said to be so.
func TestRedactedArguments(t *testing.T) {
	now := `{"type":"object","properties":{"key":{"type":"string","pattern":"^sk-"},"n":{"type":"integer"}}}`
	j := recorded(t, journal.Options{Redact: []*regexp.Regexp{regexp.MustCompile(`sk-\w+`)}}, catalog(t, spec("t", any1)), &callgate.Dispatcher{Policy: callgate.AllowAll},
		turnOf(0, call("t", `{"key":"sk-1234"}`), call("t", `{"key":"none"}`)))
	r, err := replay.Check(t.Context(), j.Calls(t.Context(), "s"), catalog(t, spec("t", now)), verdict(callgate.Ask, "q"))
	if err != nil {
		t.Fatal(err)
	}
	text := r.String()
	if strings.Contains(text, "1234") || r.Redacted != 1 || !strings.HasSuffix(text, "2 calls, 2 differences, 1 more for information; the arguments of 1 were redacted\n") {
		t.Errorf("%s", text)
	}
	if n := strings.Count(text, "(the arguments were redacted)\n"); n != 1 || !strings.HasPrefix(text, "0/0 t: invalid_arguments at /key: ") {
		t.Errorf("%d lines say that it was redacted:\n%s", n, text)
	}
}

// A report is fit for a terminal, whatever a model called its tools.
func TestAReportIsPrintable(t *testing.T) {
	j := recorded(t, journal.Options{}, catalog(t, spec("t", any1)), &callgate.Dispatcher{Policy: callgate.AllowAll}, turnOf(0, call("t\x1b[2J\u202e\nx", `{}`)), turnOf(1, call("t", `{}`)))
	r, err := replay.Check(t.Context(), j.Calls(t.Context(), "s"), nil, callgate.AllowAll)
	if err != nil {
		t.Fatal(err)
	}
	r.Differences = append(r.Differences, replay.Difference{Tool: "t\x1b[2J\u202e\nx", What: replay.Output, Pointer: "/\x1b", Then: "\x1b\n\x07", Now: "b", Diff: "-\x1b[2J\n"})
	for _, c := range r.String() {
		if c != '\n' && (c < ' ' || c == '\u202e') {
			t.Fatalf("%q", r.String())
		}
	}
}

// What strict JSON is may change, too; and a record may be open.
func TestOtherRulesOfSyntax(t *testing.T) {
	refused := func(index int, args string, code callgate.Code, violations ...string) journal.Record {
		c := call("t", args)
		r := journal.Record{Identity: callgate.Identity{Session: "s", Index: index}, Tool: "t", Arguments: c.Arguments, Digest: c.Digest(), Verdict: "deny",
			Settled: true, State: callgate.NotStarted, Code: code, Result: callgate.Result{Message: "it was refused"}}
		for _, path := range violations {
			r.Result.Violations = append(r.Result.Violations, schema.Violation{Path: path, Keyword: "type", Message: "expected x"})
		}
		return r
	}
	open := refused(2, `{}`, "")
	open.Settled, open.State, open.Verdict = false, "", "allow"
	records := []journal.Record{refused(0, `{}`, callgate.MalformedArguments), refused(1, `{"a":1,"a":2}`, callgate.InvalidArguments, "/a"), open}
	cat := catalog(t, spec("t", any1, "read"))
	r, err := replay.Check(t.Context(), each(records), cat, verdict(callgate.Allow, "a"))
	if err != nil {
		t.Fatal(err)
	}
	got := lines(r)
	if len(got) != 2 || got[0] != "0/0 t: accepted: it was refused, now allow (rule a)" || !strings.HasPrefix(got[1], "0/1 t: malformed_arguments: /a: duplicate") {
		t.Errorf("%s", r)
	}
	out, err := replay.Rerun(t.Context(), each(records), cat, &callgate.Dispatcher{Policy: callgate.AllowAll})
	if err != nil {
		t.Fatal(err)
	}
	if got := lines(replay.Report{Outputs: &out}); len(got) != 2 || out.Runs != 0 || got[1] != "0/2 t: not run again: what came of it was not recorded" {
		t.Errorf("%q", got)
	}
}
