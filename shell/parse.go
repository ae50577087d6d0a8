package shell

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// Limits of Parse. A line over one of them is an error.
const (
	MaxLine    = 64 << 10 // bytes
	maxNodes   = 20_000   // of the syntax tree, inner scripts included
	maxDepth   = 1_000    // of the syntax tree
	maxParens  = 100      // open at once: the parser takes time by their square
	maxScripts = 8        // bash -c inside bash -c, and wrappers inside wrappers
	maxDirs    = 8        // folders that one command may run in; more: unknown
)

// Parse reads a line (or a script of several lines) in the grammar of bash. It
// never runs anything and does not look at files. An error means that nothing
// is known: the line is not valid bash, is not UTF-8, has a NUL, or is over a
// limit: 64 KiB, 20,000 nodes, 1,000 levels of syntax, 100 open parentheses, 8
// scripts or wrappers inside each other.
func Parse(line string) (Facts, error) {
	f := Facts{Line: line}
	r := reader{f: &f, nodes: new(int), src: line, base: -1, funcs: map[string]bool{}}
	if err := r.script(line, syntax.LangBash, dirs{set: []string{"."}}); err != nil {
		return Facts{Line: line}, err
	}
	return f, nil
}

// A reader walks the tree of one script.
type reader struct {
	f     *Facts
	nodes *int // read so far, of all scripts
	src   string
	base  int // ≥ 0: the offset that all of an inner script is said to be at
	via   []string
	bg    bool
	funcs map[string]bool // declared in the script
	err   error
}

func parse(src string, lang syntax.LangVariant) (*syntax.File, error) {
	if len(src) > MaxLine {
		return nil, fmt.Errorf("longer than %d bytes", MaxLine)
	}
	if !utf8.ValidString(src) || strings.IndexByte(src, 0) >= 0 {
		return nil, errors.New("not UTF-8 text without NUL")
	}
	open := 0
	for i := range len(src) {
		switch src[i] {
		case '(':
			if open++; open > maxParens {
				return nil, fmt.Errorf("more than %d parentheses inside each other", maxParens)
			}
		case ')':
			open = max(0, open-1)
		}
	}
	return syntax.NewParser(syntax.Variant(lang)).Parse(strings.NewReader(src), "")
}

func (r *reader) script(src string, lang syntax.LangVariant, in dirs) error {
	if len(r.via) > maxScripts {
		return fmt.Errorf("more than %d wrappers inside each other", maxScripts)
	}
	file, err := parse(src, lang)
	if err != nil {
		return err
	}
	depth := 0
	syntax.Walk(file, func(n syntax.Node) bool {
		if n == nil {
			depth--
			return true
		}
		*r.nodes++
		if depth++; depth > maxDepth || *r.nodes > maxNodes {
			r.err = errors.New("too much syntax for one line")
			depth--
			return false
		}
		if fn, ok := n.(*syntax.FuncDecl); ok && fn.Name != nil {
			r.funcs[fn.Name.Value] = true
		}
		return true
	})
	if r.err != nil {
		return r.err
	}
	for _, d := range disputed {
		if at := d.where.FindStringIndex(src); at != nil {
			r.opaqueAt(r.offset(at[0]), OpaqueDialect, d.what)
		}
	}
	r.list(file.Stmts, in)
	return r.err
}

// disputed is the text of which bash and our parser would make different
// things. Most of it is harmless, but to tell costs more than it is worth.
var disputed = []struct {
	where *regexp.Regexp
	what  string
}{
	// Bash takes a carriage return for part of a word.
	{regexp.MustCompile(`\r`), "carriage return"},
	// In bash, no backslash continues a comment: what follows is a command.
	{regexp.MustCompile(`#[^\n]*\\\n`), "a backslash at the end of a comment"},
	// Bash joins the lines before it looks at what follows the dollar: $\⏎(x) is
	// a substitution. In backquotes the backslash is doubled.
	{regexp.MustCompile(`\$\\+\n`), "a line that ends between a dollar and what it expands"},
}

func (r *reader) offset(i int) int {
	if r.base >= 0 {
		return r.base
	}
	return i
}

