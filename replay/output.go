package replay

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/internal/plaintext"
)

// Bounds of what a report says of one call's output.
const (
	maxDiffLines = 60
	maxDiffBytes = 8 << 10
	maxPlaces    = 20 // of its structured content
	maxValue     = 80 // characters of a value
)

// outputs compares two results of one call.
func outputs(then, now callgate.Result) []Difference {
	if then.Code != now.Code {
		return []Difference{{What: Code, Then: ending(then), Now: ending(now)}}
	}
	var found []Difference
	a, b := decode(then.Structured), decode(now.Structured)
	mirrored := mirrors(then, a) && mirrors(now, b)
	bare(then, now, a, b)
	places(&found, "", a, b)
	if more := len(found) - maxPlaces; more > 0 {
		found = append(found[:maxPlaces], Difference{What: Output, Now: fmt.Sprintf("and at %s", plural(more, "more place"))})
	}
	if mirrored {
		return found // the text says the same once more
	}
	if x, y := text(then), text(now); x != y {
		found = append(found, Difference{What: Output, Diff: diff(x, y)})
	}
	return found
}

// ending says how a call ended.
func ending(r callgate.Result) string {
	if r.Code == "" {
		return "success"
	}
	return string(r.Code) + ": " + said(r.Message)
}

// text is what a result says, without what is drawn by lot or measured.
func text(r callgate.Result) string {
	var b strings.Builder
	if r.Code != "" {
		fmt.Fprintf(&b, "Error [%s]: %s\n", r.Code, said(r.Message))
	}
	for _, n := range r.Notes {
		if n = said(n); n != "" {
			b.WriteString(n + "\n")
		}
	}
	for _, c := range r.Content {
		if c.Type == "" || c.Type == "text" {
			b.WriteString(c.Text + "\n")
			continue
		}
		fmt.Fprintf(&b, "[%s %s %s %s, %d bytes, sha256 %x]\n", c.Type, c.MIMEType, c.Name, c.URI, len(c.Data), sha256.Sum256(c.Data))
	}
	if r.Artifact != "" {
		return strings.ReplaceAll(b.String(), r.Artifact, anyArtifact)
	}
	return b.String()
}

// diff returns the unified diff of two texts, or the beginning of it.
func diff(then, now string) string {
	whole := udiff.Unified("then", "now", then, now)
	var b strings.Builder
	n, total := 0, strings.Count(whole, "\n")
	for l := range strings.Lines(whole) {
		if n == maxDiffLines || b.Len()+len(l) > maxDiffBytes {
			fmt.Fprintf(&b, "… and %s\n", plural(total-n, "more line"))
			break
		}
		b.WriteString(l)
		n++
	}
	return b.String()
}

// absent stands for a value that is not there.
type absent struct{}

// decode reads structured content, numbers as their text.
func decode(data []byte) any {
	if len(data) == 0 {
		return absent{}
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil || dec.More() {
		return string(data) // no result of the gate's is that
	}
	return v
}

// mirrors reports whether the text of r is its structured content.
func mirrors(r callgate.Result, structured any) bool {
	if len(r.Structured) == 0 || len(r.Content) != 1 || len(r.Notes) > 0 || r.Code != "" {
		return false
	}
	var found []Difference
	places(&found, "", structured, decode([]byte(r.Content[0].Text)))
	return len(found) == 0
}

// places adds the places where two JSON values differ, in the order of their names.
func places(found *[]Difference, at string, a, b any) {
	switch x := a.(type) {
	case map[string]any:
		if y, ok := b.(map[string]any); ok {
			names := maps.Clone(x)
			maps.Copy(names, y)
			for _, name := range slices.Sorted(maps.Keys(names)) {
				places(found, at+"/"+escape.Replace(name), member(x, name), member(y, name))
			}
			return
		}
	case []any:
		if y, ok := b.([]any); ok {
			for i := range max(len(x), len(y)) {
				places(found, at+"/"+strconv.Itoa(i), element(x, i), element(y, i))
			}
			return
		}
	default:
		if _, ok := b.(map[string]any); ok {
			break
		}
		if _, ok := b.([]any); !ok && a == b {
			return
		}
	}
	*found = append(*found, Difference{What: Output, Pointer: at, Then: value(a), Now: value(b)})
}

var escape = strings.NewReplacer("~", "~0", "/", "~1") // RFC 6901

func member(o map[string]any, name string) any {
	if v, ok := o[name]; ok {
		return v
	}
	return absent{}
}

func element(a []any, i int) any {
	if i < len(a) {
		return a[i]
	}
	return absent{}
}

// value shows a JSON value.
func value(v any) string {
	if _, ok := v.(absent); ok {
		return "nothing"
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err.Error()
	}
	return plaintext.Clip(strings.TrimSuffix(b.String(), "\n"), maxValue)
}
