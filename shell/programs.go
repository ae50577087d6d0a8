package shell

import (
	"regexp"
	"slices"
	"strings"
)

// The commands of this file have a language of their own.

// printf assigns with -v, and with %n.
func printf(c Command) string {
	words := c.Words[1:]
	if len(words) > 0 && words[0].Why == 0 && words[0].Text == "--" {
		words = words[1:]
	}
	if len(words) == 0 {
		return ""
	}
	format := words[0]
	switch {
	case format.Why != 0:
		return format.Raw + ": a format that is not known may assign"
	case strings.HasPrefix(format.Text, "-"):
		return format.Raw + " may assign to a variable"
	}
	for i := 0; i < len(format.Text); i++ {
		if format.Text[i] != '%' {
			continue
		}
		// Flags, width and precision, then the conversion.
		for i++; i < len(format.Text) && strings.IndexByte("#0- +'123456789.*hlLjzt", format.Text[i]) >= 0; i++ {
		}
		if i < len(format.Text) && format.Text[i] == 'n' {
			return "%n assigns to a variable"
		}
	}
	return ""
}

var (
	unary  = set("-b -c -d -e -f -g -h -k -n -p -r -s -t -u -w -x -z -G -L -N -O -S")
	binary = set("= == != < > -eq -ne -lt -le -gt -ge -nt -ot -ef =~")
)

// test evaluates the subscript of a name behind -v. A word that is not known
// must stand where it can only be a value.
func test(c Command) string {
	words := c.Words[1:]
	literal := func(i int, in map[string]bool) bool {
		return i >= 0 && i < len(words) && words[i].Why == 0 && in[words[i].Text]
	}
	opaque := false
	for i, w := range words {
		if w.Why == 0 {
			continue
		}
		opaque = true
		alone := len(words) == 1 || len(words) == 2 && i == 0 && c.Name() == "["
		if w.Many {
			return w.Raw + " may become several words"
		}
		if !alone && !literal(i-1, unary) && !literal(i-1, binary) && !literal(i+1, binary) {
			return w.Raw + " may be an operator"
		}
	}
	if opaque && len(words) > 5 {
		return "an expression that is too long to be sure of"
	}
	return ""
}

// Primaries of find: what they take.
var (
	findPlain = set(`-empty -depth -d -mount -xdev -prune -print -print0 -ls -quit -not -a -o -and -or ! ( ) , -true -false -readable
		-writable -executable -follow -daystart -noleaf -nouser -nogroup -H -L -P -E -X -x -s -warn -nowarn -noignore_readdir_race -ignore_readdir_race`)
	findValue = set(`-name -iname -path -ipath -wholename -iwholename -regex -iregex -lname -ilname -type -xtype -size -mtime -mmin -atime
		-amin -ctime -cmin -newer -anewer -cnewer -newermt -newerat -newerct -perm -user -group -uid -gid -maxdepth -mindepth -printf
		-links -inum -samefile -regextype -fstype -used`)
)

// find deletes with -delete and writes with -fprint and its like.
func find(c Command) string {
	words := c.Words[1:]
	for i := 0; i < len(words); i++ {
		w := words[i]
		switch {
		case w.Why != 0 && w.MayBeOption():
			return w.Raw + " may become an action"
		case w.Why != 0:
			// It surely starts like a path.
		case findPlain[w.Text]:
		case findValue[w.Text]:
			if i++; i < len(words) && words[i].Many {
				return words[i].Raw + " may become several words"
			}
		case w.Text == "-exec" || w.Text == "-ok":
			from, known := i+1, false
			if i, known = execEnd(words, from); !known || i == from || i == len(words) {
				return w.Raw + " without its end"
			}
		case w.MayBeOption() || strings.HasPrefix(w.Text, "+"):
			return w.Raw + " is not among the actions known to be harmless"
		}
	}
	return ""
}

