package cli

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/spf13/cobra"

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
