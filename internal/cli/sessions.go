package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/internal/closest"
	"github.com/callgate/callgate/journal"
	"github.com/callgate/callgate/llm"
	"github.com/callgate/callgate/session"
)

func sessionsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sessions",
		Short: "List, show, export, import and remove what was recorded",
		Long: `Everything that ran is recorded in the journal: sessions, their turns, and each
call with its arguments, who allowed it, when it ran and what came of it.`,
		Example: `  callgate sessions list
  callgate sessions show build-7
  callgate sessions export build-7 -o build-7.jsonl
  callgate sessions gc --older-than 90d --dry-run`,
	}
	group(cmd, sessionsListCommand(), sessionsShowCommand(), sessionsExportCommand(), sessionsImportCommand(), sessionsRemoveCommand(), sessionsCollectCommand())
	return cmd
}

// A sessionView is a session as JSON.
type sessionView struct {
	ID         string    `json:"id"`
	Workspace  string    `json:"workspace"`
	Title      string    `json:"title"`
	Parent     string    `json:"parent"`
	ParentTurn int       `json:"parentTurn"`
	InUse      bool      `json:"inUse"`
	Created    time.Time `json:"created"`
	Updated    time.Time `json:"updated"`
	Turns      int64     `json:"turns"`
	Calls      int64     `json:"calls"`
	Open       int64     `json:"open"`
}

func viewSession(i journal.SessionInfo) sessionView {
	return sessionView{i.ID, i.Workspace, i.Title, i.Parent, i.ParentTurn, i.InUse, i.Created.UTC(), i.Updated.UTC(), i.Turns, i.Calls, i.Open}
}

// A callView is what is recorded of a call, as JSON.
type callView struct {
	ID          string            `json:"id"` // session/turn/index
	Run         int               `json:"run"`
	CallID      string            `json:"callId"`
	Tool        string            `json:"tool"`
	Source      string            `json:"source"`
	ToolDigest  string            `json:"toolDigest"`
	Effect      string            `json:"effect"`
	Arguments   json.RawMessage   `json:"arguments"`
	Digest      string            `json:"digest"`
	Redacted    bool              `json:"redacted"`
	Verdict     string            `json:"verdict"`
	Rule        string            `json:"rule"`
	Reason      string            `json:"reason"`
	By          string            `json:"by"`
	Labels      map[string]string `json:"labels"`
	Sandbox     string            `json:"sandbox"`
	Claimed     time.Time         `json:"claimed"`
	Settled     bool              `json:"settled"`
	Started     *time.Time        `json:"started"`
	Ended       *time.Time        `json:"ended"`
	Attempts    int               `json:"attempts"`
	State       callgate.State    `json:"state"`
	Code        callgate.Code     `json:"code"`
	Artifact    string            `json:"artifact"`
	ArtifactSum string            `json:"artifactSha256"`
	Place       int64             `json:"place"` // in the chain
	Result      *callgate.Result  `json:"result"`
}

func viewCall(r journal.Record) callView {
	v := callView{
		ID: r.Identity.String(), Run: r.Run, CallID: r.CallID, Tool: r.Tool, Source: r.Source, ToolDigest: r.ToolDigest, Effect: r.Effect,
		Arguments: r.Arguments, Digest: fmt.Sprintf("%x", r.Digest), Redacted: r.Redacted, Verdict: r.Verdict, Rule: r.Decision.Rule,
		Reason: r.Decision.Reason, By: r.Decision.By, Labels: r.Labels, Sandbox: r.Sandbox, Claimed: r.Claimed.UTC(), Settled: r.Settled,
		Attempts: r.Attempts, State: r.State, Code: r.Code, Artifact: r.Artifact, ArtifactSum: fmt.Sprintf("%x", r.ArtifactSum), Place: r.Place,
	}
	if !json.Valid(v.Arguments) { // a call that was refused for that
		v.Arguments, _ = json.Marshal(string(r.Arguments)) // text
	}
	if !r.Started.IsZero() {
		v.Started = new(r.Started.UTC())
	}
	if r.Settled {
		v.Ended, v.Result = new(r.Ended.UTC()), &r.Result
	}
	return v
}

