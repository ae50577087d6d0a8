package callgate

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/callgate/callgate/internal/plaintext"
	"github.com/callgate/callgate/schema"
)

// settle turns what came out of a handler into the outcome that is recorded and
// answered: cleaned, capped, checked against the outputSchema, never empty. late
// says that the handler was still running when its time was up.
func (x *Execution) settle(a *attempt, r Result, err error, late bool) Outcome {
	r.CallID, r.Tool, r.Recorded = x.Call.ID, x.Call.Name, false
	r.Attempts, r.Duration = x.Attempts(), time.Since(x.start)
	var e *Error
	switch {
	case err != nil:
		e = new(*asError(err)) // a copy: the handler may keep its own
	case r.Code != "":
		e = &Error{Code: r.Code, Message: r.Message, Violations: r.Violations, NotStarted: r.State == NotStarted}
	}
	ended := a.ended()
	if ended != "" && e != nil && (e.Code == Timeout || e.Code == Canceled) && errors.Is(e.Cause, a.Err()) {
		e.Code = ended // the handler passes on that its context ended, which does not say why
		if e.Message == a.Err().Error() {
			e.Message = "it was stopped"
		}
	}
	if late && ended == Timeout && (e == nil || e.Code != Timeout) {
		was := "it finished only after that"
		if e != nil {
			was = e.Message
		}
		e = &Error{Code: Timeout, Message: was, Cause: err}
	}
	if e == nil {
		e = x.checkOutput(&r)
	}
	if e != nil && len(r.Structured) > 0 && schema.Strict(r.Structured) != nil {
		r.Structured = nil // a success was checked
	}
	x.clean(a, &r, e != nil)
	if len(x.notes) > 0 {
		r.Notes = append(x.notes[:len(x.notes):len(x.notes)], r.Notes...)
	}
	if e == nil {
		r.Code, r.Message, r.Violations, r.State = "", "", nil, Done
		return Outcome{Result: r}
	}
	x.describe(e, ended)
	r.Code, r.Message, r.Violations, r.State = e.Code, e.Message, e.Violations, stateOf(e)
	if r.State == NotStarted && !e.NotStarted {
		// The code says that nothing happened, the handler does not: it was
		// entered, and may have sent something before it met the failure.
		r.State = Unknown
	}
	if r.State == Unknown && x.Effect == ReadOnly {
		r.State = Done // there is no effect to be in doubt about
	}
	return Outcome{Result: r, Err: e}
}

// describe completes the message of e for the model: which limit it was, if the
// context ended, and what may have happened. Causes and stacks stay out of it.
func (x *Execution) describe(e *Error, ended Code) {
	switch {
	case e.Code == Timeout && ended == Timeout:
		e.Message = fmt.Sprintf("no answer within %v: %s", x.Timeout, e.Message)
	case e.Code == Canceled && ended == Canceled:
		e.Message = "the turn was stopped while this call ran: " + e.Message
	}
	if (e.Code == Timeout || e.Code == Canceled) && x.Effect != ReadOnly && !e.NotStarted {
		e.Message += "; " + e.Code.Info().Advice
	}
	e.Message, _ = plaintext.Clean(e.Message, x.Spec.Annotations.OpenWorld())
	if short, cut := plaintext.Cut(e.Message, maxMessage); cut {
		e.Message = short
	}
	if e.Message == "" {
		e.Message = or(e.Code.Info().Advice, "it failed without saying why")
	}
}

const (
	maxMessage = 10_000 // characters of a failure's message, and of a note
	maxLabel   = 4096   // bytes of a resource's name or URI
	markRoom   = 100    // characters at most of the line that plaintext.Cut leaves
)

// stateOf returns what is known about the effect of a call that failed with e.
func stateOf(e *Error) State {
	if e.NotStarted {
		return NotStarted
	}
	return e.Code.Info().State
}

