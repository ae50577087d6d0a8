package callgate

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/callgate/callgate/schema"
)

// A Call is a model's proposal to use a tool. Nothing in it is trusted.
type Call struct {
	// ID is the provider's name for the call. Results carry it back, and that
	// is all: some providers start again at call_0 every turn, so the gate
	// tells calls apart by Identity.
	ID   string `json:"id"`
	Name string `json:"name"`
	// Arguments are the bytes that the provider delivered, never decoded on
	// the way to the handler. Blank or absent means {}.
	Arguments json.RawMessage `json:"arguments"`
	// Identity is set by the gate.
	Identity Identity `json:"-"`
}

// Digest returns the SHA-256 of the call's name and arguments, as they are.
func (c Call) Digest() [sha256.Size]byte {
	h := sha256.New()
	h.Write([]byte(c.Name))
	h.Write([]byte{0})
	h.Write(c.Arguments)
	return [sha256.Size]byte(h.Sum(nil))
}

// An Identity tells a call apart from every other: the session it belongs to,
// the number of the turn in it, and its place among the turn's calls.
// The same identity with the same bytes is the same call, which runs once; with
// other bytes it is refused.
type Identity struct {
	Session string `json:"session"`
	Turn    int    `json:"turn"`
	Index   int    `json:"index"`
}

// String returns session/turn/index.
func (id Identity) String() string { return fmt.Sprintf("%s/%d/%d", id.Session, id.Turn, id.Index) }

// A Turn is what a model proposed at once: its calls, and whose they are.
type Turn struct {
	// Session and Number identify the turn. If Session is empty the turn is
	// anonymous: it is nobody's repetition, and nothing is remembered of it.
	Session string
	Number  int
	Calls   []Call
	// Cut says that the provider ended the turn at its output limit, and
	// Filtered that its safety rules stopped it. No call of such a turn runs,
	// not even one whose arguments look whole: what is missing may be what
	// mattered.
	Cut      bool
	Filtered bool
}

// Calls returns an anonymous turn of the given calls.
func Calls(calls ...Call) Turn { return Turn{Calls: calls} }

// A Result answers one Call. Code is empty if and only if the tool succeeded.
type Result struct {
	CallID string
	Tool   string // the name of the tool that was meant
	// Notes are remarks of the gate or the tool to the model, shown before the
	// content and never mixed into it.
	Notes      []string
	Content    []Content
	Structured json.RawMessage // the typed form of the content, if the tool has one
	Code       Code
	Message    string             // why it failed, for the model; empty on success
	Violations []schema.Violation // of the arguments, with InvalidArguments
	State      State              // what is known about the effect
	Attempts   int                // how often the handler was entered; 0 means never
	Duration   time.Duration      // from the first attempt to the answer
	Truncated  bool               // Content was cut to the output limit
	Recorded   bool               // answered from the record of the same call, submitted before
	Artifact   string             // reference to the whole output ("artifact:…"), if it was kept
	// Fence, if set, is a random word that stands around the content when it
	// is shown to a model, so that output of an open-world tool cannot pass
	// for the words of anybody else.
	Fence string
}

// Content is one piece of a result: text if Type is "" or "text", else what
// Type says. The types and fields are those of the Model Context Protocol.
type Content struct {
	Type     string `json:"type"`               // text, image, audio or resource_link
	Text     string `json:"text,omitempty"`     // text
	Data     []byte `json:"data,omitempty"`     // image, audio: the bytes; base64 in JSON
	MIMEType string `json:"mimeType,omitempty"` // image, audio, resource_link
	URI      string `json:"uri,omitempty"`      // resource_link
	Name     string `json:"name,omitempty"`     // resource_link
}

// Text returns a successful Result that holds s.
func Text(s string) Result { return Result{Content: []Content{{Type: "text", Text: s}}} }

// IsError reports whether the call failed.
func (r Result) IsError() bool { return r.Code != "" }

// Status returns the summary that the code implies, corrected by the state: a
// failure was blocked if and only if its call never started.
func (r Result) Status() Status {
	switch {
	case r.Code == "":
		return Succeeded
	case r.State == NotStarted:
		return Blocked
	case r.State == "":
		return r.Code.Info().Status
	}
	return Failed
}

// Err returns nil for a success, else an *Error with the code and the message. A
// handler may return that of a call which it dispatched: that this one did not
// start says nothing of the handler's own call.
func (r Result) Err() error {
	if r.Code == "" {
		return nil
	}
	return &Error{Code: r.Code, Message: r.Message, Violations: r.Violations, NotStarted: r.State == NotStarted, answered: true}
}

