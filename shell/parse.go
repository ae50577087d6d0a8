package shell

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

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
	if strings.IndexByte(src, 0) >= 0 {
		return nil, errors.New("a NUL in the line")
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
	// Bash drops it, our parser takes it for part of the word.
	{regexp.MustCompile(`\\\z`), "a backslash at the end"},
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
