package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/callgate/callgate/journal"
	"github.com/callgate/callgate/replay"
	"github.com/callgate/callgate/workspace"
)

func replayCommand() *cobra.Command {
	var flags gateFlags
	var kept journalFlags
	var rerun, asJSON bool
	cmd := &cobra.Command{
		Use:   "replay SESSION",
		Short: "Judge a recorded session by today's tools and rules",
		Long: `Validate and judge every recorded call of a session again, by the tools and rules
of today, and list what is different: turn/index, tool, what, and the JSON Pointer
of the argument. Nothing runs. A call that was refused and would be refused in the
same way is no difference; that a tool's definition changed is told, and counts for
nothing. Of a fork its own calls are judged; the first line counts those of the
sessions that it was forked from.

With --run-readonly the calls that are read-only, were done, and are allowed run
again in the workspace, and their outputs are compared. Nothing of that is recorded.

The workspace is the one of the session unless --workspace names another. The exit
code is 0 if nothing is different, 1 if something is.`,
		Example: `  callgate replay build-7
  callgate replay build-7 --against next.yaml --allow bash
  callgate replay build-7 --run-readonly --json`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeSessions(&kept),
		RunE: does(func(cmd *cobra.Command, args []string) error {
			j, err := kept.keptOpen(journal.Options{})
			if err != nil {
				return err
			}
			defer j.Close()
			info, err := j.SessionInfo(cmd.Context(), args[0])
			if err != nil {
				return missing(cmd.Context(), j, args[0], err)
			}
			if !cmd.Flags().Changed("workspace") && info.Workspace != "" {
				flags.workspace = info.Workspace
			}
			g, err := flags.openUnrecorded(cmd)
			if err != nil {
				return err
			}
			defer g.close()
			report, err := replay.Check(cmd.Context(), j.Calls(cmd.Context(), info.ID), g.catalog, g.dispatcher.Policy)
			if err != nil {
				return err
			}
			report.Session = info.ID
			if report.Fork, err = replay.Forked(cmd.Context(), j, info.ID); err != nil {
				return err
			}
			if rerun {
				outputs, err := replay.Rerun(cmd.Context(), j.Calls(cmd.Context(), info.ID), g.catalog, &g.dispatcher)
				if err != nil {
					return err
				}
				report.Outputs = &outputs
			}
			if asJSON {
				err = printJSON(cmd.OutOrStdout(), report)
			} else {
				_, err = fmt.Fprint(cmd.OutOrStdout(), report)
			}
			if err == nil && !report.Same() {
				err = silent(exitError)
			}
			return err
		}),
	}
	f := cmd.Flags()
	f.StringVar(&flags.workspace, "workspace", ".", "directory whose configuration counts, and that calls run in again (default that of the session)")
	f.StringVar(&flags.file, "against", "", "configuration `FILE` to judge by instead of the workspace's callgate.yaml")
	f.StringArrayVar(&flags.allow, "allow", nil, "allow the tools that `PATTERN` matches; repeatable")
	kept.add(cmd, "")
	flags.sandboxFlags.add(cmd)
	f.BoolVar(&rerun, "run-readonly", false, "run the read-only calls again and compare their outputs")
	jsonFlag(cmd, &asJSON, "print the report as JSON")
	cmd.MarkFlagDirname("workspace")
	cmd.MarkFlagFilename("against", "yaml", "yml", "json")
	cmd.RegisterFlagCompletionFunc("allow", completeTools(false))
	return cmd
}

// openUnrecorded makes the gate that the flags ask for, without a session and
// without a record: what runs again is nobody's call.
func (f *gateFlags) openUnrecorded(cmd *cobra.Command) (*gate, error) {
	ws, err := workspace.Open(f.workspace)
	if err != nil {
		return nil, &failure{exitUsage, err}
	}
	g := &gate{workspace: ws}
	g.artifacts, _ = f.openArtifacts() // without them what is too long is compared by what is shown, as with them
	sources, err := f.load()
	if err == nil {
		g.sandbox, err = f.sandboxOf(cmd, sources, f.own())
	}
	if err == nil {
		err = g.wire(f.allow, sources)
	}
	if err != nil {
		g.close()
		return nil, err
	}
	for _, s := range sources {
		for _, w := range s.doubted {
			fmt.Fprintln(cmd.ErrOrStderr(), "callgate: "+w)
		}
	}
	for _, w := range append(unboxed(g.sandbox, sources), g.unmatched(f.allow)...) {
		fmt.Fprintln(cmd.ErrOrStderr(), "callgate: "+w)
	}
	return g, nil
}
