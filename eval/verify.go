package eval

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/callgate/callgate/process"
	"github.com/callgate/callgate/workspace"
)

// A scene is what verifiers look at.
type scene struct {
	ws     *workspace.Workspace
	env    process.Environment
	box    process.Sandbox
	answer string // the model's last words
}

// A Failure is why a trial did not pass.
type Failure struct {
	Kind    string `json:"kind"`    // the verifier that failed, or expect, model, timeout, turns, budget, workspace
	Where   string `json:"where"`   // file:line of what was not met
	Message string `json:"message"` // what is not so, and where
}

// Error returns where: kind: message.
func (f *Failure) Error() string { return f.Where + ": " + f.Kind + ": " + f.Message }

// verify returns the first verifier that fails, nil if there is none. The error is
// that of ctx.
func (t *Task) verify(ctx context.Context, s scene) (*Failure, error) {
	for i, v := range t.Verify {
		kind, reason := v.check(ctx, s)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if reason != nil {
			return &Failure{Kind: kind, Where: t.Where(fmt.Sprintf("/verify/%d", i)), Message: reason.Error()}, nil
		}
	}
	return nil, nil
}

// check returns what is not as the verifier wants it.
func (v Verifier) check(ctx context.Context, s scene) (kind string, reason error) {
	switch {
	case v.FileEquals != nil:
		return "file_equals", v.FileEquals.check(s)
	case v.FileAbsent != nil:
		return "file_absent", v.FileAbsent.check(s)
	case v.RegexMatch != nil:
		return "regex_match", v.RegexMatch.check(s)
	case v.ExitZero != nil:
		return "exit_zero", v.ExitZero.check(ctx, s)
	}
	return "verify", errors.New("it checks nothing") // fail closed; Load refuses it
}

func (v *FileEquals) check(s scene) error {
	// More than is wanted is not read; what is wanted is at most maxFile.
	got, err := s.ws.ReadFile(v.Path, maxFile+1)
	if err != nil {
		return err
	}
	if bytes.Equal(got, v.want) {
		return nil
	}
	return fmt.Errorf("%s %s", v.Path, difference(got, v.want))
}

// difference says where got begins to differ from want.
func difference(got, want []byte) string {
	g, w := bytes.SplitAfter(got, []byte("\n")), bytes.SplitAfter(want, []byte("\n"))
	for i := range max(len(g), len(w)) {
		switch {
		case i >= len(g) || i >= len(w) || !bytes.Equal(g[i], w[i]):
			return fmt.Sprintf("differs in line %d: got %s, want %s", i+1, line(g, i), line(w, i))
		}
	}
	return "is equal"
}

// line quotes a line for a message.
func line(lines [][]byte, i int) string {
	if i >= len(lines) || len(lines[i]) == 0 {
		return "the end of the file"
	}
	return fmt.Sprintf("%q", clip(string(lines[i]), 100))
}

// clip returns at most n bytes of s, whole characters, and a mark if there are more.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

func (v *FileAbsent) check(s scene) error {
	there := fmt.Errorf("%s is there", v.Path)
	// The name is looked for in its directory, where a link that leads nowhere
	// stands as well as a file. Where case does not matter the list may spell it
	// otherwise, and Stat knows.
	entries, err := s.ws.ReadDir(path.Dir(v.Path))
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, workspace.ErrNotDir):
		return nil
	case err != nil:
		return err
	}
	for _, e := range entries {
		if e.Name() == path.Base(v.Path) {
			return there
		}
	}
	if _, err := s.ws.Stat(v.Path); !errors.Is(err, fs.ErrNotExist) {
		return there
	}
	return nil
}

func (v *RegexMatch) check(s scene) error {
	if v.Path == "" {
		if v.re.MatchString(s.answer) {
			return nil
		}
		return fmt.Errorf("the final answer does not match %s: %q", v.re, clip(s.answer, 200))
	}
	data, err := s.ws.ReadFile(v.Path, maxFile)
	if err != nil {
		return err
	}
	if !v.re.Match(data) {
		return fmt.Errorf("%s does not match %s; it begins with %q", v.Path, v.re, clip(string(data), 200))
	}
	return nil
}

func (v *ExitZero) check(ctx context.Context, s scene) error {
	// A program starts in a path, not in an open directory: another one may have
	// been put in its place.
	opened, err := s.ws.Stat(".")
	if err != nil {
		return err
	}
	if named, err := os.Lstat(s.ws.Dir()); err != nil || !os.SameFile(opened, named) {
		return errors.New("the directory of the workspace was moved or replaced, so nothing is run in it")
	}
	name := strings.Join(v.Command, " ")
	r, err := process.Run(ctx, process.Command{Args: v.Command, Dir: s.ws.Dir(), Env: s.env, Sandbox: s.box, Timeout: v.timeout})
	switch {
	case err != nil:
		// A trial has no configuration that could let a variable through.
		return errors.New(withheld.ReplaceAllString(err.Error(), ""))
	case r.Reason == process.Timeout:
		return fmt.Errorf("%s took more than %v%s", name, v.timeout, ending(r.Output))
	case r.Reason != process.Exited:
		return fmt.Errorf("%s was stopped (%s)%s", name, r.Reason, ending(r.Output))
	case r.ExitCode != 0:
		return fmt.Errorf("%s: exit code %d%s", name, r.ExitCode, ending(r.Output))
	}
	return nil
}

// withheld is what [process.WithheldLine] says at the end of an error.
var withheld = regexp.MustCompile(strings.Replace(regexp.QuoteMeta(" ("+process.WithheldLine(2)+")"), "2 variables", "[0-9]+ variables?", 1) + `\z`)

// ending returns the last lines of an output, for the end of a message.
func ending(out process.Stream) string {
	text := strings.TrimSpace(strings.ToValidUTF8(out.String(), "\ufffd"))
	if text == "" {
		return ", no output"
	}
	if n := len(text) - 500; n > 0 {
		for n < len(text) && !utf8.RuneStart(text[n]) {
			n++
		}
		text = "…" + text[n:]
	}
	return ": " + text
}
