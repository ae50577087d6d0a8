package replay

import (
	"context"
	"iter"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/internal/plaintext"
	"github.com/callgate/callgate/journal"
	"github.com/callgate/callgate/schema"
)

// Check judges every recorded call of a session again, by cat and policy, and
// reports what is not as it was. The records are those of [journal.Journal.Calls]:
// of one session, by turn, index and run; of each call the newest run counts.
// Nothing runs and nobody is asked. A nil policy means [callgate.ReadOnlyTools]; one
// that fails denies.
//
// An error means that the record cannot be read, or was changed, or that ctx ended.
func Check(ctx context.Context, records iter.Seq2[journal.Record, error], cat *callgate.Catalog, policy callgate.Policy) (Report, error) {
	gate := &callgate.Dispatcher{Policy: policy}
	c := checker{cat: cat, digests: map[string]string{}, told: map[string]bool{}}
	c.report.Differences = []Difference{}
	for t, err := range turns(records) {
		if err != nil {
			return Report{}, err
		}
		c.report.Session = t[0].Identity.Session
		judged := gate.Judge(ctx, cat, t.again())
		if err := ctx.Err(); err != nil {
			return Report{}, err
		}
		for _, r := range t {
			c.compare(r, judged[r.Identity.Index])
		}
	}
	return c.report, nil
}

type checker struct {
	cat     *callgate.Catalog
	digests map[string]string // of today's definitions, by name
	told    map[string]bool   // recorded definitions that are not today's, by digest
	report  Report
}

// compare adds the differences of one call, in the order of the constants.
func (c *checker) compare(r journal.Record, j callgate.Judgement) {
	c.report.Calls++
	hidden := redacted(r)
	if hidden {
		c.report.Redacted++
	}
	add := func(d Difference) {
		d.Turn, d.Index, d.Tool = r.Identity.Turn, r.Identity.Index, r.Tool
		c.report.Differences = append(c.report.Differences, d)
	}
	then, now := refusedThen(r), refusedNow(j)
	ruled := ""
	if now == "" {
		ruled = rulingOf(j.Decision.Verdict.String(), j.Decision).String()
	}

	switch {
	case now == callgate.UnknownTool && then != now:
		add(Difference{What: UnknownTool, Now: j.Refusal.Message})
		return // all else follows from it
	case now == callgate.UnknownTool:
		return
	case then == callgate.UnknownTool:
		add(Difference{What: NewTool, Now: ruled})
	}

	switch {
	case now == callgate.MalformedArguments && then != now:
		add(Difference{What: Malformed, Now: j.Refusal.Message, Redacted: hidden})
	case then == callgate.MalformedArguments && then != now:
		add(Difference{What: Accepted, Then: r.Result.Message, Now: ruled, Redacted: hidden})
	}

	var before, today, repaired schema.Violations
	if then == callgate.InvalidArguments && now != callgate.MalformedArguments {
		before = r.Result.Violations
	}
	if now == callgate.InvalidArguments {
		today = j.Refusal.Violations
	}
	if len(j.Repaired) > 0 {
		repaired, _ = c.cat.Validate(r.Tool, r.Arguments) // of the arguments as they came
	}
	for _, v := range without(today, before) {
		add(Difference{What: Invalid, Pointer: v.Path, Now: sentence(v), Redacted: hidden})
	}
	for _, v := range without(without(before, today), repaired) {
		add(Difference{What: Accepted, Pointer: v.Path, Then: sentence(v), Now: ruled, Redacted: hidden})
	}
	for _, v := range repaired {
		add(Difference{What: Repaired, Pointer: v.Path, Now: sentence(v), Redacted: hidden})
	}

	if old, ok := ruledThen(r); ok && now == "" {
		if is := rulingOf(j.Decision.Verdict.String(), j.Decision); is.verdict != old.verdict {
			add(Difference{What: Verdict, Then: old.String(), Now: is.String(), Redacted: hidden})
		}
	}
	c.definition(r, j, add)
}

// definition compares what is known of the tool. Of a call to an unknown tool
// nothing was recorded.
func (c *checker) definition(r journal.Record, j callgate.Judgement, add func(Difference)) {
	if j.Tool == nil || r.ToolDigest == "" {
		return
	}
	if is := j.Tool.Annotations.Effect().String(); is != r.Effect {
		add(Difference{What: Effect, Then: r.Effect, Now: is})
	}
	digest, ok := c.digests[r.Tool]
	if !ok {
		var err error
		if digest, err = j.Tool.Digest(); err != nil {
			digest = err.Error() // no digest: certainly another one
		}
		c.digests[r.Tool] = digest
	}
	if digest != r.ToolDigest && !c.told[r.ToolDigest] { // once will do
		c.told[r.ToolDigest] = true
		add(Difference{What: Definition, Then: plaintext.Clip(r.ToolDigest, 12), Now: plaintext.Clip(digest, 12), Info: true})
	}
}

// sentence is a violation without its place.
func sentence(v schema.Violation) string {
	v.Path = ""
	s := v.String()
	if v.Keyword != "more" {
		s = s[len("(root): "):]
	}
	return s
}

// without returns the violations of a that are not in b. Two are the same if they
// break the same keyword at the same place: messages may be worded anew.
func without(a, b schema.Violations) (left schema.Violations) {
	type key struct{ path, keyword string }
	n := map[key]int{}
	for _, v := range b {
		n[key{v.Path, v.Keyword}]++
	}
	for _, v := range a {
		k := key{v.Path, v.Keyword}
		if n[k] > 0 {
			n[k]--
			continue
		}
		left = append(left, v)
	}
	return left
}