// sed writes with -i, and its scripts with w; GNU's run commands with e.
func sed(c Command) string {
	p := proof{flags: flags{"nErsuze:", "quiet silent regexp-extended null-data unbuffered separate expression= posix sandbox"}}
	var scripts []Word
	words := c.Words[1:]
	operand := false
	for i := 0; i < len(words); i++ {
		if w := words[i]; w.Why == 0 && w.Text == "--" {
			break
		} else if w.Why != 0 || w.Text == "-" || !strings.HasPrefix(w.Text, "-") {
			operand = true
		} else if w.Why == 0 && len(w.Text) > 1 && w.Text[0] == '-' {
			names, arg, next, found := p.flags.read(words, i)
			if !found {
				return w.Raw + " is not among the flags known to be harmless"
			}
			if last := names[len(names)-1]; last == "e" || last == "expression" {
				if operand {
					return w.Raw + " after a word that BSD's sed takes for the script"
				}
				scripts = append(scripts, arg)
			}
			i = next - 1
		}
	}
	operands, why := p.operands(words)
	if why != "" {
		return why
	}
	if len(scripts) == 0 {
		if len(operands) == 0 {
			return ""
		}
		scripts = operands[:1]
	}
	for _, s := range scripts {
		if s.Why != 0 || !sedScript(s.Text) {
			return s.Raw + ": a script that is not known to be harmless"
		}
	}
	return ""
}

var (
	sedAddress = regexp.MustCompile(`^(?:[0-9]+(?:~[0-9]+)?|\$|[+~][0-9]+)`)
	sedSimple  = regexp.MustCompile(`^(?:[=dDgGhHnNpPxz]|[qQ][ \t]*[0-9]*)`)
	sedFlags   = regexp.MustCompile(`^[gpiIm0-9]*`)
)

// sedScript accepts the scripts that everybody writes: addresses, p, d, q, s, y
// and the hold space. Regular expressions in which GNU and BSD would not agree
// on where they end are not accepted.
func sedScript(s string) bool {
	const blank = " \t"
	section := func(delim byte) bool {
		for i := 0; i < len(s); i++ {
			switch s[i] {
			case '\\':
				i++
				if i == len(s) || s[i] == '\n' {
					return false
				}
			case '\n':
				return false
			case delim:
				text := s[:i]
				s = s[i+1:]
				return strings.Count(text, "[") == strings.Count(text, "]") && !strings.Contains(text, "[]") && !strings.Contains(text, "[^]") && !strings.Contains(text, `\[`) && !strings.Contains(text, `\]`)
			}
		}
		return false
	}
	address := func() (found, ok bool) {
		if strings.HasPrefix(s, "/") {
			s = s[1:]
			ok = section('/')
			s = strings.TrimLeft(s, "IM")
			return true, ok
		}
		n := len(sedAddress.FindString(s))
		s = s[n:]
		return n > 0, true
	}
	for open := 0; ; {
		s = strings.TrimLeft(s, blank+";\n")
		if s == "" {
			return open == 0
		}
		if s[0] == '#' {
			_, s, _ = strings.Cut(s, "\n")
			continue
		}
		if s[0] == '}' {
			open--
			s = s[1:]
			continue
		}
		if found, ok := address(); !ok {
			return false
		} else if found {
			s = strings.TrimLeft(s, blank)
			if strings.HasPrefix(s, ",") {
				s = strings.TrimLeft(s[1:], blank)
				if found, ok := address(); !found || !ok {
					return false
				}
			}
		}
		s = strings.TrimLeft(s, blank+"!")
		switch {
		case s == "":
			return false
		case s[0] == '{':
			open++
			s = s[1:]
			continue
		case s[0] == 's' || s[0] == 'y':
			if len(s) < 2 || s[1] == '\n' || s[1] == '\\' || s[1] >= 0x80 || s[1] == '[' || s[1] == ']' {
				return false
			}
			command, delim := s[0], s[1]
			s = s[2:]
			for range 2 { // what is replaced, and by what
				if !section(delim) {
					return false
				}
			}
			if command == 's' {
				s = s[len(sedFlags.FindString(s)):]
			}
		default:
			n := len(sedSimple.FindString(s))
			if n == 0 {
				return false
			}
			s = s[n:]
		}
		s = strings.TrimLeft(s, blank)
		if s != "" && strings.IndexByte(";\n}#", s[0]) < 0 {
			return false
		}
	}
}

