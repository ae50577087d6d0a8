package builtin

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/callgate/callgate/process"
)

// refusal are the words in which programs say that something was kept from them: those
// of the C library, of Go and of Node, whatever their case.
var refusal = regexp.MustCompile(`(?i)permission denied|operation not permitted|read-only file system|` +
	`could not resolve|name resolution|name or service not known|no such host|network is unreachable|` +
	`\b(EACCES|EPERM|EROFS|ENETUNREACH|EAI_AGAIN|ENOTFOUND)\b`)

// sandboxNotes are what the model is told of the sandbox: what was refused in it, and
// after a failure that looks like one of these, what it is. A model that does not know
// tries the same again with sudo.
func sandboxNotes(res process.Result, box process.Sandbox) (notes []string) {
	note := func(format string, args ...any) { notes = append(notes, "Note: "+fmt.Sprintf(format, args...)) }
	for _, r := range res.Refused {
		note("the host %s was refused: %s. The user can open it, with --allow-host %[1]s or egress.allow.", r.Host, strings.TrimSuffix(r.Reason, "."))
	}
	if res.ProcessLimit {
		most := box.Limits.Processes
		if most == 0 {
			most = process.DefaultProcesses
		}
		note("it wanted more processes than the %d that it may have at once (sandbox.limits.processes).", most)
	}
	if res.ExitCode != 0 && res.Level != process.None && res.Level != "" && len(res.Refused) == 0 && keptFrom(res.Output, res.Stderr) {
		note("%s.", boxLine(res.Level, box))
	}
	return notes
}

// keptFrom reports whether what was printed says that something was refused.
func keptFrom(streams ...process.Stream) bool {
	for _, s := range streams {
		if refusal.Match(s.Head) || refusal.Match(s.Tail) {
			return true
		}
	}
	return false
}

// boxLine says in a line what the sandbox lets a program do.
func boxLine(level process.Level, box process.Sandbox) string {
	var says []string
	switch box.Net {
	case process.NoNet:
		says = append(says, "no network")
	case process.AllowedNet:
		says = append(says, "no network but for "+strings.Join(box.Hosts, ", "))
	}
	writes := append([]string{"the workspace"}, box.Writable...)
	if box.ReadOnly {
		says = append(says, "the workspace is read-only")
		writes = box.Writable
	}
	in := "its temporary directory"
	if len(writes) > 0 {
		in = strings.Join(writes, ", ") + " and " + in
	}
	says = append(says, "and writes only in "+in)
	return fmt.Sprintf("it ran %s: %s", level, strings.Join(says, ", "))
}
