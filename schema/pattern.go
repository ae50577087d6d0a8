package schema

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"sync"
	"time"

	"github.com/dlclark/regexp2/v2"
	"github.com/pb33f/jsonschema/v6"
)

// Bounds of patterns that only the backtracking engine can take. Its clock ticks
// every 100 ms, so a stopped match can last up to 150 ms.
const (
	backtrackBytes = 8 << 10 // longer strings fail the pattern unseen
	backtrackTime  = 50 * time.Millisecond
	backtrackTotal = 4 * backtrackTime // all such matches of one Explain together
)

// patterns compiles the patterns of one schema: RE2 where it can, else a
// backtracking engine in ECMAScript mode under a clock.
type patterns struct {
	sealed bool                      // compilation is over; what comes now are values under "format": "regex"
	slow   bool                      // some pattern backtracks
	sizes  map[jsonschema.Regexp]int // instructions of those that do not

	mu     sync.Mutex // one Explain at a time where patterns backtrack: they share left
	left   time.Duration
	gaveUp bool // a match was not decided
}

// compile is the engine's RegexpEngine.
func (p *patterns) compile(expr string) (jsonschema.Regexp, error) {
	if p.sealed {
		return nil, nil // format is an annotation, and the value is not ours to compile
	}
	if len(expr) > MaxPattern {
		return nil, fmt.Errorf("it has %d bytes; at most %d are accepted", len(expr), MaxPattern)
	}
	re, err := regexp.Compile(expr)
	if err == nil {
		if p.sizes == nil {
			p.sizes = make(map[jsonschema.Regexp]int)
		}
		p.sizes[re] = instructions(expr)
		return re, nil
	}
	alt, altErr := regexp2.Compile(expr, regexp2.ECMAScript|regexp2.Unicode)
	if altErr != nil { // what only the older, non-Unicode grammar permits
		alt, altErr = regexp2.Compile(expr, regexp2.ECMAScript)
	}
	if altErr != nil {
		return nil, fmt.Errorf("neither RE2 (%v) nor ECMAScript (%v) can read it", err, altErr)
	}
	alt.MatchTimeout = backtrackTime
	p.slow = true
	return &backtracker{alt, p}, nil
}

// instructions is the length of the program that RE2 runs for expr; its time is
// this times the length of the text, at worst.
func instructions(expr string) int {
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return 0
	}
	prog, err := syntax.Compile(re.Simplify())
	if err != nil {
		return 0
	}
	return len(prog.Inst)
}

// begin opens the time budget of one validation; the returned function closes it.
func (p *patterns) begin() func() {
	if !p.slow {
		return func() {}
	}
	p.mu.Lock()
	p.left, p.gaveUp = backtrackTotal, false
	return p.mu.Unlock
}

type backtracker struct {
	re *regexp2.Regexp
	in *patterns
}

func (b *backtracker) String() string { return b.re.String() }

// MatchString is false for a string that is too long and for a match that the
// clock stopped, and says so in gaveUp: under not, or for the name of a member,
// "no match" would otherwise make a value valid.
func (b *backtracker) MatchString(s string) bool {
	if len(s) > backtrackBytes || b.in.left <= 0 {
		b.in.gaveUp = true
		return false
	}
	start := time.Now()
	ok, err := b.re.MatchString(s)
	b.in.left -= time.Since(start)
	b.in.gaveUp = b.in.gaveUp || err != nil
	return ok && err == nil
}
