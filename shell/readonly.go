package shell

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// Trust says whether the configuration of the folder's repository may be
// believed. Git runs what it names: fsmonitor, diff drivers, filters.
type Trust bool

const (
	Untrusted Trust = false
	Trusted   Trust = true
)

// A Refusal says why a line is not proven to write nothing.
type Refusal struct {
	Pos  int
	Text string
}

func (r Refusal) String() string { return r.Text }

// ReadOnly reports whether the line is proven to write nothing: each of its
// commands is in the table with flags and operands that are known to be
// harmless, nothing is opaque, and no redirection or assignment does more. If it
// is not, the Refusal says what the proof stopped at.
//
// The proof speaks of files and of what runs. A line that passes may read any
// file, print secrets, wait forever, or use much memory; git may refresh its
// index, and sort and tac spill into TMPDIR. It assumes that the names in the table
// lead to the usual programs (GNU, BSD or busybox), see the trust model of the
// package.
//
// A word that is not known until the line runs may be an operand, not an
// option: it passes where it surely starts with something other than a dash,
// behind "--", or where the command has no option that does harm.
func ReadOnly(f Facts, folder Trust) (bool, Refusal) {
	for _, o := range f.Opaque {
		return false, Refusal{o.Pos, o.Text + ": what it does is only known when it runs (" + string(o.Kind) + ")"}
	}
	for _, r := range f.Redirects {
		if why := redirect(r); why != "" {
			return false, Refusal{r.Pos, r.FD + r.Op + r.Target.Raw + ": " + why}
		}
	}
	for _, v := range f.Variables {
		if !local.MatchString(v.Name) {
			return false, Refusal{v.Pos, v.Name + ": a variable of that name may mean something to a program"}
		}
	}
	for _, c := range f.Commands {
		if at, why := harmless(c, folder); why != "" {
			return false, Refusal{at, why}
		}
	}
	return true, Refusal{}
}

func redirect(r Redirect) string {
	to := r.Target
	switch {
	case r.Writes && to.Why == 0 && to.Text == "/dev/null":
	case r.Writes && to.Why == Proc && to.Text == "":
		// A pipe to a command, which is judged by itself.
	case r.Writes:
		return "writes a file"
	case r.Reads:
		// Bash opens a connection for /dev/tcp/host/port.
		for _, net := range []string{"/dev/tcp/", "/dev/udp/"} {
			if strings.HasPrefix(to.Text, net) || to.Why&^Proc != 0 && strings.HasPrefix(net, to.Text) {
				return "may open a network connection"
			}
		}
	}
	return ""
}

var (
	// By custom, names without capitals are the script's own.
	local = regexp.MustCompile(`^[a-z_][a-z0-9_]*$`)
	// These change how output looks, and nothing else.
	cosmetic = regexp.MustCompile(`^(LANG|LC_[A-Z]+|TZ|NO_COLOR|CLICOLOR|CLICOLOR_FORCE|COLUMNS|LINES)$`)
)

// assignment says what is wrong with an assignment. One that a command gets, or
// that is exported, must be known to be harmless by name.
func assignment(a Assign, exported bool) string {
	switch {
	case cosmetic.MatchString(a.Name) && a.Value.Why == 0 && (a.Name == "TZ" || !strings.Contains(a.Value.Text, "/")):
	case !exported && local.MatchString(a.Name) && a.Name != "_":
	default:
		return a.Name + ": a variable of that name may mean something to a program"
	}
	return ""
}

func harmless(c Command, folder Trust) (at int, why string) {
	for _, a := range c.Assigns {
		if why := assignment(a, len(c.Words) > 0); why != "" {
			return a.Pos, why
		}
	}
	if len(c.Words) == 0 {
		return 0, ""
	}
	name := c.Name()
	if dir, _ := path.Split(c.Words[0].Text); dir != "" && dir != "/bin/" && dir != "/usr/bin/" {
		return c.Pos, c.Words[0].Text + ": a program of that name somewhere else may do anything"
	}
	p, ok := proofs[name]
	switch {
	case !ok:
		return c.Pos, name + ": not in the table of commands that write nothing"
	case p.repository && folder != Trusted:
		return c.Pos, name + ": the repository's configuration can run programs, and the folder is not trusted"
	case p.free:
		return 0, ""
	case p.check != nil:
		why = p.check(c)
	default:
		why = p.args(c.Words[1:])
	}
	if why != "" {
		return c.Pos, name + ": " + why
	}
	return 0, ""
}

// A proof is what is known of one command.
type proof struct {
	free       bool  // whatever its words are
	flags      flags // the flags known to be harmless; all others are not
	most       int   // operands at most; 0: any number, none: not one
	repository bool  // it reads the configuration of the repository
	check      func(Command) string
}

const none = -1

// args is the usual judgement of the words behind the name.
func (p proof) args(words []Word) string {
	operands, why := p.operands(words)
	if why != "" {
		return why
	}
	count := len(operands)
	if p.most > 0 && count > 0 {
		// BSD's getopt ends at the first operand: what follows is one too.
		first := slices.IndexFunc(words, func(w Word) bool { return w.Pos == operands[0].Pos && w.Raw == operands[0].Raw })
		count = len(words) - first
	}
	if p.most != 0 && slices.ContainsFunc(operands, func(w Word) bool { return w.Many }) {
		count = len(words) + 1_000
	}
	if p.most != 0 && count > max(0, p.most) {
		return "an operand that may be written to"
	}
	return ""
}

// operands are the words that are not options.
func (p proof) operands(words []Word) (operands []Word, why string) {
	for i := 0; i < len(words); {
		w := words[i]
		switch {
		case w.Why == 0 && w.Text == "--":
			return append(operands, words[i+1:]...), ""
		case w.Why != 0 && w.MayBeOption():
			return nil, w.Raw + " may become an option"
		case w.Why != 0 || !w.MayBeOption() || w.Text == "-":
			operands = append(operands, w)
			i++
		default:
			_, _, next, found := p.flags.read(words, i)
			if !found {
				return nil, w.Raw + " is not among the flags known to be harmless"
			}
			i = next
		}
	}
	return operands, ""
}

// wrapped judges a wrapper by the words before what it starts, which is judged
// by itself.
func wrapped(p proof, bare bool) proof {
	return proof{check: func(c Command) string {
		words := c.Words[1:]
		if c.Inner > 0 {
			words = c.Words[1:c.Inner]
		} else if !bare {
			return "starts nothing"
		}
		// Assignments and the durations of timeout are operands here.
		_, why := p.operands(words)
		return why
	}}
}
