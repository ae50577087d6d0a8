package journal

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/schema"
)

// redactedWord stands for what a pattern of Options.Redact matched. It is base64 too,
// so that what holds data in it can still be read.
const redactedWord = "REDACTED"

// redact returns data without what the patterns match: in JSON within each string
// (not across two, and not within numbers), in other bytes anywhere. Nothing else is
// changed. It returns a copy, which is not nil.
func (j *Journal) redact(data []byte) ([]byte, bool) {
	out := append([]byte{}, data...)
	if len(j.opts.Redact) == 0 {
		return out, false
	}
	if redacted, ok := j.redactJSON(data); ok {
		return redacted, !bytes.Equal(redacted, data)
	}
	for _, p := range j.opts.Redact {
		out = append([]byte{}, p.ReplaceAllLiteral(out, []byte(redactedWord))...)
	}
	return out, !bytes.Equal(out, data)
}

// redactText redacts a string. One that holds JSON, as arguments within a message of
// some providers do, is redacted as that first: its escapes hide nothing.
func (j *Journal) redactText(text string) string {
	if len(j.opts.Redact) == 0 {
		return text
	}
	if start := strings.TrimLeft(text, " \t\r\n"); start != "" && (start[0] == '{' || start[0] == '[') {
		if clean, ok := j.redactJSON([]byte(text)); ok {
			text = string(clean)
		}
	}
	for _, p := range j.opts.Redact {
		text = p.ReplaceAllLiteralString(text, redactedWord)
	}
	return text
}

// redactJSON redacts the strings of JSON values one after another, names of members
// included, and leaves all other bytes as they are. ok is false if data is something
// else, a bare number included.
func (j *Journal) redactJSON(data []byte) (out []byte, ok bool) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(data), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	out = []byte{}
	copied := int64(0) // so many bytes of data are in out
	for depth := 0; ; {
		before := dec.InputOffset()
		token, err := dec.ReadToken()
		if err == io.EOF { // between two values
			return append(out, data[copied:]...), true
		} else if err != nil {
			return nil, false
		}
		switch token.Kind() {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case '"':
			text := token.String()
			clean := j.redactText(text)
			if clean == text {
				break
			}
			quoted, err := jsontext.AppendQuote(nil, strings.ToValidUTF8(clean, "\ufffd"))
			if err != nil {
				return nil, false
			}
			start := before + int64(bytes.IndexByte(data[before:], '"')) // after space, a comma or a colon
			out = append(append(out, data[copied:start]...), quoted...)
			copied = dec.InputOffset()
		default:
			if depth == 0 {
				return nil, false
			}
		}
	}
}

// redactResult redacts all that a result says, and reports whether anything was.
func (j *Journal) redactResult(res *callgate.Result) (redacted bool) {
	if len(j.opts.Redact) == 0 {
		return false
	}
	text := func(s string) string {
		clean := j.redactText(s)
		redacted = redacted || clean != s
		return clean
	}
	value := func(v json.RawMessage) json.RawMessage {
		clean, yes := j.redact(v)
		redacted = redacted || yes
		return clean
	}
	res.Message = text(res.Message)
	notes := make([]string, len(res.Notes))
	for i, n := range res.Notes {
		notes[i] = text(n)
	}
	content := append([]callgate.Content(nil), res.Content...)
	for i := range content {
		c := &content[i]
		c.Text, c.URI, c.Name = text(c.Text), text(c.URI), text(c.Name)
	}
	violations := append([]schema.Violation(nil), res.Violations...)
	for i := range violations {
		v := &violations[i]
		v.Path, v.Message, v.Expected, v.Got, v.Closest = text(v.Path), text(v.Message), text(v.Expected), text(v.Got), text(v.Closest)
		v.Allowed = append([]string(nil), v.Allowed...)
		for k := range v.Allowed {
			v.Allowed[k] = text(v.Allowed[k])
		}
	}
	if len(res.Structured) > 0 {
		res.Structured = value(res.Structured)
	}
	res.Notes, res.Content, res.Violations = notes, content, violations
	return redacted
}
