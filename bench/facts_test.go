package bench

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// What each peer does, as these versions did it when they were asked. A row that
// fails after an upgrade is news, not a fault: change it, and what cites it.
func TestFacts(t *testing.T) {
	const (
		lost = "runs `rm -rf /`"
		kept = "runs `ls`"
		no   = "refused"
		err  = "refused, error to the program"

		turns = "sees no turns"
	)
	want := []struct {
		about string // the start of the question
		peers string
		says  []string
	}{
		{"three violations", "callgate, go-sdk, go-sdk/handler, mcp-go, mcp-go/validating, fantasy, fantasy/agent", []string{"3", "1", "1", "1", "3", "1", "1"}},
		{"`command` twice", "", []string{no, lost, lost, lost, lost, lost, lost}},
		{"`COMMAND` after `command`, schema open", "", []string{no, kept, kept, lost, lost, lost, lost}},
		{"`COMMAND` after `command`, `additional", "", []string{no, no, no, lost, no, lost, lost}},
		{"9007199254740993", "", []string{"exact", "arrives as 9007199254740992", "arrives as 9007199254740992", "exact", "exact", "exact", "exact"}},
		{"`null`", "", []string{no, "runs ``", "runs ``", "runs ``", "runs ``", "runs ``", no}},
		{"arguments cut off", "", []string{no, err, no, err, err, no, "runs `ls` with 6"}},
		{"whole arguments", "", []string{no, turns, turns, turns, turns, turns, "not run, no result"}},
		{"a schema that does not", "", []string{"tool refused", "tool refused", "tool refused", "runs unchecked", "runs unchecked", "takes no schema", "takes no schema"}},
		{"a tool that does not", "", []string{"refused, names the tool that is there", err, err, err, err, err, "refused, names the tool that is there"}},
		{"a panic", "", []string{"a failed result", "the process ends", "the process ends", "the process ends", "an error to the program", "the process ends", "a failed result with the stack in it"}},
		{"two calls", "", []string{"of the calls", turns, turns, turns, turns, turns, "of the calls"}},
	}
	names := strings.Split(want[0].peers, ", ")
	got := Facts(t.Context())
	if len(got) != len(want) {
		t.Fatalf("%d facts, %d expected", len(got), len(want))
	}
	for i, f := range got {
		if !strings.HasPrefix(f.Question, want[i].about) {
			t.Fatalf("question %d is %q", i, f.Question)
		}
		for j, a := range f.Answers {
			if a != want[i].says[j] {
				t.Errorf("%s\n%s: %s\nexpected: %s", f.Question, names[j], a, want[i].says[j])
			}
		}
	}
}

// The same for the engines, with the gate's two tiers first.
func TestEngineFacts(t *testing.T) {
	const (
		no = "refused"
		ok = "valid"
	)
	want := []struct {
		about string
		says  []string // callgate, callgate/explain, santhosh, google
	}{
		{"three violations", []string{"3", "3", "3", "1"}},
		{"a name twice", []string{no, no, ok, ok}},
		{"9007199254740993 against", []string{no, no, no, ok}},
		{"a byte that is not UTF-8", []string{no, no, ok, ok}},
		{"`1e400`", []string{ok, ok, ok, no}},
	}
	for i, f := range EngineFacts() {
		if !strings.HasPrefix(f.Question, want[i].about) {
			t.Fatalf("question %d is %q", i, f.Question)
		}
		for j, a := range f.Answers {
			if a != want[i].says[j] {
				t.Errorf("%s\nanswer %d: %s\nexpected: %s", f.Question, j, a, want[i].says[j])
			}
		}
	}
}

// FACTS.md is what the README and the design cite.
func TestFactsFile(t *testing.T) {
	file, err := os.ReadFile("FACTS.md")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	WriteCorrectness(t.Context(), &b)
	if string(file) != b.String() {
		t.Errorf("FACTS.md is old: go run ./cmd/ratios -facts > FACTS.md\n%s", b.String())
	}
}

// The README names the versions that go.mod has.
func TestVersions(t *testing.T) {
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	direct, _, _ := strings.Cut(string(mod), "// indirect")
	n := 0
	for _, m := range regexp.MustCompile(`(?m)^\t(\S+) (v\S+)$`).FindAllStringSubmatch(direct, -1) {
		if m[1] == "github.com/callgate/callgate" {
			continue
		}
		n++
		if row := "| " + m[1] + " | " + m[2] + " |"; !strings.Contains(string(readme), row) {
			t.Errorf("README.md has no row %q", row)
		}
	}
	if n != 5 {
		t.Errorf("go.mod has %d peers", n)
	}
}
