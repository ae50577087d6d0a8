package replay

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/callgate/callgate"
)

// What the tools that run programs (package builtin) say of the machine instead of the
// call: how long a program took, and how many variables of the caller's environment
// it did not get. Each is recognized in its exact form and at its place only, the
// first line of a failure's message or a note of its own. What a program printed is
// compared as it is.
var (
	exited   = regexp.MustCompile(`\A(exit code: [0-9]+(?: \([^()\n]*\))?), ` + took + `(\n|\z)`)
	stopped  = regexp.MustCompile(`\A(stopped after )` + took + `\z`)
	killed   = regexp.MustCompile(`\A(killed after )` + took + `( and [0-9]+ bytes of output, )`)
	withheld = regexp.MustCompile(`(?:\n\(|\ANote: )[0-9]+ variables? of the caller's environment withheld; env\.pass lets one through by name[.)]\z`)
)

// took is a duration as they spell it: 61ms, 1.5s, 2m3s.
const took = `(?:[0-9]+ms|[0-9]+\.[0-9]s|(?:[0-9]+h)?[0-9]+m[0-9]+s)`

// said returns the message of a failure, or a note, without what it says of the
// machine.
func said(s string) string {
	s = withheld.ReplaceAllString(s, "")
	s = exited.ReplaceAllString(s, "$1$2")
	s = stopped.ReplaceAllString(s, "$1…")
	return killed.ReplaceAllString(s, "$1…$2")
}

// bare takes from the structured contents of two results what was drawn by lot, and
// what was measured if both results are a program's: if a note says how it ended.
func bare(then, now callgate.Result, a, b any) {
	x, _ := a.(map[string]any)
	y, _ := b.(map[string]any)
	for r, content := range map[*callgate.Result]map[string]any{&then: x, &now: y} {
		if ref, _ := content["artifact"].(string); ref != "" && ref == r.Artifact {
			content["artifact"] = anyArtifact
		}
	}
	const measured = "duration_ms"
	_, p := x[measured].(json.Number)
	_, q := y[measured].(json.Number)
	if p && q && program(then) && program(now) {
		delete(x, measured)
		delete(y, measured)
	}
}

// anyArtifact stands for the reference to a kept output.
const anyArtifact = "artifact:…"

func program(r callgate.Result) bool {
	if stopped.MatchString(r.Message) || killed.MatchString(r.Message) {
		return true
	}
	for _, n := range r.Notes {
		if exited.MatchString(n) && !strings.Contains(n, "\n") {
			return true
		}
	}
	return false
}
