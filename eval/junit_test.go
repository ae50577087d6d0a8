package eval

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"strings"
	"testing"
)

// report has one task of each kind.
func report() *Report {
	r := &Report{Suite: "evals", Skipped: []string{"left-out"}, Tasks: []TaskReport{
		{Name: "good", File: "evals/good.yaml", Needed: 1, K: 2, Results: []Trial{
			{Number: 1, Status: Failed, DurationMS: 1000, Failure: &Failure{Kind: "timeout", Where: "evals/good.yaml:1", Message: "slow"}},
			{Number: 2, Status: Passed, DurationMS: 500},
		}},
		{Name: "bad", File: "evals/bad.yaml", Needed: 2, K: 2, Results: []Trial{
			{Number: 1, Status: Passed, DurationMS: 250},
			{Number: 2, Status: Failed, DurationMS: 250, Failure: &Failure{Kind: "exit_zero", Where: "evals/bad.yaml:7", Message: "exit code 1: \x1b[31m<red> & ]]>\x1b[0m\x00\x08\ufffe\nend"}},
		}},
		{Name: "easy", File: "evals/easy.yaml", Needed: 1, K: 1, Error: "passes without any work"},
		{Name: "broken", File: "evals/broken.yaml", Needed: 1, K: 1, Results: []Trial{{Number: 1, Status: Errors, Error: "no gate"}}},
	}}
	r.finish()
	return r
}

// A CI system finds the tasks, how each ended, and why.
func TestJUnit(t *testing.T) {
	var b bytes.Buffer
	if err := report().WriteJUnit(&b); err != nil {
		t.Fatal(err)
	}
	type problem struct {
		Type    string `xml:"type,attr"`
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
	var got struct {
		XMLName  xml.Name `xml:"testsuites"`
		Tests    int      `xml:"tests,attr"`
		Failures int      `xml:"failures,attr"`
		Errors   int      `xml:"errors,attr"`
		Suites   []struct {
			Name    string  `xml:"name,attr"`
			Tests   int     `xml:"tests,attr"`
			Skipped int     `xml:"skipped,attr"`
			Time    float64 `xml:"time,attr"`
			Cases   []struct {
				Name    string    `xml:"name,attr"`
				Class   string    `xml:"classname,attr"`
				Time    float64   `xml:"time,attr"`
				Failure *problem  `xml:"failure"`
				Error   *problem  `xml:"error"`
				Skipped *struct{} `xml:"skipped"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	dec := xml.NewDecoder(bytes.NewReader(b.Bytes()))
	dec.Strict = true
	if err := dec.Decode(&got); err != nil {
		t.Fatalf("%v in\n%s", err, b.String())
	}
	if got.Tests != 5 || got.Failures != 1 || got.Errors != 2 || len(got.Suites) != 1 {
		t.Fatalf("got %+v", got)
	}
	s := got.Suites[0]
	if s.Name != "callgate eval evals" || s.Tests != 5 || s.Skipped != 1 || s.Time != 2 || len(s.Cases) != 5 {
		t.Fatalf("got %+v", s)
	}
	for i, want := range []struct {
		name, kind string
		time       float64
		typ, text  string
	}{
		{"good", "passed", 1.5, "", ""},
		{"bad", "failure", 0.5, "exit_zero", "trial 2: evals/bad.yaml:7: exit_zero: exit code 1: <red> & ]]>\nend"},
		{"easy", "error", 0, "task", "passes without any work"},
		{"broken", "error", 0, "trial", "trial 1: no gate"},
		{"left-out", "skipped", 0, "", ""},
	} {
		c := s.Cases[i]
		kind, p := "passed", &problem{}
		for k, is := range map[string]*problem{"failure": c.Failure, "error": c.Error} {
			if is != nil {
				kind, p = k, is
			}
		}
		if c.Skipped != nil {
			kind = "skipped"
		}
		if c.Name != want.name || c.Class == "" || kind != want.kind || c.Time != want.time || p.Type != want.typ || p.Text != want.text {
			t.Errorf("case %d: %s %s of type %q after %v s: %q\nwant %+v", i, c.Name, kind, p.Type, c.Time, p.Text, want)
		}
		if (p.Message == "") != (want.text == "") {
			t.Errorf("%s: the message is %q", c.Name, p.Message)
		}
	}
	if got := s.Cases[1].Failure.Message; got != "1 of 2 trials passed; 2 must" {
		t.Errorf("the message is %q", got)
	}
	if strings.ContainsAny(b.String(), "\x00\x1b\x08\ufffe\ufffd") {
		t.Errorf("characters that XML does not allow, or what stands for them:\n%q", b.String())
	}
}

// The JSON form has every figure under the name that docs/eval.md gives it.
func TestReportJSON(t *testing.T) {
	b, err := json.Marshal(report())
	if err != nil {
		t.Fatal(err)
	}
	var got any
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]any{
		"status": "error", "suite": "evals", "skipped/0": "left-out",
		"totals/tasks": 4.0, "totals/passed": 1.0, "totals/failed": 1.0, "totals/errors": 2.0, "totals/trials": 5.0, "totals/passes": 2.0,
		"totals/passAt1": 0.25, "totals/passAtK": 0.5, "totals/p50Ms": 250.0, "totals/p95Ms": 1000.0,
		"tasks/0/name": "good", "tasks/0/status": "passed", "tasks/0/needed": 1.0, "tasks/0/k": 2.0, "tasks/0/trials": 2.0, "tasks/0/passAt1": 0.5,
		"tasks/0/results/0/trial": 1.0, "tasks/0/results/0/failure/kind": "timeout", "tasks/0/results/0/failure/where": "evals/good.yaml:1",
		"tasks/0/results/1/status": "passed", "tasks/0/usage/input": 0.0, "tasks/0/calls": 0.0, "tasks/0/refusals": map[string]any{},
		"tasks/2/error": "passes without any work", "tasks/3/results/0/error": "no gate",
	} {
		at := got
		for _, name := range strings.Split(path, "/") {
			switch v := at.(type) {
			case map[string]any:
				at = v[name]
			case []any:
				at = v[name[0]-'0']
			}
		}
		if m, ok := at.(map[string]any); ok && len(m) == 0 {
			_, same := want.(map[string]any)
			if !same {
				t.Errorf("%s is %v, want %v", path, at, want)
			}
		} else if at != want {
			t.Errorf("%s is %v, want %v", path, at, want)
		}
	}
}
