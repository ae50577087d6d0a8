package callgate

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write generated documents instead of comparing them")

func TestCodeOf(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want Code
	}{
		{nil, ""},
		{errors.New("x"), ExecutionError},
		{Errorf(Conflict, "x"), Conflict},
		{fmt.Errorf("while editing: %w", Errorf(Conflict, "x")), Conflict},
		{Conflict, Conflict},
		{Code(""), ExecutionError},
		{&Error{}, ExecutionError},
		{(*Error)(nil), ExecutionError},
		{context.DeadlineExceeded, Timeout},
		{fmt.Errorf("dial: %w", context.DeadlineExceeded), Timeout},
		{context.Canceled, Canceled},
		{NotSent(errors.New("refused")), Unavailable},
		{NotSent(Errorf(Timeout, "slow")), Timeout},
	} {
		if got := CodeOf(tt.err); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.err, got, tt.want)
		}
	}
	err := fmt.Errorf("while editing: %w", Errorf(Conflict, "a: %w", os.ErrNotExist))
	if !errors.Is(err, Conflict) || errors.Is(err, Timeout) || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("errors.Is does not see through %v", err)
	}
	if NotSent(nil) != nil {
		t.Error("NotSent(nil) is an error")
	}
}

// What a handler says around an error with a code reaches the model.
func TestWrappedError(t *testing.T) {
	inner := &Error{Code: Conflict, Message: "changed since it was read", Cause: errors.New("a secret cause")}
	got := one(t, new(Dispatcher), tool("t", returns(Result{}, fmt.Errorf("saving a.txt: %w", inner))), "")
	if got.Code != Conflict || got.Message != "saving a.txt: changed since it was read" {
		t.Errorf("got %s", got)
	}
}

func TestStatus(t *testing.T) {
	for _, tt := range []struct {
		r    Result
		want Status
	}{
		{Result{}, Succeeded},
		{Result{Code: PermissionDenied}, Blocked},
		{Result{Code: ExecutionError}, Failed},
		{Result{Code: Canceled, State: NotStarted}, Blocked},
		{Result{Code: Canceled, State: Stopped}, Failed},
		{Result{Code: Unavailable, State: Unknown}, Failed},
		{Result{Code: "made_up"}, Failed},
	} {
		if got := tt.r.Status(); got != tt.want {
			t.Errorf("%+v: %s, want %s", tt.r, got, tt.want)
		}
	}
}

// The table is whole: every code once, with everything that readers need.
func TestCodes(t *testing.T) {
	seen := map[Code]bool{}
	for _, c := range Codes() {
		if seen[c.Code] || c.State == "" || c.Status == "" || c.Means == "" || !strings.HasSuffix(c.Means, ".") {
			t.Errorf("%q: %+v", c.Code, c)
		}
		seen[c.Code] = true
	}
	if len(seen) != 14 {
		t.Errorf("%d codes", len(seen))
	}
}

// docs/errors.md is made from the table: go test -run TestErrorsDoc -update .
func TestErrorsDoc(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Codes\n\nEvery result has one code; the empty code is success. Spellings never change. A model reads\n" +
		"`Error [code]: what, where, what to do next`; a program matches with `errors.Is(result.Err(), callgate.Timeout)`.\n" +
		"This page is generated from the table in `errors.go`.\n\n" +
		"| code | status | what is known of the effect | means | what the model is told to do |\n|---|---|---|---|---|\n")
	for _, c := range Codes() {
		code := "(none)"
		if c.Code != "" {
			code = "`" + string(c.Code) + "`"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", code, c.Status, c.State, c.Means, c.Advice)
	}
	b.WriteString("\nThe state and the status in the table are what a code implies when nothing more is known. A result's own `state` wins:\n" +
		"a call that was canceled before it started is `not_started` and `blocked`; one whose source became unreachable after\n" +
		"something was sent is `unknown` and `failed`.\n")
	const file = "docs/errors.md"
	if *update {
		if err := errors.Join(os.MkdirAll("docs", 0o755), os.WriteFile(file, []byte(b.String()), 0o644)); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(file)
	if err != nil || string(got) != b.String() {
		t.Errorf("%s is not what the table says (%v): go test -run TestErrorsDoc -update .", file, err)
	}
}

// An error without a code, and the typed nil, are failures: nothing turns them
// into a success, and nothing falls over them.
func TestErrorsThatSayNothing(t *testing.T) {
	for _, fault := range []error{(*Error)(nil), &Error{Message: "no code"}, Code(""), (*os.PathError)(nil), NotSent(&Error{Message: "no code"})} {
		for _, m := range [][]Middleware{nil, {Retry{Attempts: 1}.Middleware(), new(Breaker).Middleware()}} {
			d := Dispatcher{Policy: AllowAll, Middleware: m}
			got := one(t, &d, tool("t", returns(Text("x"), fault)), "")
			if got.Code != ExecutionError || got.Message == "" || fault == error((*Error)(nil)) && !strings.Contains(got.Message, "without saying why") {
				t.Errorf("a handler that returns %T: %+v", fault, got)
			}
		}
		d := Dispatcher{Policy: func(context.Context, Request) (Decision, error) { return Decision{Verdict: Allow}, fault }}
		if got := one(t, &d, tool("t", says("ran")), ""); got.Code != PermissionDenied {
			t.Errorf("a policy that returns %T: %+v", fault, got)
		}
	}
	var none *Error
	if none.Error() != "<nil>" || none.Unwrap() != nil || none.Is(Timeout) {
		t.Error("a nil *Error does not hold still")
	}
	if got := Code("made_up").Info(); got.Code != "made_up" || got.State != Unknown {
		t.Errorf("a code that is not in the table reads as %+v", got)
	}
	Codes()[0].State = Unknown
	if Codes()[0].State != Done {
		t.Error("the table of codes can be written to")
	}
}
