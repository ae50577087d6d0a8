package cli

import (
	"fmt"
	"net/netip"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/callgate/callgate/config"
	"github.com/callgate/callgate/process"
)

// sandboxFlags say what the programs of a command may touch. A flag that is given
// is the person's word and goes before every file.
type sandboxFlags struct {
	level   string
	net     string
	hosts   []string
	resolve []string
}

func (f *sandboxFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.level, "sandbox", "auto", "`LEVEL` that programs run at: auto (the highest here), isolated, confined, none")
	flags.StringVar(&f.net, "net", "none", "what programs reach over the network: none, allow (the allowed hosts), full")
	flags.StringArrayVar(&f.hosts, "allow-host", nil, "let programs reach `HOST` (example.com, *.example.com, example.com:8443); implies --net allow; repeatable")
	flags.StringArrayVar(&f.resolve, "test-resolve", nil, "for tests: `NAME=IP` of a host, without a look-up, which may be private")
	flags.MarkHidden("test-resolve")
	cmd.RegisterFlagCompletionFunc("sandbox", oneOf("auto", "isolated", "confined", "none"))
	cmd.RegisterFlagCompletionFunc("net", oneOf("none", "allow", "full"))
	for _, name := range []string{"allow-host", "test-resolve"} {
		cmd.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions)
	}
}

// apply changes s to what the flags say; those that are not given change nothing.
func (f *sandboxFlags) apply(cmd *cobra.Command, s *process.Sandbox) error {
	if cmd.Flags().Changed("sandbox") {
		level, err := process.ParseLevel(f.level)
		if err != nil {
			return usagef("--sandbox: %w", err)
		}
		s.Level = level
	}
	named := cmd.Flags().Changed("net")
	if named {
		switch f.net {
		case "none":
			s.Net, s.Hosts = process.NoNet, nil
		case "allow", "full":
			s.Net = process.Net(f.net)
		default:
			return usagef("--net: %q is no network; use none, allow or full", f.net)
		}
	}
	if len(f.hosts) > 0 {
		if named && f.net != "allow" {
			return usagef("--allow-host opens single hosts, and --net %s says otherwise; leave one of them out", f.net)
		}
		if s.Net != process.FullNet {
			s.Net = process.AllowedNet
		}
		s.Hosts = append(s.Hosts[:len(s.Hosts):len(s.Hosts)], f.hosts...)
	}
	for _, r := range f.resolve {
		name, ip, ok := strings.Cut(r, "=")
		addr, err := netip.ParseAddr(ip)
		if !ok || err != nil || name == "" {
			return usagef("--test-resolve %q is not NAME=IP", r)
		}
		if s.Resolve == nil {
			s.Resolve = map[string]netip.Addr{}
		}
		s.Resolve[name] = addr
	}
	return nil
}

// sandboxOf returns the sandbox of the files that count and of the flags, and what
// of the files is not believed. What is not believed is taken out of them, of their
// tools' sections too.
func (f *sandboxFlags) sandboxOf(cmd *cobra.Command, sources []source, base process.Sandbox) (process.Sandbox, error) {
	home, _ := os.UserHomeDir() // without one, a path that needs it is an error
	var err error
	for i := range sources {
		s := &sources[i]
		if s.file == nil {
			continue
		}
		s.tightenOnly(&s.file.Confine, "", base)
		if base, err = s.file.Sandbox(base, home); err != nil {
			return base, &failure{exitUsage, fmt.Errorf("%s: %w", s.file.Where("/sandbox"), err)}
		}
	}
	if err := f.apply(cmd, &base); err != nil {
		return base, err
	}
	for i := range sources {
		s := &sources[i]
		for j := 0; s.file != nil && j < len(s.file.Commands); j++ {
			s.tightenOnly(&s.file.Commands[j].Confine, fmt.Sprintf("/commands/%d", j), base)
		}
	}
	return base, nil
}

// tightenOnly takes from a section of a file that nobody vouches for what would loosen
// base: it came with the workspace, as a program that wants out may have.
func (s *source) tightenOnly(c *config.Confine, at string, base process.Sandbox) {
	if s.vouched {
		return
	}
	kept, loosens := c.Tightening(base)
	for _, key := range loosens {
		s.doubted = append(s.doubted, fmt.Sprintf("%s: %s of a workspace's file would loosen the sandbox and is not believed; put it into your own file, or name this one with --config",
			s.file.Where(at+"/"+key), strings.ReplaceAll(key, "/", ".")))
	}
	*c = kept
}

// unboxed are lines about what runs without a sandbox: all programs, or single tools.
func unboxed(box process.Sandbox, sources []source) (lines []string) {
	if line := noSandboxLine(box); line != "" {
		lines = append(lines, line)
	}
	for _, s := range sources {
		for i := 0; s.file != nil && i < len(s.file.Commands); i++ {
			c := &s.file.Commands[i]
			if own, err := c.Confine.Sandbox(process.Sandbox{}, "/"); err == nil && own.Level == process.None && box.Level != process.None {
				lines = append(lines, fmt.Sprintf("sandbox: none for the tool %s (%s)", c.Name, s.file.Where(fmt.Sprintf("/commands/%d/sandbox", i))))
			}
		}
	}
	return lines
}

// noSandboxLine says that programs run without a sandbox, for wherever a run is
// shown; "" if they run in one.
func noSandboxLine(s process.Sandbox) string {
	if s.Level != process.None {
		return ""
	}
	return "sandbox: none (programs can do what you can: read your files and the environment of your processes, and reach the network)"
}

// refusedLine says which host a program was kept from, and what lets it through.
func refusedLine(r process.Refused) string {
	return fmt.Sprintf("the host %s was refused: %s; --allow-host %s lets programs reach it", visible(r.Host), visible(r.Reason), visible(r.Host))
}
