package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/artifact"
	"github.com/callgate/callgate/builtin"
	"github.com/callgate/callgate/eval"
	"github.com/callgate/callgate/internal/closest"
	"github.com/callgate/callgate/process"
	"github.com/callgate/callgate/workspace"
)

// evalFlags are the flags of callgate eval.
type evalFlags struct {
	sandboxFlags
	trials, parallel int
	run, junit       string
	keep, json       bool
}

func evalCommand() *cobra.Command {
	var f evalFlags
	cmd := &cobra.Command{
		Use:   "eval DIR",
		Short: "Try the tasks of a directory and tell how often they pass",
		Long: `Try each task of a directory, or the one task of a file, in fresh temporary
workspaces: a model works with the built-in tools, through the gate, and verifiers
judge what it leaves behind. A task is a .yaml file with a prompt, the files to start
with, the script of a model, the tools that are allowed, and its verifiers
(docs/eval.md). Programs that a task names are run: read a suite before you run it.

The table has a line for each task: trials and passes, pass@1, pass@k (the chance
that one of k trials passes, k beside it), the 50th and 95th percentile of the trials'
durations, tokens read and written, calls, and calls that the gate refused. Below it
stands why trials did not pass. A task whose verifiers accept its untouched workspace
is an error. On a terminal each trial is told when it is over.

Exit codes: 0 every task passed, 1 not, 2 a task cannot be read, 130 interrupted:
then the table has the trials that were over by then.`,
		Example: `  callgate eval examples/eval
  callgate eval examples/eval --run fix --trials 5 --parallel 2
  callgate eval examples/eval --json > report.json
  callgate eval examples/eval --junit junit.xml`,
		Args: cobra.ExactArgs(1),
		RunE: does(func(cmd *cobra.Command, args []string) error {
			var box process.Sandbox
			if err := f.apply(cmd, &box); err != nil {
				return err
			}
			if line := noSandboxLine(box); line != "" {
				fmt.Fprintln(cmd.ErrOrStderr(), "callgate: "+line)
			}
			return f.eval(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), args[0], box)
		}),
	}
	f.sandboxFlags.add(cmd)
	flags := cmd.Flags()
	flags.IntVar(&f.trials, "trials", 0, fmt.Sprintf("try each task `N` times, whatever it says; at most %d", eval.MaxTrials))
	flags.StringVar(&f.run, "run", "", "try only the tasks whose names match `REGEXP`")
	flags.IntVar(&f.parallel, "parallel", 1, "try `N` at once; durations grow with it")
	flags.BoolVar(&f.keep, "keep", false, "keep the workspaces and say where they are")
	flags.StringVar(&f.junit, "junit", "", "write a JUnit report to `FILE` as well")
	jsonFlag(cmd, &f.json, "print the report as one JSON object")
	for _, name := range []string{"trials", "run", "parallel"} {
		cmd.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions)
	}
	cmd.MarkFlagFilename("junit", "xml")
	return cmd
}

func (f *evalFlags) eval(ctx context.Context, w, diagnostics io.Writer, dir string, box process.Sandbox) (err error) {
	suite, err := f.load(dir)
	if err != nil {
		return err
	}
	if f.junit != "" { // not after an hour of trials
		if st, err := os.Stat(filepath.Dir(f.junit)); err != nil || !st.IsDir() {
			return usagef("--junit %s: its directory does not exist; create it first", f.junit)
		}
	}
	base, err := os.MkdirTemp("", "callgate-eval-")
	if err != nil {
		return err
	}
	if !f.keep {
		defer func() { err = errors.Join(err, os.RemoveAll(base)) }()
	}
	runner := eval.Runner{Open: openTrial, Sandbox: box, Dir: base, Keep: f.keep, Trials: f.trials, Parallel: f.parallel}
	if !f.json && terminal(diagnostics) {
		runner.Tried = progress(diagnostics)
	}
	report, interrupted := runner.Run(ctx, suite)
	if report == nil {
		return interrupted
	}
	if f.junit != "" {
		if err := writeJUnit(f.junit, report); err != nil {
			return err
		}
	}
	if f.json {
		err = printJSON(w, report)
	} else {
		kept := ""
		if f.keep {
			kept = base
		}
		err = printReport(w, report, kept)
	}
	switch {
	case err != nil:
		return err
	case interrupted != nil:
		return interrupted
	case report.Status != eval.Passed:
		return silent(exitError)
	}
	return nil
}

