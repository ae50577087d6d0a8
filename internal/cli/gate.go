package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/artifact"
	"github.com/callgate/callgate/builtin"
	"github.com/callgate/callgate/internal/closest"
	"github.com/callgate/callgate/journal"
	"github.com/callgate/callgate/process"
	"github.com/callgate/callgate/session"
	"github.com/callgate/callgate/workspace"
)

// gateFlags are the flags of every command that runs calls.
type gateFlags struct {
	configFlags
	journalFlags
	sandboxFlags
	session string
	allow   []string

	conversation bool // the command opens the session itself
}

func (f *gateFlags) add(cmd *cobra.Command) {
	f.configFlags.add(cmd)
	f.journalFlags.add(cmd, ", none for a run without one")
	f.sandboxFlags.add(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.session, "session", "", "name of the session to begin or to go on with (default a new, random one)")
	flags.StringArrayVar(&f.allow, "allow", nil, "allow the tools that `PATTERN` matches (edit_file, mcp__github__*, *); repeatable")
	cmd.RegisterFlagCompletionFunc("session", cobra.NoFileCompletions)
	cmd.RegisterFlagCompletionFunc("allow", completeTools(false))
}

// A gate is what a command that runs calls works with.
type gate struct {
	dispatcher callgate.Dispatcher
	catalog    *callgate.Catalog
	session    string
	journal    *journal.Journal // nil if the person wants no record
	held       *journal.Session // in journal
	heads      *headsFile       // nil if they are not kept
	workspace  *workspace.Workspace
	artifacts  *artifact.Store     // nil if there is no place for them
	env        process.Environment // of programs, before the configuration opens it
	sandbox    process.Sandbox     // of programs
	unable     process.Report      // what does not start, if no sandbox does
	jobs       builtin.Jobs
	stderr     io.Writer // for the person; nil: nobody looks
}

// open makes the gate that the flags ask for. What the person at the terminal
// should know goes to cmd's standard error.
func (f *gateFlags) open(cmd *cobra.Command) (*gate, error) {
	if f.session == "" && cmd.Flags().Changed("session") {
		return nil, usagef("--session is empty; name a session, or leave the flag out for a new one")
	}
	ws, err := workspace.Open(f.workspace)
	if err != nil {
		return nil, &failure{exitUsage, err}
	}
	g := &gate{workspace: ws, session: f.session, stderr: cmd.ErrOrStderr()}
	if g.session == "" {
		g.session = newSession()
	}
	if err := f.outside(ws.Dir()); err != nil {
		ws.Close()
		return nil, err
	}
	warnings := ws.Warnings()
	if g.artifacts, err = f.openArtifacts(); err != nil {
		warnings = append(warnings, "what is too long to show will not be kept: "+err.Error())
	}
	sources, err := f.load()
	if err != nil {
		g.close()
		return nil, err
	}
	g.sandbox, err = f.sandboxOf(cmd, sources, f.own())
	if err == nil {
		err = g.record(&f.journalFlags, sources)
	}
	if err == nil && g.journal != nil && !f.conversation {
		err = g.hold()
	}
	if err != nil {
		g.close()
		return nil, err
	}
	if err := g.wire(f.allow, sources); err != nil {
		g.close()
		return nil, err
	}
	for _, s := range sources {
		warnings = append(warnings, s.doubted...)
	}
	warnings = append(warnings, unboxed(g.sandbox, sources)...)
	for _, w := range append(warnings, g.unmatched(f.allow)...) {
		fmt.Fprintln(cmd.ErrOrStderr(), "callgate: "+w)
	}
	return g, nil
}

// wire registers the built-in tools of the workspace, those of the configuration
// and more, and connects the dispatcher to them.
func (g *gate) wire(allow []string, sources []source, more ...callgate.Tool) error {
	rules, err := newRules(allow)
	if err != nil {
		return err
	}
	files := &builtin.Files{Workspace: g.workspace, Artifacts: g.artifacts}
	registry, err := registerAll(files, g.programs(sources), sources, rules.vouch)
	if err != nil {
		return err
	}
	if err := registry.Register(more...); err != nil {
		return err
	}
	g.catalog = registry.Catalog()
	g.dispatcher.Policy = rules.decide
	g.dispatcher.Middleware = []callgate.Middleware{callgate.Retry{}.Middleware()}
	g.dispatcher.Resolve = map[string]func(string) []string{workspace.WholeKey: files.ResolveKey}
	g.dispatcher.Grace = 2 * time.Second // programs have a second to end
	if g.artifacts != nil {
		g.dispatcher.Spill = g.spill
	}
	if g.journal != nil {
		g.dispatcher.Executor = g.journal.Executor(nil)
		g.dispatcher.Observers = append(g.dispatcher.Observers, g.journal.Observer())
	}
	return nil
}

