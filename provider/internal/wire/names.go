package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/callgate/callgate/llm"
)

// rename gives each of names one that word accepts. A name that is accepted as
// it is stays, whatever the others are. The result depends on the set of names
// alone, not on their order: of two names that would become the same, both get
// a suffix made of their hash.
func rename(names []string, word llm.Word) map[string]string {
	shown := make(map[string]string, len(names))
	taken := make(map[string]bool, len(names))
	var rest []string
	candidates := map[string]int{}
	for _, n := range names {
		if _, again := shown[n]; again {
			continue
		}
		if word.Accepts(n) {
			shown[n], taken[n] = n, true
			continue
		}
		shown[n] = ""
		rest = append(rest, n)
		candidates[clean(n, word)]++
	}
	slices.Sort(rest)
	for _, n := range rest {
		s := clean(n, word)
		if candidates[s] > 1 || taken[s] || len(s) > word.Max {
			s = hashed(n, word, taken)
		}
		shown[n], taken[s] = s, true
	}
	return shown
}

// clean replaces each run of characters that word refuses by one underscore. It
// does not shorten.
func clean(name string, word llm.Word) string {
	var b strings.Builder
	run := false
	for _, r := range name {
		if r < 0x80 && word.Char(byte(r)) {
			b.WriteRune(r)
			run = false
		} else if !run {
			b.WriteByte('_')
			run = true
		}
	}
	if b.Len() == 0 {
		return "_"
	}
	return b.String()
}

// hashed returns what fits of name, and then as much of its hash as makes it
// free; eight digits do unless somebody made a name to collide.
func hashed(name string, word llm.Word, taken map[string]bool) string {
	sum := sha256.Sum256([]byte(name))
	digits := hex.EncodeToString(sum[:])
	stem := strings.Trim(clean(name, word), "_")
	for n := 8; n < min(word.Max, len(digits)); n += 8 {
		s := stem[:min(len(stem), word.Max-n-1)] + "_" + digits[:n]
		if !taken[s] {
			return s
		}
	}
	for n := 2; ; n++ {
		if s := fmt.Sprintf("t%d_%s", n, digits[:8]); !taken[s] {
			return s
		}
	}
}

// IDs gives call ids that a provider accepts. It is for one projection of one
// history, in which all ids differ.
type IDs struct {
	word  llm.Word
	shown map[string]string
	taken map[string]bool
}

// NewIDs returns IDs for the given ids, which are all that will be asked for.
func NewIDs(word llm.Word, history []llm.Message) *IDs {
	d := &IDs{word: word, shown: map[string]string{}, taken: map[string]bool{}}
	// An id that is accepted as it is keeps itself, wherever it stands.
	for _, m := range history {
		for _, c := range m.Calls() {
			if word.Accepts(c.ID) {
				d.taken[c.ID] = true
			}
		}
	}
	return d
}

// Shown returns the id that stands for id.
func (d *IDs) Shown(id string) string {
	if d.word.Accepts(id) {
		return id
	}
	if s, ok := d.shown[id]; ok {
		return s
	}
	s := hashed(id, d.word, d.taken)
	d.shown[id], d.taken[s] = s, true
	return s
}
