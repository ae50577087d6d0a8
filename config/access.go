package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/schema"
)

// A keyTemplate is a key with places for arguments: text, pointer, text, …
type keyTemplate struct {
	texts    []string // one more than pointers
	pointers []jsontext.Pointer
}

// parseKey reads scheme:path with JSON Pointers in braces.
func parseKey(s string) (keyTemplate, error) {
	var k keyTemplate
	rest := s
	for {
		text, after, ok := strings.Cut(rest, "{")
		if strings.Contains(text, "}") {
			return k, fmt.Errorf("the key %q has a } without a {", s)
		}
		k.texts = append(k.texts, text)
		if !ok {
			break
		}
		pointer, after, ok := strings.Cut(after, "}")
		if !ok {
			return k, fmt.Errorf("the key %q has a { without a }", s)
		}
		if p := jsontext.Pointer(pointer); !p.IsValid() || p == "" {
			return k, fmt.Errorf("the key %q has {%s}, which is not a JSON Pointer such as {/path}", s, pointer)
		}
		k.pointers = append(k.pointers, jsontext.Pointer(pointer))
		rest = after
	}
	if scheme, _, ok := strings.Cut(k.texts[0], ":"); !ok || scheme == "" || strings.ContainsAny(scheme, "/ ") {
		return k, fmt.Errorf("the key %q does not begin with a scheme, as file:{/path} does", s)
	}
	return k, nil
}

// fill returns the key for the given arguments. Where an argument is missing, or
// is no text or number, the key ends before it: it then covers everything below.
func (k keyTemplate) fill(args []byte) string {
	var b strings.Builder
	for i, text := range k.texts {
		b.WriteString(text)
		if i == len(k.pointers) {
			break
		}
		arg, ok := at(args, k.pointers[i])
		if !ok {
			return b.String()
		}
		b.WriteString(arg)
	}
	return b.String()
}

// at returns the text or the number at a place of JSON that is known to be valid.
func at(data []byte, p jsontext.Pointer) (string, bool) {
	v := jsontext.Value(data)
	for token := range p.Tokens() {
		switch v.Kind() {
		case '{':
			var members map[string]json.RawMessage
			if json.Unmarshal(v, &members) != nil {
				return "", false
			}
			member, ok := members[token]
			if !ok {
				return "", false
			}
			v = jsontext.Value(member)
		case '[':
			var items []json.RawMessage
			var i int
			if _, err := fmt.Sscanf(token, "%d", &i); err != nil || json.Unmarshal(v, &items) != nil || i < 0 || i >= len(items) {
				return "", false
			}
			v = jsontext.Value(items[i])
		default:
			return "", false
		}
	}
	switch v.Kind() {
	case '"':
		text, err := jsontext.AppendUnquote(nil, v)
		return string(text), err == nil && len(text) > 0
	case '0':
		return string(v), true
	}
	return "", false
}

// access returns what a call of c touches, or nil if c does not say. clean turns
// the path of a file: key into the one that the workspace uses for it.
func (c *Command) access(clean func(path string) string) func(json.RawMessage) []callgate.Access {
	if len(c.Access) == 0 {
		return nil
	}
	templates := make([]keyTemplate, len(c.Access))
	for i, a := range c.Access {
		templates[i], _ = parseKey(a.Key) // it was checked when the file was read
	}
	return func(args json.RawMessage) []callgate.Access {
		out := make([]callgate.Access, len(c.Access))
		for i, a := range c.Access {
			key := templates[i].fill(args)
			if path, ok := strings.CutPrefix(key, "file:"); ok && path != "" {
				key = clean(path)
			}
			out[i] = callgate.Access{Key: key, Write: a.Write}
		}
		return out
	}
}

func contains(list []string, s string) bool { return slices.Contains(list, s) }

// pathOf returns the JSON Pointer in the error of a schema that does not compile.
func pathOf(err error) string {
	if e, ok := errors.AsType[*schema.CompileError](err); ok {
		return e.Path
	}
	return ""
}
