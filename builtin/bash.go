package builtin

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/process"
	"github.com/callgate/callgate/schema"
	"github.com/callgate/callgate/shell"
	"github.com/callgate/callgate/workspace"
)

const (
	bashTimeout    = 120 * time.Second // of a command that asks for none
	bashMaxTimeout = 600 * time.Second
)

type bashInput struct {
	Command   string `json:"command" description:"Command line for bash." minLength:"1" maxLength:"65536"`
	Workdir   string `json:"workdir,omitempty" description:"Directory to run in, relative to the workspace; the workspace if absent." minLength:"1"`
	TimeoutMS int64  `json:"timeout_ms,omitempty" description:"Time limit in milliseconds; 120000 if absent." minimum:"1" maximum:"600000"`
}

type bashOutput struct {
	ExitCode   int     `json:"exit_code" description:"128 and the signal's number if a signal ended the command."`
	Signal     string  `json:"signal,omitempty"`
	Reason     string  `json:"reason" description:"exited, timeout, canceled, output_limit, memory_limit or lost"`
	Sandbox    string  `json:"sandbox,omitempty" description:"Level of the sandbox that it ran at."`
	DurationMS float64 `json:"duration_ms"`
	Bytes      int64   `json:"bytes" description:"Of output, those left out included."`
	Truncated  bool    `json:"truncated"`
	Artifact   string  `json:"artifact,omitempty" description:"Where the whole output can be read."`
	Background int     `json:"background" description:"Processes that still ran when the command had ended, and were ended with it."`
}

// Bash returns the tool bash, which runs a command line in the workspace ws. It
// writes the whole workspace as far as the order of calls is concerned, unless
// the command is proven to read only. With Jobs it also starts background jobs.
func (p *Programs) Bash(ws *workspace.Workspace) (callgate.Tool, error) {
	if p.Env.Workspace == "" {
		return callgate.Tool{}, errNoWorkspace
	}
	words, err := descriptions.ReadFile("bash.md")
	if err != nil {
		return callgate.Tool{}, err
	}
	spec := callgate.Spec{
		Name: "bash", Title: "Run a command", Description: strings.TrimSpace(string(words)),
		// The command's own limit comes first, so that its output is returned.
		TimeoutMS:   (bashMaxTimeout + 10*time.Second).Milliseconds(),
		Annotations: callgate.Annotations{DestructiveHint: new(true), OpenWorldHint: new(true)},
		OutputLimit: shownHead + shownTail + 200,
	}
	if err := p.withJobs(&spec); err != nil {
		return callgate.Tool{}, err
	}
	t, err := callgate.Func(spec, func(ctx context.Context, in bashJobInput) (callgate.Result, error) {
		if in.Background {
			return p.background(ctx, ws, in.bashInput)
		}
		return p.bash(ctx, ws, in.bashInput)
	})
	if err != nil {
		return callgate.Tool{}, err
	}
	t.Access = bashAccess
	return t, nil
}

// bashAccess says what a command touches: everything in the workspace, for
// writing unless it is proven to read only. Repositories are not trusted to run
// no programs of their own. A job starts in order with the calls around it, and no
// more: what it does later is in no order.
func bashAccess(args json.RawMessage) []callgate.Access {
	files := callgate.Access{Key: workspace.WholeKey, Write: true}
	var in bashJobInput
	if schema.Bind(args, &in) == nil {
		if facts, err := shell.Parse(in.Command); err == nil {
			if readOnly, _ := shell.ReadOnly(facts, shell.Untrusted); readOnly {
				files.Write = false
			}
		}
	}
	if in.Background {
		return []callgate.Access{files, {Key: jobKey, Write: true}}
	}
	return []callgate.Access{files}
}

