//go:build linux

package cli_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// H171: a key in the environment of the caller is not to be read in the sandbox, neither
// from the process above nor from any other. Without one it is, and the first line on
// standard error says so.
func TestEnvironOfTheCaller(t *testing.T) {
	for _, line := range []string{
		`tr '\0' '\n' </proc/$PPID/environ; echo ran`,
		`cat /proc/*/environ 2>/dev/null | tr '\0' '\n' | grep -a k1-canary; echo ran`,
	} {
		for _, level := range []string{"auto", "isolated", "confined", "none"} {
			cmd := exec.Command("callgate", "exec", "--workspace", t.TempDir(), "--sandbox", level, "--", "sh", "-c", line)
			cmd.Env = append(os.Environ(), "ANTHROPIC_API_KEY=k1-canary")
			var errs strings.Builder
			cmd.Stderr = &errs
			out, err := cmd.Output()
			if err != nil || !strings.Contains(string(out), "ran\n") {
				t.Fatalf("%s: %v: %s%s", level, err, out, errs.String())
			}
			open := level == "none"
			if open && strings.Contains(line, "PPID") {
				continue // above it is the helper, whose environment is empty
			}
			if strings.Contains(string(out), "k1-canary") != open {
				t.Errorf("%s, %s: the key is readable: %v", level, line, !open)
			}
			if strings.Contains(errs.String(), "read your files and the environment of your processes") != open {
				t.Errorf("%s: %s", level, errs.String())
			}
		}
	}
}
