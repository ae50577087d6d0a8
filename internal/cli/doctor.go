package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/callgate/callgate/process"
)

// A diagnosis is what callgate doctor prints. Its JSON is stable: members may be added.
type diagnosis struct {
	OK       bool          `json:"ok"`
	Level    string        `json:"level"` // that programs run at, "" if none starts
	System   string        `json:"system"`
	Kernel   string        `json:"kernel"`
	User     int           `json:"uid"`
	Landlock int           `json:"landlock"`
	Tried    []triedLevel  `json:"tried"`
	Notes    []string      `json:"notes"`
	Acts     []examinedAct `json:"acts"`
}

type triedLevel struct {
	Level string `json:"level"`
	Error string `json:"error"` // "" if it starts
	Fix   string `json:"fix"`
}

type examinedAct struct {
	ID       string  `json:"id"`
	Title    string  `json:"title"`
	Outcome  outcome `json:"outcome"`
	Promised bool    `json:"promised"` // that it is blocked at this level
	Reason   string  `json:"reason"`   // why it was not tried, or what was seen
}

// An outcome is what came of an act.
type outcome string

const (
	blocked    outcome = "blocked"
	notBlocked outcome = "not_blocked"
	notTried   outcome = "not_tried"
)

func (o outcome) words() string {
	switch o {
	case notBlocked:
		return "NOT blocked"
	case notTried:
		return "not tried"
	}
	return string(o)
}

func doctorCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say which sandbox this machine can start, and what it blocks",
		Long: `Start a program at each level of the sandbox, from the strongest down, and say
which one tools run at here, why not at a higher one, and what to install or to set.
Then try what a program must not do, at that level, in a temporary workspace: write
outside of it, read a key in your home, signal a process, reach a socket. Each act is
tried without a sandbox as well: one that fails there, too, or for which a program
is missing, says that it was not tried, and never that it was blocked. All of it
happens to files, processes and sockets that doctor makes and removes itself.

The exit code is 0 if the level is confined or more and all that it promises to block
was blocked, 1 if not. docs/sandbox.md says what each level promises.`,
		Example: `  callgate doctor
  callgate doctor --json`,
		Args: cobra.NoArgs,
		RunE: does(func(cmd *cobra.Command, _ []string) error {
			d, err := diagnose(cmd.Context(), process.Probe())
			if err != nil {
				return err
			}
			if asJSON {
				err = printJSON(cmd.OutOrStdout(), d)
			} else {
				err = d.print(cmd.OutOrStdout())
			}
			if err == nil && !d.OK {
				err = silent(exitError)
			}
			return err
		}),
	}
	jsonFlag(cmd, &asJSON, "print it as one JSON object")
	return cmd
}

// diagnose tries the acts at the level of r.
func diagnose(ctx context.Context, r process.Report) (d diagnosis, err error) {
	d = diagnosis{
		Level: string(r.Level), System: runtime.GOOS, Kernel: kernel(), User: os.Getuid(), Landlock: r.Landlock,
		Tried: []triedLevel{}, Notes: append([]string{}, r.Notes...), Acts: []examinedAct{},
	}
	for _, t := range r.Tried {
		d.Tried = append(d.Tried, triedLevel{t.Level.String(), t.Err, t.Fix})
	}
	var s *site
	if r.Level != "" {
		if s, err = openSite(ctx, r.Level); err != nil {
			return d, err
		}
		defer func() { err = errors.Join(err, s.close()) }()
	}
	for _, a := range acts {
		e := examinedAct{ID: a.id, Title: a.title, Promised: a.promised(r.Level, d.User)}
		if s == nil {
			e.Outcome, e.Reason = notTried, "no level starts"
		} else {
			e.Outcome, e.Reason = s.examine(ctx, a)
		}
		if err := ctx.Err(); err != nil {
			return d, err
		}
		d.Acts = append(d.Acts, e)
	}
	d.OK = sound(d)
	return d, nil
}

// sound reports whether there is a sandbox that keeps what it promises. What was not
// tried is no fault of it; one of which nothing could be tried is not known to work.
func sound(d diagnosis) bool {
	held := 0
	for _, a := range d.Acts {
		if a.Promised && a.Outcome == notBlocked {
			return false
		}
		if a.Promised && a.Outcome == blocked {
			held++
		}
	}
	return held > 0 && d.Level != "" && process.Level(d.Level) != process.None
}

// kernel returns the release of the kernel, where that is a file.
func kernel() string {
	b, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// print prints d in aligned lines.
func (d diagnosis) print(w io.Writer) error {
	paint := coloursFor(w)
	var b strings.Builder
	row := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-12s "+format+"\n", append([]any{name}, args...)...)
	}
	if d.Level == "" {
		row("level", "%s", paint.red("none starts, so bash and other programs refuse (--sandbox none runs them without)"))
	} else {
		row("level", "%s", paint.bold(d.Level))
	}
	row("system", "%s", strings.TrimSpace(d.System+" "+d.Kernel))
	row("user", "%s", userLine(d.User))
	if d.Landlock > 0 {
		row("landlock", "version %d", d.Landlock)
	} else if d.System == "linux" {
		row("landlock", "not there")
	}
	for _, t := range d.Tried {
		if t.Error == "" {
			row(t.Level, "starts")
			continue
		}
		row(t.Level, "%s: %s", paint.yellow("does not start"), visible(t.Error))
		if t.Fix != "" {
			row("", "to have it: %s", visible(t.Fix))
		}
	}
	b.WriteString("\n")
	for _, a := range d.Acts {
		words := fmt.Sprintf("%-12s", a.Outcome.words())
		switch {
		case a.Outcome == blocked:
			words = paint.green(words)
		case a.Outcome == notBlocked && a.Promised:
			words = paint.red(words)
		default:
			words = paint.yellow(words)
		}
		fmt.Fprintf(&b, "%s %s", words, a.Title)
		if a.Reason != "" {
			fmt.Fprintf(&b, ": %s", visible(a.Reason))
		}
		if a.Outcome == notBlocked && !a.Promised {
			fmt.Fprintf(&b, " (%s does not promise it)", d.Level)
		}
		b.WriteString("\n")
	}
	if len(d.Notes) > 0 {
		b.WriteString("\n")
	}
	for _, n := range d.Notes {
		fmt.Fprintf(&b, "%s\n", visible(n))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func userLine(uid int) string {
	switch {
	case uid == 0:
		return "root"
	case uid < 0:
		return "unknown"
	}
	return fmt.Sprintf("%d, unprivileged", uid)
}
