package builtin

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/callgate/callgate/process"
)

// refusal are the words in which programs say that something was kept from them: those
// of the C library, of Go and of Node, whatever their case.
var refusal = regexp.MustCompile(`(?i)permission denied|operation not permitted|read-only file system|` +
	`could not resolve|name resolution|name or service not known|no such host|network is unreachable|` +
	`\b(EACCES|EPERM|EROFS|ENETUNREACH|EAI_AGAIN|ENOTFOUND)\b`)

// noFork are those of programs that could start no other: without a cgroup the kernel
// tells nobody else.
var noFork = regexp.MustCompile(`(?i)cannot fork|fork: retry|fork failed|can't start new thread|resource temporarily unavailable|\bEAGAIN\b`)

// busy are those of a program that wants to replace a protected file, as git does with
// its configuration: the kernel calls what is pinned busy, which sounds as if waiting
// would help.
var busy = regexp.MustCompile(`(?i)device or resource busy|\bEBUSY\b`)

// sandboxNotes are what the model is told of the sandbox: what was refused in it, and
// after a failure that looks like one of these, what it is. A model that does not know
// tries the same again with sudo.
func sandboxNotes(res process.Result, box process.Sandbox) (notes []string) {
	note := func(format string, args ...any) { notes = append(notes, "Note: "+fmt.Sprintf(format, args...)) }
	for _, r := range res.Refused {
		note("the host %s was refused: %s. The user can open it, with --allow-host %[1]s or egress.allow.", r.Host, strings.TrimSuffix(r.Reason, "."))
	}
	inBox := res.ExitCode != 0 && res.Level != process.None && res.Level != ""
	if res.ProcessLimit || inBox && saidIn(noFork, res) {
		most := box.Limits.Processes
		if most == 0 {
			most = process.DefaultProcesses
		}
		note("it wanted more processes than the %d that it may have at once (sandbox.limits.processes).", most)
	}
	if inBox && len(res.Refused) == 0 && saidIn(refusal, res) {
		note("%s.", boxLine(res.Level, box))
	}
	if len(res.Made) > 0 {
		note("it made %s. Programs outside of the sandbox run or obey what stands there: tell the user to look at it first.", strings.Join(res.Made, ", "))
	}
	if inBox && res.Level == process.Isolated && saidIn(busy, res) {
		note("it ran isolated: these places of the workspace cannot be changed or replaced: %s.", strings.Join(slices.Concat(process.Protected, box.Protect), ", "))
	}
	return notes
}

// saidIn reports whether what was printed has such words.
func saidIn(words *regexp.Regexp, res process.Result) bool {
	for _, s := range []process.Stream{res.Output, res.Stderr} {
		if words.Match(s.Head) || words.Match(s.Tail) {
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
	only := "it writes only in " + in
	if len(says) > 0 {
		only = "and writes only in " + in
	}
	says = append(says, only)
	return fmt.Sprintf("it ran %s: %s", level, strings.Join(says, ", "))
}
