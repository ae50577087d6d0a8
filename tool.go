package callgate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// A Spec is the data half of a tool: what a model, an operator and an audit log
// can see. It holds no code, so it can be hashed, stored, compared and sent.
// Its JSON form uses the names of the Model Context Protocol.
type Spec struct {
	// Name is the key of the tool. A tool registered locally is named by
	// lower-case words with dots between segments, such as weather.lookup.
	Name  string `json:"name"`
	Title string `json:"title,omitempty"` // for people
	// Description tells the model what the tool does: its first line stands
	// in lists, more may follow.
	Description string `json:"description,omitempty"`
	// InputSchema is a JSON Schema (2020-12 unless its $schema says otherwise)
	// that the arguments must satisfy. Empty means an object without any
	// properties.
	InputSchema json.RawMessage `json:"inputSchema"`
	// OutputSchema, if set, is checked against the structured content of
	// every success.
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	Annotations  Annotations     `json:"annotations,omitzero"`
	// TimeoutMS bounds a call, in milliseconds, all attempts together. 0 means
	// the dispatcher's default.
	TimeoutMS int64 `json:"timeoutMs,omitzero"`
	// OutputLimit bounds the text of a result, in characters. 0 means the
	// dispatcher's default.
	OutputLimit int `json:"outputLimit,omitzero"`
	// Repair names the slips of a model's arguments that may be repaired
	// before the call is refused (see [schema.Schema.Repair]). Empty means
	// none. A repair is made only where the schema rejects the value and
	// accepts the repaired one; it is noted on the result.
	Repair []string `json:"repair,omitempty"`
	// Defer asks that the tool be found by search instead of being shown.
	Defer bool `json:"defer,omitzero"`
	// Labels are for audit: the gate copies them and gives them no meaning.
	Labels map[string]string `json:"labels,omitempty"`
}

// Annotations state what a call of the tool may do. The zero value is the
// cautious reading: it may change anything, anywhere, and must not be repeated.
// Names and defaults are those of MCP's ToolAnnotations; a server's annotations
// are claims, not facts.
type Annotations struct {
	ReadOnlyHint    bool  `json:"readOnlyHint,omitzero"`    // it changes nothing
	DestructiveHint *bool `json:"destructiveHint,omitzero"` // it may overwrite or delete; nil means true
	IdempotentHint  bool  `json:"idempotentHint,omitzero"`  // a repetition has no further effect
	OpenWorldHint   *bool `json:"openWorldHint,omitzero"`   // it meets the world outside; nil means true
}

// Destructive reports whether the tool may overwrite or delete.
func (a Annotations) Destructive() bool {
	return !a.ReadOnlyHint && (a.DestructiveHint == nil || *a.DestructiveHint)
}

// OpenWorld reports whether the tool's output may hold words of strangers.
func (a Annotations) OpenWorld() bool { return a.OpenWorldHint == nil || *a.OpenWorldHint }

// Effect returns what a repetition of a call would do.
func (a Annotations) Effect() Effect {
	switch {
	case a.ReadOnlyHint:
		return ReadOnly
	case a.IdempotentHint:
		return Idempotent
	}
	return Once
}

// An Effect says what a repetition of a call would do. It comes from the Spec,
// never from the model.
type Effect uint8

const (
	Once       Effect = iota // it must not be started twice
	Idempotent               // a repetition has no further effect
	ReadOnly                 // it has no effect at all
)

// String returns once, idempotent or read-only.
func (e Effect) String() string { return [...]string{"once", "idempotent", "read-only"}[e] }

// Timeout returns the time limit of a call, 0 if the spec has none, and ten years
// if it has more than that.
func (s *Spec) Timeout() time.Duration {
	return time.Duration(min(s.TimeoutMS, longest.Milliseconds())) * time.Millisecond
}

// Clone returns a deep copy.
func (s *Spec) Clone() Spec {
	c := *s
	c.InputSchema = slices.Clone(s.InputSchema)
	c.OutputSchema = slices.Clone(s.OutputSchema)
	c.Repair = slices.Clone(s.Repair)
	c.Labels = maps.Clone(s.Labels)
	if s.Annotations.DestructiveHint != nil {
		c.Annotations.DestructiveHint = new(*s.Annotations.DestructiveHint)
	}
	if s.Annotations.OpenWorldHint != nil {
		c.Annotations.OpenWorldHint = new(*s.Annotations.OpenWorldHint)
	}
	return c
}

// Digest returns the SHA-256, in hex, of the spec's canonical JSON (RFC 8785):
// the same for the same definition whatever the order of its keys. An approval
// and a journal row name a tool by it.
func (s *Spec) Digest() (string, error) {
	b, err := json.Marshal(s)
	if err != nil {
		return "", fmt.Errorf("tool %q: %w", s.Name, err)
	}
	v := jsontext.Value(b)
	if err := v.Canonicalize(); err != nil {
		return "", fmt.Errorf("tool %q: %w", s.Name, err)
	}
	sum := sha256.Sum256(v)
	return hex.EncodeToString(sum[:]), nil
}

// A Handler runs a call whose arguments are valid and which is authorized. It
// must heed ctx, which ends at the call's deadline; a handler that outlives its
// deadline is answered for and abandoned, and keeps its locks until it returns.
//
// An error becomes a result with the code that it carries ([Errorf]), or
// [ExecutionError]; its text is shown to the model. What the Result holds beside
// an error (partial output, structured content) is kept.
type Handler func(ctx context.Context, call Call) (Result, error)

// A Tool is a Spec and the code beside it.
type Tool struct {
	Spec
	Handler Handler

	// Access lists what a call touches, so that calls which touch different
	// things may run at once. It is given valid arguments and must be pure. If
	// it is nil, a read-only tool reads everything and any other tool writes
	// everything.
	Access func(args json.RawMessage) []Access

	// Source says where the tool comes from: "" for a tool registered
	// locally, else the name it was mounted under. It is set by the registry.
	Source string
}

// An Access is one thing that a call reads or writes. Key names it in any
// vocabulary that tools share, as scheme:path. A key covers every key below it:
// "file:src" covers "file:src/a.go", "file:" every file, and "" everything.
type Access struct {
	Key   string
	Write bool
}

// Must returns t, or panics if err is not nil. It is for tools made at start-up.
func Must(t Tool, err error) Tool {
	if err != nil {
		panic(err)
	}
	return t
}