// awk writes and runs with > and |, system and getline; @ loads and calls by
// name.
func awk(c Command) string {
	p := proof{flags: flags{"F:v:", ""}}
	words := c.Words[1:]
	i := 0
	for i < len(words) && words[i].Why == 0 && len(words[i].Text) > 1 && words[i].Text[0] == '-' {
		if words[i].Text == "--" {
			i++
			break
		}
		_, _, next, found := p.flags.read(words, i)
		if !found {
			return words[i].Raw + " is not among the flags known to be harmless"
		}
		i = next
	}
	if i >= len(words) {
		return ""
	}
	program := words[i]
	if program.Why != 0 {
		return program.Raw + ": a program that is not known"
	}
	text := strings.ReplaceAll(program.Text, "||", "")
	if i := strings.IndexAny(text, ">|@`"); i >= 0 {
		return "its program may write or run something: " + text[i:i+1]
	}
	for _, call := range []string{"system", "getline", "extension", "ARGV", "ARGC", "SYMTAB"} {
		if strings.Contains(text, call) {
			return "its program may write or run something: " + call
		}
	}
	// GNU's awk opens a connection for /inet/tcp/0/host/port.
	for _, w := range words[i+1:] {
		const net = "/inet"
		if strings.HasPrefix(w.Text, net) || w.Why&^(Glob|Tilde|Proc) != 0 && strings.HasPrefix(net, w.Text) {
			return w.Raw + " may open a network connection"
		}
	}
	return ""
}

// gitFlags may stand before the subcommand.
var gitFlags = flags{"", "no-pager no-optional-locks no-replace-objects literal-pathspecs glob-pathspecs noglob-pathspecs icase-pathspecs no-lazy-fetch"}

// git judges the subcommands that only look. --output writes, --ext-diff,
// --textconv, -O and %G run programs.
func git(c Command) string {
	words := c.Words[1:]
	if len(words) == 1 && (words[0].Text == "--version" || words[0].Text == "version") && words[0].Why == 0 {
		return ""
	}
	i := 0
	for i < len(words) && words[i].Why == 0 && strings.HasPrefix(words[i].Text, "-") {
		_, _, next, found := gitFlags.read(words, i)
		if !found {
			return words[i].Raw + " is not among the flags known to be harmless"
		}
		i = next
	}
	if i >= len(words) || words[i].Why != 0 {
		return "no subcommand that is known to write nothing"
	}
	name, words := words[i].Text, words[i+1:]
	for _, w := range words {
		if strings.Contains(w.Text, "%G") {
			return w.Raw + " runs the program that checks signatures"
		}
	}
	p, ok := gitProofs[name]
	if !ok {
		return name + " is not among the subcommands known to write nothing"
	}
	// Some only look when their first word says so.
	if p.verbs != nil {
		switch {
		case len(words) == 0:
			if !p.verbs[""] {
				return name + " alone may write"
			}
		case words[0].Why == 0 && p.verbs[words[0].Text]:
			if strings.HasPrefix(words[0].Text, "-") && name == "remote" {
				p.most = none // the verb may come after it
			}
			words = words[1:]
		default:
			return name + " " + words[0].Raw + " is not known to write nothing"
		}
	}
	if p.lists != nil && !slices.ContainsFunc(words, func(w Word) bool { return w.Why == 0 && p.lists[w.Text] }) {
		p.most = none
	}
	return p.args(words)
}

type gitProof struct {
	proof
	verbs map[string]bool // the first word must be one of these
	lists map[string]bool // without one of these it takes no operand
}

const gitDiff = `stat? shortstat numstat dirstat? summary name-only name-status raw patch no-patch patch-with-stat unified= minimal patience
	histogram diff-algorithm= color? no-color color-words? word-diff? word-diff-regex= ignore-all-space ignore-space-change ignore-blank-lines
	ignore-space-at-eol cached staged merge-base find-renames? no-renames find-copies? diff-filter= pickaxe-all pickaxe-regex relative? full-index
	abbrev? text exit-code quiet check function-context no-ext-diff no-textconv binary inter-hunk-context= compact-summary cc no-prefix`

const gitLog = gitDiff + ` oneline graph all decorate? no-decorate pretty? format= abbrev-commit no-abbrev-commit max-count= skip= since= until= after=
	before= author= committer= grep= all-match invert-grep regexp-ignore-case extended-regexp fixed-strings perl-regexp first-parent
	merges no-merges reverse follow date= date-order topo-order author-date-order branches? tags? remotes? no-walk? left-right cherry-pick
	cherry-mark cherry parents children boundary simplify-by-decoration full-history ancestry-path? source no-notes stdin no-mailmap mailmap
	relative-date parent log-size count walk-reflogs`

