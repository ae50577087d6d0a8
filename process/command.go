package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/callgate/callgate/internal/warden"
)

// Defaults and limits of a Command.
const (
	DefaultTimeout = 120 * time.Second
	DefaultGrace   = time.Second
	DefaultKeep    = 50_000
	DefaultLimit   = 256 << 20

	// Forever is the Timeout of a process that lives as long as its context, such
	// as a server.
	Forever time.Duration = math.MaxInt64
)

// drain is how long a pipe may stay open when a process that could not be killed holds
// it.
const drain = 250 * time.Millisecond

// A Command is a program to run, with all that it may have of the caller.
type Command struct {
	// Args is the program and its arguments. A name without a slash is looked up
	// in PATH of the environment that the process gets, a relative path with one
	// in Dir. See Shell for a command line.
	Args []string
	// Dir is the absolute path of the working directory; "" means the workspace of
	// Env.
	Dir string
	// Env says what the process gets to see of the caller's environment.
	Env Environment
	// Stdin is what the process can read; nil is an empty input. Start does not
	// wait for a Read that has not returned when the process ended.
	Stdin io.Reader
	// Split keeps standard error apart from standard output. Otherwise both are
	// one stream, in the order in which they were written.
	Split bool
	// Output and Stderr get the output as it comes, each in one goroutine: a spill
	// file, a live view. Stderr is used only with Split. What they do not take in
	// time holds the process up; an error ends the writing and is the
	// Stream's Err, and the process goes on.
	Output, Stderr io.Writer

	// Timeout is the time that the process has; 0 means DefaultTimeout, and a
	// negative one is an error. An earlier deadline of the context goes first.
	Timeout time.Duration
	// Grace is the time between SIGTERM and SIGKILL when the timeout has passed or
	// the context is canceled; 0 means DefaultGrace, a negative one kills at once.
	Grace time.Duration
	// Keep is the most bytes of each stream that the Result holds, the first
	// fifth from its start and the others from its end; 0 means DefaultKeep.
	Keep int
	// Limit is the number of bytes of output after which the process is killed, all
	// streams together; 0 means DefaultLimit.
	Limit int64

	// Sandbox is what the process may touch; the zero one is the cautious choice.
	Sandbox Sandbox
}

// A Reason says why a process ended.
type Reason string

const (
	Exited      Reason = "exited"       // by itself, or killed by someone else
	Timeout     Reason = "timeout"      // its time, or the deadline of its context, had passed
	Canceled    Reason = "canceled"     // its context was canceled
	OutputLimit Reason = "output_limit" // it wrote more than Command.Limit
	MemoryLimit Reason = "memory_limit" // the kernel killed it for Limits.Memory of its Sandbox
	// Lost says that the helper that watched over the process was killed. What
	// could be found of the process was killed then.
	Lost Reason = "lost"
)

// A Result is how a process ended. It is complete whatever the Reason: what had
// been written until then is there.
type Result struct {
	Reason Reason
	// ExitCode is the exit code; 128 and the signal's number if a signal ended the
	// process.
	ExitCode int
	// Signal is the name of the signal that ended the process, such as SIGKILL,
	// or "".
	Signal string
	// Output is standard output, with standard error unless Command.Split is set.
	Output, Stderr Stream
	// Duration is the time from the start until nothing was left running.
	Duration time.Duration
	// Background counts the processes that still ran when the command had ended,
	// and were ended with it.
	Background int
	// Survivors counts the processes that could not be killed: 0 unless the kernel
	// holds one.
	Survivors int
	// Withheld counts the variables of the caller's environment that the process did
	// not get.
	Withheld int
	// Level is the level of the sandbox that it ran at, never Auto.
	Level Level
	// Refused are hosts that it was kept from, without repetitions, the first 32.
	Refused []Refused
	// ProcessLimit says that it wanted more processes than it may have. Only a pids
	// cgroup tells.
	ProcessLimit bool
	// Made are protected places of the workspace that did not exist when the process
	// started, and did when it had ended, relative to the workspace. A place that does
	// not exist cannot be protected: whoever watches should look at them.
	Made []string
}

// A Process is a process that was started, with all that it started itself.
type Process struct {
	done   chan struct{}
	result Result
}

// Run starts the command and waits until it, and all that it started, has ended.
// An error says that it was not started; a process that fails is a Result.
func Run(ctx context.Context, cmd Command) (Result, error) {
	p, err := Start(ctx, cmd)
	if err != nil {
		return Result{}, err
	}
	return p.Wait(), nil
}

// Start starts the command. It ends with ctx. On Linux it needs Main; see there.
// It is safe for concurrent use.
func Start(ctx context.Context, cmd Command) (*Process, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("process: not started: %w", context.Cause(ctx))
	}
	if err := cmd.complete(); err != nil {
		return nil, fmt.Errorf("process: %w", err)
	}
	if cmd.Sandbox.Level == Auto {
		return startAuto(ctx, cmd)
	}
	return startAt(ctx, cmd)
}

