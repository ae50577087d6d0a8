package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/callgate/callgate/journal"
)

func sessionsExportCommand() *cobra.Command {
	var flags journalFlags
	var output outputFlag
	var whole bool
	cmd := &cobra.Command{
		Use:   "export ID",
		Short: "Write a session to a file that another journal can import",
		Long: `Write a session as JSON Lines: its turns, each call with all that is known of it,
and what people said of them, as they are in the journal; --artifacts adds the outputs
that were too long to show. A session that was forked takes those that it was forked
from with it, as far as they share their turns. The last line has a SHA-256 of the
rest, so that a file which was cut or changed is noticed. It holds whatever the session
holds: keep it where you would keep the journal.`,
		Example: `  callgate sessions export build-7 -o build-7.jsonl
  callgate sessions export build-7 --artifacts | ssh other callgate sessions import`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeSessions(&flags),
		RunE: does(func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			var opts journal.Options
			if whole {
				artifacts, err := flags.openArtifacts()
				if err != nil {
					return err
				}
				defer artifacts.Close()
				opts.Artifacts = artifacts
			}
			j, err := flags.keptOpen(opts)
			if err != nil {
				return err
			}
			defer j.Close()
			err = output.write(cmd, func(w io.Writer) error {
				return j.Export(ctx, args[0], w, journal.ExportOptions{Artifacts: whole})
			})
			return missing(ctx, j, args[0], err)
		}),
	}
	flags.add(cmd, "")
	output.add(cmd)
	cmd.Flags().BoolVar(&whole, "artifacts", false, "add the outputs that were too long to show")
	return cmd
}

func sessionsImportCommand() *cobra.Command {
	var flags journalFlags
	var config configFlags
	var as string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "import [FILE]",
		Short: "Add a session that was exported, under its own name or another",
		Long: `Read what callgate sessions export wrote, from FILE, or from standard input if it is
- or missing. The whole file is checked first; all of it is imported, or nothing. A name
that is taken is refused: --as NAME gives another, and those that the session was forked
from become NAME.parent1, NAME.parent2 and so on.

An imported session can be shown, continued, forked and replayed. A turn of it that is
submitted again is answered from the record. So import only what you would believe: the
file says what ran, and proves nothing.`,
		Example: `  callgate sessions import build-7.jsonl
  callgate sessions import --as build-7-copy < build-7.jsonl`,
		Args: cobra.MaximumNArgs(1),
		RunE: does(func(cmd *cobra.Command, args []string) (err error) {
			in := cmd.InOrStdin()
			if len(args) == 1 && args[0] != "-" {
				f, err := os.Open(args[0])
				if err != nil {
					return err
				}
				defer f.Close()
				in = f
			}
			if as == "" && cmd.Flags().Changed("as") {
				return usagef("--as is empty; name the session, or leave it out")
			}
			if flags.journal == noJournal {
				return usagef("there is nothing to import into without a journal")
			}
			sources, err := config.load()
			if err != nil {
				return err
			}
			artifacts, err := flags.openArtifacts()
			if err != nil {
				return err
			}
			defer artifacts.Close()
			opts, path := journalOptions(sources, artifacts)
			real, err := flags.real()
			if err != nil {
				return err
			}
			heads, err := openHeads(path, real)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, heads.close()) }()
			if heads != nil {
				opts.OnHead = heads.keep
			}
			j, err := flags.open(opts)
			if err != nil {
				return err
			}
			defer j.Close()
			list, err := j.Import(cmd.Context(), in, as)
			if errors.Is(err, journal.ErrExists) {
				return fmt.Errorf("%w; --as NAME imports it under another name", err)
			} else if err != nil {
				return err
			}
			views := []sessionView{}
			for _, info := range list {
				views = append(views, viewSession(info))
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), views)
			}
			for _, s := range views {
				if _, err := fmt.Fprintf(cmd.OutOrStdout(), "imported %s, %d turns, %d calls\n", visible(s.ID), s.Turns, s.Calls); err != nil {
					return err
				}
			}
			return nil
		}),
	}
	flags.add(cmd, "")
	config.add(cmd)
	cmd.Flags().StringVar(&as, "as", "", "import the session as `NAME`")
	cmd.RegisterFlagCompletionFunc("as", cobra.NoFileCompletions)
	jsonFlag(cmd, &asJSON, "print a list of objects as JSON, the session itself last")
	return cmd
}

func auditExportCommand() *cobra.Command {
	var flags journalFlags
	var output outputFlag
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write the chain as JSON Lines, for an auditor's own tools",
		Long: `Write each row of the chain, oldest first, with its hash and what identifies the row
that it covers: the session, the call, who decided, what came of it, when. There are no
arguments, results or words in it. docs/journal.md has the formula of the hash, so that
the chain, and any head that was kept, can be checked from these lines alone.`,
		Example: `  callgate audit export -o chain.jsonl
  callgate audit export | jq -c 'select(.verdict == "deny")'`,
		Args: cobra.NoArgs,
		RunE: does(func(cmd *cobra.Command, _ []string) error {
			j, err := flags.keptOpen(journal.Options{})
			if err != nil {
				return err
			}
			defer j.Close()
			return output.write(cmd, func(w io.Writer) error { return j.Audit(cmd.Context(), w) })
		}),
	}
	flags.add(cmd, "")
	output.add(cmd)
	return cmd
}

// outputFlag says where a command writes what it makes.
type outputFlag struct{ file string }

func (o *outputFlag) add(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&o.file, "output", "o", "", "write to `FILE`, which its owner alone can read, instead of standard output")
	cmd.MarkFlagFilename("output")
}

// write gives standard output to f, or a new file that gets its name when it is whole.
func (o *outputFlag) write(cmd *cobra.Command, f func(io.Writer) error) (err error) {
	if o.file == "" {
		return f(cmd.OutOrStdout())
	}
	if st, err := os.Stat(o.file); err == nil && !st.Mode().IsRegular() {
		return usagef("%s is no regular file", visible(o.file))
	}
	out, err := os.CreateTemp(filepath.Dir(o.file), "."+filepath.Base(o.file)+"-*") // 0600
	if err != nil {
		return fmt.Errorf("the output cannot be written: %w", err)
	}
	defer func() {
		if err != nil {
			out.Close()
			os.Remove(out.Name())
		}
	}()
	if err := f(out); err != nil {
		return err
	}
	if err := errors.Join(out.Sync(), out.Close()); err != nil {
		return fmt.Errorf("the output cannot be written: %w", err)
	}
	return os.Rename(out.Name(), o.file)
}
