package wire

import (
	"bytes"
	"encoding/json"

	"github.com/callgate/callgate/llm"
	"github.com/go-json-experiment/json/jsontext"
)

// keys are the property names of one tool that its provider refuses.
//
// A shown key ends in a hash of the original, always. So it stands for the
// original wherever it occurs in the arguments, and a key of the model's own
// making, in a free-form map say, is not taken for it.
type keys struct {
	shown    map[string]string // by original
	original map[string]string // by shown
}

// newKeys returns the keys for the property names that a schema declares, or nil
// if the provider takes all of them.
func newKeys(declared map[string]bool, word llm.Word) *keys {
	var k *keys
	for name := range declared {
		if word.Accepts(name) {
			continue
		}
		if k == nil {
			k = &keys{map[string]string{}, map[string]string{}}
		}
		k.shown[name] = ""
	}
	if k == nil {
		return nil
	}
	for _, name := range sorted(k.shown) {
		s := hashed(name, word, declared)
		for k.original[s] != "" {
			s = hashed(name+s, word, declared)
		}
		k.shown[name], k.original[s] = s, name
	}
	return k
}

// replaceNames returns data with the member names that are in by replaced, at
// any depth. Every other byte stays: numbers, order, blanks. Data that is not
// JSON is returned as it is.
func replaceNames(data json.RawMessage, by map[string]string) json.RawMessage {
	dec := jsontext.NewDecoder(bytes.NewBuffer(data), lax, laxUTF8)
	var out []byte
	last := 0
	for {
		isName := false
		if kind, n := dec.StackIndex(dec.StackDepth()); kind == '{' && n%2 == 0 {
			isName = dec.PeekKind() == '"'
		}
		if isName {
			name, err := dec.ReadValue()
			if err != nil {
				return data
			}
			if to, ok := by[Unquote(name)]; ok {
				end := int(dec.InputOffset())
				out = append(append(out, data[last:end-len(name)]...), Quote(to)...)
				last = end
			}
			continue
		}
		if dec.StackDepth() == 0 && dec.InputOffset() > 0 {
			break // after the one value; what may follow is the gate's business
		}
		if _, err := dec.ReadToken(); err != nil {
			return data
		}
	}
	if last == 0 {
		return data
	}
	return append(out, data[last:]...)
}
