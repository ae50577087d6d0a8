package journal

import (
	"bytes"
	"encoding/json"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/schema"
)

// redactedWord stands for what a pattern of Options.Redact matched. It is base64 too,
// so that what holds data in it can still be read.
const redactedWord = "REDACTED"

// redact returns data without what the patterns match: in JSON within each string
// (not across two, and not within numbers), in other bytes anywhere. Nothing else is
// changed. It returns a copy.
func (j *Journal) redact(data []byte) ([]byte, bool) {
	out := append([]byte{}, data...)
	if len(j.opts.Redact) == 0 {
		return out, false
	}
	if redacted, ok := j.redactJSON(data); ok {
		return redacted, !bytes.Equal(redacted, data)
	}
	for _, p := range j.opts.Redact {
		out = p.ReplaceAllLiteral(out, []byte(redactedWord))
	}
	return out, !bytes.Equal(out, data)
}

func (j *Journal) redactText(text string) string {
	for _, p := range j.opts.Redact {
		text = p.ReplaceAllLiteralString(text, redactedWord)
	}
	return text
}

// redactJSON redacts the strings of a JSON value, names of members included, and
// leaves all other bytes as they are; ok is false if data is no JSON.
func (j *Journal) redactJSON(data []byte) (out []byte, ok bool) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(data), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	copied := int64(0) // so many bytes of data are in out
	for depth := 0; ; {
		raw, err := dec.ReadToken()
		if err != nil {
			return nil, false
		}
		switch raw.Kind() {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case '"':
			end := dec.InputOffset()
			text := raw.String()
			clean := j.redactText(text)
			if clean != text {
				quoted, err := jsontext.AppendQuote(nil, clean)
				if err != nil {
					return nil, false
				}
				start := startOfString(data, end)
				out = append(append(out, data[copied:start]...), quoted...)
				copied = end
			}
		}
		if depth == 0 {
			break
		}
	}
	if len(bytes.TrimSpace(data[dec.InputOffset():])) > 0 {
		return nil, false
	}
	return append(out, data[copied:]...), true
}

// startOfString returns the offset of the JSON string in data that ends at end.
func startOfString(data []byte, end int64) int64 {
	for i := end - 2; i >= 0; i-- {
		if data[i] != '"' {
			continue
		}
		escapes := 0
		for k := i - 1; k >= 0 && data[k] == '\\'; k-- {
			escapes++
		}
		if escapes%2 == 0 {
			return i
		}
	}
	return 0
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
	}
	if len(res.Structured) > 0 {
		res.Structured = value(res.Structured)
	}
	res.Notes, res.Content, res.Violations = notes, content, violations
	return redacted
}