func sessionsListCommand() *cobra.Command {
	var flags journalFlags
	var asJSON bool
	limit := 0
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the sessions, the one with the newest turn first",
		Example: `  callgate sessions list
  callgate sessions list --limit 0 --json`,
		Args: cobra.NoArgs,
		RunE: does(func(cmd *cobra.Command, _ []string) error {
			j, err := flags.keptOpen(journal.Options{})
			if err != nil {
				return err
			}
			defer j.Close()
			list, more := []sessionView{}, false
			for info, err := range j.Sessions(cmd.Context()) {
				if err != nil {
					return err
				}
				if more = limit > 0 && len(list) == limit; more {
					break
				}
				list = append(list, viewSession(info))
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), list)
			}
			tw := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(tw, "SESSION\tUPDATED\tTURNS\tCALLS\tSTATE\tWORKSPACE")
			for _, s := range list {
				state := "ended"
				switch {
				case s.InUse:
					state = "in use"
				case s.Open > 0:
					state = fmt.Sprintf("%d open", s.Open)
				}
				fmt.Fprintf(tw, "%s\t%s\t%d\t%d\t%s\t%s\n", visible(clip(s.ID, 60)), s.Updated.Local().Format(time.DateTime), s.Turns, s.Calls, state, visible(s.Workspace))
			}
			if err := tw.Flush(); err != nil {
				return err
			}
			if more {
				fmt.Fprintln(cmd.ErrOrStderr(), "callgate: there are more; --limit 0 lists all")
			}
			return nil
		}),
	}
	flags.add(cmd, "")
	cmd.Flags().IntVar(&limit, "limit", 50, "most sessions to list; 0 means all")
	jsonFlag(cmd, &asJSON, "print a list of objects as JSON")
	return cmd
}

// missing adds the nearest names to the error of a session that does not exist.
func missing(ctx context.Context, j *journal.Journal, id string, err error) error {
	if !errors.Is(err, journal.ErrNoSession) {
		return err
	}
	var names []string
	for info, e := range j.Sessions(ctx) {
		if e != nil || len(names) == 1000 {
			break
		}
		names = append(names, info.ID)
	}
	msg := fmt.Sprintf("there is no session %q", visible(id))
	if near := closest.Names(id, names, 3); len(near) > 0 {
		return fmt.Errorf("%s; did you mean %s?", msg, visible(strings.Join(near, " or ")))
	}
	return fmt.Errorf("%s; callgate sessions list shows those that there are", msg)
}

func sessionsShowCommand() *cobra.Command {
	var flags journalFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show a session: its turns, and each call with what became of it",
		Example: `  callgate sessions show build-7
  callgate sessions show build-7 --json`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeSessions(&flags),
		RunE: does(func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			j, err := flags.keptOpen(journal.Options{})
			if err != nil {
				return err
			}
			defer j.Close()
			info, err := j.SessionInfo(ctx, args[0])
			if err != nil {
				return missing(ctx, j, args[0], err)
			}
			if asJSON {
				view := struct {
					sessionView
					Calls []callView `json:"calls"`
				}{viewSession(info), []callView{}}
				for r, err := range j.Calls(ctx, args[0]) {
					if err != nil {
						return err
					}
					view.Calls = append(view.Calls, viewCall(r))
				}
				return printJSON(cmd.OutOrStdout(), view)
			}
			return showSession(ctx, cmd.OutOrStdout(), j, info)
		}),
	}
	flags.add(cmd, "")
	jsonFlag(cmd, &asJSON, "print the session and its calls as one JSON object")
	return cmd
}

func showSession(ctx context.Context, w io.Writer, j *journal.Journal, info journal.SessionInfo) error {
	paint := coloursFor(w)
	say := func(format string, args ...any) error {
		_, err := fmt.Fprintf(w, format+"\n", args...)
		return err
	}
	head := fmt.Sprintf("session %s, %d turns, %d calls, begun %s", visible(info.ID), info.Turns, info.Calls, info.Created.Local().Format(time.DateTime))
	if info.Workspace != "" {
		head += ", in " + visible(info.Workspace)
	}
	if info.Parent != "" {
		head += fmt.Sprintf(", forked from %s after turn %d", visible(info.Parent), info.ParentTurn)
	}
	if info.InUse {
		head += ", in use"
	}
	if err := say("%s", paint.bold(head)); err != nil {
		return err
	}
	said, err := saidIn(ctx, j, info.ID)
	if err != nil {
		return err
	}
	upTo := func(turn int) error {
		for len(said) > 0 && said[0].Number <= turn {
			if err := say("%s", turnLine(paint, said[0])); err != nil {
				return err
			}
			said = said[1:]
		}
		return nil
	}
	for r, err := range j.Calls(ctx, info.ID) {
		if err == nil {
			err = upTo(r.Identity.Turn)
		}
		if err == nil {
			err = say("%s", callLine(paint, r))
		}
		if err != nil {
			return err
		}
	}
	return upTo(math.MaxInt)
}

