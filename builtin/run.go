package builtin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/artifact"
	"github.com/callgate/callgate/process"
)

// Programs is what the tools that start programs have in common: bash, and the
// commands of a configuration.
type Programs struct {
	// Env says what programs see of the environment; its Workspace is where they
	// start.
	Env process.Environment
	// Sandbox is what they may touch. The zero one is the cautious choice: the
	// highest level that there is, and where there is none they do not start.
	Sandbox process.Sandbox
	// Artifacts keeps outputs that are too long to show. Nil: they are lost.
	Artifacts *artifact.Store
	// Tail, if set, is given the output of each call as it comes, for a person who
	// watches; that of a background job also after the call that started it. It must
	// not block.
	Tail func(id callgate.Identity, output []byte)
	// Jobs has the background jobs that bash starts. Nil: bash starts none.
	Jobs *Jobs
}

// The time between SIGTERM and SIGKILL. It is shorter than the dispatcher's grace,
// so that a call that is stopped still returns what it has.
const termGrace = 500e6 // ns

// outputLimit is how much a program may print before it is killed, in bytes: a
// program without end must not fill the store of outputs.
const outputLimit = 64 << 20

// Bounds of what is shown of an output that is too long.
const (
	shownHead = 10_000 // bytes of its start
	shownTail = 40_000 // and of its end
)

// A spill keeps an output whole once it is longer than what is shown. It is for
// one goroutine.
type spill struct {
	store *artifact.Store
	live  func([]byte)
	held  []byte
	w     *artifact.Writer
	err   error
}

func (s *spill) Write(p []byte) (int, error) {
	if s.live != nil {
		s.live(p)
	}
	switch {
	case s.store == nil || s.err != nil:
	case s.w == nil && len(s.held)+len(p) <= shownHead+shownTail:
		s.held = append(s.held, p...)
	case s.w == nil:
		if s.w, s.err = s.store.Create(0); s.err == nil {
			_, s.err = s.w.Write(append(s.held, p...))
		}
		s.held = nil
	default:
		_, s.err = s.w.Write(p)
	}
	return len(p), nil // what cannot be kept does not stop the program
}

// keep ends the writing and returns the reference of what was kept, "" if
// everything is shown.
func (s *spill) keep() (ref string, err error) {
	if s.w == nil {
		return "", s.err
	}
	defer s.w.Close()
	if s.err != nil {
		return "", s.err
	}
	a, err := s.w.Commit()
	if err != nil {
		return "", err
	}
	return a.Ref(), nil
}

// shown is the text of an output for the model: all of it, or its start and end
// with a line between them, or for what is no text a description.
func shown(s process.Stream) (text string, cut bool) {
	whole := append(bytes.Clone(s.Head), s.Tail...)
	if noText(whole) {
		return fmt.Sprintf("(binary output: %d bytes, %s)", s.Total, http.DetectContentType(whole)), false
	}
	if s.Omitted() == 0 {
		return strings.TrimSuffix(string(whole), "\n"), false
	}
	head, tail := ends(s.Head, s.Tail)
	left := s.Total - int64(len(head)+len(tail))
	mark := fmt.Sprintf("[... %d bytes left out ...]\n", left)
	if len(head) > 0 && head[len(head)-1] != '\n' {
		mark = "\n" + mark
	}
	return string(head) + mark + strings.TrimSuffix(string(tail), "\n"), true
}

// ends returns a start without the line, or at least the character, that is cut at
// its end, and an end without the one that is cut at its start.
func ends(head, tail []byte) (_, _ []byte) {
	for len(head) > 0 && !utf8.Valid(head[max(0, len(head)-utf8.UTFMax):]) && !utf8.FullRune(head[lastRune(head):]) {
		head = head[:lastRune(head)]
	}
	if i := bytes.LastIndexByte(head, '\n'); i >= len(head)/2 {
		head = head[:i+1]
	}
	for len(tail) > 0 && !utf8.RuneStart(tail[0]) {
		tail = tail[1:]
	}
	if i := bytes.IndexByte(tail, '\n'); i >= 0 && i < len(tail)/2 {
		tail = tail[i+1:]
	}
	return head, tail
}

// lastRune returns where the last character of b begins, whole or not.
func lastRune(b []byte) int {
	i := len(b) - 1
	for i > 0 && len(b)-i < utf8.UTFMax && !utf8.RuneStart(b[i]) {
		i--
	}
	return i
}

// noText reports whether an output is no text: at its start more than three
// characters in ten are NUL or not UTF-8.
func noText(b []byte) bool {
	odd, n := 0, 0
	for i := 0; i < len(b) && n < 4096; n++ {
		r, w := utf8.DecodeRune(b[i:])
		if r == 0 || r == utf8.RuneError && w == 1 {
			odd++
		}
		i += w
	}
	return odd*10 > n*3
}

// bound sets what holds for every program, in a call or in the background.
func (p *Programs) bound(cmd *process.Command) { cmd.Grace, cmd.Limit = termGrace, outputLimit }

// live returns who watches the output of the call in whose handler ctx is, or nil.
func (p *Programs) live(ctx context.Context) func([]byte) {
	x, ok := callgate.ExecutionFrom(ctx)
	if !ok || p.Tail == nil {
		return nil
	}
	id := x.Call.Identity
	return func(b []byte) { p.Tail(id, b) }
}

// run starts a program for a call and waits for it. The error is that of a
// program that could not be started.
func (p *Programs) run(ctx context.Context, cmd process.Command) (res process.Result, kept *spill, err error) {
	kept = &spill{store: p.Artifacts, live: p.live(ctx)}
	p.bound(&cmd)
	cmd.Output, cmd.Keep = kept, shownHead+shownTail
	res, err = process.Run(ctx, cmd)
	if err != nil {
		if ctx.Err() != nil {
			return res, kept, callgate.NotSent(ctx.Err())
		}
		return res, kept, callgate.NotSent(callgate.Errorf(callgate.ExecutionError, "the program was not started: %w", err))
	}
	return res, kept, nil
}

// ended returns the failure of a program that did not end by itself, nil for one
// that did.
func ended(res process.Result, box process.Sandbox) error {
	switch res.Reason {
	case process.Exited:
		return nil
	case process.Timeout:
		return &callgate.Error{Code: callgate.Timeout, Message: fmt.Sprintf("stopped after %s", spell(res.Duration))}
	case process.Canceled:
		return &callgate.Error{Code: callgate.Canceled, Message: fmt.Sprintf("stopped after %s, since the turn was canceled", spell(res.Duration))}
	case process.MemoryLimit:
		return callgate.Errorf(callgate.ExecutionError, "killed after %s, since it wanted more memory than the limit of %d bytes; let it use less, or ask the user to raise sandbox.limits.memory", spell(res.Duration), box.Limits.Memory)
	case process.OutputLimit:
		return callgate.Errorf(callgate.ExecutionError, "killed after %s and %d bytes of output, which is the limit; let it print less", spell(res.Duration), res.Output.Total+res.Stderr.Total)
	}
	return callgate.Errorf(callgate.OutcomeUnknown, "what watched over the program was killed after %s; what could be found of it was killed too", spell(res.Duration))
}

var errNoWorkspace = errors.New("builtin: Programs has no Env.Workspace")
