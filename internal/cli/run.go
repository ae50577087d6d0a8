package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/agent"
	"github.com/callgate/callgate/journal"
	"github.com/callgate/callgate/llm"
	"github.com/callgate/callgate/provider/scripted"
	"github.com/callgate/callgate/session"
)

// resumeFlags say which recorded session an agent continues.
type resumeFlags struct {
	last   bool
	resume string
	fork   string
}

func (f *resumeFlags) add(cmd *cobra.Command, j *journalFlags) {
	flags := cmd.Flags()
	flags.BoolVar(&f.last, "continue", false, "go on with the last session of the workspace")
	flags.StringVar(&f.resume, "resume", "", "go on with the session `ID`")
	flags.StringVar(&f.fork, "fork", "", "begin a new session that goes on from `ID[@TURN]`, which stays as it is")
	cmd.MarkFlagsMutuallyExclusive("continue", "resume", "fork")
	for _, name := range []string{"resume", "fork"} {
		cmd.RegisterFlagCompletionFunc(name, completeSessions(j))
	}
}

// check refuses what contradicts itself, and names that a shell left empty.
func (f *resumeFlags) check(cmd *cobra.Command) error {
	for name, value := range map[string]string{"resume": f.resume, "fork": f.fork} {
		if value == "" && cmd.Flags().Changed(name) {
			return usagef("--%s is empty; name a session, as callgate sessions list has them", name)
		}
	}
	if (f.last || f.resume != "") && cmd.Flags().Changed("session") {
		return usagef("--session names a new session; with --continue or --resume the session has its name")
	}
	return nil
}

// open opens the conversation that the flags ask for, under the name id if it is a
// new one.
func (f *resumeFlags) open(ctx context.Context, j *journal.Journal, id, workspace string) (*session.Conversation, error) {
	about := journal.About{Workspace: workspace}
	switch {
	case f.last:
		last, err := session.Latest(ctx, j, workspace)
		if errors.Is(err, session.ErrNone) {
			return nil, fmt.Errorf("there is no session of %s to continue; callgate sessions list shows all that there are", visible(workspace))
		} else if errors.Is(err, journal.ErrInUse) {
			return nil, fmt.Errorf("the last session of %s, %s, is in use by another process; --resume names another, --fork goes on from it in a new one", visible(workspace), visible(last))
		} else if err != nil {
			return nil, err
		}
		return session.Resume(ctx, j, last)
	case f.resume != "":
		c, err := session.Resume(ctx, j, f.resume)
		if err != nil {
			return nil, missing(ctx, j, f.resume, err)
		}
		return c, nil
	case f.fork != "":
		from, turn, err := parseFork(f.fork)
		if err != nil {
			return nil, err
		}
		c, err := session.Fork(ctx, j, from, turn, id, about)
		if err != nil {
			return nil, missing(ctx, j, from, err)
		}
		return c, nil
	}
	return session.Begin(ctx, j, id, about)
}

// parseFork reads ID[@TURN]; the turn is -1 if it is not given.
func parseFork(s string) (id string, turn int, err error) {
	id, at, ok := cutLast(s, "@")
	if !ok {
		return s, -1, nil
	}
	if turn, err = strconv.Atoi(at); err != nil || turn < 0 || id == "" {
		return "", 0, usagef("--fork %q: use the name of a session, or ID@TURN with the number of a turn", visible(s))
	}
	return id, turn, nil
}

