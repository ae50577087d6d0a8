package llm

import (
	"context"

	"github.com/callgate/callgate"
)

// A Model answers a request. It must be safe for concurrent use unless it says
// otherwise, must heed ctx, and must not keep or change the request.
//
// A Model gives whole responses. Streaming will be a second, optional interface
// whose last event is the Response that Generate would have given.
type Model interface {
	Generate(ctx context.Context, req Request) (Response, error)
}

// A Request is what a model is asked.
type Request struct {
	System   string
	Messages []Message
	// Catalog is what the model is shown, and what its calls are checked
	// against. Nil means no tools.
	Catalog *callgate.Catalog
	// MaxTokens bounds the output. 0 means the model's default.
	MaxTokens int
}

// A Response is a model's answer.
type Response struct {
	Message Message
	// Stop is why the model says it stopped. Whether the loop goes on is
	// decided by the calls in the message, not by this word.
	Stop  StopReason
	Usage Usage
	// Cut says that the output ended at a limit. No call of such a turn runs.
	Cut bool
}

// Turn returns the calls of the response as a turn for [callgate.Dispatcher].
// An empty session makes it anonymous.
func (r Response) Turn(session string, number int) callgate.Turn {
	return callgate.Turn{Session: session, Number: number, Calls: r.Message.Calls(), Cut: r.Cut, Filtered: r.Stop == Refusal}
}

// A StopReason is why a model stopped, in one spelling for all providers.
type StopReason string

const (
	EndTurn      StopReason = "end_turn"
	ToolUse      StopReason = "tool_use"
	MaxTokens    StopReason = "max_tokens"
	StopSequence StopReason = "stop_sequence"
	Paused       StopReason = "pause"   // the provider wants the history sent back to go on
	Refusal      StopReason = "refusal" // the provider's safety rules stopped the output
	Other        StopReason = "other"
)

// Usage counts tokens. The parts do not overlap.
type Usage struct {
	Input      int64 `json:"input"`      // read and not from a cache
	Output     int64 `json:"output"`     // written, reasoning included
	CacheRead  int64 `json:"cacheRead"`  // read from a cache
	CacheWrite int64 `json:"cacheWrite"` // read and written to a cache
}

// Total returns the sum of all parts.
func (u Usage) Total() int64 { return u.Input + u.Output + u.CacheRead + u.CacheWrite }

// Add returns the sum of both.
func (u Usage) Add(v Usage) Usage {
	return Usage{u.Input + v.Input, u.Output + v.Output, u.CacheRead + v.CacheRead, u.CacheWrite + v.CacheWrite}
}

// Limits are what a provider accepts, as data.
type Limits struct {
	Name Word // of tools
	Key  Word // of properties in a schema
	ID   Word // of calls
	// RootRefused are the keywords that the root of a tool's schema must not have.
	RootRefused []string
	// Images are the media types that a model can see.
	Images []string
	// ImageBytes bounds one image, before base64.
	ImageBytes int
}

// A Word is a rule for names: ASCII letters, digits and the characters of Extra,
// at least one and at most Max of them. The zero Word accepts everything.
type Word struct {
	Extra string
	Max   int
}

// Accepts reports whether s follows the rule.
func (w Word) Accepts(s string) bool {
	if w.Max == 0 {
		return true
	}
	if s == "" || len(s) > w.Max {
		return false
	}
	for i := range len(s) {
		if !w.Char(s[i]) {
			return false
		}
	}
	return true
}

// Char reports whether c may stand in the word.
func (w Word) Char(c byte) bool {
	if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' {
		return true
	}
	for i := range len(w.Extra) {
		if w.Extra[i] == c {
			return true
		}
	}
	return false
}