// terminal reports whether somebody watches what is written to w.
func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	st, err := f.Stat()
	return err == nil && st.Mode()&os.ModeCharDevice != 0
}

// progress tells of each trial in a line.
func progress(w io.Writer) func(*eval.Task, eval.Trial, int, int) {
	paint := coloursFor(w)
	return func(t *eval.Task, tr eval.Trial, made, all int) {
		fmt.Fprintf(w, "%d/%d %s, trial %d: %s, %s\n", made, all, visible(t.Name), tr.Number, painted(paint, tr.Status), briefMS(tr.DurationMS))
	}
}

// load reads the suite. What cannot be tried is an error in what the user wrote.
func (f *evalFlags) load(dir string) (*eval.Suite, error) {
	if f.trials < 0 || f.parallel < 1 {
		return nil, usagef("--trials and --parallel are numbers from 1")
	}
	if f.trials > eval.MaxTrials {
		return nil, usagef("--trials %d is over %d, the most of a task", f.trials, eval.MaxTrials)
	}
	re, err := regexp.Compile(f.run)
	if err != nil {
		return nil, usagef("--run: %v", err)
	}
	suite, err := eval.Load(dir)
	if err != nil {
		return nil, unreadable(err)
	}
	if suite.Select(re); len(suite.Tasks) == 0 {
		var names []string
		for _, t := range suite.Skipped {
			names = append(names, t.Name)
		}
		return nil, usagef("--run %q matches no task; there are %s", f.run, visible(strings.Join(names, ", ")))
	}
	tools, err := builtinNames()
	if err != nil {
		return nil, err
	}
	var faults []error
	for _, t := range suite.Tasks {
		for i, pattern := range t.Allow {
			if why := noTool(pattern, tools); why != "" {
				faults = append(faults, fmt.Errorf("%s: allow: %s", t.Where(fmt.Sprintf("/allow/%d", i)), why))
			}
		}
		if t.Model.Script == "" {
			faults = append(faults, fmt.Errorf("%s: the task names no model; add model: {script: FILE}", t.Where("/model")))
		}
	}
	if len(faults) > 0 {
		return nil, unreadable(errors.Join(faults...))
	}
	return suite, nil
}

// unreadable is what is wrong with a suite, whose names and texts are somebody
// else's.
func unreadable(err error) error { return usagef("%s", lines(err.Error())) }

// builtinNames returns the names of the tools that a trial has.
func builtinNames() ([]string, error) {
	programs := &builtin.Programs{Env: process.Environment{Workspace: "/"}} // none is started
	registry, err := registerAll(&builtin.Files{Workspace: new(workspace.Workspace)}, programs, nil, nil)
	if err != nil {
		return nil, err
	}
	return registry.Catalog().Names(), nil
}

// noTool says why a pattern allows none of the tools, "" if it allows one.
func noTool(pattern string, tools []string) string {
	if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
		return fmt.Sprintf("%q is no pattern; use a tool's name, in which * stands for any characters", pattern)
	}
	if slices.ContainsFunc(tools, func(name string) bool { return matches(pattern, name) }) {
		return ""
	}
	if near := closest.Names(pattern, tools, 3); len(near) > 0 {
		return fmt.Sprintf("%q matches no tool; did you mean %s?", pattern, strings.Join(near, " or "))
	}
	return fmt.Sprintf("%q matches no tool; there are %s", pattern, strings.Join(tools, ", "))
}