// checkOutput checks a success against the tool's outputSchema.
func (x *Execution) checkOutput(r *Result) *Error {
	if x.entry.output == nil {
		if len(r.Structured) > 0 {
			if err := schema.Strict(r.Structured); err != nil {
				r.Structured = nil
				return &Error{Code: ExecutionError, Message: "the tool ran, but its structured output is not JSON: " + err.Error()}
			}
		}
		return nil
	}
	if len(r.Structured) == 0 {
		return &Error{Code: ExecutionError, Message: "the tool ran, but gave no structured output, which its outputSchema promises"}
	}
	violations, err := x.entry.output.Validate(r.Structured)
	if err != nil {
		r.Structured = nil
		return &Error{Code: ExecutionError, Message: "the tool ran, but its structured output is not JSON: " + err.Error()}
	}
	if len(violations) > 0 {
		return &Error{Code: ExecutionError, Message: "the tool ran, but its output fails its own outputSchema: " + violations.String()}
	}
	return nil
}

// clean makes the content fit to be stored and sent. A success has content; a
// failure speaks through its message. It is idempotent.
func (x *Execution) clean(ctx context.Context, r *Result, failed bool) {
	open := x.Spec.Annotations.OpenWorld()
	if len(r.Content) == 0 && len(r.Structured) > 0 {
		r.Content = []Content{{Type: "text", Text: string(r.Structured)}}
	}
	content, copied := r.Content, false
	var removed plaintext.Cleaned
	total := 0
	for i := range content {
		if content[i].Type == "" {
			content, copied = own(content, copied)
			content[i].Type = "text"
		}
		if c := content[i].labeled(open); c.Type != "text" {
			if c.Type != content[i].Type || c.Name != content[i].Name || c.URI != content[i].URI || c.MIMEType != content[i].MIMEType {
				content, copied = own(content, copied)
				content[i] = c
			}
			continue
		}
		text, c := plaintext.Clean(content[i].Text, open)
		removed.Invalid += c.Invalid
		removed.Control += c.Control
		removed.Hidden += c.Hidden
		if text == "" && len(content) == 1 && !failed {
			text = noOutput
		}
		if text != content[i].Text {
			content, copied = own(content, copied)
			content[i].Text = text
		}
		total += len(text) + 1 // and the line end between two pieces
	}
	if len(content) == 0 && !failed {
		content = []Content{{Type: "text", Text: noOutput}}
	}
	r.Content = content
	for i, n := range r.Notes {
		n, _ = plaintext.Clean(n, open)
		if short, cut := plaintext.Cut(n, maxMessage); cut && len(n) > maxMessage+markRoom {
			n = short
		}
		if n != r.Notes[i] {
			r.Notes = slices.Clone(r.Notes)
			r.Notes[i] = n
		}
	}
	if s := removed.String(); s != "" {
		r.Notes = append(r.Notes[:len(r.Notes):len(r.Notes)], "Note: "+s+" from the output.")
	}
	if total > x.outputLimit() {
		x.cap(ctx, r)
	}
	if open && len(r.Content) > 0 && r.Fence == "" {
		r.Fence = rand.Text()[:16]
	}
}

// labeled returns c with what describes content that is no text made fit for one
// line: the names of a stranger's resource are a stranger's words.
func (c Content) labeled(open bool) Content {
	if c.Type == "text" {
		return c
	}
	for _, s := range []*string{&c.Type, &c.Name, &c.URI, &c.MIMEType} {
		if len(*s) > maxLabel {
			*s = strings.ToValidUTF8((*s)[:maxLabel], "") + "…"
		}
		*s, _ = plaintext.Clean(*s, open)
		*s = strings.Join(strings.FieldsFunc(*s, func(r rune) bool { return r == '\n' || r == '\r' }), " ")
	}
	return c
}

func own(content []Content, copied bool) ([]Content, bool) {
	if copied {
		return content, true
	}
	return append([]Content(nil), content...), true
}