func runCommand() *cobra.Command {
	var flags gateFlags
	var resume resumeFlags
	var script, system string
	var asJSON bool
	turns := 0
	cmd := &cobra.Command{
		Use:   "run --script FILE [TASK]",
		Short: "Run an agent in a workspace until it has its answer",
		Long: `Give a task to a model, run what it proposes through the gate, and go on until it
proposes nothing more. The model is a script (see examples/eval for its form): there
is no live one yet. Each turn is recorded before anything of it runs, so a session
can be continued after any crash: what had been done is known, a call of which that
cannot be said is told as outcome_unknown, and nothing runs again.

The exit code is 0 for a final answer, 4 when the turns are used up.`,
		Example: `  callgate run --script story.script --allow edit_file "Fix the typo in README.md"
  callgate run --script more.script --continue "And now the tests"
  callgate run --script other.script --fork s-abc@3 "Try it another way"`,
		Args: cobra.MaximumNArgs(1),
		RunE: does(func(cmd *cobra.Command, args []string) (err error) {
			ctx := cmd.Context()
			if err := resume.check(cmd); err != nil {
				return err
			}
			if turns < 0 {
				return usagef("--max-turns %d is no number of turns", turns)
			}
			model, err := loadScript(script)
			if err != nil {
				return err
			}
			flags.conversation = true
			g, err := flags.open(cmd)
			if err != nil {
				return err
			}
			defer g.closing(&err)
			if g.journal == nil && (resume.last || resume.resume != "" || resume.fork != "") {
				return usagef("there is nothing to go on with without a journal")
			}
			a := agent.Agent{Model: model, Tools: func() *callgate.Catalog { return g.catalog }, Gate: &g.dispatcher, System: system, MaxTurns: turns, Session: g.session}
			var history []llm.Message
			var conv *session.Conversation
			if g.journal != nil {
				if conv, err = resume.open(ctx, g.journal, g.session, g.workspace.Dir()); err != nil {
					if resume.last {
						return err
					}
					return inUse(err, cmp.Or(resume.resume, g.session))
				}
				defer conv.Close()
				history, a.Session, a.OnResponse = conv.History(), conv.ID(), conv.Keep
				g.session = conv.ID()
				g.jobs.After(callsOf(history))
			}
			switch {
			case len(args) == 1:
				m := llm.UserText(args[0])
				if conv != nil {
					if err := conv.Say(m); err != nil {
						return fmt.Errorf("the task cannot be recorded, so nothing ran: %w", err)
					}
				}
				history = append(history, m)
			case len(history) == 0:
				return usagef("there is no task: give it as the argument")
			}
			s := &stage{w: cmd.OutOrStdout(), paint: coloursFor(cmd.OutOrStdout()), gate: g, spans: map[callgate.Identity]span{}}
			if !asJSON {
				g.dispatcher.Observers = append(g.dispatcher.Observers, s.watch)
				a.OnMessage = s.tell
				s.line(s.paint.faint("session " + visible(g.session)))
			}
			out, err := a.Run(ctx, history)
			if err != nil {
				return err
			}
			if asJSON {
				err = printJSON(cmd.OutOrStdout(), struct {
					Session string       `json:"session"`
					Reason  agent.Reason `json:"reason"`
					Text    string       `json:"text"`
					Usage   llm.Usage    `json:"usage"`
				}{g.session, out.Reason, out.Text, out.Usage})
			}
			switch {
			case err != nil:
				return err
			case out.Reason == agent.Canceled:
				return ctx.Err()
			case out.Reason == agent.MaxTurns || out.Reason == agent.Budget:
				fmt.Fprintf(cmd.ErrOrStderr(), "callgate: it ended before its final answer (%s); callgate run --resume %s goes on\n", out.Reason, visible(g.session))
				return silent(exitBudget)
			case out.Reason == agent.MaxTokens:
				return errors.New("the model's answer was cut off at its output limit")
			}
			return s.err
		}),
	}
	flags.add(cmd)
	resume.add(cmd, &flags.journalFlags)
	cmd.Flags().StringVar(&script, "script", "", "`FILE` with the model's turns")
	cmd.Flags().StringVar(&system, "system", "", "system prompt")
	cmd.Flags().IntVar(&turns, "max-turns", 0, "most turns of the model (default 50)")
	jsonFlag(cmd, &asJSON, "print session, reason, text and usage as JSON at the end, and nothing before")
	cmd.MarkFlagFilename("script")
	cmd.RegisterFlagCompletionFunc("system", cobra.NoFileCompletions)
	return cmd
}

func loadScript(path string) (*scripted.Model, error) {
	if path == "" {
		return nil, usagef("no model: name a script with --script FILE")
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, &failure{exitUsage, err}
	}
	steps, err := scripted.Parse(data)
	if err != nil {
		return nil, &failure{exitUsage, fmt.Errorf("%s: %s", path, strings.TrimPrefix(err.Error(), "scripted: "))}
	}
	return &scripted.Model{Steps: steps}, nil
}

// inUse says what to do about a session that another process has.
func inUse(err error, id string) error {
	if errors.Is(err, journal.ErrInUse) {
		return fmt.Errorf("session %s is in use by another process; wait for its end, or go on from it in a new one with --fork", visible(id))
	}
	return err
}
