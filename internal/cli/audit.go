package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/callgate/callgate/journal"
)

func auditCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Prove that the record of calls was not rewritten",
		Long: `The rows of the journal form a chain: the hash of each covers its content and the
hash before it. Its end, the head, covers all. Who can write the file could make a
whole new chain; a head that is kept elsewhere exposes that. journal.heads in your
own configuration names a file to which each new head is appended.`,
		Example: `  callgate audit verify
  callgate audit head >> /mnt/elsewhere/heads
  callgate audit verify --head-file /mnt/elsewhere/heads`,
	}
	group(cmd, auditVerifyCommand(), auditHeadCommand(), auditExportCommand())
	return cmd
}

func auditHeadCommand() *cobra.Command {
	var flags journalFlags
	cmd := &cobra.Command{
		Use:   "head",
		Short: "Print the end of the chain, to be kept elsewhere",
		Example: `  callgate audit head
  callgate audit head >> /mnt/elsewhere/heads`,
		Args: cobra.NoArgs,
		RunE: does(func(cmd *cobra.Command, _ []string) error {
			j, err := flags.keptOpen(journal.Options{})
			if err != nil {
				return err
			}
			defer j.Close()
			head, err := j.Head(cmd.Context())
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), head)
			return err
		}),
	}
	flags.add(cmd, "")
	return cmd
}

func auditVerifyCommand() *cobra.Command {
	var flags journalFlags
	var config configFlags
	var heads []string
	var file string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Check every row of the journal against the chain, and the chain against kept heads",
		Long: `Read the whole journal, and name the first row that was changed, removed, added or
put elsewhere since it was written. Heads that were kept are compared at their
places: --head gives one, --head-file a file with one a line; else the file that
journal.heads of your own configuration names. The exit code is 0 if all is as it
was written, 1 if not.`,
		Example: `  callgate audit verify
  callgate audit verify --head "$(cat head)"
  callgate audit verify --head-file /mnt/elsewhere/heads --json`,
		Args: cobra.NoArgs,
		RunE: does(func(cmd *cobra.Command, _ []string) error {
			var kept []journal.Head
			for _, h := range heads {
				head, err := journal.ParseHead(h)
				if err != nil {
					return &failure{exitUsage, err}
				}
				kept = append(kept, head)
			}
			if file == "" {
				sources, err := config.load()
				if err != nil {
					return err
				}
				_, file = journalOptions(sources, nil)
			}
			if file != "" {
				path, err := flags.real()
				if err != nil {
					return err
				}
				more, unreadable, err := readHeads(file, path)
				if err != nil {
					return fmt.Errorf("the kept heads cannot be read: %w", err)
				}
				for _, u := range unreadable {
					fmt.Fprintln(cmd.ErrOrStderr(), "callgate: "+visible(u))
				}
				kept = append(kept, more...)
			}
			j, err := flags.keptOpen(journal.Options{})
			if err != nil {
				return err
			}
			defer j.Close()
			v, err := j.Verify(cmd.Context(), kept...)
			return showVerification(cmd, v, len(kept), err, asJSON)
		}),
	}
	flags.add(cmd, "")
	config.add(cmd)
	cmd.Flags().StringArrayVar(&heads, "head", nil, "compare with this `HEAD`, which callgate audit head printed; repeatable")
	cmd.Flags().StringVar(&file, "head-file", "", "compare with all heads in `FILE`, one a line")
	cmd.RegisterFlagCompletionFunc("head", cobra.NoFileCompletions)
	cmd.MarkFlagFilename("head-file")
	jsonFlag(cmd, &asJSON, "print intact, row, why, the head and the counts as JSON")
	return cmd
}

func showVerification(cmd *cobra.Command, v journal.Verification, heads int, err error, asJSON bool) error {
	broken, isBroken := errors.AsType[*journal.Broken](err)
	if err != nil && !isBroken {
		return err
	}
	if asJSON {
		view := struct {
			Intact   bool   `json:"intact"`
			Row      int64  `json:"row"` // the first that is not as it was written; 0 if it is no row
			Why      string `json:"why"`
			Head     string `json:"head"`
			Rows     int64  `json:"rows"`
			Calls    int64  `json:"calls"`
			Open     int64  `json:"open"`
			Removed  int64  `json:"removed"`
			Removals int64  `json:"removals"`
			Heads    int    `json:"heads"` // that were compared
		}{Intact: err == nil, Head: v.Head.String(), Rows: v.Head.Rows, Calls: v.Calls, Open: v.Open, Removed: v.Removed, Removals: v.Removals, Heads: heads}
		if isBroken {
			view.Row, view.Why = broken.Row, broken.Why
		}
		if err := printJSON(cmd.OutOrStdout(), view); err != nil {
			return err
		}
		if isBroken {
			return silent(exitError)
		}
		return nil
	}
	if isBroken && broken.Row == 0 {
		return fmt.Errorf("the journal is not what was written: %s", visible(broken.Why))
	}
	if isBroken {
		return fmt.Errorf("the journal is not what was written: row %d of the chain: %s", broken.Row, visible(broken.Why))
	}
	text := fmt.Sprintf("intact: %d rows, %d calls", v.Head.Rows, v.Calls)
	if v.Open > 0 {
		text += fmt.Sprintf(", %d open", v.Open)
	}
	if v.Removals > 0 {
		text += fmt.Sprintf("; %d rows were removed with %d sessions", v.Removed, v.Removals)
	}
	switch heads {
	case 0:
		text += "; no kept head was compared"
	default:
		text += fmt.Sprintf("; %d kept heads agree", heads)
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s\nhead %s\n", text, v.Head)
	return err
}
