package replay

import (
	"context"
	"iter"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/journal"
)

// Rerun runs the recorded calls again that are read-only by cat, were done, and that
// the gate's policy allows without asking, and compares what came of it. They run one
// after another, in their order, each as a turn that belongs to no session, so that no
// journal records it.
//
// Compared are the code, the text (notes, content, and the bytes of images by their
// digest) and the structured content; not times, attempts, the random fence of an
// open-world result, nor the reference to a kept output. Of tools that run programs
// (package builtin) the times are left out of what they say, too, and the number of
// variables that were withheld, which is the caller's. A result that was cut is
// compared by what was shown. A read-only call that is not run is named with the
// reason: one whose arguments or result were redacted is not, since the report would
// show what was not to be stored.
//
// An error means that the record cannot be read, or was changed, or that ctx ended.
func Rerun(ctx context.Context, records iter.Seq2[journal.Record, error], cat *callgate.Catalog, gate *callgate.Dispatcher) (Outputs, error) {
	out := Outputs{Differences: []Difference{}, Skipped: []Skipped{}}
	for t, err := range turns(records) {
		if err != nil {
			return Outputs{}, err
		}
		judged := gate.Judge(ctx, cat, t.again())
		for _, r := range t {
			if err := ctx.Err(); err != nil {
				return Outputs{}, err
			}
			j := judged[r.Identity.Index]
			if j.Tool == nil || j.Tool.Annotations.Effect() != callgate.ReadOnly || refusedNow(j) != "" {
				continue
			}
			skip := func(why string) {
				out.Skipped = append(out.Skipped, Skipped{r.Identity.Turn, r.Identity.Index, r.Tool, why})
			}
			if why := unfit(r, j); why != "" {
				skip(why)
				continue
			}
			now := gate.Dispatch(ctx, cat, callgate.Calls(callOf(r)))[0]
			if err := ctx.Err(); err != nil {
				return Outputs{}, err // what was stopped said nothing
			}
			if now.State == callgate.NotStarted {
				skip(string(now.Code) + ": " + now.Message)
				continue
			}
			out.Runs++
			for _, d := range outputs(r.Result, now) {
				d.Turn, d.Index, d.Tool = r.Identity.Turn, r.Identity.Index, r.Tool
				out.Differences = append(out.Differences, d)
			}
		}
	}
	return out, nil
}

// unfit says why a call is not run again, "" if it is.
func unfit(r journal.Record, j callgate.Judgement) string {
	switch {
	case !r.Settled:
		return "what came of it was not recorded"
	case r.State != callgate.Done:
		return "it was not done then: " + string(r.Code)
	case r.Redacted:
		return "it was redacted before it was recorded"
	case j.Decision.Verdict != callgate.Allow || j.Refusal != nil:
		return "it is not allowed: " + rulingOf(j.Decision.Verdict.String(), j.Decision).String()
	}
	return ""
}
