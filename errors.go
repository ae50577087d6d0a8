package callgate

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/callgate/callgate/schema"
)

// A Code says where and why a call failed; the empty Code is success. Codes are
// part of the API: their spelling reaches models, logs and dashboards, and does
// not change. A Code is an error, so that errors.Is(err, callgate.Timeout)
// matches an [*Error] that carries it.
type Code string

// The codes, in the order of the stages that give them. [Codes] has what each
// of them means and implies.
const (
	UnknownTool        Code = "unknown_tool"
	MalformedArguments Code = "malformed_arguments"
	InvalidArguments   Code = "invalid_arguments"
	PermissionDenied   Code = "permission_denied"
	ApprovalRejected   Code = "approval_rejected"
	BudgetExceeded     Code = "budget_exceeded"
	Unavailable        Code = "unavailable"
	Timeout            Code = "timeout"
	Canceled           Code = "canceled"
	Conflict           Code = "conflict"
	ExecutionError     Code = "execution_error"
	OutcomeUnknown     Code = "outcome_unknown"
	Internal           Code = "internal"
)

// Error returns the spelling of the code.
func (c Code) Error() string { return string(c) }

// A State is what is known about the effect of a call.
type State string

const (
	Done       State = "done"        // the handler ran to its end, well or badly
	NotStarted State = "not_started" // the handler was never entered: nothing happened
	Unknown    State = "unknown"     // the handler may have had its effect
	Stopped    State = "canceled"    // stopped on request; effects up to then stand
)

// A Status is the shortest summary of a result.
type Status string

const (
	Succeeded Status = "succeeded"
	Failed    Status = "failed"  // it ran, or may have run, and did not succeed
	Blocked   Status = "blocked" // the gate did not let it run
)

// CodeInfo is what a code implies. The table behind [Codes] is the only place
// where that is written down; docs/errors.md is generated from it.
type CodeInfo struct {
	Code   Code
	State  State  // what to assume when nothing more is known
	Status Status // what a summary shows
	Means  string // for a person
	Advice string // what a model should do next; said where the message does not say it
}

var codes = []CodeInfo{
	{"", Done, Succeeded, "The handler ran and succeeded.", ""},
	{UnknownTool, NotStarted, Blocked, "No tool of the catalog that the model was shown has that name.",
		"use a tool from the list"},
	{MalformedArguments, NotStarted, Blocked, "The arguments are not one strict JSON value: not JSON, duplicate or case-variant names, invalid UTF-8, too deep or too large, or cut off by the provider's output limit.",
		"send the whole arguments again as one JSON object"},
	{InvalidArguments, NotStarted, Blocked, "The arguments are JSON but fail the tool's inputSchema; every violation is listed with its JSON Pointer.",
		"correct the listed places and call again"},
	{PermissionDenied, NotStarted, Blocked, "A policy refused the call, or it needed a person's approval and nobody could be asked.",
		"do not repeat the call as it is; choose another way or ask the user"},
	{ApprovalRejected, NotStarted, Blocked, "A person was asked and said no.",
		"do not repeat the call; do what the person said, or ask"},
	{BudgetExceeded, NotStarted, Blocked, "The session's budget of calls, time or tokens is used up.",
		"finish with what you have"},
	{Unavailable, NotStarted, Blocked, "What the tool needs cannot be reached: its server is down, its circuit is open, or another call holds what it touches.",
		"nothing was done; try again later or choose another way"},
	{Timeout, Unknown, Failed, "The handler did not finish within its time limit. It may have had its effect.",
		"the call may have taken effect: check before you repeat it"},
	{Canceled, Stopped, Failed, "The caller stopped the call. If it had begun, effects up to then stand.",
		"check what was done before you repeat it"},
	{Conflict, Done, Failed, "The thing to be changed is not as it was when it was last read. Nothing was changed.",
		"read it again, then repeat the change"},
	{ExecutionError, Done, Failed, "The handler ran and failed.",
		""},
	{OutcomeUnknown, Unknown, Failed, "The call may have run: its host crashed or its connection was lost before the answer arrived.",
		"the call may have run: verify its effect before you repeat it"},
	{Internal, Unknown, Failed, "The gate itself failed. The operator's log has the cause.",
		"this is not your error; tell the user"},
}

