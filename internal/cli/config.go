package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/callgate/callgate/config"
)

// configFlags say which configuration files count.
type configFlags struct {
	workspace string
	file      string // instead of the workspace's own
}

func (f *configFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.workspace, "workspace", ".", "directory that the file tools work in; nothing outside it is touched")
	cmd.Flags().StringVar(&f.file, "config", "", "configuration `FILE` to read instead of the workspace's callgate.yaml")
	cmd.MarkFlagDirname("workspace")
	cmd.MarkFlagFilename("config", "yaml", "yml", "json")
}

// A source of configuration is a file and who vouches for it. The user's own
// file and one that was named on the command line are the person's word; that of
// a workspace came with the workspace.
type source struct {
	kind    string // user, workspace or flag
	path    string
	vouched bool
	file    *config.File // nil if there is no such file
	doubted []string     // what of it is not believed, for the person
}

// doubt takes from a file that nobody vouches for what could hand a key of the
// caller's to a program, its env and what its tools want passed on, and what could
// hide something from the record.
func (s *source) doubt() {
	const advice = " of a workspace's file is not believed; put it into your own file, or name this one with --config"
	if s.file.Env.Opens() {
		s.doubted = append(s.doubted, s.file.Where("/env")+": the env"+advice)
	}
	if !s.file.Journal.IsZero() {
		s.doubted = append(s.doubted, s.file.Where("/journal")+": the journal"+advice)
	}
	for i := range s.file.Commands {
		if env := &s.file.Commands[i].Env; len(env.Pass) > 0 {
			s.doubted = append(s.doubted, s.file.Where(fmt.Sprintf("/commands/%d/env/pass", i))+": env.pass"+advice)
			env.Pass = nil
		}
	}
}

// load reads the files that count, the user's first. A file that does not exist
// counts for nothing, unless it was named.
func (f *configFlags) load() ([]source, error) {
	sources, err := f.places()
	if err != nil {
		return nil, err
	}
	for i := range sources {
		s := &sources[i]
		switch file, err := config.Load(s.path); {
		case err == nil:
			if s.file = file; !s.vouched {
				s.doubt()
			}
		case errors.Is(err, fs.ErrNotExist) && s.kind != "flag":
		default:
			return nil, &failure{exitUsage, err}
		}
	}
	return sources, nil
}

func (f *configFlags) places() ([]source, error) {
	var sources []source
	if user, err := config.User(); err == nil {
		sources = append(sources, source{kind: "user", path: user, vouched: true})
	} // without a home there is no such file
	if f.file != "" {
		return append(sources, source{kind: "flag", path: f.file, vouched: true}), nil
	}
	return append(sources, source{kind: "workspace", path: config.Project(f.workspace)}), nil
}

func configCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Show, check and start configuration files",
		Long: `Configuration says which programs are tools, and what programs see of the
environment. Two files count: the user's own, and callgate.yaml in the workspace
or, instead of it, the file that --config names. An unknown key, a missing one or
a wrong value stops every command, with its line and the nearest key.`,
		Example: `  callgate config init
  callgate config show
  callgate config schema > callgate.schema.json`,
	}
	group(cmd, configInitCommand(), configShowCommand(), configSchemaCommand(), configPathCommand())
	return cmd
}

func configInitCommand() *cobra.Command {
	var workspace string
	var user bool
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Write a first configuration file, with examples as comments",
		Example: `  callgate config init
  callgate config init --user`,
		Args: cobra.NoArgs,
		RunE: does(func(cmd *cobra.Command, _ []string) error {
			path := config.Project(workspace)
			if user {
				var err error
				if path, err = config.User(); err != nil {
					return err
				}
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					return err
				}
			}
			file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
			if errors.Is(err, fs.ErrExist) {
				return fmt.Errorf("%s exists already and was left as it is", path)
			}
			if err != nil {
				return err
			}
			_, err = file.WriteString(config.Example)
			if err := errors.Join(err, file.Close()); err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), path)
			return err
		}),
	}
	cmd.Flags().StringVar(&workspace, "workspace", ".", "directory to write callgate.yaml in")
	cmd.Flags().BoolVar(&user, "user", false, "write the user's own file instead")
	cmd.MarkFlagDirname("workspace")
	return cmd
}

func configShowCommand() *cobra.Command {
	var flags configFlags
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Check the configuration and print what each file says, as JSON",
		Example: `  callgate config show
  callgate config show --config other.yaml`,
		Args: cobra.NoArgs,
		RunE: does(func(cmd *cobra.Command, _ []string) error {
			sources, err := flags.load()
			if err != nil {
				return err
			}
			type shown struct {
				Kind string       `json:"kind"`
				Path string       `json:"path"`
				File *config.File `json:"file"`
			}
			list := []shown{}
			for _, s := range sources {
				if s.file != nil {
					list = append(list, shown{s.kind, s.path, s.file})
				}
			}
			return printJSON(cmd.OutOrStdout(), list)
		}),
	}
	flags.add(cmd)
	return cmd
}

func configSchemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of the configuration file, for editors",
		Example: `  callgate config schema
  callgate config schema > callgate.schema.json`,
		Args: cobra.NoArgs,
		RunE: does(func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s\n", indented(config.Schema()))
			return err
		}),
	}
}

func configPathCommand() *cobra.Command {
	var flags configFlags
	cmd := &cobra.Command{
		Use:   "path",
		Short: "Print which files count, and whether they exist",
		Example: `  callgate config path
  callgate config path --workspace ~/src/project`,
		Args: cobra.NoArgs,
		RunE: does(func(cmd *cobra.Command, _ []string) error {
			sources, err := flags.places()
			if err != nil {
				return err
			}
			for _, s := range sources {
				state := "exists"
				if _, err := os.Stat(s.path); err != nil {
					state = "does not exist"
				}
				if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%-10s %s (%s)\n", s.kind, s.path, state); err != nil {
					return err
				}
			}
			return nil
		}),
	}
	flags.add(cmd)
	return cmd
}
