package replay

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"sync"

	"github.com/callgate/callgate/internal/plaintext"
	"github.com/callgate/callgate/llm"
)

// A Model answers with the recorded turns of a session's model, in their order. It
// looks at the last thing that it is sent, all that the user said and the results
// since its last word, and fails if that is not what was recorded: then the rest of
// the record is not what a model would have said. It is safe for concurrent use,
// though a session has one order.
type Model struct {
	steps []step

	mu   sync.Mutex
	next int
}

// Model returns the session's model. Turns that were recorded as messages
// ([session.Format]) come back as they were. Of turns in a provider's format, and of
// those that left only their calls, the model says the calls and no words, and what
// it is sent is compared with the recorded results; their first message is not known
// and not compared. An error means that a turn cannot be read.
func (s Session) Model() (*Model, error) {
	steps, err := s.steps()
	if err != nil {
		return nil, err
	}
	return &Model{steps: steps}, nil
}

// Generate implements [llm.Model].
func (m *Model) Generate(ctx context.Context, req llm.Request) (llm.Response, error) {
	if err := ctx.Err(); err != nil {
		return llm.Response{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.next == len(m.steps) {
		return llm.Response{}, fmt.Errorf("replay: the model is asked once more than it was: its %d turns have all been played", len(m.steps))
	}
	s := m.steps[m.next]
	if s.known {
		if what := s.differs(latest(req.Messages)); what != "" {
			return llm.Response{}, fmt.Errorf("replay: before turn %d the model was sent something else: %s", s.number, what)
		}
	}
	m.next++
	return s.answer, nil
}

// Done returns nil if every turn was played, else an error that names the first one
// that was not.
func (m *Model) Done() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.next < len(m.steps) {
		return fmt.Errorf("replay: the conversation ended before turn %d; %d of %d turns were played", m.steps[m.next].number, m.next, len(m.steps))
	}
	return nil
}

// latest returns what was said since the last word of the assistant.
func latest(messages []llm.Message) (blocks []llm.Block) {
	first := len(messages)
	for first > 0 && messages[first-1].Role != llm.Assistant {
		first--
	}
	for _, m := range messages[first:] {
		blocks = append(blocks, m.Blocks...)
	}
	return blocks
}

// differs says what is not as it was recorded, "" if nothing is.
func (s step) differs(got []llm.Block) string {
	for i := range max(len(s.sent), len(got)) {
		then, now := "nothing", "nothing"
		if i < len(s.sent) {
			then = shown(s.sent[i])
		}
		if i < len(got) {
			now = shown(got[i])
		}
		if then != now && !(s.redacted && strings.Contains(then, "REDACTED")) {
			return fmt.Sprintf("block %d was %s, and is %s", i, around(then, now), around(now, then))
		}
	}
	return ""
}

// shown is what a model gets of a block, without what is drawn by lot.
func shown(b llm.Block) string {
	switch {
	case b.Type == llm.ResultBlock && b.Result != nil:
		r := *b.Result
		r.Fence = ""
		var media bytes.Buffer
		for _, c := range r.Content {
			media.Write(c.Data)
		}
		if media.Len() > 0 {
			return fmt.Sprintf("the result of %s, %q with data %x", r.CallID, llm.ResultText(r), sha256.Sum256(media.Bytes()))
		}
		return fmt.Sprintf("the result of %s, %q", r.CallID, llm.ResultText(r))
	case b.Type == llm.ImageBlock && b.Image != nil:
		return fmt.Sprintf("an image %s %x", b.Image.MIMEType, sha256.Sum256(b.Image.Data))
	case b.Type == llm.TextBlock:
		return fmt.Sprintf("the text %q", b.Text)
	}
	return fmt.Sprintf("a block of type %s, %s %q", b.Type, b.Provider, b.Raw)
}

// around returns s from some characters before the place where it leaves other.
func around(s, other string) string {
	same := 0
	for same < min(len(s), len(other)) && s[same] == other[same] {
		same++
	}
	const before = 60
	if len(s) <= 200 || same <= before {
		return plaintext.Clip(s, 200)
	}
	head, _, _ := strings.Cut(s, ",")
	return plaintext.Clip(head, 80) + " …" + plaintext.Clip(strings.ToValidUTF8(s[same-before:], ""), 200)
}