// openTrial makes the gate of one trial: the built-in tools in its workspace, and
// what they keep in its directory.
func openTrial(_ context.Context, p eval.Place) (*eval.Gate, error) {
	store, err := artifact.Open(filepath.Join(p.Dir, "artifacts"), artifact.Options{})
	if err != nil {
		return nil, err
	}
	g := &gate{workspace: p.Workspace, session: newSession(), artifacts: store, sandbox: p.Sandbox}
	g.sandbox.Hide = append(g.sandbox.Hide[:len(g.sandbox.Hide):len(g.sandbox.Hide)], filepath.Join(p.Dir, "artifacts"))
	g.env.Caches = p.Caches
	if err := g.wire(p.Task.Allow, nil); err != nil {
		store.Close()
		return nil, err
	}
	return &eval.Gate{Dispatcher: &g.dispatcher, Catalog: g.catalog, Session: g.session, Close: func() { store.Close() }}, nil
}

func writeJUnit(name string, report *eval.Report) error {
	var b bytes.Buffer
	if err := report.WriteJUnit(&b); err != nil {
		return err
	}
	return os.WriteFile(name, b.Bytes(), 0o666)
}

// printReport prints the table, and why trials did not pass.
func printReport(w io.Writer, r *eval.Report, kept string) error {
	paint := coloursFor(w)
	var table, b strings.Builder
	tw := tabwriter.NewWriter(&table, 0, 0, 2, ' ', tabwriter.AlignRight)
	// The first column is aligned to the left by hand, and the last one has
	// no end, so that colours do not move it.
	width := len("total")
	for _, t := range r.Tasks {
		width = max(width, utf8.RuneCountInString(visible(t.Name)))
	}
	row := func(name string, k any, s eval.Summary, result string) {
		fmt.Fprintf(tw, "%-*s\t%d\t%d\t%.2f\t%.2f\t%v\t%s\t%s\t%d\t%d\t%d\t%d\t  %s\n", width, name, s.Trials, s.Passes, s.PassAt1, s.PassAtK, k,
			briefMS(s.P50MS), briefMS(s.P95MS), s.Usage.Total()-s.Usage.Output, s.Usage.Output, s.Calls, sum(s.Refusals), result)
	}
	fmt.Fprintf(tw, "%-*s\ttrials\tpasses\tpass@1\tpass@k\tk\tp50\tp95\tin\tout\tcalls\trefusals\t  result\n", width, "task")
	for _, t := range r.Tasks {
		row(visible(t.Name), t.K, t.Summary, painted(paint, t.Status))
	}
	result := fmt.Sprintf("%d of %d tasks passed", r.Totals.Passed, r.Totals.Tasks)
	if r.Status == eval.Incomplete {
		result += ", " + paint.yellow(fmt.Sprintf("%d incomplete: interrupted", r.Totals.Incomplete))
	}
	row("total", "", r.Totals.Summary, result)
	tw.Flush()
	for line := range strings.Lines(table.String()) {
		b.WriteString(strings.TrimPrefix(line, "  "))
	}
	for _, t := range r.Tasks {
		if t.Error != "" {
			fmt.Fprintf(&b, "\n%s: %s\n%s\n", visible(t.Name), painted(paint, t.Status), indent(lines(t.Error)))
		}
		for _, tr := range t.Results {
			if tr.Status != eval.Passed {
				fmt.Fprintf(&b, "\n%s, trial %d: %s\n%s\n", visible(t.Name), tr.Number, painted(paint, tr.Status), indent(lines(tr.Why())))
			}
		}
	}
	if kept != "" {
		fmt.Fprintf(&b, "\nthe workspaces are kept: %s\n", visible(kept))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func painted(c colours, s eval.Status) string {
	switch s {
	case eval.Passed:
		return c.green(string(s))
	case eval.Failed:
		return c.red(string(s))
	}
	return c.yellow(string(s))
}

// lines returns untrusted text of several lines fit for a terminal.
func lines(s string) string {
	all := strings.Split(s, "\n")
	for i := range all {
		all[i] = visible(strings.ReplaceAll(all[i], "\t", "    "))
	}
	return strings.Join(all, "\n")
}

func briefMS(ms float64) string { return brief(time.Duration(ms * float64(time.Millisecond))) }

func sum(counts map[callgate.Code]int) (n int) {
	for v := range maps.Values(counts) {
		n += v
	}
	return n
}
