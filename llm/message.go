package llm

import (
	"fmt"
	"slices"
	"strings"

	"github.com/callgate/callgate"
)

// A Role says whose a message is. Results of calls are in messages of the user.
type Role string

const (
	User      Role = "user"
	Assistant Role = "assistant"
)

// A Message is what one side said at once. Its JSON form is lossless: what was
// saved and loaded projects to the same bytes.
type Message struct {
	Role   Role    `json:"role"`
	Blocks []Block `json:"blocks"`
	// Turn is the number of the turn in its session: of an assistant's message
	// and of the results that answer it. 0 means it has none.
	Turn int `json:"turn,omitzero"`
}

// A BlockType says what a [Block] holds.
type BlockType string

const (
	TextBlock   BlockType = "text"
	CallBlock   BlockType = "call"   // in messages of the assistant
	ResultBlock BlockType = "result" // in messages of the user
	ImageBlock  BlockType = "image"
	OpaqueBlock BlockType = "opaque" // reasoning and whatever else only its provider understands
)

// A Block is one piece of a message.
type Block struct {
	Type   BlockType
	Text   string            // text
	Call   *callgate.Call    // call: the name is the registry's, the arguments are what the gate gets
	Result *callgate.Result  // result
	Image  *callgate.Content // image: Data, and MIMEType as far as it is known
	// Provider and Raw keep what a provider sent and this package has no word
	// for, to be sent back to that provider and to no other. In an opaque block
	// Raw is all there is; beside a text it is the whole of the provider's
	// block, and beside a call the members that are not in Call.
	Provider string
	Raw      []byte
}

// UserText returns a message of the user.
func UserText(text string) Message {
	return Message{Role: User, Blocks: []Block{{Type: TextBlock, Text: text}}}
}

// AssistantText returns a message of the assistant that proposes calls after
// saying text. An empty text is left out.
func AssistantText(text string, calls ...callgate.Call) Message {
	m := Message{Role: Assistant}
	if text != "" {
		m.Blocks = append(m.Blocks, Block{Type: TextBlock, Text: text})
	}
	for _, c := range calls {
		m.Blocks = append(m.Blocks, Block{Type: CallBlock, Call: &c})
	}
	return m
}

// Results returns the one message that answers all the calls of a turn.
func Results(results []callgate.Result) Message {
	m := Message{Role: User}
	for _, r := range results {
		m.Blocks = append(m.Blocks, Block{Type: ResultBlock, Result: &r})
	}
	return m
}

// Text returns the text blocks, joined by line breaks.
func (m Message) Text() string {
	var parts []string
	for _, b := range m.Blocks {
		if b.Type == TextBlock && b.Text != "" {
			parts = append(parts, b.Text)
		}
	}
	return strings.Join(parts, "\n")
}

// Calls returns the calls that the message proposes, in order.
func (m Message) Calls() []callgate.Call {
	var calls []callgate.Call
	for _, b := range m.Blocks {
		if b.Type == CallBlock && b.Call != nil {
			calls = append(calls, *b.Call)
		}
	}
	return calls
}

// Results returns the results that the message holds, in order.
func (m Message) Results() []callgate.Result {
	var results []callgate.Result
	for _, b := range m.Blocks {
		if b.Type == ResultBlock && b.Result != nil {
			results = append(results, *b.Result)
		}
	}
	return results
}

// Shown returns all that a model can read in the message as one text: its text
// blocks and, by [ResultText], its results.
func (m Message) Shown() string {
	var parts []string
	for _, b := range m.Blocks {
		switch {
		case b.Type == TextBlock:
			parts = append(parts, b.Text)
		case b.Type == ResultBlock && b.Result != nil:
			parts = append(parts, ResultText(*b.Result))
		}
	}
	return strings.Join(parts, "\n")
}

// ResultText returns what a model reads of a result: its ModelText as valid
// UTF-8, and never only blanks, which providers refuse.
func ResultText(r callgate.Result) string {
	if s := strings.ToValidUTF8(r.ModelText(), "\uFFFD"); strings.TrimSpace(s) != "" {
		return s
	}
	return callgate.Result{}.ModelText()
}

// WithIDs returns m with every call named: an id that is blank or that an
// earlier call of the message has is replaced by a new one. Whoever lets a
// message in (a codec, an agent) does this before anything else, so that the
// call, its result and the message kept in the history agree.
func (m Message) WithIDs() Message {
	used := map[string]bool{}
	for _, b := range m.Blocks {
		if b.Type == CallBlock && b.Call != nil {
			used[b.Call.ID] = true
		}
	}
	seen := map[string]bool{}
	var blocks []Block
	n := 0
	for i, b := range m.Blocks {
		if b.Type != CallBlock || b.Call == nil {
			continue
		}
		n++
		if id := b.Call.ID; strings.TrimSpace(id) != "" && !seen[id] {
			seen[id] = true
			continue
		}
		if blocks == nil {
			blocks = slices.Clone(m.Blocks)
		}
		c := *b.Call
		c.ID = fresh(fmt.Sprintf("call_%d", n), used)
		used[c.ID] = true
		blocks[i].Call = &c
	}
	if blocks != nil {
		m.Blocks = blocks
	}
	return m
}

// fresh returns id, or id with the first number that makes it unused.
func fresh(id string, used map[string]bool) string {
	next := id
	for n := 2; used[next]; n++ {
		next = fmt.Sprintf("%s_%d", id, n)
	}
	return next
}
