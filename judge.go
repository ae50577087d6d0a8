package callgate

import "context"

// A Judgement says what would become of a call, as far as that is known before
// anybody is asked and anything runs.
type Judgement struct {
	Step              // its Refusal is also that of the policy
	Decision Decision // zero for a call that the plan refuses
}

// Judge plans the calls of a turn and asks the policy about each that is valid,
// as Dispatch would: an error, a panic or no answer in time is a denial. It asks no
// approver and no executor, and runs nothing; a call whose verdict is Ask has no
// refusal. The policy is asked about one call after another, so that one which is
// a function of its request gives the same judgements each time.
func (d *Dispatcher) Judge(ctx context.Context, cat *Catalog, turn Turn) []Judgement {
	judged := make([]Judgement, len(turn.Calls))
	for i, step := range cat.Plan(turn) {
		j := &judged[i]
		if j.Step = step; step.Refusal != nil {
			continue
		}
		var x Execution
		x.carries(d, &step, turn.Session == "")
		var err *Error
		j.Decision, err = d.judge(ctx, &x, step.Access)
		j.Refusal = refusal(err, j.Decision)
	}
	return judged
}
