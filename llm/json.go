package llm

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/callgate/callgate"
)

// blockJSON is the stored form of a Block. Arguments are stored as text, since
// what a model wrote need not be JSON; text that is not UTF-8 is stored as bytes.
type blockJSON struct {
	Type      BlockType         `json:"type"`
	Text      string            `json:"text,omitempty"`
	ID        string            `json:"id,omitempty"`
	Name      string            `json:"name,omitempty"`
	Arguments string            `json:"arguments,omitempty"`
	Bytes     []byte            `json:"argumentsBase64,omitempty"`
	Result    *callgate.Result  `json:"result,omitempty"`
	Image     *callgate.Content `json:"image,omitempty"`
	Provider  string            `json:"provider,omitempty"`
	Raw       string            `json:"raw,omitempty"` // as text, since encoders rewrite raw JSON
}

// MarshalJSON writes the block for storage; see [Block.UnmarshalJSON].
func (b Block) MarshalJSON() ([]byte, error) {
	j := blockJSON{Type: b.Type, Text: b.Text, Result: b.Result, Image: b.Image, Provider: b.Provider, Raw: string(b.Raw)}
	if b.Call != nil {
		j.ID, j.Name = b.Call.ID, b.Call.Name
		if utf8.Valid(b.Call.Arguments) {
			j.Arguments = string(b.Call.Arguments)
		} else {
			j.Bytes = b.Call.Arguments
		}
	}
	return json.Marshal(j)
}

// UnmarshalJSON reads what MarshalJSON wrote. The arguments of a call come back
// byte for byte, well-formed or not.
func (b *Block) UnmarshalJSON(data []byte) error {
	var j blockJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return err
	}
	*b = Block{Type: j.Type, Text: j.Text, Result: j.Result, Image: j.Image, Provider: j.Provider}
	if j.Raw != "" {
		b.Raw = []byte(j.Raw)
	}
	switch j.Type {
	case CallBlock:
		b.Call = &callgate.Call{ID: j.ID, Name: j.Name}
		if j.Bytes != nil {
			b.Call.Arguments = j.Bytes
		} else if j.Arguments != "" {
			b.Call.Arguments = json.RawMessage(j.Arguments)
		}
	case ResultBlock:
		if j.Result == nil {
			return fmt.Errorf("llm: a block of type result has no result")
		}
	case ImageBlock:
		if j.Image == nil {
			return fmt.Errorf("llm: a block of type image has no image")
		}
	case TextBlock, OpaqueBlock:
	default:
		return fmt.Errorf("llm: a block of unknown type %q", j.Type)
	}
	return nil
}
