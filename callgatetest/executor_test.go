package callgatetest_test

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/callgatetest"
)

func TestLocal(t *testing.T) {
	callgatetest.TestExecutor(t, func(*testing.T) callgate.Executor { return new(callgate.Local) })
}

// A wrapper, as a journal is one.
type wrapper struct{ next callgate.Executor }

func (w wrapper) Recall(ctx context.Context, x *callgate.Execution) (callgate.Outcome, bool) {
	return w.next.Recall(ctx, x)
}

func (w wrapper) Execute(ctx context.Context, x *callgate.Execution) callgate.Outcome {
	return w.next.Execute(ctx, x)
}

func TestWrapper(t *testing.T) {
	callgatetest.TestExecutor(t, func(*testing.T) callgate.Executor { return wrapper{new(callgate.Local)} })
}

// Executors that break one promise each, and what the suite must say of them.
// They run in a process of their own, since they have to fail.
var broken = map[string]struct {
	executor func(callgate.Executor) callgate.Executor
	failing  []string // subtests
	passing  []string
}{
	"does nothing": {
		func(callgate.Executor) callgate.Executor { return noop{} },
		[]string{
			"a_call_runs_and_is_answered_in_full", "a_failure_is_an_outcome", "a_panic_is_an_outcome", "a_submitted_call_is_answered_from_the_record",
			"concurrent_submissions_run_once", "other_bytes_are_refused", "identities_do_not_meet", "anonymous_calls_are_nobody's_repetition",
			"a_call_that_was_canceled_before_it_started_may_start", "a_once-only_call_that_was_stopped_is_not_repeated", "a_read_that_was_stopped_may_be_repeated",
			"a_handler_that_overstays_is_answered_for_and_not_repeated", "a_call_that_fails_is_not_repeated",
		}, nil,
	},
	"remembers nothing": {
		func(callgate.Executor) callgate.Executor { return forgetful{} },
		[]string{
			"a_submitted_call_is_answered_from_the_record", "concurrent_submissions_run_once", "other_bytes_are_refused",
			"a_once-only_call_that_was_stopped_is_not_repeated", "a_handler_that_overstays_is_answered_for_and_not_repeated", "a_call_that_fails_is_not_repeated",
		},
		[]string{"a_panic_is_an_outcome", "identities_do_not_meet"},
	},
	"loses the content": {
		func(next callgate.Executor) callgate.Executor { return lossy{wrapper{next}} },
		[]string{"a_call_runs_and_is_answered_in_full"},
		[]string{"other_bytes_are_refused"},
	},
}

type noop struct{}

func (noop) Recall(context.Context, *callgate.Execution) (callgate.Outcome, bool) {
	return callgate.Outcome{}, false
}
func (noop) Execute(context.Context, *callgate.Execution) callgate.Outcome {
	return callgate.Outcome{Result: callgate.Result{State: callgate.Done}}
}

type forgetful struct{}

func (forgetful) Recall(context.Context, *callgate.Execution) (callgate.Outcome, bool) {
	return callgate.Outcome{}, false
}
func (forgetful) Execute(ctx context.Context, x *callgate.Execution) callgate.Outcome {
	return x.Handle(ctx)
}

type lossy struct{ wrapper }

func (l lossy) Execute(ctx context.Context, x *callgate.Execution) callgate.Outcome {
	out := l.wrapper.Execute(ctx, x)
	out.Result.Structured = nil
	return out
}

const brokenVariable = "CALLGATETEST_BROKEN"

// TestBroken is run by TestSuiteBites only.
func TestBroken(t *testing.T) {
	b, ok := broken[os.Getenv(brokenVariable)]
	if !ok {
		return
	}
	callgatetest.TestExecutor(t, func(*testing.T) callgate.Executor { return b.executor(new(callgate.Local)) })
}

// The suite fails whoever breaks a promise, and there only.
func TestSuiteBites(t *testing.T) {
	for name, b := range broken {
		cmd := exec.Command(os.Args[0], "-test.run=^TestBroken$", "-test.v")
		cmd.Env = append(os.Environ(), brokenVariable+"="+name)
		out, err := cmd.CombinedOutput()
		if err == nil {
			t.Errorf("an executor that %s passes", name)
		}
		for _, s := range b.failing {
			if !strings.Contains(string(out), "--- FAIL: TestBroken/"+s) {
				t.Errorf("an executor that %s passes %s", name, s)
			}
		}
		for _, s := range b.passing {
			if !strings.Contains(string(out), "--- PASS: TestBroken/"+s) {
				t.Errorf("an executor that %s fails %s", name, s)
			}
		}
	}
}
