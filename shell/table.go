package shell

import (
	"maps"
	"strings"
)

// proofs is the table of commands that write nothing. It lists harmless flags,
// not harmful ones: a flag that a later version adds, and the abbreviations of
// GNU's long flags, are not proven.
//
// Left out on purpose: less, man and bat (pagers run LESSOPEN), tar (its
// archive may be on another host, and many flags run programs), tee, go and
// npm (they write caches and load other versions of themselves), yq (two
// programs have that name), top, ldd (runs its operand), dc (has !).
var proofs = func() map[string]proof {
	t := map[string]proof{
		"sort": {flags: flags{"bcCdfghiMmnRrsuVzk:t:S:", `ignore-leading-blanks dictionary-order ignore-case general-numeric-sort
			human-numeric-sort numeric-sort random-sort reverse version-sort unique zero-terminated stable merge check? key= field-separator= sort=`}},
		"uniq": {flags: flags{"cdDiuzf:s:w:", "count repeated unique ignore-case zero-terminated skip-fields= skip-chars= check-chars="}, most: 1},
		"shuf": {flags: flags{"ezi:n:r", "echo zero-terminated input-range= head-count= repeat"}},
		"date": {check: date},
		// Arguments of base64 and xxd: BSD's -o, and a second operand, write.
		"base64":   {flags: flags{"dDw:", "decode wrap="}, most: 1},
		"base32":   {flags: flags{"dw:", "decode wrap="}, most: 1},
		"xxd":      {flags: flags{"bupEl:s:c:g:", ""}, most: 1},
		"hostname": {flags: flags{"fsiIdA", "fqdn short all-ip-addresses"}, most: none},
		"file":     {flags: flags{"bikLhnrs0NEF:", "brief mime mime-type mime-encoding dereference no-dereference print0 separator="}},
		"tree":     {flags: flags{"adfishDFCnpugtrL:I:P:", "noreport dirsfirst prune gitignore du si ignore-case"}},
		"jq": {flags: flags{"rcnesSCMRjaL:f:", `arg= argjson= slurpfile= rawfile= args jsonargs raw-output compact-output null-input
			exit-status slurp sort-keys raw-input join-output tab indent= color-output monochrome-output ascii-output from-file=`}},
		"wait":   {flags: flags{"nf", ""}},
		"printf": {check: printf},
		"test":   {check: test},
		"[":      {check: test},
		"sed":    {check: sed},
		"awk":    {check: awk},
		"gawk":   {check: awk},
		"mawk":   {check: awk},
		"find":   {check: find},
		"git":    {check: git, repository: true},
		"read":   {check: read},
		"export": {check: declare}, "readonly": {check: declare},
		"set": {check: setOptions},

		"timeout": wrapped(proof{flags: wrappers["timeout"].flags}, false),
		"nice":    wrapped(proof{flags: flags{"#n:", "adjustment="}}, false),
		"ionice":  wrapped(proof{flags: wrappers["ionice"].flags}, false),
		"time":    wrapped(proof{flags: flags{"pv", "portability verbose"}}, false),
		"env":     wrapped(proof{flags: wrappers["env"].flags}, true),
		"command": wrapped(proof{flags: wrappers["command"].flags}, true),
		"builtin": wrapped(proof{}, true),
		"stdbuf":  wrapped(proof{flags: wrappers["stdbuf"].flags}, false),
		// Not exec -a: a program that is many (busybox) goes by the name it is given.
		"exec":  wrapped(proof{flags: flags{"cl", ""}}, true),
		"xargs": wrapped(proof{flags: flags{"0rtxa:d:E:I:L:n:P:s:", "null no-run-if-empty verbose exit arg-file= delimiter= max-args= max-procs= max-chars="}}, true),
		"bash":  {check: script}, "sh": {check: script}, "dash": {check: script},
	}
	t["rg"] = proof{flags: flags{"#naA:B:C:cFHhIiLlNoPpqSsT:t:UuvVwxe:f:g:j:m:M:r:.0", `after-context= before-context= context= case-sensitive
		ignore-case smart-case color= column count count-matches crlf files files-with-matches files-without-match fixed-strings follow
		glob= iglob= heading no-heading hidden no-ignore no-ignore-vcs invert-match json line-number no-line-number line-regexp max-columns=
		max-count= max-depth= max-filesize= multiline multiline-dotall no-config no-filename no-messages null only-matching passthru
		pcre2 pretty quiet regexp= replace= sort= sortr= stats text threads= trim type= type-list type-not= unrestricted version
		vimgrep with-filename word-regexp binary debug`}}
	free := map[string]proof{}
	for name := range set(`cat head tail wc ls dir vdir cut tr nl tac rev fold fmt expand unexpand paste join comm cmp diff od hexdump hd
		strings stat readlink realpath basename dirname pwd echo true false : seq sleep yes factor numfmt expr
		md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum sum shasum
		uname arch nproc whoami id groups logname users who w uptime free df du tty printenv getconf locale
		which type grep egrep fgrep ps column lscpu cd exit return break continue shift times`) {
		free[name] = proof{free: true}
	}
	for name := range set("python python3 node perl ruby gcc clang cc make java") {
		free[name] = proof{check: version}
	}
	maps.Copy(t, free)
	return t
}()

// version lets programs say their version, and nothing else.
func version(c Command) string {
	if len(c.Words) == 2 && c.Words[1].Why == 0 && (c.Words[1].Text == "--version" || c.Words[1].Text == "-version") {
		return ""
	}
	return "runs programs"
}

// script lets a shell run: what is in its script is judged command by command.
func script(c Command) string {
	if c.Inner == 0 && !(len(c.Words) == 2 && c.Words[1].Text == "--version") {
		return "its script is not in sight"
	}
	return ""
}

// date sets the clock with -s, and with an operand that is not a format.
func date(c Command) string {
	p := proof{flags: flags{"uRI?d:r:", "utc universal rfc-email iso-8601? rfc-3339= date= reference="}}
	operands, why := p.operands(c.Words[1:])
	for _, w := range operands {
		if !strings.HasPrefix(w.Text, "+") || w.Many {
			return w.Raw + " may set the clock"
		}
	}
	return why
}

// declare judges export and readonly: plain assignments to names that mean
// nothing to programs.
func declare(c Command) string {
	for _, w := range c.Words[1:] {
		name, value, _ := strings.Cut(w.Text, "=")
		a := Assign{Name: strings.TrimSuffix(name, "+"), Value: Word{Text: value, Why: w.Why}}
		if why := assignment(a, c.Name() == "export"); why != "" {
			return why
		}
	}
	return ""
}

// read assigns to names that are given to it.
func read(c Command) string {
	operands, why := proof{flags: flags{"rsd:n:N:p:t:", ""}}.operands(c.Words[1:])
	for _, w := range operands {
		if w.Why != 0 || !local.MatchString(w.Text) {
			return w.Raw + ": a variable of that name may mean something to a program"
		}
	}
	return why
}

// setOptions lets set turn on what makes a script stop or print.
func setOptions(c Command) string {
	for i, w := range c.Words[1:] {
		switch {
		case w.Why == 0 && strings.Trim(w.Text, "eux") == "-" && len(w.Text) > 1 && w.Text[0] == '-':
		case w.Why == 0 && strings.Trim(w.Text, "euxo") == "-" && strings.HasSuffix(w.Text, "o"):
		case w.Why == 0 && i > 0 && options[w.Text] && strings.HasSuffix(c.Words[i].Text, "o"):
		default:
			return w.Raw + " is not among the flags known to be harmless"
		}
	}
	return ""
}
