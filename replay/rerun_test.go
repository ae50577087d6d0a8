package replay_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/journal"
	"github.com/callgate/callgate/process"
	"github.com/callgate/callgate/replay"
)

// A world is a tool whose answer changes between the record and today.
type world struct {
	spec      callgate.Spec
	then, now func() (callgate.Result, error)
}

func (w world) catalog(t *testing.T, answer func() (callgate.Result, error), runs *int) *callgate.Catalog {
	var r callgate.Registry
	if err := r.Register(callgate.Tool{Spec: w.spec, Handler: func(context.Context, callgate.Call) (callgate.Result, error) {
		*runs++
		return answer()
	}}); err != nil {
		t.Fatal(err)
	}
	return r.Catalog()
}

func says(text string) func() (callgate.Result, error) {
	return func() (callgate.Result, error) { return callgate.Text(text), nil }
}

func gives(structured, text string) func() (callgate.Result, error) {
	return func() (callgate.Result, error) {
		r := callgate.Text(text)
		r.Structured = json.RawMessage(structured)
		return r, nil
	}
}

func fails(code callgate.Code, text string) func() (callgate.Result, error) {
	return func() (callgate.Result, error) { return callgate.Result{}, callgate.Errorf(code, "%s", text) }
}

// bash answers as the tool bash does.
func bash(ms int, bytes string, notes ...string) func() (callgate.Result, error) {
	return func() (callgate.Result, error) {
		r := callgate.Text("a")
		r.Notes = append([]string{fmt.Sprintf("exit code: 3, %dms", ms)}, notes...)
		r.Structured = json.RawMessage(fmt.Sprintf(`{"exit_code":3,"duration_ms":%d.25,"bytes":%s}`, ms, bytes))
		return r, nil
	}
}

// kept is a result whose whole output is somewhere.
func kept(where string) func() (callgate.Result, error) {
	return func() (callgate.Result, error) {
		r := callgate.Text("a")
		r.Truncated, r.Artifact = true, "artifact:"+where
		r.Structured = json.RawMessage(`{"artifact":"artifact:` + where + `"}`)
		return r, nil
	}
}

func image(data string) func() (callgate.Result, error) {
	return func() (callgate.Result, error) {
		return callgate.Result{Content: []callgate.Content{{Type: "image", MIMEType: "image/png", Data: []byte(data)}}}, nil
	}
}

