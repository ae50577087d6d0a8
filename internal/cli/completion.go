package cli

import (
	"github.com/spf13/cobra"
)

func completionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "completion bash|zsh|fish|powershell",
		Short: "Print a script that completes commands, flags and tool names",
		Example: `  source <(callgate completion bash)
  callgate completion zsh > "${fpath[1]}/_callgate"
  callgate completion fish > ~/.config/fish/completions/callgate.fish`,
		ValidArgs:             []string{"bash", "zsh", "fish", "powershell"},
		Args:                  cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		DisableFlagsInUseLine: true,
		RunE: does(func(cmd *cobra.Command, args []string) error {
			root, out := cmd.Root(), cmd.OutOrStdout()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(out, true)
			case "zsh":
				return root.GenZshCompletion(out)
			case "fish":
				return root.GenFishCompletion(out, true)
			}
			return root.GenPowerShellCompletionWithDesc(out)
		}),
	}
}

// oneOf completes a flag that takes one of some words.
func oneOf(words ...string) cobra.CompletionFunc {
	return cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
}

// completeTools completes the first argument, or any value of a flag, with the
// names of the tools.
func completeTools(firstOnly bool) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if firstOnly && len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var flags configFlags
		flags.workspace, _ = cmd.Flags().GetString("workspace")
		flags.file, _ = cmd.Flags().GetString("config")
		cat, err := flags.shownCatalog()
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		var words []cobra.Completion
		for spec := range cat.All() {
			words = append(words, cobra.CompletionWithDesc(spec.Name, firstLine(spec.Description)))
		}
		return words, cobra.ShellCompDirectiveNoFileComp
	}
}
