package shell

import (
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

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