// startAt starts a complete command, of which the level is chosen.
func startAt(ctx context.Context, cmd Command) (*Process, error) {
	cmd.Env.free = cmd.Sandbox.Level == None
	plan, temp, err := cmd.confine(tempName())
	if err != nil {
		return nil, wrap(err)
	}
	env, withheld, err := cmd.Env.Build(cmd.Dir, temp)
	if err != nil {
		return nil, fmt.Errorf("process: %w", err)
	}
	s, err := newStreams(&cmd)
	if err != nil {
		return nil, fmt.Errorf("process: %w", err)
	}
	begin := time.Now()
	c, err := launch(spec{Args: cmd.Args, Env: env, Dir: cmd.Dir, Temp: temp, Plan: plan, Sandbox: &cmd.Sandbox}, s.theirs)
	s.closeTheirs()
	if err != nil {
		s.closeOurs()
		return nil, startError(&cmd, withheld, err)
	}
	p := &Process{done: make(chan struct{})}
	p.result.Withheld, p.result.Level = withheld, cmd.Sandbox.Level
	go p.watch(ctx, &cmd, c, s, begin)
	return p, nil
}

// Wait returns when the process, and all that it started, has ended. It may be
// called any number of times.
func (p *Process) Wait() Result {
	<-p.done
	return p.result
}

func (c *Command) complete() error {
	if len(c.Args) == 0 || c.Args[0] == "" {
		return errors.New("no program given")
	}
	for _, a := range c.Args {
		if strings.IndexByte(a, 0) >= 0 {
			return errors.New("an argument has a NUL byte, which no system takes")
		}
	}
	if c.Dir == "" {
		c.Dir = c.Env.Workspace
	}
	if !filepath.IsAbs(c.Dir) {
		return fmt.Errorf("the working directory %q is not an absolute path", c.Dir)
	}
	if st, err := os.Stat(c.Dir); err != nil {
		return fmt.Errorf("working directory: %w", err)
	} else if !st.IsDir() {
		return fmt.Errorf("working directory: %s is not a directory", c.Dir)
	}
	if c.Timeout < 0 {
		return fmt.Errorf("the timeout %v is negative", c.Timeout)
	}
	if c.Timeout == 0 {
		c.Timeout = DefaultTimeout
	}
	if c.Grace == 0 {
		c.Grace = DefaultGrace
	}
	c.Grace = max(c.Grace, 0)
	if err := c.Sandbox.complete(); err != nil {
		return err
	}
	if c.Keep <= 0 {
		c.Keep = DefaultKeep
	}
	if c.Limit <= 0 {
		c.Limit = DefaultLimit
	}
	return nil
}

// watch stops the process when it has to and gathers the result.
func (p *Process) watch(ctx context.Context, cmd *Command, c *child, s *streams, begin time.Time) {
	defer close(p.done)
	over := make(chan struct{})
	s.start(cmd, over)
	timer := time.NewTimer(cmd.Timeout)
	defer timer.Stop()
	reason := Exited
	select {
	case <-c.ended:
	case <-ctx.Done():
		reason = Canceled
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			reason = Timeout
		}
		c.stop(cmd.Grace)
	case <-timer.C:
		reason = Timeout
		c.stop(cmd.Grace)
	case <-over:
		reason = OutputLimit
		c.stop(0)
	}
	if reason == Timeout || reason == Canceled {
		select { // what floods us while it should end is not waited for
		case <-over:
			c.stop(0)
		case <-c.ended:
		}
	}
	<-c.ended
	e := c.end
	p.result.Output, p.result.Stderr = s.finish()
	p.result.Duration = time.Since(begin)
	p.result.ExitCode, p.result.Signal = e.Code, e.Signal
	p.result.Background, p.result.Survivors = e.Background, e.Survivors
	p.result.Refused, p.result.ProcessLimit, p.result.Made = e.Refused, e.OutOfProcesses, e.Made
	if e.OutOfMemory && (reason == Exited && e.Code != 0 || e.Lost) {
		p.result.Reason = MemoryLimit
		return
	}
	switch {
	case e.Lost && reason == Exited:
		reason = Lost
	case !e.Stopped && !e.Lost && reason != OutputLimit:
		reason = Exited // before it was told to
	}
	select {
	case <-over: // at its end perhaps, and there is output that nobody has
		if reason == Exited || reason == Lost {
			reason = OutputLimit
		}
	default:
	}
	p.result.Reason = reason
}

// startError says what was not started, and that its environment is not the
// caller's: the most frequent cause.
func startError(cmd *Command, withheld int, err error) error {
	if se, ok := errors.AsType[*SandboxError](err); ok {
		if se.Fix == "" && slices.Contains([]string{"namespaces", "mount namespace", "Landlock"}, se.Stage) {
			se.Fix = fix(se.Level, se.Err)
		}
		return wrap(err)
	}
	if errors.Is(err, ErrNoMain) {
		return wrap(err)
	}
	if withheld > 0 {
		return fmt.Errorf("process: start %q: %w (%s)", cmd.Args[0], err, WithheldLine(withheld))
	}
	return fmt.Errorf("process: start %q: %w", cmd.Args[0], err)
}

// wrap names the package in an error that does not yet.
func wrap(err error) error {
	if errors.Is(err, ErrNoMain) {
		return err
	}
	return fmt.Errorf("process: %w", err)
}

// ErrNoMain says that the program does not call Main.
var ErrNoMain = errors.New(`process: this program cannot watch over processes that it starts: ` +
	`add "process.Main()" (package github.com/callgate/callgate/process) as the first line of func main, and of TestMain in tests`)

// A spec is what the platform's launch needs to know.
type spec struct {
	Args []string
	Env  []string
	Dir  string
	Temp string // made before the process starts, removed after its end

	Plan    *warden.Plan // nil at the level none
	Sandbox *Sandbox     // what it was made of
}

// An end is how a child ended, and what its sandbox saw.
type end struct {
	warden.End
	Refused []Refused
	Made    []string
}