func (x *Execution) outputLimit() int {
	switch {
	case x.Spec.OutputLimit > 0:
		return x.Spec.OutputLimit
	case x.gate.OutputLimit > 0:
		return x.gate.OutputLimit
	}
	return 50_000
}

// cap cuts the text of r to the output limit and keeps the whole elsewhere.
// Several pieces of text become one.
func (x *Execution) cap(ctx context.Context, r *Result) {
	text := Result{Content: texts(r.Content)}.ContentText()
	short, cut := plaintext.Cut(text, x.outputLimit())
	if !cut || r.Truncated && utf8.RuneCountInString(text) <= x.outputLimit()+markRoom { // cut before
		return
	}
	content := []Content{{Type: "text", Text: short}}
	for _, c := range r.Content {
		if c.Type != "text" {
			content = append(content, c)
		}
	}
	r.Content, r.Truncated = content, true
	note := fmt.Sprintf("Note: the output has %d bytes; its middle is left out.", len(text))
	switch {
	case r.Artifact != "":
		note += " The whole is kept as " + r.Artifact + "."
	case x.gate.Spill == nil:
		note += " The rest is not kept: ask for less."
	default:
		ref, err := x.spill(context.WithoutCancel(ctx), text)
		if err != nil || ref == "" {
			note += " The rest could not be kept: ask for less."
			break
		}
		r.Artifact = ref
		note += " The whole is kept: read_file with path " + ref + " pages it."
	}
	r.Notes = append(r.Notes[:len(r.Notes):len(r.Notes)], note)
}

// spill contains a panic of Spill: the call has run, and its result is not to be
// lost over where to keep the rest of it.
func (x *Execution) spill(ctx context.Context, text string) (ref string, err error) {
	defer func() {
		if p := recover(); p != nil {
			ref, err = "", panicked(p)
		}
	}()
	return x.gate.Spill(ctx, x.Call.Identity, text)
}

func texts(content []Content) []Content {
	var out []Content
	for _, c := range content {
		if c.Type == "text" {
			out = append(out, c)
		}
	}
	return out
}

// complete makes what somebody else's executor returned fit to be an answer, as
// Handle does for the handler's.
func (d *Dispatcher) complete(x *Execution, out Outcome) Result {
	r := out.Result
	r.CallID, r.Tool = x.Call.ID, x.Call.Name
	if r.Code != "" && r.Code.Info().Code == r.Code && r.Message == "" {
		r.Message = or(r.Code.Info().Advice, "it failed without saying why")
	}
	if r.State == "" {
		r = Result{CallID: r.CallID, Tool: r.Tool, Code: OutcomeUnknown, State: Unknown, Attempts: x.Attempts(),
			Message: "the executor did not say what became of the call; " + OutcomeUnknown.Info().Advice}
	}
	r.Message, _ = plaintext.Clean(r.Message, true)
	if len(r.Structured) > 0 && schema.Strict(r.Structured) != nil {
		r.Structured = nil
	}
	x.clean(context.Background(), &r, r.Code != "")
	return r
}

// failure returns the result of a call that did not come to an end of its own.
func failure(call Call, e *Error) Result {
	msg, _ := plaintext.Clean(e.Message, true)
	return Result{CallID: call.ID, Tool: call.Name, Code: e.Code, Message: msg, Violations: e.Violations, State: stateOf(e)}
}

// panicked returns the error of a panic with value p; nil stands for a goroutine
// that was ended by runtime.Goexit. The model is told that it was a panic; the
// value and the stack are for the operator.
func panicked(p any) *Error {
	if p == nil {
		return &Error{Code: ExecutionError, Message: "the tool ended without an answer", Cause: fmt.Errorf("runtime.Goexit was called")}
	}
	cause, ok := p.(error)
	if !ok {
		cause = fmt.Errorf("%v", p)
	}
	return &Error{Code: ExecutionError, Message: "the tool crashed", Cause: fmt.Errorf("panic: %w", cause), Stack: debug.Stack()}
}
