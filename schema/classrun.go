package schema

import (
	"regexp"
	"regexp/syntax"

	"github.com/pb33f/jsonschema/v6"
)

// textPattern is a pattern as Check runs it.
type textPattern struct {
	run  *classRun // a cheaper form of re, if there is one
	re   *regexp.Regexp
	size int // instructions of re
}

func patternOf(re jsonschema.Regexp) (textPattern, bool) {
	r, ok := re.(*regexp.Regexp)
	if !ok {
		return textPattern{}, false // it backtracks: only under the engine's clock
	}
	return textPattern{classRunOf(r.String()), r, instructions(r.String())}, true
}

// cost is the steps that matching text takes.
func (t *textPattern) cost(text []byte) int {
	if t.run != nil {
		return 0
	}
	return len(text) * t.size >> patternShift
}

func (t *textPattern) match(text []byte) bool {
	if t.run != nil {
		return t.run.match(text)
	}
	return t.re.Match(text)
}

// classRun is ^[class]*$ over ASCII with bounds on the length: most patterns of
// real tools are of this form, and no engine is needed to match it.
type classRun struct {
	ok       [256]bool
	min, max int // max -1: none
}

func classRunOf(expr string) *classRun {
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil || re.Op != syntax.OpConcat || len(re.Sub) != 3 || re.Sub[0].Op != syntax.OpBeginText || re.Sub[2].Op != syntax.OpEndText {
		return nil
	}
	c := &classRun{max: -1}
	body := re.Sub[1]
	switch body.Op {
	case syntax.OpPlus:
		c.min = 1
	case syntax.OpStar:
	case syntax.OpRepeat:
		c.min, c.max = body.Min, body.Max
	default:
		return nil
	}
	if len(body.Sub) != 1 || body.Sub[0].Op != syntax.OpCharClass {
		return nil
	}
	set := body.Sub[0].Rune
	for i := 0; i+1 < len(set); i += 2 {
		if set[i+1] > 127 {
			return nil
		}
		for r := set[i]; r <= set[i+1]; r++ {
			c.ok[r] = true
		}
	}
	return c
}

func (c *classRun) match(text []byte) bool {
	if len(text) < c.min || c.max >= 0 && len(text) > c.max {
		return false
	}
	for _, b := range text {
		if !c.ok[b] {
			return false
		}
	}
	return true
}
