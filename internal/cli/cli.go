// Package cli is the command callgate, one file a subcommand. It wires the
// packages together and holds no mechanism of its own.
//
// Standard output carries the answer and nothing else; diagnostics go to standard
// error. Colours appear on a terminal only, and not with NO_COLOR.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/internal/closest"
)

// Exit codes. A command that a signal ended has 128 and the signal's number, as
// in a shell: 130 for an interrupt.
const (
	exitDone    = 0
	exitError   = 1 // it could not be done, or a call failed
	exitUsage   = 2 // the command line or the input cannot be read
	exitDenied  = 3 // a policy or a person refused
	exitBudget  = 4 // a budget is used up
	exitSignal  = 128
	exitStopped = exitSignal + int(syscall.SIGINT)
	exitPipe    = exitSignal + int(syscall.SIGPIPE)
)

// Main runs the command with the arguments, streams and signals of the process
// and returns its exit code. The first interrupt cancels what runs, so that calls
// in flight are answered and nothing is left behind; a second one kills.
func Main() int {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	signals := make(chan os.Signal, 1)
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) { // as nohup arranged, or a shell for what runs behind it
			signal.Notify(signals, s)
		}
	}
	// A reader that went away is an error of Write like any other, not a sudden
	// death: a demo has a workspace to remove. (Ignoring the signal would do the
	// same here, but children would inherit that.)
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	go func() {
		s := <-signals
		signal.Stop(signals)
		cancel(signaled{s})
	}()
	return Run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
}

// signaled is the cause of a context that a signal ended.
type signaled struct{ os.Signal }

func (s signaled) Error() string { return "stopped by signal: " + s.String() }

// Run runs the command with the given arguments and returns its exit code. When
// ctx ends, calls that run are canceled and answered before Run returns. It is
// safe for concurrent use.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	out := &answer{w: stdout}
	root := rootCommand()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(out)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if out.err != nil { // whatever else failed, it failed because of this
		if f, ok := errors.AsType[*failure](err); !ok || !errors.Is(f, out.err) {
			err = &failure{exitError, out.err}
		}
	}
	code := exitOf(ctx, err)
	if err != nil && code != exitPipe && code < exitSignal && !errors.As(err, new(silent)) {
		fmt.Fprintln(stderr, "callgate: "+err.Error())
	}
	return code
}

// An answer is standard output. It remembers a failed write, of a full disk or
// for a reader that went away: that is how the command ended, whatever came of it.
type answer struct {
	w   io.Writer
	err error
}

func (a *answer) Write(p []byte) (int, error) {
	if a.err != nil {
		return 0, a.err
	}
	n, err := a.w.Write(p)
	if err != nil {
		a.err = fmt.Errorf("the output cannot be written: %w", err)
		return n, a.err
	}
	return n, nil
}

// A failure is an error with the exit code that it means.
type failure struct {
	code int
	err  error
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// silent is an exit code without a message: standard output has said it all.
type silent int

func (s silent) Error() string { return fmt.Sprintf("exit code %d", int(s)) }

// usagef returns an error in what the user wrote.
func usagef(format string, args ...any) error {
	return &failure{exitUsage, fmt.Errorf(format, args...)}
}

// exitOf returns the exit code for how a command ended. An error that no
// command gave is cobra's, about the command line.
func exitOf(ctx context.Context, err error) int {
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) {
		return exitPipe
	}
	if err == nil {
		return exitDone
	}
	if f, ok := errors.AsType[*failure](err); ok {
		return f.code
	}
	if s, ok := errors.AsType[silent](err); ok {
		return int(s)
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		if s, ok := errors.AsType[signaled](context.Cause(ctx)); ok {
			if n, ok := s.Signal.(syscall.Signal); ok {
				return exitSignal + int(n)
			}
		}
		return exitStopped
	}
	return exitUsage
}

// exitFor returns the exit code of a single call that ended with code.
func exitFor(code callgate.Code) int {
	switch code {
	case "":
		return exitDone
	case callgate.PermissionDenied, callgate.ApprovalRejected:
		return exitDenied
	case callgate.BudgetExceeded:
		return exitBudget
	}
	return exitError
}

// does makes a command's function: its errors are failures, of exit code 1
// unless they say otherwise.
func does(run func(cmd *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		err := run(cmd, args)
		if err == nil || errors.As(err, new(*failure)) || errors.As(err, new(silent)) || errors.Is(err, context.Canceled) {
			return err
		}
		return &failure{exitError, err}
	}
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "callgate",
		Short: "The tool boundary of an AI agent",
		Long: `callgate stands between a language model and this machine. The model proposes
calls; the gate looks them up, checks their arguments, decides whether they may
run, orders them, runs them, and answers each one exactly once.

Exit codes: 0 done, 1 error, 2 wrong usage or unreadable input, 3 denied,
4 budget used up, 130 interrupted, 143 terminated.`,
		Example: `  callgate demo
  callgate dispatch --workspace . < turn.json
  callgate exec -- make test
  callgate tools list
  callgate tools call read_file '{"path":"README.md"}'`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.CompletionOptions.DisableDefaultCmd = true
	group(root, demoCommand(), runCommand(), dispatchCommand(), execCommand(), doctorCommand(), evalCommand(), toolsCommand(), sessionsCommand(), showCommand(), auditCommand(), replayCommand(), configCommand(), completionCommand())
	root.InitDefaultHelpCmd()
	for _, c := range root.Commands() {
		if c.Name() == "help" {
			c.Example = "  callgate help dispatch"
		}
	}
	return root
}

// group gives parent its subcommands. Alone it shows its help; a word that is no
// subcommand is an error that names the nearest ones.
func group(parent *cobra.Command, subs ...*cobra.Command) {
	parent.AddCommand(subs...)
	parent.Args = cobra.ArbitraryArgs
	parent.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		var names []string
		for _, s := range cmd.Commands() {
			if s.IsAvailableCommand() {
				names = append(names, s.Name())
			}
		}
		msg := fmt.Sprintf("%s has no command %q", cmd.CommandPath(), args[0])
		if near := closest.Names(args[0], names, 3); len(near) > 0 {
			return usagef("%s; did you mean %s?", msg, strings.Join(near, " or "))
		}
		return usagef("%s; it has %s", msg, strings.Join(names, ", "))
	}
}