func (p *Programs) bash(ctx context.Context, ws *workspace.Workspace, in bashInput) (callgate.Result, error) {
	cmd, err := p.shell(ws, in, bashTimeout)
	if err != nil {
		return callgate.Result{}, err
	}
	res, kept, err := p.run(ctx, cmd)
	if err != nil {
		return callgate.Result{}, err
	}
	text, cut := shown(res.Output)
	out := bashOutput{
		ExitCode: res.ExitCode, Signal: res.Signal, Reason: string(res.Reason), Sandbox: string(res.Level), DurationMS: float64(res.Duration.Microseconds()) / 1000,
		Bytes: res.Output.Total, Background: res.Background,
	}
	r := callgate.Result{Content: []callgate.Content{{Type: "text", Text: text}}, Notes: []string{exitLine(res)}}
	note := func(format string, args ...any) { r.Notes = append(r.Notes, "Note: "+fmt.Sprintf(format, args...)) }
	ref, keepErr := kept.keep()
	if out.Artifact, out.Truncated = ref, cut; cut {
		r.Truncated, r.Artifact = true, ref
		switch {
		case ref != "":
			note("the output has %d bytes; its middle is left out. The whole is kept: read_file with path %s pages it.", res.Output.Total, ref)
		case keepErr != nil:
			note("the output has %d bytes; its middle is left out and could not be kept (%v): let it print less.", res.Output.Total, keepErr)
		default:
			note("the output has %d bytes; its middle is left out and not kept: let it print less.", res.Output.Total)
		}
	}
	if res.Background > 0 {
		note("%s still ran when the command had ended, and ended with it.", plural(res.Background, "background job"))
	}
	if hint := exitHint(res); hint != "" {
		note("%s", hint)
	}
	r.Notes = append(r.Notes, sandboxNotes(res, p.Sandbox)...)
	if line := process.WithheldLine(res.Withheld); line != "" && res.ExitCode != 0 && res.Reason == process.Exited {
		note("%s.", line)
	}
	if r.Structured, err = json.Marshal(out); err != nil {
		return r, err
	}
	if err := ended(res, p.Sandbox); err != nil {
		return r, err
	}
	return r, nil
}

// shell returns the program that a command line is, in a call or in the background.
// otherwise is its time limit if it asks for none.
func (p *Programs) shell(ws *workspace.Workspace, in bashInput, otherwise time.Duration) (process.Command, error) {
	dir, err := workdir(ws, in.Workdir)
	if err != nil {
		return process.Command{}, err
	}
	limit := otherwise
	if in.TimeoutMS > 0 {
		limit = min(time.Duration(in.TimeoutMS)*time.Millisecond, bashMaxTimeout)
	}
	return process.Command{Args: process.Shell(in.Command), Dir: dir, Env: p.Env, Sandbox: p.Sandbox, Timeout: limit}, nil
}

// workdir returns the absolute path of a directory of the workspace.
func workdir(ws *workspace.Workspace, name string) (string, error) {
	if name == "" {
		return ws.Dir(), nil
	}
	info, err := ws.Stat(name)
	if err != nil {
		return "", failed(err)
	}
	if !info.IsDir() {
		return "", callgate.Errorf(callgate.ExecutionError, "workdir %q is not a directory", name)
	}
	real, err := ws.Resolve(name)
	if err != nil {
		return "", failed(err)
	}
	return filepath.Join(ws.Dir(), filepath.FromSlash(real)), nil
}

// exitLine is what a model is always told of a command.
func exitLine(res process.Result) string {
	s := fmt.Sprintf("exit code: %d", res.ExitCode)
	if res.Signal != "" {
		s += " (" + res.Signal + ")"
	}
	return s + ", " + spell(res.Duration)
}

// exitHint explains exit codes that say something about the command line rather
// than the program.
func exitHint(res process.Result) string {
	if res.Reason != process.Exited || res.Signal != "" {
		return ""
	}
	switch res.ExitCode {
	case 126:
		return "126 means that a program was found and could not be run: it is a directory, or not executable (chmod +x)."
	case 127:
		return "127 means that a program was not found: check its spelling, install it, or give its path."
	}
	return ""
}

// spell renders a duration as people read it.
func spell(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return d.Round(time.Second).String()
}
