package schema

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// shape is a JSON object under construction whose members keep their order.
type shape struct{ members []shapeMember }

type shapeMember struct {
	name  string
	value []byte // JSON
}

func (o *shape) raw(name string, value []byte) {
	o.members = append(o.members, shapeMember{name, value})
}
func (o *shape) str(name, value string) { o.raw(name, jsonString(value)) }
func (o *shape) num(name, text string)  { o.raw(name, []byte(text)) }

func (o *shape) get(name string) []byte {
	for _, m := range o.members {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

func (o *shape) has(name string) bool { return o.get(name) != nil }

func (o *shape) set(name string, value []byte) {
	for i := range o.members {
		if o.members[i].name == name {
			o.members[i].value = value
		}
	}
}

func (o *shape) bytes() []byte {
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
func (o *shape) describeWith(text string) {
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
	o.members = append(o.members[:at:at], append([]shapeMember{{"description", jsonString(text)}}, o.members[at:]...)...)
}

// admitNull widens o to null where its own keywords can say so, and reports whether they can.
func (o *shape) admitNull() bool {
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
