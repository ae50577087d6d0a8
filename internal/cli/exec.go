package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/callgate/callgate/config"
	"github.com/callgate/callgate/process"
	"github.com/callgate/callgate/workspace"
)

// Exit codes of callgate exec that are not the command's, as timeout(1) and
// docker run have them.
const (
	exitTimeout  = 124
	exitOwn      = 125 // exec itself failed
	exitCannot   = 126 // the program cannot be run
	exitNotFound = 127
)

// execFlags are the flags of callgate exec.
type execFlags struct {
	sandboxFlags
	workspace string
	timeout   time.Duration
	keep      int64
	limit     int64

	readOnly                          bool
	writable, readable, hide, protect []string
	memory, fileSize                  string
	processes                         int
}

func execCommand() *cobra.Command {
	var f execFlags
	cmd := &cobra.Command{
		Use:   "exec [flags] -- COMMAND [ARG...]",
		Short: "Run one command in the sandbox, and nothing else of the gate",
		Long: `Run a command in the sandbox that tools run in: no rules, no record, no
configuration. It starts in the workspace, which it may change; what else it may
touch, the flags say. Its standard output and error are passed on as they come, its
standard input is empty, and it has no terminal.

The exit code is the command's, 128 and the signal's number if a signal ended it.
124 says that --timeout had passed, 125 that exec itself failed, the sandbox or the
command line for example, with the reason on standard error. 126 and 127 are also
said of a program that cannot be run or is not there. Paths are absolute or relative
to the workspace; those that do not exist are left out. Sizes are bytes, or have a
unit: 512MiB, 2GiB. callgate doctor says what the sandbox is here.`,
		Example: `  callgate exec -- make test
  callgate exec --ro --timeout 30s -- ./analyse.sh
  callgate exec --allow-host proxy.golang.org -- go mod download
  callgate exec --writable /var/tmp/build --memory 2GiB -- cargo build
  callgate exec --output-keep 50000 --output-limit 16000000 -- ./noisy`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 || args[0] == "" {
				return &failure{exitOwn, errors.New("exec: no command is given; callgate exec -- COMMAND runs one")}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			err := f.run(cmd, args)
			if err == nil || errors.Is(err, context.Canceled) || errors.As(err, new(silent)) {
				return err
			}
			code := exitOwn
			if s, ok := errors.AsType[*execFailure](err); ok {
				code = s.code
			}
			return &failure{code, fmt.Errorf("exec: %w", err)}
		},
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		return &failure{exitOwn, fmt.Errorf("exec: %w; callgate exec --help shows the flags", err)}
	})
	f.sandboxFlags.add(cmd)
	flags := cmd.Flags()
	flags.SetInterspersed(false) // what follows the command belongs to it
	flags.StringVar(&f.workspace, "workspace", ".", "directory that the command starts in and may change")
	flags.DurationVar(&f.timeout, "timeout", 0, "end the command after this `TIME`, such as 90s or 10m (default none)")
	flags.Int64Var(&f.keep, "output-keep", 0, "most `BYTES` of each stream that are passed on; the rest is dropped, and the command goes on (default all)")
	flags.Int64Var(&f.limit, "output-limit", 0, "end the command when it has written so many `BYTES`, both streams together (default none)")
	flags.BoolVar(&f.readOnly, "ro", false, "make the workspace read-only")
	flags.StringArrayVar(&f.writable, "writable", nil, "let it also change `PATH`; repeatable")
	flags.StringArrayVar(&f.readable, "readable", nil, "let it read `PATH`, which would be hidden; repeatable")
	flags.StringArrayVar(&f.hide, "hide", nil, "hide `PATH`; repeatable")
	flags.StringArrayVar(&f.protect, "protect", nil, "keep `PATH` from changes, though it lies in a writable place; repeatable")
	flags.StringVar(&f.memory, "memory", "", "most memory, a `SIZE`; of all processes together where there is a memory cgroup, else of each (default none)")
	flags.StringVar(&f.fileSize, "file-size", "", "most bytes of a file that it writes, a `SIZE` (default 1GiB)")
	flags.IntVar(&f.processes, "processes", 0, fmt.Sprintf("most processes and threads at once (default %d)", process.DefaultProcesses))
	cmd.MarkFlagDirname("workspace")
	for _, name := range []string{"timeout", "output-keep", "output-limit", "memory", "file-size", "processes"} {
		cmd.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions)
	}
	return cmd
}

