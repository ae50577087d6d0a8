package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A wrapper is a command that starts another one, which its words name.
type wrapper struct {
	flags   flags  // the flags before that command that are understood
	skip    int    // operands before it
	assigns bool   // NAME=VALUE words may stand before it
	number  bool   // a flag may be a number: nice -5
	dir     string // the flag that changes the folder
	query   string // with one of these short flags it starts nothing
	builtin bool   // it runs in the shell itself: cd in it moves the shell
}

// wrappers is the table of what starts other commands. A flag that is not here
// makes the line opaque, as does one of GNU's abbreviations.
var wrappers = map[string]wrapper{
	"nohup":   {},
	"nice":    {flags: flags{"n:", "adjustment="}, number: true},
	"ionice":  {flags: flags{"c:n:t", "class= classdata= ignore"}},
	"timeout": {flags: flags{"s:k:v", "signal= kill-after= preserve-status foreground verbose"}, skip: 1},
	"time":    {flags: flags{"pvao:f:", "portability verbose append output= format="}},
	"stdbuf":  {flags: flags{"i:o:e:", "input= output= error="}},
	"setsid":  {flags: flags{"cfw", "ctty fork wait"}},
	"env":     {flags: flags{"i0vu:C:", "ignore-environment null debug unset= chdir="}, assigns: true, dir: "C"},
	"command": {flags: flags{"pvV", ""}, query: "vV", builtin: true},
	"builtin": {builtin: true},
	"exec":    {flags: flags{"cla:", ""}},
	"sudo":    {flags: flags{"u:g:EHnSkPp:C:T:r:t:AbBD:R:", "user= group= preserve-env? set-home non-interactive stdin reset-timestamp prompt= chdir="}, assigns: true, dir: "D"},
	"doas":    {flags: flags{"u:nC:L", ""}},
	"xargs": {flags: flags{"0rtpxoa:d:E:I:L:n:P:s:e?i?l?",
		"null no-run-if-empty verbose interactive exit open-tty arg-file= delimiter= max-args= max-procs= max-chars= process-slot-var="}},
}

// elsewhere start commands in ways that are not understood: on other machines,
// under other users, in terminals, from text.
var elsewhere = set(`ssh mosh rsh su runuser pkexec systemd-run chroot unshare nsenter watch parallel flock script
	expect unbuffer strace ltrace gdb busybox toybox taskset chrt setarch fakeroot firejail bwrap entr at batch
	screen tmux setpriv gosu chpst capsh cpulimit perf valgrind sg newgrp start-stop-daemon caffeinate rlwrap`)

var (
	shells = set("bash sh dash ash rbash")
	// Other grammars: what they are given is not read.
	otherShells = set("zsh ksh mksh fish tcsh csh pwsh nu elvish osh xonsh")
)

// code are the builtins that run text or change what names mean.
var code = set("eval source . trap alias unalias enable bind complete compgen compopt shopt fc hash")