var gitProofs = map[string]gitProof{
	"status": {proof: proof{flags: flags{"sbvzu?", `short branch porcelain? long verbose untracked-files? ignored? column? no-column
		ahead-behind no-ahead-behind renames no-renames find-renames? show-stash`}}},
	"diff":          {proof: proof{flags: flags{"#puwbaRzqM?C?U:S:G:", gitDiff}}},
	"log":           {proof: proof{flags: flags{"#puwbaizcmgn:M?C?U:S:G:L:", gitLog}}},
	"show":          {proof: proof{flags: flags{"#puwbazcmsM?C?U:", gitLog}}},
	"whatchanged":   {proof: proof{flags: flags{"#n:", gitLog}}},
	"shortlog":      {proof: proof{flags: flags{"#nsec", "numbered summary email committer all since= until= no-merges"}}},
	"rev-list":      {proof: proof{flags: flags{"#n:", gitLog}}},
	"blame":         {proof: proof{flags: flags{"wcesltL:M?C?", "porcelain line-porcelain date= show-name show-number show-email"}}},
	"grep":          {proof: proof{flags: flags{"#nilwvhHEFGPcLoapqIze:A:B:C:W", "line-number ignore-case word-regexp name-only count cached untracked no-index heading break column color? and or not perl-regexp fixed-strings extended-regexp"}}},
	"ls-files":      {proof: proof{flags: flags{"cdmoiskuztvfx:X:", "cached deleted modified others ignored stage killed unmerged directory exclude-standard exclude= full-name error-unmatch eol deduplicate recurse-submodules"}}},
	"ls-tree":       {proof: proof{flags: flags{"drtlz", "name-only name-status long full-name full-tree abbrev? format= object-only"}}},
	"cat-file":      {proof: proof{flags: flags{"tspe", ""}}},
	"rev-parse":     {proof: proof{flags: flags{"q", "verify short? abbrev-ref? symbolic symbolic-full-name show-toplevel show-prefix show-cdup git-dir absolute-git-dir git-common-dir is-inside-work-tree is-inside-git-dir is-bare-repository all branches? tags? remotes? quiet is-shallow-repository show-superproject-working-tree"}}},
	"merge-base":    {proof: proof{flags: flags{"a", "all is-ancestor octopus independent fork-point"}}},
	"describe":      {proof: proof{flags: flags{"", "all tags long always abbrev= match= exclude= exact-match contains dirty? first-parent candidates="}}},
	"name-rev":      {proof: proof{flags: flags{"", "tags name-only all always"}}},
	"for-each-ref":  {proof: proof{flags: flags{"", "format= sort= count= contains? merged? no-merged? points-at="}}},
	"show-ref":      {proof: proof{flags: flags{"dsq", "head heads tags branches dereference hash? verify quiet abbrev?"}}},
	"check-ignore":  {proof: proof{flags: flags{"vqzn", "verbose quiet non-matching no-index"}}},
	"count-objects": {proof: proof{flags: flags{"vH", "verbose human-readable"}}},
	"branch":        {proof: proof{flags: flags{"arvl", "list all remotes verbose show-current color? no-color column? sort= format= ignore-case no-abbrev abbrev="}}, lists: set("--list")},
	"tag":           {proof: proof{flags: flags{"ln?", "list sort= format= ignore-case column? color?"}}, lists: set("--list -l")},
	"remote":        {proof: proof{flags: flags{"v", "verbose all push"}}, verbs: map[string]bool{"": true, "-v": true, "--verbose": true, "get-url": true}},
	"stash":         {proof: proof{flags: flags{"#p", gitLog}}, verbs: map[string]bool{"list": true, "show": true}},
	"worktree":      {proof: proof{flags: flags{"vz", "porcelain verbose"}}, verbs: map[string]bool{"list": true}},
	"reflog":        {proof: proof{flags: flags{"#n:", gitLog}}, verbs: map[string]bool{"": true, "show": true}},
	"config":        {proof: proof{flags: flags{"lz", "all show-origin show-scope name-only type= local global system bool int path null includes"}}, verbs: map[string]bool{"--get": true, "--get-all": true, "--get-regexp": true, "--list": true, "-l": true, "get": true, "list": true}},
}