// An execFailure is a failure of exec that has a code of its own.
type execFailure struct {
	code int
	err  error
}

func (e *execFailure) Error() string { return e.err.Error() }
func (e *execFailure) Unwrap() error { return e.err }

// run runs the command. Its error, if it is not silent, is that of exec.
func (f *execFlags) run(cmd *cobra.Command, args []string) error {
	c, err := f.command(cmd, args)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(cmd.Context())
	defer cancel(nil)
	out := &passed{w: cmd.OutOrStdout(), left: f.most(), gone: cancel}
	errs := &passed{w: cmd.ErrOrStderr(), left: f.most(), gone: cancel}
	c.Output, c.Stderr, c.Split = out, errs, true
	if line := noSandboxLine(c.Sandbox); line != "" {
		fmt.Fprintln(cmd.ErrOrStderr(), "callgate: "+line)
	}
	if flags := notAtNone(c.Sandbox, cmd.Flags().Changed); len(flags) > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "callgate: exec: not enforced without a sandbox: %s\n", strings.Join(flags, ", "))
	}
	res, err := process.Run(ctx, c)
	if err != nil {
		return notRun(c, err)
	}
	if err := cmp.Or(out.failed, errs.failed); err != nil { // the reader went away, or the disk is full: the command ended of that
		return err
	}
	tell := func(format string, args ...any) {
		if errs.midLine {
			fmt.Fprintln(cmd.ErrOrStderr())
			errs.midLine = false
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "callgate: exec: "+format+"\n", args...)
	}
	if out.dropped > 0 || errs.dropped > 0 {
		tell("%d bytes of standard output and %d of standard error left out (--output-keep %d)", out.dropped, errs.dropped, f.keep)
	}
	for _, r := range res.Refused {
		tell("%s", refusedLine(r))
	}
	if res.ProcessLimit {
		tell("it wanted more processes than the %d that it may have; --processes sets how many", c.Sandbox.Limits.Processes)
	}
	if len(res.Made) > 0 {
		tell("it made %s, which programs outside of the sandbox run or obey: look at that before you run git, an editor or an agent here", visible(strings.Join(res.Made, ", ")))
	}
	if res.Survivors > 0 {
		tell("%d of its processes could not be killed", res.Survivors)
	}
	switch res.Reason {
	case process.Timeout:
		tell("ended after %v (--timeout)", f.timeout)
		return silent(exitTimeout)
	case process.Canceled:
		return cmd.Context().Err()
	case process.OutputLimit:
		tell("ended: it wrote more than %d bytes (--output-limit)", f.limit)
		return silent(exitOwn)
	case process.MemoryLimit:
		tell("killed: it wanted more memory than %s (--memory)", f.memory)
	case process.Lost:
		tell("the helper that watched over the command was killed, and the command with it")
		return silent(exitOwn)
	}
	if res.ExitCode != 0 {
		return silent(res.ExitCode)
	}
	return nil
}

