package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
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
			artifacts, err := flags.openArtifacts()
			if err != nil {
				return err
			}
			defer artifacts.Close()
			j, err := flags.keptToChange(journal.Options{Artifacts: artifacts})
			if err != nil {
				return err
			}
			defer j.Close()
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

func sessionsCollectCommand() *cobra.Command {
	var flags journalFlags
	var config configFlags
	var age string
	var dry, asJSON bool
	keep := 0
	cmd := &cobra.Command{
		Use:   "gc",
		Short: "Remove old sessions, and outputs that no session refers to",
		Long: `Remove the sessions whose last turn is older than --older-than, and all but the
newest --keep. Without either, journal.keep of your own configuration says what
stays; without that too, nothing is removed. Sessions that are in use or have a call
that runs stay, and so do those from which one that stays was forked.`,
		Example: `  callgate sessions gc --older-than 90d --dry-run
  callgate sessions gc --keep 1000`,
		Args: cobra.NoArgs,
		RunE: does(func(cmd *cobra.Command, _ []string) error {
			r, err := retention(cmd, &config, age, keep)
			if err != nil {
				return err
			}
			artifacts, err := flags.openArtifacts()
			if err != nil {
				return err
			}
			defer artifacts.Close()
			j, err := flags.keptToChange(journal.Options{Artifacts: artifacts})
			if err != nil {
				return err
			}
			defer j.Close()
			done, err := j.Collect(cmd.Context(), r, dry)
			if e := showCollected(cmd.OutOrStdout(), done, dry, asJSON); e != nil {
				return e
			}
			if errors.Is(err, journal.ErrBytesRemain) {
				fmt.Fprintf(cmd.ErrOrStderr(), "callgate: warning: %v\n", err)
				return nil
			}
			return err
		}),
	}
	flags.add(cmd, "")
	config.add(cmd)
	cmd.Flags().StringVar(&age, "older-than", "", "remove sessions whose last turn is older, such as 36h or 90d")
	cmd.Flags().IntVar(&keep, "keep", 0, "keep so many of the newest sessions, and remove the others")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "say what would be removed, and remove nothing")
	jsonFlag(cmd, &asJSON, "print a list of objects as JSON")
	return cmd
}

// retention returns what the flags, or else the configuration, say is kept.
func retention(cmd *cobra.Command, config *configFlags, age string, keep int) (r journal.Retention, err error) {
	if keep < 0 || keep == 0 && cmd.Flags().Changed("keep") {
		return r, usagef("--keep %d is no number of sessions; use 1 or more", keep)
	}
	r.Count = keep
	if age != "" {
		if r.Age, err = parseAge(age); err != nil {
			return r, usagef("--older-than %v", err)
		}
	}
	if r != (journal.Retention{}) {
		return r, nil
	}
	sources, err := config.load()
	if err != nil {
		return r, err
	}
	k := keepOf(sources)
	r = journal.Retention{Age: time.Duration(k.Days) * 24 * time.Hour, Count: int(k.Sessions)}
	if r == (journal.Retention{}) {
		return r, usagef("nothing says what to remove; use --older-than 90d or --keep 1000, or write journal.keep into your own configuration (callgate config path)")
	}
	return r, nil
}

// parseAge reads a duration, in which d stands for days of 24 hours.
func parseAge(s string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.Atoi(days)
		if err != nil || n < 1 || n > 36500 {
			return 0, fmt.Errorf("%q is no age; use 1d to 36500d, or a duration such as 36h", s)
		}
		return time.Duration(n) * 24 * time.Hour, nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%q is no age; use a duration such as 36h, or 90d", s)
	}
	return d, nil
}

func showCollected(w io.Writer, done []journal.Collected, dry, asJSON bool) error {
	type view struct {
		Session  string `json:"session,omitempty"`
		Artifact string `json:"artifact,omitempty"`
		Removed  bool   `json:"removed"`
		Error    string `json:"error,omitempty"`
	}
	list := []view{}
	removed := 0
	for _, c := range done {
		v := view{Session: c.Session, Artifact: c.Artifact, Removed: c.Err == nil && !dry}
		if c.Err != nil {
			v.Error = c.Err.Error()
		} else {
			removed++
		}
		list = append(list, v)
	}
	if asJSON {
		return printJSON(w, list)
	}
	verb := map[bool]string{false: "removed", true: "would remove"}[dry]
	for _, v := range list {
		line := verb + " session " + visible(v.Session)
		if v.Artifact != "" {
			line = verb + " the output " + v.Artifact + ", which no session refers to"
		}
		if v.Error != "" {
			line = "left session " + visible(v.Session) + ": " + v.Error
		}
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "%s %d of %d\n", verb, removed, len(list))
	return err
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