// record opens the journal.
func (g *gate) record(f *journalFlags, sources []source) error {
	opts, heads := journalOptions(sources, g.artifacts)
	opts.Sandbox = recordedLevel(g.sandbox)
	var err error
	if f.journal != noJournal {
		path, err := f.real()
		if err != nil {
			return err
		}
		if g.heads, err = openHeads(heads, path); err != nil {
			return err
		}
		if g.heads != nil {
			opts.OnHead = g.heads.keep
		}
	}
	if g.journal, err = f.open(opts); err == nil && g.journal != nil {
		g.sandbox.Hide = append(g.sandbox.Hide, f.files()...)
	}
	return err
}

// hold takes the session for this process.
func (g *gate) hold() (err error) {
	g.held, err = g.journal.Begin(g.session, journal.About{Workspace: g.workspace.Dir()})
	if errors.Is(err, journal.ErrInUse) {
		return fmt.Errorf("session %s is in use by another process; wait for its end, or name another with --session", visible(g.session))
	}
	if err != nil {
		return fmt.Errorf("the session cannot be recorded, so nothing will run: %w", err)
	}
	last, err := g.held.Last(context.Background())
	if err == nil && last != nil && last.Format == session.Format {
		err = usagef("session %s is an agent's, and turns of others would be no part of its conversation; name another with --session", visible(g.session))
	}
	if err != nil {
		return err
	}
	return g.nameJobs()
}

// programs returns how programs are started: in the workspace, with the
// environment that the configuration opens.
func (g *gate) programs(sources []source) *builtin.Programs {
	env := g.env
	env.Workspace = g.workspace.Dir()
	for _, s := range sources {
		// That of a workspace came with it: it could name keys to pass on, and
		// programs to load.
		if s.file != nil && s.vouched {
			env = s.file.Env.Environment(env)
		}
	}
	return &builtin.Programs{Env: env, Sandbox: g.sandbox, Artifacts: g.artifacts, Jobs: &g.jobs}
}

// registerAll registers the built-in tools and those of the configuration. vouch
// is told of each of the latter whether the person vouches for it.
func registerAll(files *builtin.Files, programs *builtin.Programs, sources []source, vouch func(name string, yes bool)) (*callgate.Registry, error) {
	registry := new(callgate.Registry)
	tools, err := files.Tools()
	if err != nil {
		return nil, err
	}
	bash, err := programs.Bash(files.Workspace)
	if err != nil {
		return nil, err
	}
	tools = append(tools, bash)
	if programs.Jobs != nil {
		jobs, err := programs.Jobs.Tools()
		if err != nil {
			return nil, err
		}
		tools = append(tools, jobs...)
	}
	if err := registry.Register(tools...); err != nil {
		return nil, err
	}
	declared := map[string]string{}
	for _, t := range tools {
		declared[t.Name] = "built in"
	}
	for _, s := range sources {
		if s.file == nil {
			continue
		}
		tools, err := s.file.Tools(programs, files.Workspace)
		if err != nil {
			return nil, &failure{exitUsage, err}
		}
		for i, t := range tools {
			at := s.file.Where(fmt.Sprintf("/commands/%d/name", i))
			if first, taken := declared[t.Name]; taken {
				return nil, &failure{exitUsage, fmt.Errorf("%s: the tool %q is already %s; choose another name", at, t.Name, first)}
			}
			declared[t.Name] = "declared at " + at
			if err := registry.Register(t); err != nil {
				return nil, &failure{exitUsage, fmt.Errorf("%s: %w", at, err)}
			}
			if vouch != nil {
				vouch(t.Name, s.vouched)
			}
		}
	}
	return registry, nil
}

// spill is a function for [callgate.Dispatcher.Spill].
func (g *gate) spill(ctx context.Context, _ callgate.Identity, output string) (string, error) {
	a, err := g.artifacts.Put(ctx, strings.NewReader(output))
	if err != nil {
		return "", err
	}
	return a.Ref(), nil
}

