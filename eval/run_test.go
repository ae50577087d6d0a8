package eval

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/llm"
	"github.com/callgate/callgate/process"
	"github.com/callgate/callgate/provider/scripted"
)

// example loads the suite of the examples.
func example(t *testing.T) *Suite {
	s, err := Load(filepath.Join("..", "examples", "eval"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The tasks of the examples are solved by their scripts …
func TestExamplesPass(t *testing.T) {
	r := try(t, Runner{Parallel: 2}, example(t))
	if r.Status != Passed || r.Totals.Tasks < 4 || r.Totals.PassAt1 != 1 {
		t.Errorf("%s, %d tasks, pass@1 %v", r.Status, r.Totals.Tasks, r.Totals.PassAt1)
		for _, task := range r.Tasks {
			for _, tr := range task.Results {
				t.Log(task.Name, tr.Number, tr.Why())
			}
		}
	}
}

// … and none of them by a model that does nothing.
func TestExamplesFailWithoutWork(t *testing.T) {
	for _, answer := range []string{"", "Done.", "I cannot do that."} {
		r := try(t, Runner{Model: says(answer), Trials: 2, Parallel: 2}, example(t))
		if r.Totals.Passes != 0 || r.Totals.Failed != r.Totals.Tasks || r.Status != Failed || r.Totals.PassAtK != 0 {
			t.Errorf("a model that says %q: %d of %d trials passed, %d of %d tasks failed", answer, r.Totals.Passes, r.Totals.Trials, r.Totals.Failed, r.Totals.Tasks)
		}
	}
}

// A task that is solved before anything was done is an error, and no model is asked.
func TestPassesWithoutWork(t *testing.T) {
	start := "workspace: {files: {a: x}}\nprompt: do it\n"
	for _, test := range []struct {
		task string
		want Status
	}{
		{start + "verify: [{file_equals: {path: a, text: x}}]\n", Errors},
		{start + "verify: [{regex_match: {pattern: .*}}]\n", Errors},
		{start + "verify: [{exit_zero: {command: [test, -f, a]}}]\n", Errors},
		{start + "verify: [{file_absent: {path: b}}]\nexpect: {refusals: {max: 0}}\n", Errors},
		{start + "verify: [{file_absent: {path: b}}]\nexpect: {refusals: {min: 1}}\n", Failed}, // work is asked for
		{start + "verify: [{file_absent: {path: b}}, {file_absent: {path: a}}]\n", Failed},
	} {
		var asked atomic.Int64
		r := try(t, Runner{Model: func(*Task) (llm.Model, error) {
			asked.Add(1)
			return says("no")(nil)
		}}, suite(t, map[string]string{"f.yaml": test.task}))
		got := r.Tasks[0]
		if got.Status != test.want || r.Status != test.want {
			t.Errorf("%s: %s (%s), want %s", test.task, got.Status, got.Error, test.want)
		}
		if test.want == Errors && (asked.Load() != 0 || !strings.Contains(got.Error, "passes without any work") || !strings.Contains(got.Error, "f.yaml:") || got.PassAt1 != 0) {
			t.Errorf("%s: a model was asked %d times; %s", test.task, asked.Load(), got.Error)
		}
	}
}

// nth is a model for a task whose first passes trials write the file, and whose
// other ones do not.
func nth(passes int) func(*Task) (llm.Model, error) {
	var n atomic.Int64
	return func(*Task) (llm.Model, error) {
		if n.Add(1) > int64(passes) {
			return says("no")(nil)
		}
		return &scripted.Model{Steps: []scripted.Step{
			{Calls: []scripted.Call{{Name: "write_file", Arguments: `{"path":"a","content":"x"}`}}, Usage: llm.Usage{Input: 5, Output: 1, CacheRead: 100}},
			{Say: "done", Usage: llm.Usage{Input: 7, Output: 2}},
		}}, nil
	}
}

const writes = "prompt: write\nallow: [write_file]\nverify:\n- file_equals: {path: a, text: x}\n"

// A task passes if as many trials pass as it needs; the figures are those of its
// trials.
func TestFigures(t *testing.T) {
	for _, test := range []struct {
		extra          string
		trials, passes int
		want           Status
		needed, k      int
		at1, atK       float64
	}{
		{"", 0, 1, Passed, 1, 1, 1, 1},
		{"", 0, 0, Failed, 1, 1, 0, 0},
		{"trials: 4\n", 0, 4, Passed, 4, 4, 1, 1},
		{"trials: 4\n", 0, 3, Failed, 4, 4, 0.75, 1},
		{"trials: 4\npass: 3\nk: 2\n", 0, 3, Passed, 3, 2, 0.75, 1},
		{"trials: 4\npass: 3\nk: 2\n", 0, 2, Failed, 3, 2, 0.5, 5.0 / 6},
		{"trials: 4\npass: 3\nk: 3\n", 2, 2, Passed, 2, 2, 1, 1},
		{"trials: 4\npass: 3\nk: 3\n", 10, 3, Passed, 3, 3, 0.3, 1 - 35.0/120},
	} {
		r := try(t, Runner{Model: nth(test.passes), Trials: test.trials}, suite(t, map[string]string{"f.yaml": writes + test.extra}))
		got := r.Tasks[0]
		if got.Status != test.want || got.Passes != test.passes || got.Needed != test.needed || got.K != test.k || got.PassAt1 != test.at1 || fmt.Sprintf("%.9f", got.PassAtK) != fmt.Sprintf("%.9f", test.atK) {
			t.Errorf("%q, %d passes: %s, %d passes, needs %d, k %d, pass@1 %v, pass@k %v; want %+v", test.extra, test.passes, got.Status, got.Passes, got.Needed, got.K, got.PassAt1, got.PassAtK, test)
		}
		// 2 turns and a call of a trial that passes, 1 turn of one that does not.
		n, p := int64(got.Trials), int64(test.passes)
		if want := (llm.Usage{Input: 12*p + 10*(n-p), Output: 3*p + 2*(n-p), CacheRead: 100 * p}); got.Usage != want || got.Calls != int(p) {
			t.Errorf("%q: %+v tokens and %d calls, want %+v and %d", test.extra, got.Usage, got.Calls, want, p)
		}
		if got.P50MS <= 0 || got.P95MS < got.P50MS || len(got.Results) != got.Trials {
			t.Errorf("p50 %v, p95 %v, %d results of %d trials", got.P50MS, got.P95MS, len(got.Results), got.Trials)
		}
		for i, tr := range got.Results {
			if tr.Number != i+1 || (tr.Status == Passed) != (tr.Why() == "") {
				t.Errorf("result %d: %+v", i, tr)
			}
		}
	}
}

// Totals are sums, and means over tasks; one that was not tried counts as nothing.
func TestTotals(t *testing.T) {
	s := suite(t, map[string]string{
		"a.yaml": writes + "trials: 3\n", "b.yaml": writes, "c.yaml": "prompt: x\nverify: [{file_absent: {path: a}}]\n", "d.yaml": writes,
	})
	s.Select(regexp.MustCompile("^[abc]$"))
	r := try(t, Runner{Model: nth(2)}, s)
	got := r.Totals
	if got.Tasks != 3 || got.Passed != 0 || got.Failed != 2 || got.Errors != 1 || got.Trials != 4 || got.Passes != 2 || fmt.Sprintf("%.6f %.6f", got.PassAt1, got.PassAtK) != "0.222222 0.333333" {
		t.Errorf("got %+v", got)
	}
	if !reflect.DeepEqual(r.Skipped, []string{"d"}) || r.Status != Errors {
		t.Errorf("%s, skipped %v", r.Status, r.Skipped)
	}
}

// Refusals are the calls that did not start; those that ran and failed are counted
// apart.
func TestRefusals(t *testing.T) {
	script := "turn\ncall bash {\"command\":\"true\"}\ncall read_file {\"pth\":1}\ncall read_file {\"path\":\"gone\"}\ncall nope {}\ncall glob {\"pattern\":\"*\"}\nturn\nsay done\n"
	r := try(t, Runner{}, suite(t, map[string]string{"s": script, "f.yaml": "prompt: x\nmodel: {script: s}\nverify: [{regex_match: {pattern: done}}]\n"}))
	got := r.Tasks[0]
	if want := (map[callgate.Code]int{"permission_denied": 1, "invalid_arguments": 1, "unknown_tool": 1}); !reflect.DeepEqual(got.Refusals, want) {
		t.Errorf("refusals %v, want %v", got.Refusals, want)
	}
	if want := (map[callgate.Code]int{"execution_error": 1}); !reflect.DeepEqual(got.Failures, want) {
		t.Errorf("failures %v, want %v", got.Failures, want)
	}
	if got.Status != Passed || got.Calls != 5 {
		t.Errorf("%s, %d calls: %s", got.Status, got.Calls, got.Results[0].Why())
	}
}

// What ends otherwise than with an answer has failed, and says how.
func TestFailedRuns(t *testing.T) {
	loop := "turn\ncall glob {\"pattern\":\"*\"}\n"
	for _, test := range []struct{ script, extra, kind, want string }{
		{"turn\nexpect something else\nsay done\n", "", "model", `expected "something else"`},
		{"turn\nfail overloaded\n", "", "model", "overloaded"},
		{"turn\nsay done\nturn\nsay more\n", "", "model", "1 of 2 steps"},
		{loop, "", "model", "the script has only 1 steps"},
		{"turn\nsay done\ncut\n", "", "model", "max_tokens"},
		{loop + loop + loop, "maxTurns: 2\n", "turns", "turn 2"},
		{"turn\ncall bash {\"command\":\"sleep 60\"}\nturn\nsay done\n", "timeout: 300ms\n", "timeout", "not done after 300ms"},
	} {
		r := try(t, Runner{}, suite(t, map[string]string{"s": test.script,
			"f.yaml": "prompt: x\nmodel: {script: s}\nallow: [bash]\nverify: [{regex_match: {pattern: done}}]\n" + test.extra}))
		f := r.Tasks[0].Results[0].Failure
		if r.Status != Failed || f == nil || f.Kind != test.kind || !strings.Contains(f.Message, test.want) || !strings.Contains(f.Where, "f.yaml:") {
			t.Errorf("%q: %s, %v; want %s: %s", test.script, r.Status, f, test.kind, test.want)
		}
	}
	// Without a script there is nobody to ask, which is no fault of a model's.
	r := try(t, Runner{}, suite(t, map[string]string{"f.yaml": writes}))
	if tr := r.Tasks[0].Results[0]; r.Status != Errors || !strings.Contains(tr.Error, "names no script") {
		t.Errorf("%s, %+v", r.Status, tr)
	}
	// Nor is a gate that does not open.
	broken := Runner{Dir: t.TempDir(), Model: says("x"), Open: func(context.Context, Place) (*Gate, error) { return nil, errors.New("no gate") }}
	r, err := broken.Run(t.Context(), suite(t, map[string]string{"f.yaml": writes}))
	if err != nil || r.Tasks[0].Status != Errors || r.Tasks[0].Results[0].Why() != "no gate" {
		t.Errorf("%v, %+v", err, r)
	}
}

// A trial sees nothing of another one, and cannot change what another one starts
// with, even if it rewrites the suite.
func TestTrialsAreApart(t *testing.T) {
	dir := directory(t, map[string]string{
		"f.yaml": "prompt: x\ntrials: 3\nallow: [bash]\nworkspace: {dir: start}\nmodel: {script: s}\nverify: [{file_equals: {path: seen, file: want}}]\n",
		"want":   "a x\n", "start/a": "x",
		"s": "turn\ncall bash {\"command\":\"s=$(ls; cat a); echo $s > seen; echo more > b; SUITE=$(cat a); rm -rf DIR/start DIR/want\"}\nturn\nsay done\n",
	})
	script, err := os.ReadFile(filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "s"), []byte(strings.ReplaceAll(string(script), "DIR", filepath.ToSlash(dir))), 0o666); err != nil {
		t.Fatal(err)
	}
	s, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, level := range []process.Level{process.Auto, process.None} {
		if r := try(t, Runner{Sandbox: process.Sandbox{Level: level}}, s); r.Status != Passed {
			for _, tr := range r.Tasks[0].Results {
				t.Errorf("%s, trial %d: %s", level, tr.Number, tr.Why())
			}
		}
		// In a sandbox it does not get at the suite, without one it does.
		if _, err := os.Stat(filepath.Join(dir, "start")); (err == nil) != (level == process.Auto) {
			t.Errorf("%s: the suite: %v", level, err)
		}
	}
}

// A program to start with stays one.
func TestExecutable(t *testing.T) {
	dir := directory(t, map[string]string{"f.yaml": writes + "- exit_zero: {command: [./start.sh]}\nworkspace: {dir: d}\n", "d/start.sh": "#!/bin/sh\n"})
	if runtime.GOOS == "windows" {
		t.Skip("no such permission")
	}
	if err := os.Chmod(filepath.Join(dir, "d/start.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	s, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if r := try(t, Runner{Model: nth(1)}, s); r.Status != Passed {
		t.Error(r.Tasks[0].Results[0].Why())
	}
}

// A link that the model made leads a verifier nowhere.
func TestModelLinksOutside(t *testing.T) {
	outside := directory(t, map[string]string{"a": "x"})
	r := try(t, Runner{}, suite(t, map[string]string{
		"s":      fmt.Sprintf("turn\ncall bash {\"command\":\"ln -s %s/a a\"}\nturn\nsay done\n", filepath.ToSlash(outside)),
		"f.yaml": "prompt: x\nallow: [bash]\nmodel: {script: s}\nverify: [{file_equals: {path: a, text: x}}]\n",
	}))
	if f := r.Tasks[0].Results[0].Failure; f == nil || !strings.Contains(f.Message, "outside the workspace") {
		t.Errorf("got %+v", r.Tasks[0].Results[0])
	}
}

// Whatever runs at once, the report is the same but for the times.
func TestParallelIsTheSame(t *testing.T) {
	var running, most atomic.Int64
	report := func(parallel int) string {
		most.Store(0)
		// All that may run at once meet, so that it does not depend on the machine.
		var meet sync.WaitGroup
		meet.Add(parallel)
		var met atomic.Int64
		r := try(t, Runner{Parallel: parallel, Trials: 3, Model: func(task *Task) (llm.Model, error) {
			return model(func(context.Context, llm.Request) (llm.Response, error) {
				now := running.Add(1)
				defer running.Add(-1)
				for {
					m := most.Load()
					if now <= m || most.CompareAndSwap(m, now) {
						break
					}
				}
				if met.Add(1) <= int64(parallel) {
					meet.Done()
					meet.Wait()
				}
				return llm.Response{Message: llm.AssistantText("I am " + task.Name)}, nil
			}), nil
		}}, suite(t, map[string]string{"a.yaml": "prompt: x\nverify: [{regex_match: {pattern: I am a}}]\n", "b.yaml": "prompt: x\nverify: [{regex_match: {pattern: I am a}}]\n"}))
		if most.Load() != int64(parallel) {
			t.Errorf("%d trials ran at once, want %d", most.Load(), parallel)
		}
		r.Suite = ""
		b, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		return regexp.MustCompile(`"(p50|p95|duration)Ms":[0-9.e-]+|[^"]*/[ab]\.yaml`).ReplaceAllString(string(b), "T")
	}
	if one, four := report(1), report(4); one != four {
		t.Errorf("one at a time:\n%s\nfour:\n%s", one, four)
	}
}

// When it is canceled, what runs ends, nothing is left, and the report has what was
// over by then.
func TestCanceled(t *testing.T) {
	for _, test := range []struct{ whole, parallel int }{{0, 2}, {3, 1}, {5, 2}, {6, 2}} {
		ctx, cancel := context.WithCancel(t.Context())
		var begun atomic.Int64
		var told []string
		solve := nth(test.whole)
		r := Runner{Dir: t.TempDir(), Open: open, Parallel: test.parallel, Trials: 4, Model: func(task *Task) (llm.Model, error) {
			if begun.Add(1) <= int64(test.whole) {
				return solve(task)
			}
			return model(func(ctx context.Context, _ llm.Request) (llm.Response, error) {
				cancel()
				<-ctx.Done()
				return llm.Response{}, ctx.Err()
			}), nil
		}, Tried: func(task *Task, tr Trial, made, all int) {
			told = append(told, fmt.Sprintf("%s %d/%d %s", task.Name, made, all, tr.Status))
		}}
		report, err := r.Run(ctx, suite(t, map[string]string{"f.yaml": writes, "g.yaml": writes, "easy.yaml": "prompt: x\nverify: [{file_absent: {path: a}}]\n"}))
		cancel()
		if !errors.Is(err, context.Canceled) || report == nil || report.Status != Incomplete {
			t.Fatalf("%+v: %v, %+v", test, err, report)
		}
		// How far the parallel ones came is not known, but what is reported was done.
		if report.Totals.Trials != len(told) || report.Totals.Passes != len(told) || len(told) > test.whole || test.parallel == 1 && len(told) != test.whole {
			t.Errorf("%+v: %d trials, %d passes; told %q", test, report.Totals.Trials, report.Totals.Passes, told)
		}
		for i, line := range told {
			if !strings.Contains(line, fmt.Sprintf(" %d/8 passed", i+1)) {
				t.Errorf("%+v: told %q", test, told)
			}
		}
		for _, task := range report.Tasks {
			want := Incomplete
			if task.Name == "easy" {
				want = Errors
			} else if task.Trials == 4 {
				want = Passed
			}
			for _, tr := range task.Results {
				if tr.Status != Passed {
					t.Errorf("%+v: trial %d: %s", test, tr.Number, tr.Why())
				}
			}
			if task.Status != want || !slices.IsSortedFunc(task.Results, func(a, b Trial) int { return a.Number - b.Number }) {
				t.Errorf("%+v: %s is %s, want %s: %s", test, task.Name, task.Status, want, task.Error)
			}
		}
		if n := int(begun.Load()); n > test.whole+test.parallel {
			t.Errorf("%+v: %d trials began", test, n)
		}
		if entries, err := os.ReadDir(r.Dir); err != nil || len(entries) > 0 {
			t.Errorf("left behind: %v, %v", entries, err)
		}
		var b strings.Builder
		if err := report.WriteJUnit(&b); err != nil || !strings.Contains(b.String(), `type="interrupted"`) {
			t.Errorf("%+v: %v\n%s", test, err, b.String())
		}
	}
}

// The untouched workspaces are none of a trial's, and an interrupt is no fault of a
// task.
func TestCanceledBeforeTheTrials(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := Runner{Dir: t.TempDir(), Open: open, Model: says("x")}
	report, err := r.Run(ctx, suite(t, map[string]string{"f.yaml": writes}))
	if !errors.Is(err, context.Canceled) || report.Status != Incomplete || report.Tasks[0].Error != "" || report.Totals.Trials != 0 {
		t.Errorf("%v, %+v", err, report)
	}
}

// Trials that were not made take no room, and a number beyond all measure is an
// error, which is that of task files.
func TestTrialsAreBounded(t *testing.T) {
	s := suite(t, map[string]string{"f.yaml": writes})
	for _, n := range []int{-1, MaxTrials + 1, 1000000000} {
		r := Runner{Dir: t.TempDir(), Open: open, Model: says("x"), Trials: n}
		if report, err := r.Run(t.Context(), s); err == nil || report != nil || !strings.Contains(err.Error(), "10000") {
			t.Errorf("%d trials: %v", n, err)
		}
	}
	for n, want := range map[int]bool{MaxTrials: true, MaxTrials + 1: false} {
		_, err := Load(directory(t, map[string]string{"f.yaml": writes + fmt.Sprintf("trials: %d\n", n)}))
		if (err == nil) != want {
			t.Errorf("a file with %d trials: %v", n, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	r := Runner{Dir: t.TempDir(), Open: open, Model: says("x"), Trials: MaxTrials, Tried: func(*Task, Trial, int, int) { cancel() }}
	report, _ := r.Run(ctx, s)
	if n := cap(report.Tasks[0].Results); n > 8 || report.Totals.Trials != 1 {
		t.Errorf("1 trial of %d, room for %d", report.Totals.Trials, n)
	}
}

// What is kept is where the report says.
func TestKeep(t *testing.T) {
	r := try(t, Runner{Keep: true, Model: nth(1)}, suite(t, map[string]string{"f.yaml": writes}))
	if data, err := os.ReadFile(filepath.Join(r.Tasks[0].Results[0].Workspace, "a")); string(data) != "x" {
		t.Errorf("%q, %v", data, err)
	}
}