// What is compared of two runs of one call.
func TestRerun(t *testing.T) {
	open := spec("t", any1, "read")
	open.Annotations.OpenWorldHint = new(true)
	short := spec("t", any1, "read")
	short.OutputLimit = 1000
	numbers := func(last string) string {
		var b strings.Builder
		for i := range 500 {
			fmt.Fprintf(&b, "line %d\n", i)
		}
		return b.String() + last
	}
	for _, c := range []struct {
		why       string
		then, now func() (callgate.Result, error)
		spec      callgate.Spec // the usual one if it has no name
		want      []string
	}{
		{why: "the same", then: says("a\nb"), now: says("a\nb")},
		{why: "the fence is drawn by lot", spec: open, then: says("a"), now: says("a")},
		{why: "a line", then: says("a\nb\nc"), now: says("a\nx\nc"),
			want: []string{"0/0 t: output", "    --- then", "    +++ now", "    @@ -1,3 +1,3 @@", "     a", "    -b", "    +x", "     c"}},
		{why: "a failure", then: says("a"), now: fails(callgate.Unavailable, "no answer"),
			want: []string{"0/0 t: code: success, now unavailable: no answer"}},
		{why: "no failure any more", then: fails(callgate.ExecutionError, "it broke"), now: says("a"),
			want: []string{"0/0 t: code: execution_error: it broke, now success"}},
		{why: "another message", then: fails(callgate.ExecutionError, "it broke"), now: fails(callgate.ExecutionError, "it burst"),
			want: []string{"0/0 t: output", "    --- then", "    +++ now", "    @@ -1 +1 @@", "    -Error [execution_error]: it broke", "    +Error [execution_error]: it burst"}},
		{why: "places of structured content, whose text says the same",
			then: gives(`{"a":1,"b":[1,{"c":"x"}],"d/e":9007199254740993,"g":true}`, `{"a":1,"b":[1,{"c":"x"}],"d/e":9007199254740993,"g":true}`),
			now:  gives(`{"b":[1,{"c":"y"},null],"a":1,"d/e":9007199254740992,"f~":{}}`, `{"b":[1,{"c":"y"},null],"a":1,"d/e":9007199254740992,"f~":{}}`),
			want: []string{
				`0/0 t: output at /b/1/c: "x", now "y"`,
				`0/0 t: output at /b/2: nothing, now null`,
				`0/0 t: output at /d~1e: 9007199254740993, now 9007199254740992`,
				`0/0 t: output at /f~0: nothing, now {}`,
				`0/0 t: output at /g: true, now nothing`,
			}},
		{why: "the order of members", then: gives(`{"a":"<","b":2}`, `{"a":"<","b":2}`), now: gives(`{"b":2,"a":"<"}`, `{"b":2,"a":"<"}`)},
		{why: "an object, a list and a number", then: gives(`{"a":{},"b":[],"c":1}`, ``), now: gives(`{"a":[],"b":1,"c":{}}`, ``),
			want: []string{`0/0 t: output at /a: {}, now []`, `0/0 t: output at /b: [], now 1`, `0/0 t: output at /c: 1, now {}`}},
		{why: "a text of its own", then: gives(`{"a":1}`, "one"), now: gives(`{"a":1}`, "two"),
			want: []string{"0/0 t: output", "    --- then", "    +++ now", "    @@ -1 +1 @@", "    -one", "    +two"}},
		{why: "structured content at all", then: gives(`{"a":1}`, "one"), now: says("one"), want: []string{`0/0 t: output: {"a":1}, now nothing`}},
		{why: "an image", then: image("a"), now: image("a")},
		{why: "another image of the same size", then: image("a"), now: image("b"),
			want: []string{"0/0 t: output", "    --- then", "    +++ now", "    @@ -1 +1 @@",
				"    -[image image/png  , 1 bytes, sha256 ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb]",
				"    +[image image/png  , 1 bytes, sha256 3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d]"}},
		{why: "how long a program took", then: fails(callgate.ExecutionError, "exit code: 3, 61ms\nno\n("+process.WithheldLine(1)+")"),
			now: fails(callgate.ExecutionError, "exit code: 3, 1.5s\nno\n("+process.WithheldLine(12)+")")},
		{why: "a program that a signal ended", then: fails(callgate.ExecutionError, "exit code: 137 (SIGKILL), 1m5s"), now: fails(callgate.ExecutionError, "exit code: 137 (SIGKILL), 1h2m5s")},
		{why: "another exit code", then: fails(callgate.ExecutionError, "exit code: 3, 61ms"), now: fails(callgate.ExecutionError, "exit code: 4, 61ms"),
			want: []string{"0/0 t: output", "    --- then", "    +++ now", "    @@ -1 +1 @@", "    -Error [execution_error]: exit code: 3", "    +Error [execution_error]: exit code: 4"}},
		{why: "a failure of a program", then: says("a"), now: fails(callgate.ExecutionError, "exit code: 1, 41ms\nno"),
			want: []string{"0/0 t: code: success, now execution_error: exit code: 1; no"}},
		{why: "when it was stopped", then: fails(callgate.Timeout, "stopped after 2.0s"), now: fails(callgate.Timeout, "stopped after 2.1s")},
		{why: "when its output was too much", then: fails(callgate.ExecutionError, "killed after 20ms and 9 bytes of output, which is the limit"),
			now:  fails(callgate.ExecutionError, "killed after 30ms and 8 bytes of output, which is the limit"),
			want: []string{"0/0 t: output", "    --- then", "    +++ now", "    @@ -1 +1 @@", "    -Error [execution_error]: killed after … and 9 bytes of output, which is the limit", "    +Error [execution_error]: killed after … and 8 bytes of output, which is the limit"}},
		{why: "what looks like it elsewhere", then: fails(callgate.ExecutionError, "it says exit code: 3, 61ms"), now: fails(callgate.ExecutionError, "it says exit code: 3, 59ms"),
			want: []string{"0/0 t: output", "    --- then", "    +++ now", "    @@ -1 +1 @@", "    -Error [execution_error]: it says exit code: 3, 61ms", "    +Error [execution_error]: it says exit code: 3, 59ms"}},
		{why: "what a program printed", then: says("exit code: 3, 61ms"), now: says("exit code: 3, 59ms"),
			want: []string{"0/0 t: output", "    --- then", "    +++ now", "    @@ -1 +1 @@", "    -exit code: 3, 61ms", "    +exit code: 3, 59ms"}},
		{why: "a command line", then: bash(61, "1", "Note: "+process.WithheldLine(3)+"."), now: bash(59, "1")},
		{why: "a command line that says something else", then: bash(61, "1"), now: bash(61, "2"), want: []string{"0/0 t: output at /bytes: 1, now 2"}},
		{why: "a duration that is no program's", then: gives(`{"duration_ms":61}`, ""), now: gives(`{"duration_ms":59}`, ""), want: []string{"0/0 t: output at /duration_ms: 61, now 59"}},
		{why: "where the output is kept", then: kept("1"), now: kept("2")},
		{why: "what was cut is compared by what was shown", spec: short, then: says(numbers("end")), now: says(numbers("end"))},
	} {
		t.Run(c.why, func(t *testing.T) {
			w := world{c.spec, c.then, c.now}
			if w.spec.Name == "" {
				w.spec = spec("t", any1, "read")
			}
			var then, now, kept int
			gate := &callgate.Dispatcher{Policy: callgate.AllowAll, Spill: func(context.Context, callgate.Identity, string) (string, error) {
				kept++
				return fmt.Sprintf("artifact:%026d", kept), nil
			}}
			j := recorded(t, journal.Options{}, w.catalog(t, w.then, &then), gate, turnOf(0, call("t", `{}`)))
			gate.Executor, gate.Observers = j.Executor(nil), []callgate.Observer{j.Observer()} // even then it writes nothing
			head, err := j.Verify(t.Context(), journal.Head{})
			if err != nil {
				t.Fatal(err)
			}
			out, err := replay.Rerun(t.Context(), j.Calls(t.Context(), "s"), w.catalog(t, w.now, &now), gate)
			if err != nil {
				t.Fatal(err)
			}
			if after, err := j.Verify(t.Context(), journal.Head{}); err != nil || after.Head != head.Head {
				t.Errorf("the journal was written: %v, %v", after, err)
			}
			if then != 1 || now != 1 || out.Runs != 1 || len(out.Skipped) > 0 {
				t.Errorf("%d runs then, %d now, of them %d told; %v", then, now, out.Runs, out.Skipped)
			}
			if got := lines(replay.Report{Outputs: &out}); !slices.Equal(got, c.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

// A diff is bounded in lines, in bytes and in places.
func TestOutputsAreBounded(t *testing.T) {
	many, wide, places := "", "", map[string]int{}
	for i := range 200 {
		many += fmt.Sprintf("%d\n", i)
		places[fmt.Sprintf("p%03d", i)] = i
	}
	wide = strings.Repeat(strings.Repeat("w", 3000)+"\n", 10)
	all, _ := json.Marshal(places)
	for _, c := range []struct {
		now          func() (callgate.Result, error)
		last         string
		differences  int
		lines, bytes int
	}{
		{says(many), "… and 145 more lines", 1, 61, 8200},
		{says(wide), "… and 9 more lines", 1, 7, 8300},
		{gives(string(all), string(all)), "0/0 t: output: and at 180 more places", 21, 0, 0},
	} {
		then := says("a")
		if c.lines == 0 {
			then = gives(`{}`, `{}`)
		}
		w := world{spec("t", any1, "read"), then, c.now}
		runs := 0
		j := recorded(t, journal.Options{}, w.catalog(t, w.then, &runs), &callgate.Dispatcher{Policy: callgate.AllowAll}, turnOf(0, call("t", `{}`)))
		out, err := replay.Rerun(t.Context(), j.Calls(t.Context(), "s"), w.catalog(t, w.now, &runs), &callgate.Dispatcher{Policy: callgate.AllowAll})
		if err != nil {
			t.Fatal(err)
		}
		d := out.Differences[0].Diff
		if got := lines(replay.Report{Outputs: &out}); !strings.HasSuffix(got[len(got)-1], c.last) || len(out.Differences) != c.differences || strings.Count(d, "\n") > c.lines || len(d) > c.bytes {
			t.Errorf("%d differences, %d lines, %d bytes; it ends in\n%s\nwant\n%s", len(out.Differences), strings.Count(d, "\n"), len(d), got[len(got)-1], c.last)
		}
	}
}

// Which calls run again, and why others do not.
func TestWhichCallsRunAgain(t *testing.T) {
	runs := 0
	tools := func(specs ...callgate.Spec) *callgate.Catalog {
		var r callgate.Registry
		for _, s := range specs {
			if err := r.Register(callgate.Tool{Spec: s, Handler: func(_ context.Context, c callgate.Call) (callgate.Result, error) {
				runs++
				if strings.Contains(string(c.Arguments), "unknown") {
					return callgate.Result{}, callgate.Errorf(callgate.OutcomeUnknown, "the line went dead")
				}
				return callgate.Text("key sk-1"), nil
			}}); err != nil {
				t.Fatal(err)
			}
		}
		return r.Catalog()
	}
	policy := func(_ context.Context, req callgate.Request) (callgate.Decision, error) {
		if strings.Contains(string(req.Call.Arguments), "not today") && req.Spec.Annotations.ReadOnlyHint {
			return callgate.Decision{Verdict: callgate.Ask, Rule: "r"}, nil
		}
		if strings.Contains(string(req.Call.Arguments), "own session") && req.Call.Identity.Session == "" {
			return callgate.Decision{Rule: "mine", Reason: "whose is it?"}, nil
		}
		return callgate.Decision{Verdict: callgate.Allow}, nil
	}
	then := tools(spec("write", any1), spec("read", any1, "read"), spec("stricter", any1, "read"), spec("turned", any1))
	j := recorded(t, journal.Options{Redact: []*regexp.Regexp{regexp.MustCompile(`hide`)}}, then, &callgate.Dispatcher{Policy: policy}, turnOf(4,
		call("write", `{}`), call("read", `{}`), call("stricter", `{}`), call("turned", `{}`), call("turned", `{"not today":1}`),
		call("turned", `{"unknown":1}`), call("read", `{"hide":1}`), call("read", `{"own session":1}`), call("nope", `{}`), call("read", `{`),
	))
	now := tools(spec("write", any1), spec("read", any1, "read"), spec("stricter", `{"type":"object","required":["a"]}`, "read"), spec("turned", any1, "read"))
	runs = 0
	out, err := replay.Rerun(t.Context(), j.Calls(t.Context(), "s"), now, &callgate.Dispatcher{Policy: policy, Approver: func(context.Context, callgate.Request, callgate.Decision) (callgate.Answer, error) {
		t.Error("somebody was asked")
		return callgate.Answer{Approved: true}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"4/4 turned: not run again: it is not allowed: ask (rule r)",
		"4/5 turned: not run again: it was not done then: outcome_unknown",
		"4/6 read: not run again: it was redacted before it was recorded",
		"4/7 read: not run again: permission_denied: whose is it? (rule mine)",
	}
	if got := lines(replay.Report{Outputs: &out}); !slices.Equal(got, want) || out.Runs != 2 || runs != 2 {
		t.Errorf("%d runs, %d told\n%s\nwant\n%s", runs, out.Runs, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := replay.Rerun(ctx, j.Calls(t.Context(), "s"), now, &callgate.Dispatcher{Policy: policy}); err == nil {
		t.Error("it was stopped, and reported")
	}
}
