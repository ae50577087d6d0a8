package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/artifact"
	"github.com/callgate/callgate/journal"
)

func showCommand() *cobra.Command {
	var flags journalFlags
	var asJSON, output bool
	cmd := &cobra.Command{
		Use:   "show CALL",
		Short: "Show all that is recorded of one call",
		Long: `Show a call: its arguments, who decided and by which rule, when it ran, and what
came of it. CALL is session/turn/index as callgate sessions show has them, with #run
for a run that is not the last. With --output the whole output is printed, if it was
kept; it is compared with the digest in the record first.`,
		Example: `  callgate show build-7/3/0
  callgate show build-7/3/0 --output | less
  callgate show build-7/3/0 --json`,
		Args: cobra.ExactArgs(1),
		RunE: does(func(cmd *cobra.Command, args []string) error {
			id, run, err := parseCall(args[0])
			if err != nil {
				return err
			}
			j, err := flags.keptOpen(journal.Options{})
			if err != nil {
				return err
			}
			defer j.Close()
			rec, err := j.Call(cmd.Context(), id, run)
			if errors.Is(err, journal.ErrNoCall) {
				if _, err := j.SessionInfo(cmd.Context(), id.Session); err != nil {
					return missing(cmd.Context(), j, id.Session, err)
				}
				return fmt.Errorf("session %s has no call %s; callgate sessions show %s lists those that it has", visible(id.Session), visible(args[0]), visible(id.Session))
			} else if err != nil {
				return err
			}
			switch {
			case output:
				return showOutput(cmd.Context(), cmd.OutOrStdout(), &flags, rec)
			case asJSON:
				return printJSON(cmd.OutOrStdout(), viewCall(rec))
			}
			return showCall(cmd.OutOrStdout(), rec)
		}),
	}
	flags.add(cmd, "")
	cmd.Flags().BoolVar(&output, "output", false, "print the whole output, as it was")
	jsonFlag(cmd, &asJSON, "print every field as JSON")
	cmd.MarkFlagsMutuallyExclusive("output", "json")
	return cmd
}

// parseCall reads session/turn/index, or session/turn/index#run; run is -1 for the
// last one. A session's name may hold slashes.
func parseCall(s string) (id callgate.Identity, run int, err error) {
	wrong := usagef("%q is no call; use session/turn/index, as callgate sessions show has them", visible(s))
	rest, index, ok := cutLast(s, "/")
	session, turn, ok2 := cutLast(rest, "/")
	if !ok || !ok2 || session == "" {
		return id, 0, wrong
	}
	run = -1
	if at, n, ok := strings.Cut(index, "#"); ok {
		if run, err = strconv.Atoi(n); err != nil || run < 0 {
			return id, 0, wrong
		}
		index = at
	}
	id.Session = session
	if id.Turn, err = strconv.Atoi(turn); err != nil {
		return id, 0, wrong
	}
	if id.Index, err = strconv.Atoi(index); err != nil {
		return id, 0, wrong
	}
	return id, run, nil
}

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

func showCall(w io.Writer, r journal.Record) error {
	var b bytes.Buffer
	tw := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) {
		fmt.Fprintf(tw, "%s\t%s\n", name, visible(fmt.Sprintf(format, args...)))
	}
	row("Call", "%s, run %d, which its model calls %s", r.Identity, r.Run, r.CallID)
	row("Tool", "%s (%s, definition %.12s)", r.Tool, r.Effect, r.ToolDigest)
	if r.Source != "" {
		row("Source", "%s", r.Source)
	}
	decided := fmt.Sprintf("%s, by rule %s", r.Verdict, r.Decision.Rule)
	if r.Decision.Rule == "" {
		decided = "before any rule was asked"
	}
	if r.Decision.By != "" {
		decided += ", approved by " + r.Decision.By
	}
	if r.Decision.Reason != "" {
		decided += ": " + r.Decision.Reason
	}
	row("Decided", "%s", decided)
	if r.Sandbox != "" {
		row("Sandbox", "%s", r.Sandbox)
	}
	row("Claimed", "%s", r.Claimed.UTC().Format(time.RFC3339Nano))
	if !r.Started.IsZero() {
		row("Started", "%s", r.Started.UTC().Format(time.RFC3339Nano))
	}
	switch {
	case !r.Settled:
		row("Ended", "not yet: it runs, or its process has just died")
	default:
		row("Ended", "%s, after %s and %d attempts", r.Ended.UTC().Format(time.RFC3339Nano), brief(r.Result.Duration), r.Attempts)
		outcome := "succeeded"
		if r.Code != "" {
			outcome = fmt.Sprintf("%s (%s)", r.Code, r.State)
		}
		row("Outcome", "%s", outcome)
		row("Chain", "row %d", r.Place)
	}
	if r.Artifact != "" {
		row("Output", "%s%s, SHA-256 %x", artifact.Scheme, r.Artifact, r.ArtifactSum)
	}
	if r.Redacted {
		row("Redacted", "parts of it were not stored")
	}
	tw.Flush() // into memory
	fmt.Fprintf(&b, "\nArguments\n%s\n", plain(string(indented(r.Arguments))))
	if r.Settled {
		fmt.Fprintf(&b, "\nThe model was told\n%s\n", plain(r.Result.ModelText()))
	}
	_, err := w.Write(b.Bytes())
	return err
}

// plain returns text of several lines fit for a terminal.
func plain(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = visible(strings.ReplaceAll(l, "\t", "    "))
	}
	return strings.Join(lines, "\n")
}

// showOutput prints what the tool put out: the whole of it, or what was shown if
// that is all there was.
func showOutput(ctx context.Context, w io.Writer, f *journalFlags, r journal.Record) error {
	if !r.Settled {
		return fmt.Errorf("call %s has not ended", visible(r.Identity.String()))
	}
	if r.Artifact == "" {
		if r.Truncated {
			return fmt.Errorf("the output of call %s was cut, and the whole was not kept", visible(r.Identity.String()))
		}
		_, err := io.WriteString(w, r.Result.ContentText())
		return err
	}
	store, err := f.openArtifacts()
	if err != nil {
		return err
	}
	defer store.Close()
	a, err := store.Stat(r.Artifact)
	if err != nil {
		return err
	}
	if len(r.ArtifactSum) > 0 && !bytes.Equal(a.SHA256[:], r.ArtifactSum) {
		return fmt.Errorf("the output %s is not the one that was recorded: its SHA-256 is %x, and the record says %x", a.Ref(), a.SHA256, r.ArtifactSum)
	}
	in, err := store.Open(r.Artifact)
	if err != nil {
		return err
	}
	defer in.Close()
	_, err = io.Copy(w, in)
	return errors.Join(err, ctx.Err())
}
