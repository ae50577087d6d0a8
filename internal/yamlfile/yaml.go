package yamlfile

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// position is where something stands in a file, from 1.
type position struct{ line, column int }

// maxBytes bounds a file.
const maxBytes = 1 << 20

// maxOpen bounds how many brackets are open at once, those in texts included.
const maxOpen = 1_000

// read turns YAML into JSON. The error is an *Error with its position.
func read(data []byte) (*Document, error) {
	if len(data) > maxBytes {
		return nil, &Error{Message: fmt.Sprintf("the file has %d bytes; the limit is %d", len(data), maxBytes)}
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	// The parser takes time by the square of the brackets that are open.
	open := 0
	for _, c := range data {
		switch c {
		case '[', '{':
			if open++; open > maxOpen {
				return nil, &Error{Message: fmt.Sprintf("more than %d brackets are open at once", maxOpen)}
			}
		case ']', '}':
			open = max(0, open-1)
		}
	}
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		return nil, syntaxError(err)
	}
	d := &Document{at: map[jsontext.Pointer]position{}}
	var body ast.Node
	for _, doc := range file.Docs {
		if doc.Body == nil || doc.Body.Type() == ast.CommentType {
			continue
		}
		if body != nil {
			return nil, wrong(doc.Body.GetToken(), "a second document begins here; the file is one document")
		}
		body = doc.Body
	}
	if body == nil {
		d.JSON = []byte("{}")
		return d, nil
	}
	if err := d.value(body, "", 0); err != nil {
		return nil, err
	}
	return d, nil
}

func syntaxError(err error) error {
	e := &Error{Message: "it is not YAML: " + err.Error()}
	var y yaml.Error
	if errors.As(err, &y) {
		e.Message = "it is not YAML: " + y.GetMessage()
		if t := y.GetToken(); t != nil && t.Position != nil {
			e.Line, e.Column = t.Position.Line, t.Position.Column
		}
	}
	return e
}

func wrong(t *token.Token, format string, args ...any) error {
	e := &Error{Message: fmt.Sprintf(format, args...)}
	if t != nil && t.Position != nil {
		e.Line, e.Column = t.Position.Line, t.Position.Column
	}
	return e
}

func (d *Document) mark(at jsontext.Pointer, t *token.Token) {
	if _, ok := d.at[at]; !ok && t != nil && t.Position != nil {
		d.at[at] = position{t.Position.Line, t.Position.Column}
	}
}

// value appends the JSON of n, which stands at the given place.
func (d *Document) value(n ast.Node, at jsontext.Pointer, depth int) error {
	if depth > 64 {
		return wrong(n.GetToken(), "it is nested more than 64 levels deep")
	}
	d.mark(at, n.GetToken())
	switch n := n.(type) {
	case *ast.MappingNode:
		return d.mapping(n.Values, at, depth)
	case *ast.MappingValueNode:
		return d.mapping([]*ast.MappingValueNode{n}, at, depth)
	case *ast.SequenceNode:
		d.JSON = append(d.JSON, '[')
		for i, v := range n.Values {
			if i > 0 {
				d.JSON = append(d.JSON, ',')
			}
			if err := d.value(v, at.AppendToken(strconv.Itoa(i)), depth+1); err != nil {
				return err
			}
		}
		d.JSON = append(d.JSON, ']')
	case *ast.NullNode:
		d.JSON = append(d.JSON, "null"...)
	case *ast.BoolNode:
		d.JSON = strconv.AppendBool(d.JSON, n.Value)
	case *ast.StringNode:
		// The parser takes 1e3, and integers beyond 64 bits, for text.
		if v := jsontext.Value(n.Value); n.Token.Type == token.StringType && v.IsValid() && v.Kind() == '0' {
			d.JSON = append(d.JSON, n.Value...)
			return nil
		}
		return d.text(n.Value, n.Token)
	case *ast.LiteralNode:
		return d.text(n.Value.Value, n.Start)
	case *ast.IntegerNode:
		if octal.MatchString(n.Token.Value) {
			return wrong(n.GetToken(), "%s is octal to some and decimal to others: write 0o%s, or leave the zero out", n.Token.Value, strings.TrimLeft(n.Token.Value, "-+0"))
		}
		d.JSON = append(d.JSON, number(n.Token.Value, fmt.Sprint(n.Value))...)
	case *ast.InfinityNode, *ast.NanNode:
		return wrong(n.GetToken(), "%s is not a number of JSON", n.GetToken().Value)
	case *ast.FloatNode:
		d.JSON = append(d.JSON, number(n.Token.Value, strconv.FormatFloat(n.Value, 'g', -1, 64))...)
	case *ast.AnchorNode, *ast.AliasNode:
		return wrong(n.GetToken(), "anchors and aliases are not accepted: write the value out where it is meant")
	case *ast.TagNode:
		return wrong(n.GetToken(), "tags such as !!str are not accepted: put text in quotes")
	default:
		return wrong(n.GetToken(), "%s is not accepted here: use mappings, lists, text, numbers, true, false or null", strings.ToLower(n.Type().String()))
	}
	return nil
}

var octal = regexp.MustCompile(`^[-+]?0[0-9_]+$`)

// number returns the text of a number as it was written, if JSON writes it so.
func number(written, value string) string {
	if v := jsontext.Value(written); v.IsValid() && v.Kind() == '0' {
		return written
	}
	return value
}

func (d *Document) text(s string, t *token.Token) error {
	b, err := jsontext.AppendQuote(d.JSON, s)
	if err != nil {
		return wrong(t, "the text is not valid UTF-8")
	}
	d.JSON = b
	return nil
}

func (d *Document) mapping(values []*ast.MappingValueNode, at jsontext.Pointer, depth int) error {
	d.JSON = append(d.JSON, '{')
	seen := make(map[string]bool, len(values))
	for i, v := range values {
		if i > 0 {
			d.JSON = append(d.JSON, ',')
		}
		key, err := keyOf(v.Key)
		if err != nil {
			return err
		}
		if seen[key] {
			return wrong(v.Key.GetToken(), "the key %q stands here twice", key)
		}
		seen[key] = true
		if err := d.text(key, v.Key.GetToken()); err != nil {
			return err
		}
		d.JSON = append(d.JSON, ':')
		child := at.AppendToken(key)
		d.mark(child, v.Key.GetToken())
		if err := d.value(v.Value, child, depth+1); err != nil {
			return err
		}
	}
	d.JSON = append(d.JSON, '}')
	return nil
}

func keyOf(n ast.MapKeyNode) (string, error) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, nil
	case *ast.MergeKeyNode:
		return "", wrong(n.Token, "merge keys (<<) are not accepted: write the keys out where they are meant")
	}
	return "", wrong(n.GetToken(), "a key is text: put %q in quotes", n.GetToken().Value)
}