// nextTurn returns the number of the first turn that this command adds to the
// session.
func (g *gate) nextTurn() (int, error) {
	if g.held == nil {
		return 0, nil
	}
	last, err := g.held.Last(context.Background())
	if err != nil || last == nil {
		return 0, err
	}
	if last.Number >= maxTurnNumber {
		return 0, fmt.Errorf("session %s has its last turn, number %d; begin another", visible(g.session), last.Number)
	}
	return last.Number + 1, nil
}

// maxTurnNumber is the highest number of a turn that is taken.
const maxTurnNumber = 1_000_000_000

// close ends the gate. Its error is about what should have been kept.
func (g *gate) close() error {
	var errs []error
	g.endJobs()
	if g.held != nil {
		errs = append(errs, g.held.Release())
	}
	if g.journal != nil {
		errs = append(errs, g.journal.Close())
	}
	errs = append(errs, g.heads.close())
	g.workspace.Close()
	if g.artifacts != nil {
		g.artifacts.Close()
	}
	return errors.Join(errs...)
}

// closing closes the gate at the end of a command that ended with err.
func (g *gate) closing(err *error) {
	if e := g.close(); *err == nil && e != nil {
		*err = e
	}
}

// unmatched warns of patterns that allow nothing.
func (g *gate) unmatched(patterns []string) (warnings []string) {
next:
	for _, p := range patterns {
		for _, name := range g.catalog.Names() {
			if matches(p, name) {
				continue next
			}
		}
		w := fmt.Sprintf("--allow %q matches no tool", p)
		if near := closest.Names(p, g.catalog.Names(), 3); len(near) > 0 {
			w += "; did you mean " + strings.Join(near, " or ") + "?"
		}
		warnings = append(warnings, w)
	}
	return warnings
}

// shownCatalog returns the tools for commands that show or check them and run
// none: the built-in ones and those of the configuration.
func (f *configFlags) shownCatalog() (*callgate.Catalog, error) {
	sources, err := f.load()
	if err != nil {
		return nil, err
	}
	ws := new(workspace.Workspace)
	programs := &builtin.Programs{Env: process.Environment{Workspace: "/"}, Jobs: new(builtin.Jobs)} // none is started
	registry, err := registerAll(&builtin.Files{Workspace: ws}, programs, sources, nil)
	if err != nil {
		return nil, err
	}
	return registry.Catalog(), nil
}

// rules are what is allowed: reads in the workspace, programs that somebody who
// may say so called read-only, and the tools that a pattern matches.
type rules struct {
	allow   []string
	vouched map[string]bool // of the tools of configuration files: whether their annotations are the person's own word
}

func newRules(allow []string) (*rules, error) {
	for _, p := range allow {
		if _, err := path.Match(p, ""); err != nil || p == "" {
			return nil, usagef("--allow %q is no pattern; use a tool's name, in which * stands for any characters", p)
		}
	}
	return &rules{allow: allow, vouched: map[string]bool{}}, nil
}

func (r *rules) vouch(name string, yes bool) { r.vouched[name] = yes }

// matches reports whether a pattern matches the whole of a tool's name. A slash,
// which a server may have put there, is a character like any other.
func matches(pattern, name string) bool {
	flat := strings.NewReplacer("/", "\x00")
	ok, _ := path.Match(flat.Replace(pattern), flat.Replace(name))
	return ok
}

// decide is a [callgate.Policy].
func (r *rules) decide(_ context.Context, req callgate.Request) (callgate.Decision, error) {
	for _, p := range r.allow {
		if matches(p, req.Spec.Name) || asBash[req.Spec.Name] && matches(p, "bash") {
			return callgate.Decision{Verdict: callgate.Allow, Rule: "flag.allow"}, nil
		}
	}
	a := req.Spec.Annotations
	believed, declared := r.vouched[req.Spec.Name]
	if !declared {
		believed = !a.OpenWorld() && req.Source == ""
	}
	if a.ReadOnlyHint && believed {
		return callgate.Decision{Verdict: callgate.Allow, Rule: "default.read"}, nil
	}
	return callgate.Decision{Rule: "default.deny", Reason: fmt.Sprintf(
		"it is not a read in the workspace, and nothing allows it; the user can, with --allow %s", quoteWord(req.Spec.Name))}, nil
}

// quoteWord returns a tool's name as a shell takes it and as a pattern that
// matches this tool alone.
func quoteWord(name string) string {
	if strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") == "" {
		return name
	}
	pattern := strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `'`, `'\''`).Replace(name)
	return "'" + pattern + "'"
}
