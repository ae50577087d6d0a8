package replay

import (
	"fmt"
	"strings"

	"github.com/callgate/callgate/internal/plaintext"
)

// What says what is different about a call.
type What string

// About whether the call would run. Pointer is a place in the arguments.
const (
	UnknownTool What = "unknown_tool"        // the tool is gone
	NewTool     What = "new_tool"            // there was no such tool then
	Malformed   What = "malformed_arguments" // the arguments are no strict JSON any more
	Invalid     What = "invalid_arguments"   // one violation, at Pointer
	Accepted    What = "accepted"            // a reason to refuse the call, at Pointer, that is none any more
	Repaired    What = "repaired"            // the value at Pointer is repaired before the call runs
	Verdict     What = "verdict"             // the rules say something else
	Effect      What = "effect"              // it would be ordered and repeated otherwise
	Definition  What = "definition"          // anything of the tool's definition; for information, at the first call of it
)

// About what came of running it again. Pointer is a place in the structured
// content, "" for the text.
const (
	Code   What = "code"   // it failed and does not, or fails otherwise
	Output What = "output" // it said something else
)

// A Difference is one thing that is not as it was recorded.
type Difference struct {
	Turn    int    `json:"turn"`
	Index   int    `json:"index"`
	Tool    string `json:"tool"`
	What    What   `json:"what"`
	Pointer string `json:"pointer"` // JSON Pointer, "" for the whole and where there is no place
	Then    string `json:"then"`    // one line, "" if Now says it all
	Now     string `json:"now"`     // one line, "" if Then says it all
	// Diff is the unified diff of a text, at most 60 lines and 8 KiB.
	Diff string `json:"diff,omitempty"`
	// Redacted says that the arguments were redacted before they were recorded,
	// which may be all there is to the difference.
	Redacted bool `json:"redacted,omitzero"`
	// Info says that the difference changes nothing about the call.
	Info bool `json:"info,omitzero"`
}

// String returns turn/index tool: what at pointer: then, now.
func (d Difference) String() string {
	s := fmt.Sprintf("%d/%d %s: %s", d.Turn, d.Index, line(d.Tool, 80), d.What)
	if d.Pointer != "" {
		s += " at " + line(d.Pointer, 200)
	}
	then, now := line(d.Then, 300), line(d.Now, 300)
	switch {
	case then != "" && now != "":
		s += ": " + then + ", now " + now
	case now != "":
		s += ": " + now
	case then != "":
		s += ": was " + then
	}
	if d.Redacted {
		s += " (the arguments were redacted)"
	}
	return s
}

// A Report is what [Check] found, with what [Rerun] found if that was asked for.
type Report struct {
	Session     string       `json:"session"`
	Fork        *Fork        `json:"fork,omitempty"` // what [Forked] returned; Check leaves it nil
	Calls       int          `json:"calls"`          // that were judged: the newest run of each
	Redacted    int          `json:"redacted"`       // of these, with arguments that were not recorded whole
	Differences []Difference `json:"differences"`    // by turn, index, kind and place
	Outputs     *Outputs     `json:"outputs,omitempty"`
}

// Outputs is what came of running calls again.
type Outputs struct {
	Runs        int          `json:"runs"`
	Differences []Difference `json:"differences"`
	Skipped     []Skipped    `json:"skipped"` // calls that would have been run but for Why
}

// Skipped is a read-only call that was not run again.
type Skipped struct {
	Turn  int    `json:"turn"`
	Index int    `json:"index"`
	Tool  string `json:"tool"`
	Why   string `json:"why"`
}

// Same reports whether nothing is different but for information.
func (r Report) Same() bool {
	found, _ := r.count()
	return found == 0
}

func (r Report) count() (found, info int) {
	all := r.Differences
	if r.Outputs != nil {
		all = append(all[:len(all):len(all)], r.Outputs.Differences...)
	}
	for _, d := range all {
		if d.Info {
			info++
		}
	}
	return len(all) - info, info
}

// String returns a line for each difference, the diffs indented, and a last line
// that counts. Of a fork the first line says which calls are not judged. It is fit for a terminal: what a model or a tool said is shown
// without control characters.
func (r Report) String() string {
	var b strings.Builder
	write := func(list []Difference) {
		for _, d := range list {
			fmt.Fprintln(&b, d)
			for l := range strings.Lines(d.Diff) {
				fmt.Fprintln(&b, "    "+printable(strings.TrimSuffix(l, "\n")))
			}
		}
	}
	if f := r.Fork; f != nil {
		verb := "are"
		if f.Calls == 1 {
			verb = "is"
		}
		fmt.Fprintf(&b, "forked from session %s after turn %d: %s until then %s not judged here\n", line(f.Parent, 80), f.Turn, plural(f.Calls, "call"), verb)
	}
	write(r.Differences)
	if r.Outputs != nil {
		write(r.Outputs.Differences)
		for _, s := range r.Outputs.Skipped {
			fmt.Fprintf(&b, "%d/%d %s: not run again: %s\n", s.Turn, s.Index, line(s.Tool, 80), line(s.Why, 300))
		}
	}
	found, info := r.count()
	fmt.Fprint(&b, plural(r.Calls, "call"))
	if r.Outputs != nil {
		fmt.Fprintf(&b, ", %d run again", r.Outputs.Runs)
	}
	if r.Calls == 0 && found == 0 {
		fmt.Fprint(&b, ": there is nothing to judge\n")
		return b.String()
	}
	fmt.Fprint(&b, ", "+plural(found, "difference"))
	if info > 0 {
		fmt.Fprintf(&b, ", %d more for information", info)
	}
	if r.Redacted > 0 {
		fmt.Fprintf(&b, "; the arguments of %d were redacted", r.Redacted)
	}
	fmt.Fprintln(&b)
	return b.String()
}

func plural(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// line returns text as one line of at most n characters.
func line(s string, n int) string {
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
	return printable(plaintext.Clip(s, n))
}

// printable shows what would move a cursor, change colours or turn the direction
// of writing as U+FFFD, and a tab as blanks.
func printable(s string) string { return plaintext.Visible(strings.ReplaceAll(s, "\t", "    ")) }
