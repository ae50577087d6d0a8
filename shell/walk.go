package shell

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

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
			for y := c.Y; y != nil; {
				switch cmd := y.Cmd.(type) {
				case *syntax.BinaryCmd:
					y = cmd.X
					continue
				case *syntax.TimeClause:
					r.opaque(cmd, OpaqueDialect) // behind | it is a program, not a keyword
				}
				break
			}
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
	switch {
	case !syntax.ValidName(out.Name):
		r.opaque(a, OpaqueDialect) // bash runs "!=[a" as a command
	case Influential(out.Name):
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