// saidIn returns the turns of a session, without those of the ones that it was forked
// from.
func saidIn(ctx context.Context, j *journal.Journal, id string) (said []journal.Turn, err error) {
	for t, err := range j.Turns(ctx, id) {
		if err != nil {
			return nil, err
		}
		if t.Session == id {
			said = append(said, t)
		}
	}
	return said, nil
}

// turnLine shows in a line what was said.
func turnLine(paint colours, t journal.Turn) string {
	text := fmt.Sprintf("%d bytes, as %s", len(t.Body), t.Format)
	if t.Format == session.Format {
		var m llm.Message
		if err := json.Unmarshal(t.Body, &m); err == nil {
			text = m.Text()
		}
	}
	if t.Input+t.Output > 0 {
		text += fmt.Sprintf(" (%d tokens in, %d out)", t.Input+t.CacheRead+t.CacheWrite, t.Output)
	}
	return paint.faint(fmt.Sprintf("%-7d %s: %s", t.Number, visible(t.Role), visible(clip(strings.ReplaceAll(text, "\n", " "), 100))))
}

// callLine shows a call in a line.
func callLine(paint colours, r journal.Record) string {
	id := fmt.Sprintf("%d/%d", r.Identity.Turn, r.Identity.Index)
	if r.Run > 0 {
		id += fmt.Sprintf("#%d", r.Run)
	}
	end := paint.yellow("open")
	switch {
	case !r.Settled:
	case r.Code == "":
		end = paint.green("✓ " + brief(r.Result.Duration))
	case r.State == callgate.NotStarted:
		end = paint.yellow("✗ " + string(r.Code))
	default:
		end = paint.red("✗ " + string(r.Code))
	}
	line := fmt.Sprintf("%-7s %s %s %s", id, visible(clip(r.Tool, 60)), subject(r.Arguments), end)
	if r.Decision.Rule != "" {
		line += paint.faint(fmt.Sprintf("  %s by %s", r.Verdict, visible(r.Decision.Rule)))
		if r.Decision.By != "" {
			line += paint.faint(", " + visible(r.Decision.By))
		}
	}
	return line
}

func sessionsRemoveCommand() *cobra.Command {
	var flags journalFlags
	reason := ""
	cmd := &cobra.Command{
		Use:   "rm ID...",
		Short: "Remove sessions with their turns, calls and outputs",
		Long: `Remove sessions. What they held is overwritten in the file, and the outputs that no
other session names are deleted; a warning says if some of it could not be. The chain keeps a place for each row that was there, without its content,
and a row that says what was removed, when and why; callgate audit verify counts
them. A session that is in use, or that others were forked from, stays.`,
		Example: `  callgate sessions rm build-7
  callgate sessions rm build-7 build-8 --reason "held customer data"`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: completeSessions(&flags),
		RunE: does(func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			j, end, err := flags.keptWithOutputs()
			if err != nil {
				return err
			}
			defer end()
			var failed error
			for _, id := range args {
				err := j.Remove(ctx, id, reason)
				if errors.Is(err, journal.ErrBytesRemain) {
					fmt.Fprintf(cmd.ErrOrStderr(), "callgate: warning: %s: %v\n", visible(id), err)
				} else if err != nil {
					fmt.Fprintf(cmd.ErrOrStderr(), "callgate: %v\n", missing(ctx, j, id, err))
					failed = silent(exitError)
					continue
				}
				if _, err := fmt.Fprintf(cmd.OutOrStdout(), "removed %s\n", visible(id)); err != nil {
					return err
				}
			}
			return failed
		}),
	}
	flags.add(cmd, "")
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the record")
	cmd.RegisterFlagCompletionFunc("reason", cobra.NoFileCompletions)
	return cmd
}

// completeSessions completes names of sessions, the newest first.
func completeSessions(flags *journalFlags) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		j, err := flags.keptOpen(journal.Options{})
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		defer j.Close()
		var names []cobra.Completion
		for info, err := range j.Sessions(context.Background()) {
			if err != nil || len(names) == 50 {
				break
			}
			if visible(info.ID) == info.ID { // others cannot be typed
				names = append(names, info.ID)
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}
