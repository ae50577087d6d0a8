package cli

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/callgate/callgate/journal"
)

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
			j, end, err := flags.keptWithOutputs()
			if err != nil {
				return err
			}
			defer end()
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
