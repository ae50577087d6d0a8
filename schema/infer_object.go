package schema

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// inferObject is a JSON object under construction whose members keep their order.
type inferObject struct{ members []inferMember }

type inferMember struct {
	name  string
	value []byte // JSON
}

func (o *inferObject) raw(name string, value []byte) {
	o.members = append(o.members, inferMember{name, value})
}
func (o *inferObject) str(name, value string) { o.raw(name, jsonString(value)) }
func (o *inferObject) num(name, text string)  { o.raw(name, []byte(text)) }

func (o *inferObject) get(name string) []byte {
	for _, m := range o.members {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

func (o *inferObject) has(name string) bool { return o.get(name) != nil }

func (o *inferObject) set(name string, value []byte) {
	for i := range o.members {
		if o.members[i].name == name {
			o.members[i].value = value
		}
	}
}

func (o *inferObject) bytes() []byte {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o.members {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(jsonString(m.name))
		b.WriteByte(':')
		b.Write(m.value)
	}
	b.WriteByte('}')
	return b.Bytes()
}

// describeWith puts the description where a reader looks first, right after the type. The field's words
// replace those of the type: they know the place.
func (o *inferObject) describeWith(text string) {
	if text == "" {
		return
	}
	if o.has("description") {
		o.set("description", jsonString(text))
		return
	}
	at := 0
	if len(o.members) > 0 && o.members[0].name == "type" {
		at = 1
	}
	o.members = append(o.members[:at:at], append([]inferMember{{"description", jsonString(text)}}, o.members[at:]...)...)
}

// admitNull widens o to null where its own keywords can say so, and reports whether they can.
func (o *inferObject) admitNull() bool {
	if len(o.members) == 0 {
		return true // any JSON, null included
	}
	for _, m := range o.members {
		switch m.name {
		case "type", "description", "properties", "required", "additionalProperties", "items", "minItems", "maxItems",
			"minimum", "maximum", "minLength", "maxLength", "pattern", "format", "contentEncoding", "enum":
		default:
			return false
		}
	}
	typ := o.get("type")
	if len(typ) == 0 || typ[0] != '"' || string(typ) == `"null"` {
		return false
	}
	o.set("type", []byte("["+string(typ)+`,"null"]`))
	if enum := o.get("enum"); len(enum) > 2 {
		o.set("enum", []byte(string(enum[:len(enum)-1])+",null]"))
	}
	return true
}

// jsonString returns s as a JSON string. Go source is UTF-8, and what is not becomes U+FFFD.
func jsonString(s string) []byte {
	b, _ := jsontext.AppendQuote(nil, bytes.ToValidUTF8([]byte(s), []byte("\uFFFD")))
	return b
}
