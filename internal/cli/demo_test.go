package cli

import (
	"testing"

	"github.com/callgate/callgate/provider/scripted"
)

// Where no sandbox starts, the story ends before the first program and still ends well.
func TestDemoWithoutShell(t *testing.T) {
	all, err := scripted.Parse(demoScript)
	if err != nil {
		t.Fatal(err)
	}
	steps := withoutShell(all)
	if len(steps) < 5 || len(steps) >= len(all) {
		t.Fatalf("%d steps of %d", len(steps), len(all))
	}
	for _, s := range steps {
		for _, c := range s.Calls {
			if c.Name == "bash" {
				t.Errorf("line %d calls bash", s.Line)
			}
		}
	}
	if last := steps[len(steps)-1]; len(last.Calls) > 0 || last.Say == "" {
		t.Errorf("it does not end: %+v", last)
	}
}