// command returns what the flags describe.
func (f *execFlags) command(cmd *cobra.Command, args []string) (process.Command, error) {
	c := process.Command{Args: args, Timeout: process.Forever, Limit: math.MaxInt64}
	ws, err := workspace.Open(f.workspace)
	if err != nil {
		return c, err
	}
	defer ws.Close()
	c.Env.Workspace = ws.Dir()
	for _, w := range ws.Warnings() {
		fmt.Fprintln(cmd.ErrOrStderr(), "callgate: exec: "+w)
	}
	changed := cmd.Flags().Changed
	for name, n := range map[string]int64{"timeout": int64(f.timeout), "output-keep": f.keep, "output-limit": f.limit, "processes": int64(f.processes)} {
		if changed(name) && n <= 0 {
			return c, fmt.Errorf("--%s is to be more than 0; leave it out for its default", name)
		}
	}
	if f.timeout > 0 {
		c.Timeout = f.timeout
	}
	if f.limit > 0 {
		c.Limit = f.limit
	}
	s := process.Sandbox{ReadOnly: f.readOnly, Limits: process.Limits{Processes: f.processes}}
	if dir, err := stateDir(); err == nil { // what other sessions did is none of a program's business
		s.Hide = append(s.Hide, dir)
	}
	for name, size := range map[string]struct {
		text string
		to   *int64
	}{"memory": {f.memory, &s.Limits.Memory}, "file-size": {f.fileSize, &s.Limits.FileSize}} {
		if changed(name) {
			if *size.to, err = config.ParseSize(size.text); err != nil {
				return c, fmt.Errorf("--%s: %w", name, err)
			}
		}
	}
	for _, list := range []struct{ from, to *[]string }{{&f.writable, &s.Writable}, {&f.readable, &s.Readable}, {&f.hide, &s.Hide}, {&f.protect, &s.Protect}} {
		*list.to = append(*list.to, *list.from...)
	}
	err = f.apply(cmd, &s)
	c.Sandbox = s
	return c, err
}

// notAtNone names the flags that were given and that the level none does not enforce.
// They are told and not refused: the same line with another level is how a sandbox is
// compared to none.
func notAtNone(s process.Sandbox, changed func(string) bool) (flags []string) {
	if s.Level != process.None {
		return nil
	}
	for _, name := range []string{"ro", "hide", "protect", "memory", "file-size", "processes", "net", "allow-host"} {
		if changed(name) && (name != "net" || s.Net != process.FullNet) {
			flags = append(flags, "--"+name)
		}
	}
	return flags
}

func (f *execFlags) most() int64 {
	if f.keep > 0 {
		return f.keep
	}
	return math.MaxInt64
}

// notRun is the failure of a command that was not started. A program that is not
// there, or that cannot be run, is the command's fault and has the code that a
// shell gives it; all else is ours.
func notRun(c process.Command, err error) error {
	if errors.Is(err, context.Canceled) || errors.As(err, new(*process.SandboxError)) {
		return err
	}
	switch there, _ := findProgram(c.Args[0], c.Env.Workspace); {
	case errors.Is(err, fs.ErrNotExist) && there == "":
		return &execFailure{exitNotFound, err}
	case errors.Is(err, fs.ErrPermission):
		return &execFailure{exitCannot, err}
	}
	return err
}

// findProgram returns the file of a program: name if that is a path, relative to dir,
// else the first of that name in PATH, and whether it can be run.
func findProgram(name, dir string) (file string, runs bool) {
	dirs := filepath.SplitList(os.Getenv("PATH"))
	if strings.ContainsRune(name, filepath.Separator) {
		if dirs = []string{dir}; filepath.IsAbs(name) {
			dirs = []string{""}
		}
	}
	for _, d := range dirs {
		path := filepath.Join(d, name)
		st, err := os.Stat(path)
		if err != nil {
			continue
		}
		if st.Mode().IsRegular() && st.Mode()&0o111 != 0 {
			return path, true
		}
		file = path
	}
	return file, false
}

// passed passes on the first bytes of a stream and counts the others. It is for
// one goroutine; the fields may be read when that has ended.
type passed struct {
	w       io.Writer
	left    int64
	dropped int64
	midLine bool // the last byte that was passed on ended no line
	failed  error
	gone    context.CancelCauseFunc // called when nobody takes the output any more
}

func (p *passed) Write(b []byte) (int, error) {
	if p.failed != nil {
		return 0, p.failed
	}
	now := b[:min(int64(len(b)), p.left)]
	p.left -= int64(len(now))
	p.dropped += int64(len(b) - len(now))
	if len(now) == 0 {
		return len(b), nil
	}
	p.midLine = now[len(now)-1] != '\n'
	if _, err := p.w.Write(now); err != nil {
		p.failed = err
		p.gone(err)
		return 0, err
	}
	return len(b), nil
}