// Influential reports whether a variable of that name may change which programs
// run, what they load, or how bash reads words. The list is of the common ones:
// a proof needs a list of harmless names instead, see [ReadOnly].
func Influential(name string) bool {
	for _, p := range []string{"LD_", "DYLD_", "GIT_", "BASH", "PYTHON", "NODE_", "PERL", "RUBY", "GCONV_", "MALLOC_", "npm_config_"} {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return influential[name]
}

var influential = set(`PATH IFS ENV PS4 PROMPT_COMMAND SHELL SHELLOPTS CDPATH HOME PWD GLOBIGNORE EXECIGNORE FIGNORE POSIXLY_CORRECT
	PAGER MANPAGER LESS LESSOPEN LESSCLOSE EDITOR VISUAL BROWSER RIPGREP_CONFIG_PATH GREP_OPTIONS TAR_OPTIONS TMPDIR
	LOCPATH NLSPATH TEXTDOMAIN TEXTDOMAINDIR CLASSPATH JAVA_TOOL_OPTIONS GOFLAGS RUSTC_WRAPPER MAKEFLAGS
	SSH_ASKPASS SUDO_ASKPASS XDG_CONFIG_HOME GCC_EXEC_PREFIX`)

// emit lists a command, and the one that it starts. It returns where the shell
// is after it succeeded, and after it failed.
func (r *reader) emit(c Command, in dirs, redirected bool) (ok, fail dirs) {
	if *r.nodes += 1 + len(c.Words); *r.nodes > maxNodes || len(r.via) > maxScripts {
		r.err = errTooMuch
		return in, in
	}
	c.Via, c.Dirs = r.via, in.list()
	at := len(r.f.Commands)
	r.f.Commands = append(r.f.Commands, c)
	if len(c.Words) == 0 {
		return in, in
	}
	opaque := func(kind Kind) {
		var raw []string
		for _, w := range c.Words {
			raw = append(raw, w.Raw)
		}
		r.opaqueAt(c.Words[0].Pos, kind, strings.Join(raw, " "))
	}
	name := c.Name()
	w, isWrapper := wrappers[name]
	switch {
	case name == "":
		opaque(OpaqueName)
		return dirs{any: true}, dirs{any: true}
	case r.funcs[c.Words[0].Text]:
		return dirs{any: true}, dirs{any: true}
	case name == "cd":
		return r.cd(c, in), in
	case name == "pushd" || name == "popd":
		return dirs{any: true}, dirs{any: true}
	case code[name]:
		opaque(OpaqueCode)
		if movers[name] {
			return dirs{any: true}, dirs{any: true}
		}
	case elsewhere[name]:
		opaque(OpaqueWrapper)
	case otherShells[name]:
		opaque(OpaqueScript)
	case shells[name]:
		r.shell(at, in, opaque)
	case name == "find":
		r.find(at, in, opaque)
	case isWrapper:
		return r.unwrap(at, w, in, opaque, redirected)
	default:
		r.variables(c, opaque)
	}
	return in, in
}

// cd is where the shell is after cd succeeded.
func (r *reader) cd(c Command, in dirs) dirs {
	words := c.Words[1:]
	for len(words) > 0 && words[0].Why == 0 && (words[0].Text == "-L" || words[0].Text == "--") {
		words = words[1:]
	}
	// No operand is $HOME; - is the folder before; -P follows links; an empty
	// operand stays.
	if len(words) != 1 || words[0].Why != 0 || strings.HasPrefix(words[0].Text, "-") {
		return dirs{any: true}
	}
	return in.cd(words[0].Text)
}

// start lists the command that starts at words[i] of command at.
func (r *reader) start(at, i int, words []Word, assigns []Assign, in dirs) (ok, fail dirs) {
	outer := &r.f.Commands[at]
	outer.Inner = i
	sub := *r
	sub.via = append(slices.Clip(r.via), outer.Name())
	inner := Command{Pos: words[0].Pos, Words: words, Background: outer.Background}
	inner.Assigns = append(slices.Clip(outer.Assigns), assigns...)
	ok, fail = sub.emit(inner, in, false)
	r.err = sub.err
	return ok, fail
}

// unwrap finds the command that a wrapper starts.
func (r *reader) unwrap(at int, w wrapper, in dirs, opaque func(Kind), redirected bool) (ok, fail dirs) {
	c := r.f.Commands[at]
	words, replace, more := c.Words, "", c.Name() == "xargs"
	i, understood, counted := 1, true, false
	for i < len(words) && understood {
		text := words[i].Text
		if words[i].Why != 0 {
			understood = false
			break
		}
		if text == "--" {
			i++
			break
		}
		if text == "-" && c.Name() == "env" || w.number && len(text) > 1 && text[0] == '-' && number.MatchString(text[1:]) {
			i++
			continue
		}
		if len(text) < 2 || text[0] != '-' {
			break
		}
		flag, arg, next, found := w.flags.read(words, i)
		if !found {
			understood = false
			break
		}
		for _, f := range flag {
			switch {
			case strings.Contains(w.query, f):
				return in, in
			case w.dir != "" && f == w.dir || f == "chdir":
				if arg.Why != 0 {
					in = dirs{any: true}
				} else {
					in = in.cd(arg.Text)
				}
			case more && (f == "I" || f == "i"):
				if replace = arg.Text; replace == "" {
					replace = "{}"
				}
				understood = arg.Why == 0
			case more && (f == "n" || f == "L" || f == "l" || f == "max-args"):
				counted = true
			}
		}
		i = next
	}
	// GNU's xargs obeys the later of -I and -n: words are added after all.
	understood = understood && !(counted && replace != "")
	var assigns []Assign
	for understood && w.assigns && i < len(words) {
		name, value, has := strings.Cut(words[i].Text, "=")
		if !has || words[i].Many {
			break
		}
		v := words[i]
		v.Text = value
		assigns = append(assigns, Assign{Pos: v.Pos, Name: name, Value: v})
		if Influential(name) {
			r.opaqueAt(v.Pos, OpaqueEnvironment, v.Raw)
		}
		i++
	}
	for range w.skip {
		if understood && i < len(words) {
			understood = words[i].Why == 0
			i++
		}
	}
	if !understood || i < len(words) && words[i].Many && words[i].MayBeOption() {
		opaque(OpaqueWrapper)
		return in, in
	}
	if i >= len(words) {
		if c.Name() == "exec" && redirected {
			opaque(OpaqueExec)
		}
		return in, in
	}
	inner := slices.Clone(words[i:])
	if replace != "" {
		substitute(inner, replace)
	} else if more {
		inner = append(inner, Word{Pos: c.Pos, End: c.Pos, Why: More, Many: true, dash: true})
	}
	ok, fail = r.start(at, i, inner, assigns, in)
	if !w.builtin {
		return in, in
	}
	return ok, fail
}

// substitute makes the words that hold mark unknown: something else comes in
// its place.
func substitute(words []Word, mark string) {
	for i, w := range words {
		before, _, found := strings.Cut(w.Text, mark)
		if !found && w.Why == 0 {
			continue
		}
		if found {
			w.Text = before
		}
		w.Why |= Replace
		w.dash = w.dash || w.Text == ""
		words[i] = w
	}
}

// find lists the commands of -exec and its relatives.
func (r *reader) find(at int, in dirs, opaque func(Kind)) {
	words := r.f.Commands[at].Words
	for i := 1; i < len(words); i++ {
		switch words[i].Text {
		case "-exec", "-ok", "-execdir", "-okdir":
		default:
			continue
		}
		from := i + 1
		i, known := execEnd(words, from)
		if !known {
			opaque(OpaqueWrapper)
		}
		if from >= i {
			continue
		}
		inner := slices.Clone(words[from:i])
		substitute(inner, "{}")
		for j := range inner {
			inner[j].Many = inner[j].Many || inner[j].Why&Replace != 0 && i < len(words) && words[i].Text == "+"
		}
		dir := in
		if strings.HasSuffix(words[from-1].Text, "dir") {
			dir = dirs{any: true}
		}
		r.start(at, from, inner, nil, dir)
	}
}

// execEnd returns where the command of -exec ends that starts at words[from]:
// the index of its ; or of the + behind {}, or the number of words. It is known
// if no word before it may become one of these, or several words.
func execEnd(words []Word, from int) (end int, known bool) {
	known = true
	for i := from; i < len(words); i++ {
		w := words[i]
		switch {
		case w.Why != 0:
			known = known && !w.Many && strings.Trim(w.Text, ";+") != ""
		case w.Text == ";":
			return i, known
		case w.Text == "+" && i > from && (words[i-1].Text == "{}" || words[i-1].Why != 0):
			return i, known && words[i-1].Why == 0
		}
	}
	return len(words), known
}

// shell reads the script of bash -c.
func (r *reader) shell(at int, in dirs, opaque func(Kind)) {
	c := r.f.Commands[at]
	words := c.Words
	command, plain := false, true
	i := 1
	for ; i < len(words) && words[i].Why == 0; i++ {
		text := words[i].Text
		if text == "--" || text == "-" {
			i++
			break
		}
		if len(text) < 2 || text[0] != '-' && text[0] != '+' {
			break
		}
		if text[1] == '-' {
			plain = plain && (text == "--norc" || text == "--noprofile")
			continue
		}
		for _, f := range text[1:] {
			switch f {
			case 'c':
				command = true
			case 'e', 'u', 'x', 'f', 'v':
			case 'o':
				i++
				plain = plain && i < len(words) && options[words[i].Text] && words[i].Why == 0
			default: // -l and -i run profiles, -s reads, -O changes the grammar
				plain = false
			}
		}
	}
	if !command || i >= len(words) || words[i].Why != 0 {
		if !(len(words) == 2 && words[1].Text == "--version") {
			opaque(OpaqueScript)
		}
		return
	}
	if !plain {
		opaque(OpaqueScript)
	}
	r.f.Commands[at].Inner = i
	sub := reader{
		f: r.f, nodes: r.nodes, src: words[i].Text, base: words[i].Pos, bg: r.bg, funcs: map[string]bool{},
		via: append(slices.Clip(r.via), c.Name()),
	}
	from := len(r.f.Commands)
	if err := sub.script(words[i].Text, syntax.LangBash, in); err != nil {
		r.err = sub.err
		opaque(OpaqueScript)
		return
	}
	for j := from; j < len(r.f.Commands); j++ {
		r.f.Commands[j].Assigns = append(slices.Clip(c.Assigns), r.f.Commands[j].Assigns...)
	}
	if c.Name() != "bash" && !r.agree(sub, r.f.Commands[from:], in) {
		opaque(OpaqueDialect)
	}
}

var options = set("errexit nounset xtrace noglob pipefail verbose")

// agree reports whether a POSIX shell would find the same commands in a script
// as bash: to dash, &> is a background job and $'a' has a dollar in it.
func (r *reader) agree(sub reader, cmds []Command, in dirs) bool {
	var f Facts
	posix := sub
	posix.f, posix.funcs = &f, map[string]bool{}
	if posix.script(sub.src, syntax.LangPOSIX, in) != nil {
		return false
	}
	return slices.EqualFunc(cmds, f.Commands, func(a, b Command) bool {
		return a.Background == b.Background && slices.EqualFunc(a.Words, b.Words, func(v, w Word) bool {
			return v.Text == w.Text && v.Why == w.Why
		})
	})
}

// variables finds builtins that take names of variables: bash evaluates the
// subscript of a[…], and so runs a $(…) in it.
func (r *reader) variables(c Command, opaque func(Kind)) {
	words := c.Words[1:]
	subscript := func(w Word) bool { return w.Why != 0 || strings.Contains(w.Text, "[") }
	switch c.Name() {
	case "read", "mapfile", "readarray", "getopts", "unset", "wait":
		callback := c.Name() == "mapfile" || c.Name() == "readarray"
		for _, w := range words {
			if c.Name() == "unset" && w.Text == "-f" || callback && strings.HasPrefix(w.Text, "-C") {
				opaque(OpaqueCode)
				return
			}
		}
		if slices.ContainsFunc(words, subscript) {
			opaque(OpaqueArith)
		}
		for _, w := range words {
			if Influential(w.Text) {
				opaque(OpaqueEnvironment)
			}
		}
	case "test", "[", "printf":
		for i, w := range words {
			if i+1 < len(words) && (w.Text == "-v" || w.Text == "-R") && w.Why == 0 && subscript(words[i+1]) {
				opaque(OpaqueArith)
			}
		}
		if c.Name() == "printf" && len(words) > 0 && strings.HasPrefix(words[0].Text, "-v") && strings.Contains(words[0].Text, "[") {
			opaque(OpaqueArith)
		}
	}
}
