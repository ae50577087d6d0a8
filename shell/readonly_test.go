package shell_test

import (
	"testing"

	"github.com/callgate/callgate/shell"
)

func TestReadOnly(t *testing.T) {
	for _, r := range table(t) {
		f, err := shell.Parse(r.line)
		if err != nil {
			continue
		}
		untrusted, why := shell.ReadOnly(f, shell.Untrusted)
		trusted, whyNot := shell.ReadOnly(f, shell.Trusted)
		if untrusted != (r.verdict == "ro") {
			t.Errorf("lines.txt:%d: %s: read-only %t (%v), want %s", r.at, r.line, untrusted, why, r.verdict)
		} else if trusted != (r.verdict != "no") {
			t.Errorf("lines.txt:%d: %s: read-only %t in a trusted folder (%v), want %s", r.at, r.line, trusted, whyNot, r.verdict)
		}
		if !untrusted && why.Text == "" {
			t.Errorf("lines.txt:%d: %s: refused without a word", r.at, r.line)
		}
	}
}