func (r *reader) at(p syntax.Pos) int  { return r.offset(int(p.Offset())) }
func (r *reader) end(p syntax.Pos) int { return r.offset(min(int(p.Offset()), len(r.src))) }

// source is the text of n.
func (r *reader) source(n syntax.Node) string {
	from, to := int(n.Pos().Offset()), min(int(n.End().Offset()), len(r.src))
	if from >= to {
		return ""
	}
	return r.src[from:to]
}

func (r *reader) opaqueAt(at int, kind Kind, text string) {
	const most = 80
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	r.f.Opaque = append(r.f.Opaque, Opaque{Pos: at, Kind: kind, Text: text})
}

func (r *reader) opaque(n syntax.Node, kind Kind) {
	r.opaqueAt(r.at(n.Pos()), kind, r.source(n))
}

// dirs are the folders in which a command may run: any of set, or any at all.
type dirs struct {
	set []string
	any bool
}

func (d dirs) list() []string {
	if d.any {
		return nil
	}
	return d.set
}

func (d dirs) or(e dirs) dirs {
	if d.any || e.any {
		return dirs{any: true}
	}
	out := slices.Clone(d.set)
	for _, s := range e.set {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return dirs{set: out, any: len(out) > maxDirs}
}

// cd is where a shell in d is after cd to, which removes dot-dot by name, not
// by following links.
func (d dirs) cd(to string) dirs {
	if path.IsAbs(to) {
		return dirs{set: []string{path.Clean(to)}}
	}
	var out dirs
	for _, s := range d.set {
		out = out.or(dirs{set: []string{path.Clean(path.Join(s, to))}})
	}
	out.any = out.any || d.any
	return out
}

// list reads statements that run one after the other and returns where the
// shell is if the last succeeded, and if it failed.
func (r *reader) list(stmts []*syntax.Stmt, in dirs) (ok, fail dirs) {
	ok, fail = in, in
	for _, s := range stmts {
		ok, fail = r.stmt(s, fail.or(ok))
	}
	return ok, fail
}

// apart reads statements that run in a shell of their own.
func (r *reader) apart(stmts []*syntax.Stmt, in dirs) {
	sub := *r
	sub.list(stmts, in)
	r.err = sub.err
}

func (r *reader) stmt(s *syntax.Stmt, in dirs) (ok, fail dirs) {
	if s.Background {
		sub := *r
		sub.bg = true
		sub.command(s, in)
		r.err, ok, fail = sub.err, in, in
	} else {
		ok, fail = r.command(s, in)
	}
	for _, rd := range s.Redirs {
		r.redirect(rd, in)
	}
	if s.Negated {
		ok, fail = fail, ok
	}
	return ok, fail
}

func (r *reader) command(s *syntax.Stmt, in dirs) (ok, fail dirs) {
	ok, fail = in, in
	switch c := s.Cmd.(type) {
	case nil:
	case *syntax.CallExpr:
		return r.call(c, in, len(s.Redirs) > 0)
	case *syntax.Block:
		return r.list(c.Stmts, in)
	case *syntax.Subshell:
		r.apart(c.Stmts, in)
	case *syntax.BinaryCmd:
		switch c.Op {
		case syntax.AndStmt:
			xok, xfail := r.stmt(c.X, in)
			yok, yfail := r.stmt(c.Y, xok)
			return yok, xfail.or(yfail)
		case syntax.OrStmt:
			xok, xfail := r.stmt(c.X, in)
			yok, yfail := r.stmt(c.Y, xfail)
			return xok.or(yok), yfail
		default:
			r.apart([]*syntax.Stmt{c.X}, in)
			r.apart([]*syntax.Stmt{c.Y}, in)
		}
	case *syntax.IfClause:
		return r.ifClause(c, in)
	case *syntax.WhileClause:
		in = r.loop(c, in)
		cok, cfail := r.list(c.Cond, in)
		if c.Until {
			cok, cfail = cfail, cok
		}
		bok, bfail := r.list(c.Do, cok)
		out := in.or(cfail).or(bok).or(bfail)
		return out, out
	case *syntax.ForClause:
		in = r.loop(c, in)
		switch l := c.Loop.(type) {
		case *syntax.WordIter:
			r.assigned(l.Name)
			for _, w := range l.Items {
				r.parts(w, in)
			}
		case *syntax.CStyleLoop:
			r.opaque(c, OpaqueArith)
			r.parts(l, in)
		}
		bok, bfail := r.list(c.Do, in)
		out := in.or(bok).or(bfail)
		return out, out
	case *syntax.CaseClause:
		r.parts(c.Word, in)
		out := in
		for _, item := range c.Items {
			for _, w := range item.Patterns {
				r.parts(w, in)
			}
			iok, ifail := r.list(item.Stmts, out) // ;& falls into the next
			out = out.or(iok).or(ifail)
		}
		return out, out
	case *syntax.FuncDecl:
		r.opaque(c, OpaqueFunction)
		r.apart([]*syntax.Stmt{c.Body}, dirs{any: true})
	case *syntax.TestClause:
		r.parts(c.X, in)
	case *syntax.DeclClause:
		r.declare(c, in)
	case *syntax.TimeClause:
		if c.Stmt != nil {
			sub := *r
			sub.via = append(slices.Clip(r.via), "time")
			ok, fail = sub.stmt(c.Stmt, in)
			r.err = sub.err
		}
	case *syntax.CoprocClause:
		r.opaque(c, OpaqueCoproc)
		sub := *r
		sub.bg = true
		sub.stmt(c.Stmt, in)
		r.err = sub.err
	case *syntax.ArithmCmd:
		r.opaque(c, OpaqueArith)
		r.parts(c.X, in)
	case *syntax.LetClause:
		r.opaque(c, OpaqueArith)
		for _, x := range c.Exprs {
			r.parts(x, in)
		}
	default:
		r.opaque(c, OpaqueDialect)
		r.parts(c, in)
	}
	return ok, fail
}

func (r *reader) ifClause(c *syntax.IfClause, in dirs) (ok, fail dirs) {
	if len(c.Cond) == 0 { // else
		return r.list(c.Then, in)
	}
	cok, cfail := r.list(c.Cond, in)
	ok, fail = r.list(c.Then, cok)
	if c.Else == nil {
		return ok.or(cfail), fail
	}
	eok, efail := r.ifClause(c.Else, cfail)
	return ok.or(eok), fail.or(efail)
}

// loop is in, or anywhere if the body may change the folder: the next round
// starts where the last ended.
func (r *reader) loop(c syntax.Node, in dirs) dirs {
	syntax.Walk(c, func(n syntax.Node) bool {
		if call, ok := n.(*syntax.CallExpr); ok && len(call.Args) > 0 {
			w := r.word(call.Args[0])
			if w.Why != 0 || movers[w.Text] || r.funcs[w.Text] || w.Text == "command" || w.Text == "builtin" {
				in = dirs{any: true}
			}
		}
		return true
	})
	return in
}

// movers are the builtins after which the shell may be in another folder.
var movers = set("cd pushd popd eval source .")

// assigned records that a variable gets a value that is not in sight.
func (r *reader) assigned(name *syntax.Lit) {
	r.f.Variables = append(r.f.Variables, Assign{Pos: r.at(name.Pos()), Name: name.Value})
	if Influential(name.Value) {
		r.opaque(name, OpaqueEnvironment)
	}
}

func (r *reader) assign(a *syntax.Assign) Assign {
	out := Assign{Pos: r.at(a.Pos()), Name: a.Name.Value, Append: a.Append, Element: a.Index != nil, Value: r.word(a.Value)}
	if a.Array != nil {
		out.Value = Word{Pos: r.at(a.Array.Pos()), End: r.end(a.Array.End()), Raw: r.source(a.Array), Why: Array, Many: true, dash: true}
	}
	if Influential(out.Name) {
		r.opaque(a, OpaqueEnvironment)
	}
	return out
}

// call reads a simple command, what it wraps, and its substitutions.
func (r *reader) call(c *syntax.CallExpr, in dirs, redirected bool) (ok, fail dirs) {
	var cmd Command
	for _, a := range c.Assigns {
		cmd.Assigns = append(cmd.Assigns, r.assign(a))
	}
	for _, w := range c.Args {
		cmd.Words = append(cmd.Words, r.word(w))
	}
	cmd.Pos, cmd.Background = r.at(c.Pos()), r.bg
	ok, fail = r.emit(cmd, in, redirected)
	for _, a := range c.Assigns {
		r.parts(a, in)
	}
	for _, w := range c.Args {
		r.parts(w, in)
	}
	return ok, fail
}

// declare reads export, declare, local, readonly and typeset. Their words are
// assignments, so that nothing in them is split.
func (r *reader) declare(c *syntax.DeclClause, in dirs) {
	cmd := Command{Pos: r.at(c.Pos()), Background: r.bg, Via: r.via, Dirs: in.list()}
	cmd.Words = []Word{{Pos: r.at(c.Variant.Pos()), End: r.end(c.Variant.End()), Raw: c.Variant.Value, Text: c.Variant.Value}}
	evaluates := false
	for _, a := range c.Args {
		w := r.word(a.Value)
		if a.Name != nil {
			v := r.assign(a)
			w = v.Value
			w.Pos, w.End, w.Raw, w.Text = v.Pos, r.end(a.End()), r.source(a), v.Name
			if !a.Naked {
				w.Text = strings.TrimSuffix(r.src[a.Name.Pos().Offset():valuePos(a, r.src)], "(") + v.Value.Text
			}
			w.Many, w.dash = false, false
		}
		cmd.Words = append(cmd.Words, w)
		if a.Naked && (a.Name == nil || a.Index != nil) {
			flag := strings.HasPrefix(w.Text, "-") || strings.HasPrefix(w.Text, "+")
			evaluates = evaluates || w.Why != 0 || !flag || strings.ContainsAny(w.Text, "in[")
		}
	}
	r.f.Commands = append(r.f.Commands, cmd)
	if evaluates {
		r.opaque(c, OpaqueArith)
	}
	for _, a := range c.Args {
		r.parts(a, in)
	}
}

// valuePos is the offset at which the value of a starts.
func valuePos(a *syntax.Assign, src string) uint {
	switch {
	case a.Value != nil:
		return a.Value.Pos().Offset()
	case a.Array != nil:
		return a.Array.Pos().Offset()
	}
	return min(a.End().Offset(), uint(len(src)))
}

func (r *reader) redirect(rd *syntax.Redirect, in dirs) {
	out := Redirect{Pos: r.at(rd.Pos()), Op: rd.Op.String(), Target: r.word(rd.Word), Dirs: in.list()}
	if rd.N != nil {
		out.FD = rd.N.Value
		if name, ok := strings.CutPrefix(out.FD, "{"); ok {
			r.assigned(&syntax.Lit{ValuePos: rd.N.ValuePos, ValueEnd: rd.N.ValueEnd, Value: strings.TrimSuffix(name, "}")})
		}
	}
	switch rd.Op {
	case syntax.RdrIn:
		out.Reads = true
	case syntax.RdrInOut:
		out.Reads, out.Writes = true, true
	case syntax.DplIn, syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
	case syntax.DplOut:
		out.Writes = out.Target.Why != 0 || !descriptor.MatchString(out.Target.Text)
	default:
		out.Writes = true
	}
	r.f.Redirects = append(r.f.Redirects, out)
	r.parts(rd.Word, in)
	if rd.Hdoc != nil {
		r.quotes(rd.Hdoc)
		r.parts(rd.Hdoc, in)
	}
}

var descriptor = regexp.MustCompile(`^([0-9]+-?|-)$`)

// parts reads what runs inside of words, tests and arithmetic.
func (r *reader) parts(n syntax.Node, in dirs) {
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.DblQuoted:
			r.quotes(n)
		case *syntax.CmdSubst:
			if n.TempFile || n.ReplyVar || n.Backquotes && strings.Contains(r.source(n), `\`) {
				r.opaque(n, OpaqueDialect)
			}
			r.apart(n.Stmts, in)
			return false
		case *syntax.ProcSubst:
			r.apart(n.Stmts, in)
			return false
		case *syntax.ArithmExp:
			r.number(n.X, n)
		case *syntax.Assign:
			if n.Index != nil {
				r.number(n.Index, n)
			}
		case *syntax.ArrayElem:
			if n.Index != nil {
				r.number(n.Index, n)
			}
		case *syntax.ParamExp:
			r.param(n)
		case *syntax.ExtGlob:
			r.opaque(n, OpaqueExtGlob)
		case *syntax.UnaryTest:
			if n.Op == syntax.TsVarSet || n.Op == syntax.TsRefVar {
				if w, ok := n.X.(*syntax.Word); !ok || !syntax.ValidName(w.Lit()) {
					r.opaque(n, OpaqueArith)
				}
			}
		case *syntax.BinaryTest:
			switch n.Op {
			case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
				for _, x := range []syntax.TestExpr{n.X, n.Y} {
					if w, ok := x.(*syntax.Word); !ok || !number.MatchString(w.Lit()) {
						r.opaque(n, OpaqueArith)
						break
					}
				}
			}
		}
		return true
	})
}

// quotes finds single quotes in an expansion in double quotes or in a
// here-document: "${x:-'$(y)'}". They quote nothing there, but our parser reads
// them as if they did, and does not see what bash runs.
func (r *reader) quotes(n syntax.Node) {
	inside := 0
	var open []bool
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case nil:
			if open[len(open)-1] {
				inside--
			}
			open = open[:len(open)-1]
			return true
		case *syntax.CmdSubst, *syntax.ProcSubst:
			return false
		case *syntax.SglQuoted:
			if inside > 0 {
				r.opaque(n, OpaqueDialect)
			}
		}
		_, param := n.(*syntax.ParamExp)
		if open = append(open, param); param {
			inside++
		}
		return true
	})
}

func (r *reader) param(p *syntax.ParamExp) {
	// Our parser takes <(x) in a default or a pattern for text; bash runs it,
	// unless it is quoted.
	if process.MatchString(r.source(p)) {
		r.opaque(p, OpaqueExpansion)
	}
	if p.Index != nil {
		if w, ok := p.Index.(*syntax.Word); !ok || w.Lit() != "@" && w.Lit() != "*" {
			r.number(p.Index, p)
		}
	}
	if p.Slice != nil {
		for _, x := range []syntax.ArithmExpr{p.Slice.Offset, p.Slice.Length} {
			if x != nil {
				r.number(x, p)
			}
		}
	}
	if p.Excl && p.Names == 0 || p.Param == nil || p.NestedParam != nil || p.Flags != nil {
		r.opaque(p, OpaqueExpansion)
	}
	if p.Exp == nil {
		return
	}
	switch p.Exp.Op {
	case syntax.OtherParamOps:
		r.atOperator(p)
	case syntax.AssignUnset, syntax.AssignUnsetOrNull:
		if p.Param != nil {
			r.assigned(p.Param)
		}
	}
}

var process = regexp.MustCompile(`[<>](\\+\n)*\(`)

// atOperator lets ${x@Q} and its like pass; ${x@P} runs what x holds.
func (r *reader) atOperator(p *syntax.ParamExp) {
	if p.Exp.Word == nil || !slices.Contains([]string{"Q", "U", "u", "L", "E", "a"}, p.Exp.Word.Lit()) {
		r.opaque(p, OpaqueExpansion)
	}
}

var number = regexp.MustCompile(`^-?[0-9]+$`)

// number finds arithmetic opaque unless it is on digits only: bash evaluates
// the value of a name in it as arithmetic again, subscripts with $(…) included.
func (r *reader) number(x syntax.ArithmExpr, at syntax.Node) {
	plain := true
	syntax.Walk(x, func(n syntax.Node) bool {
		if w, ok := n.(*syntax.Word); ok {
			plain = plain && number.MatchString(w.Lit())
			return false
		}
		return true
	})
	if !plain {
		r.opaque(at, OpaqueArith)
	}
}

func set(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}