// ModelText returns the text that a model reads: a failure's code and message,
// then the notes, then the text of the content, fenced if the result says so.
// Images and other content that is not text are for the provider's codec; here
// each is named in one line. The text is never empty.
func (r Result) ModelText() string {
	var b strings.Builder
	if r.Code != "" {
		fmt.Fprintf(&b, "Error [%s]: %s", r.Code, r.Message)
	}
	for _, n := range r.Notes {
		newline(&b)
		b.WriteString(n)
	}
	body := r.ContentText()
	if body != "" {
		newline(&b)
		if r.Fence != "" {
			fmt.Fprintf(&b, "<output-%s>\n%s\n</output-%s>", r.Fence, body, r.Fence)
		} else {
			b.WriteString(body)
		}
	}
	if b.Len() == 0 {
		return noOutput
	}
	return b.String()
}

const noOutput = "(no output)"

// ContentText returns the text of the content alone, without notes or fence.
func (r Result) ContentText() string {
	if len(r.Content) == 1 && r.Content[0].isText() {
		return r.Content[0].Text
	}
	var b strings.Builder
	for _, c := range r.Content {
		newline(&b)
		switch {
		case c.isText():
			b.WriteString(c.Text)
		case c.Type == "resource_link":
			fmt.Fprintf(&b, "[resource %s %s]", c.Name, c.URI)
		default:
			fmt.Fprintf(&b, "[%s %s, %d bytes]", c.Type, c.MIMEType, len(c.Data))
		}
	}
	return b.String()
}

// String returns what ModelText returns.
func (r Result) String() string { return r.ModelText() }

func (c Content) isText() bool { return c.Type == "" || c.Type == "text" }

func newline(b *strings.Builder) {
	if b.Len() > 0 {
		b.WriteByte('\n')
	}
}

// resultJSON is the wire form of a Result: MCP's names where it has them.
type resultJSON struct {
	CallID     string             `json:"callId"`
	Tool       string             `json:"tool"`
	Status     Status             `json:"status"`
	IsError    bool               `json:"isError"`
	Code       Code               `json:"code"`
	Message    string             `json:"message"`
	Violations []schema.Violation `json:"violations"`
	Notes      []string           `json:"notes"`
	Content    []Content          `json:"content"`
	Structured json.RawMessage    `json:"structuredContent,omitempty"`
	State      State              `json:"state"`
	Attempts   int                `json:"attempts"`
	DurationMS float64            `json:"durationMs"`
	Truncated  bool               `json:"truncated"`
	Recorded   bool               `json:"recorded"`
	Artifact   string             `json:"artifact"`
	Fence      string             `json:"fence,omitempty"`
}

// MarshalJSON writes every field, with status and isError derived from the
// code, and the duration in milliseconds.
func (r Result) MarshalJSON() ([]byte, error) {
	j := resultJSON{
		CallID: r.CallID, Tool: r.Tool, Status: r.Status(), IsError: r.IsError(), Code: r.Code, Message: r.Message,
		Violations: r.Violations, Notes: r.Notes, Content: r.Content, Structured: r.Structured, State: r.State,
		Attempts: r.Attempts, DurationMS: float64(r.Duration) / float64(time.Millisecond),
		Truncated: r.Truncated, Recorded: r.Recorded, Artifact: r.Artifact, Fence: r.Fence,
	}
	if j.Violations == nil {
		j.Violations = []schema.Violation{}
	}
	if j.Notes == nil {
		j.Notes = []string{}
	}
	if j.Content == nil {
		j.Content = []Content{}
	}
	return json.Marshal(j)
}

// UnmarshalJSON reads what MarshalJSON writes; the derived fields are ignored.
func (r *Result) UnmarshalJSON(data []byte) error {
	var j resultJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return err
	}
	*r = Result{
		CallID: j.CallID, Tool: j.Tool, Code: j.Code, Message: j.Message, Violations: j.Violations, Notes: j.Notes,
		Content: j.Content, Structured: j.Structured, State: j.State, Attempts: j.Attempts,
		Duration: time.Duration(math.Round(j.DurationMS * float64(time.Millisecond))), Truncated: j.Truncated,
		Recorded: j.Recorded, Artifact: j.Artifact, Fence: j.Fence,
	}
	return nil
}
