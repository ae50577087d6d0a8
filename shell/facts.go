// Package shell says what a bash command line would do, as far as that can be
// known without running it.
//
// [Parse] turns a line into [Facts]: every simple command in it, wherever it
// hides (pipelines, substitutions, here-documents, arithmetic, wrappers such as
// env or xargs, the script of bash -c), every redirection, and everything that
// is opaque because it is only decided when the line runs. [ReadOnly] proves
// that a line writes nothing, and [Paths] names the files that it touches.
//
// # Trust model
//
// The line is hostile: it was written by a model that may repeat what a web
// page told it. The grammar is that of bash 5, read by mvdan.cc/sh/v3/syntax.
// Facts err to one side: what is listed may never run (the other branch of an
// if), but what runs is listed or is opaque. A judge that allows must therefore
// find every command covered and nothing opaque; a judge that denies may look
// at the commands alone.
//
// Not covered: what the programs named do once they run, beyond the table of
// [ReadOnly]; the environment that the line starts in (a PATH that leads to
// another ls, BASH_ENV, exported functions, aliases of an interactive shell): a
// caller builds that; file names with the meaning of options in folders that a
// glob expands to, unless the proof says so.
//
// Everything here is pure and safe for concurrent use.
package shell

import (
	"strconv"
	"strings"
)

// Facts are what [Parse] found in a line. Offsets count bytes from the start of
// the line; those of what an inner script holds (bash -c '…') are of the word
// that holds the script.
type Facts struct {
	Line      string
	Commands  []Command  // in the order of the text, a wrapper before what it starts
	Redirects []Redirect // in the order of the text, commands before redirections
	Variables []Assign   // assigned by loops and expansions, not by commands
	Opaque    []Opaque   // empty if everything that can happen is above
}

// A Command is one simple command: a name and its arguments. One that is
// started by a wrapper is listed by itself too, after the wrapper, so that
// "nohup gem push" is seen both as nohup and as gem.
type Command struct {
	Pos        int
	Words      []Word   // none if it is only assignments
	Assigns    []Assign // of the environment in front of the name, env's included
	Via        []string // the wrappers that it was found in, outermost first
	Inner      int      // index in Words of the command that this one starts, or 0
	Background bool     // the shell does not wait for it
	// Dirs are the folders in which it may run, relative to where the line
	// starts ("."), or absolute. None: it cannot be known.
	Dirs []string
}

// Name is the base name of the command, "" if it is not known or there is none.
func (c Command) Name() string {
	if len(c.Words) == 0 || c.Words[0].Why != 0 {
		return ""
	}
	name := c.Words[0].Text
	return name[strings.LastIndexByte(name, '/')+1:]
}

// A Word is one word as the parser sees it, without its quotes.
type Word struct {
	Pos, End int
	Raw      string // as written
	Text     string // what the command gets if Why is 0, else what it surely starts with
	Why      Reason // why the whole is not known; 0: it is
	Many     bool   // it may become no word at all, or several

	dash bool // a word that it becomes may start with a dash
}

// Literal reports whether the word is wholly known: Text is all of it.
func (w Word) Literal() bool { return w.Why == 0 }

// MayBeOption reports whether a command could read the word, or one that it
// expands to, as an option.
func (w Word) MayBeOption() bool { return w.dash }

// An Assign is a variable that gets a value.
type Assign struct {
	Pos     int
	Name    string
	Value   Word // the zero Word if it has none (a loop's variable)
	Append  bool // +=
	Element bool // one element of an array
}

// A Redirect is one redirection, here-document or here-string.
type Redirect struct {
	Pos    int
	FD     string // the descriptor as written, "" for the operator's own
	Op     string // ">", ">>", "<<", …
	Target Word   // file, descriptor, delimiter or text
	// Reads and Writes say what it does to the file Target. Neither: a
	// descriptor is copied or closed, or the text is in the line.
	Reads, Writes bool
	Dirs          []string // as in Command
}

// An Opaque is something that keeps the line from being wholly known.
type Opaque struct {
	Pos  int
	Kind Kind
	Text string // the words in question, for messages
}

// A Kind says how something is opaque.
type Kind string

const (
	OpaqueName        Kind = "name"        // the command's name is only known when it runs
	OpaqueCode        Kind = "code"        // a builtin that runs text, or changes what names mean: eval, source, alias, trap
	OpaqueScript      Kind = "script"      // a shell whose script is not in sight
	OpaqueWrapper     Kind = "wrapper"     // it starts a command that is not understood: ssh, sudo -s, unknown flags
	OpaqueFunction    Kind = "function"    // a function is declared: its name means something else from here
	OpaqueCoproc      Kind = "coproc"      // a coprocess
	OpaqueArith       Kind = "arith"       // arithmetic on variables, or a subscript: their values may hold $(…), which bash runs
	OpaqueExpansion   Kind = "expansion"   // ${x@P} and ${!x} run or read what a variable says
	OpaqueExtGlob     Kind = "extglob"     // bash reads these only with extglob, and they may hold $(…)
	OpaqueEnvironment Kind = "environment" // a variable that changes which programs run, or how words are split
	OpaqueExec        Kind = "exec"        // exec redirects all that follows
	OpaqueDialect     Kind = "dialect"     // shells would not agree on what it means
)

func (o Opaque) String() string {
	return string(o.Kind) + " at " + strconv.Itoa(o.Pos) + ": " + o.Text
}

// A Reason is a set of causes for which a word is not known.
type Reason uint16

const (
	Param   Reason = 1 << iota // $x
	Cmd                        // $(x)
	Arith                      // $((x))
	Glob                       // *
	Brace                      // {a,b}
	Tilde                      // ~
	Proc                       // <(x)
	ExtGlob                    // @(a)
	Locale                     // $"x", or characters whose bytes depend on the locale
	Array                      // (a b), the value of an assignment
	Replace                    // {} of find and xargs: a file's name comes in its place
	More                       // xargs adds words that it reads
)

var reasons = [...]string{"param", "cmd", "arith", "glob", "brace", "tilde", "proc", "extglob", "locale", "array", "replace", "more"}

// String lists the causes, joined by "+".
func (r Reason) String() string {
	var names []string
	for i, name := range reasons {
		if r&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, "+")
}