// Codes returns the table of codes, success first.
func Codes() []CodeInfo { return append([]CodeInfo(nil), codes...) }

// Info returns what the code implies. A code that is not in the table reads as
// [Internal] does.
func (c Code) Info() CodeInfo {
	for i := range codes {
		if codes[i].Code == c {
			return codes[i]
		}
	}
	info := Internal.Info()
	info.Code = c
	return info
}

// An Error is a failure with a code, told to three readers: Message is for the
// model, Cause and Stack are for the operator's log, and Code is for the
// embedding program (errors.Is with a Code, or errors.As).
type Error struct {
	Code    Code
	Message string // what, where and what to do next, without the code
	// Violations are what is wrong with the arguments, one place each.
	Violations []schema.Violation
	// NotStarted states that nothing was sent or begun, so that another attempt
	// cannot repeat an effect, whatever the tool.
	NotStarted bool
	Cause      error  // never shown to the model
	Stack      []byte // of a panic; never shown to the model

	answered bool // made of a Result: NotStarted is about the call that it answers
}

// Error returns the code, the message and the cause.
func (e *Error) Error() string {
	if e == nil {
		return "<nil>"
	}
	s := string(e.Code) + ": " + e.Message
	if e.Cause != nil && e.Message != e.Cause.Error() {
		s += " (" + e.Cause.Error() + ")"
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error {
	if e == nil {
		return nil
	}
	return e.Cause
}

// Is reports whether target is the code of e.
func (e *Error) Is(target error) bool {
	c, ok := target.(Code)
	return ok && e != nil && c == e.Code
}

// Errorf returns an *Error with the given code. The rest is as for
// [fmt.Errorf]; the text is shown to the model, and what %w wraps is the cause.
func Errorf(code Code, format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Message: err.Error(), Cause: errors.Unwrap(err)}
}

// NotSent marks err as having happened before anything was sent or begun: a
// refused connection, say. Such a call may be tried again even if it must run
// only once. Its code is [Unavailable] unless err has one.
func NotSent(err error) error {
	if err == nil {
		return nil
	}
	e := &Error{Code: Unavailable, Message: err.Error(), Cause: err, NotStarted: true}
	if c, ok := errors.AsType[*Error](err); ok {
		c = c.whole()
		e.Code, e.Message = c.Code, c.Message
	}
	return e
}

// CodeOf returns the code of err: that of the *Error or Code in its chain, or
// the one that its cause implies. It is "" for nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.whole().Code
	}
	if c, ok := errors.AsType[Code](err); ok && c != "" {
		return c
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return Timeout
	case errors.Is(err, context.Canceled):
		return Canceled
	}
	return ExecutionError
}

// ownFailure returns err as the failure of the call whose handler returned it. What the
// answer to another call says about its start (a nested dispatch that was refused,
// or could not reach its server) is not so of the one that passes it on: that
// handler runs, and may have done something before.
func ownFailure(err error) error {
	e, ok := errors.AsType[*Error](err)
	if !ok || e == nil || !e.answered || !e.NotStarted {
		return err
	}
	e = new(*e.whole())
	e.NotStarted = false
	return e
}

// asError returns err as an *Error, made from its text and its implied code if
// it is none.
func asError(err error) *Error {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return &Error{Code: CodeOf(err), Message: err.Error(), Cause: err}
	}
	e = e.whole()
	if outer, inner := err.Error(), e.Error(); outer != inner && strings.Contains(outer, inner) {
		// What was said around it counts: "saving a.txt: ...".
		around := *e
		around.Message = strings.Replace(outer, inner, e.Message, 1)
		return &around
	}
	return e
}

// whole returns e if it can stand for a failure. A nil *Error in an error, the
// old trap of a typed nil, and one without a code are failures all the same: the
// empty code must not make successes of them.
func (e *Error) whole() *Error {
	if e == nil {
		return &Error{Code: ExecutionError, Message: "it failed without saying why", Cause: errors.New("a nil *callgate.Error was returned as an error")}
	}
	if e.Code == "" {
		e = new(*e)
		e.Code = ExecutionError
	}
	return e
}
