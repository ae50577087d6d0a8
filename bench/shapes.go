package bench

import (
	"encoding/json"
	"fmt"
	"strings"
)

// A Shape is one kind of arguments: a schema, arguments that it accepts or
// refuses, and the Go type that a handler would take them in.
type Shape struct {
	Name   string
	Schema string
	Args   string
	Valid  bool
	New    func() any // a pointer to a new value of the Go type
}

// Shapes returns the argument shapes: small to large, flat to nested. The last
// one is the small call with three faults.
func Shapes() []Shape {
	return []Shape{
		{"small", commandSchema, SmallArgs, true, func() any { return new(Command) }},
		{"read", readSchema, readArgs, true, func() any { return new(readFile) }},
		{"edit", editSchema, editArgs(), true, func() any { return new(editFile) }},
		{"nested", nestedSchema, nestedArgs, true, func() any { return new(createIssue) }},
		{"wide", wideSchema(), wideArgs(), true, func() any { return new(wide) }},
		{"invalid", commandSchema, invalidArgs, false, func() any { return new(Command) }},
	}
}

// Command is what the tool of the dispatch benchmarks and of the facts takes.
type Command struct {
	Command   string `json:"command" description:"Command to run."`
	TimeoutMS int64  `json:"timeout_ms,omitempty" description:"Time limit in milliseconds."`
}

// SmallArgs is a typical call: 45 bytes.
const SmallArgs = `{"command":"go vet ./...","timeout_ms":60000}`

const invalidArgs = `{"command":7,"timeout_ms":"60s","cwd":"/tmp"}`

const commandSchema = `{
	"type": "object",
	"properties": {
		"command": {"type": "string", "minLength": 1, "description": "Command to run."},
		"timeout_ms": {"type": "integer", "minimum": 1, "maximum": 600000, "description": "Time limit in milliseconds."}
	},
	"required": ["command"],
	"additionalProperties": false
}`

type readFile struct {
	Path   string `json:"path"`
	Offset int    `json:"offset"`
	Limit  int    `json:"limit"`
}

const readArgs = `{"path":"internal/server/handler_test.go","offset":120,"limit":200}`

const readSchema = `{
	"type": "object",
	"properties": {
		"path": {"type": "string", "minLength": 1, "maxLength": 4096},
		"offset": {"type": "integer", "minimum": 0},
		"limit": {"type": "integer", "minimum": 1, "maximum": 2000}
	},
	"required": ["path"],
	"additionalProperties": false
}`

type editFile struct {
	Path  string `json:"path"`
	Edits []struct {
		Old        string `json:"old"`
		New        string `json:"new"`
		ReplaceAll bool   `json:"replace_all"`
	} `json:"edits"`
}

const editSchema = `{
	"type": "object",
	"properties": {
		"path": {"type": "string", "minLength": 1, "maxLength": 4096},
		"edits": {
			"type": "array", "minItems": 1, "maxItems": 100,
			"items": {
				"type": "object",
				"properties": {
					"old": {"type": "string", "minLength": 1},
					"new": {"type": "string"},
					"replace_all": {"type": "boolean"}
				},
				"required": ["old", "new"],
				"additionalProperties": false
			}
		}
	},
	"required": ["path", "edits"],
	"additionalProperties": false
}`

// editArgs is an edit of 23 KB: source text, so every line has escapes.
func editArgs() string {
	type edit struct {
		Old        string `json:"old"`
		New        string `json:"new"`
		ReplaceAll bool   `json:"replace_all"`
	}
	var args struct {
		Path  string `json:"path"`
		Edits []edit `json:"edits"`
	}
	args.Path = "internal/server/handler.go"
	line := 0
	text := func(lines int) string {
		var b strings.Builder
		for range lines {
			line++
			fmt.Fprintf(&b, "\t\tif err := s.step(%d, \"größe\", '%c'); err != nil {\n\t\t\treturn fmt.Errorf(\"step %d: %%w\", err)\n\t\t}\n", line, 'a'+line%26, line)
		}
		return b.String()
	}
	for range 4 {
		args.Edits = append(args.Edits, edit{Old: text(22), New: text(28)})
	}
	b, err := json.Marshal(args)
	if err != nil {
		panic(err) // strings and booleans
	}
	return string(b)
}

type createIssue struct {
	Repository string `json:"repository"`
	Title      string `json:"title"`
	Body       string `json:"body"`
	Priority   string `json:"priority"`
	Labels     []struct {
		Name  string `json:"name"`
		Color string `json:"color"`
	} `json:"labels"`
	Assignees []person `json:"assignees"`
	Reporter  person   `json:"reporter"`
	Checklist []struct {
		Text  string   `json:"text"`
		Done  bool     `json:"done"`
		Hours float64  `json:"hours"`
		Owner *person  `json:"owner"`
		Tags  []string `json:"tags"`
	} `json:"checklist"`
	Links struct {
		Blocks    []int `json:"blocks"`
		BlockedBy []int `json:"blocked_by"`
		Parent    *int  `json:"parent"`
	} `json:"links"`
}

type person struct {
	ID    int64  `json:"id"`
	Login string `json:"login"`
	Email string `json:"email"`
}

const nestedSchema = `{
	"type": "object",
	"properties": {
		"repository": {"type": "string", "pattern": "^[a-z0-9-]+/[a-z0-9._-]+$"},
		"title": {"type": "string", "minLength": 1, "maxLength": 200},
		"body": {"type": "string", "maxLength": 65536},
		"priority": {"enum": ["low", "medium", "high", "urgent"]},
		"labels": {
			"type": "array", "maxItems": 20,
			"items": {
				"type": "object",
				"properties": {"name": {"type": "string"}, "color": {"type": "string", "pattern": "^[0-9a-f]{6}$"}},
				"required": ["name"],
				"additionalProperties": false
			}
		},
		"assignees": {"type": "array", "items": {"$ref": "#/$defs/person"}},
		"reporter": {"$ref": "#/$defs/person"},
		"checklist": {
			"type": "array",
			"items": {
				"type": "object",
				"properties": {
					"text": {"type": "string", "minLength": 1},
					"done": {"type": "boolean"},
					"hours": {"type": "number", "minimum": 0},
					"owner": {"anyOf": [{"$ref": "#/$defs/person"}, {"type": "null"}]},
					"tags": {"type": "array", "items": {"type": "string"}}
				},
				"required": ["text"],
				"additionalProperties": false
			}
		},
		"links": {
			"type": "object",
			"properties": {
				"blocks": {"type": "array", "items": {"type": "integer", "minimum": 1}},
				"blocked_by": {"type": "array", "items": {"type": "integer", "minimum": 1}},
				"parent": {"type": ["integer", "null"]}
			},
			"additionalProperties": false
		}
	},
	"required": ["repository", "title", "reporter"],
	"additionalProperties": false,
	"$defs": {
		"person": {
			"type": "object",
			"properties": {
				"id": {"type": "integer", "minimum": 1},
				"login": {"type": "string", "minLength": 1, "maxLength": 39},
				"email": {"type": "string"}
			},
			"required": ["id", "login"],
			"additionalProperties": false
		}
	}
}`

const nestedArgs = `{"repository":"acme/billing-service","title":"Invoices of 29 February are dated 1 March",` +
	`"body":"Steps:\n1. set the clock to 2028-02-29\n2. run ` + "`billing close --month 2`" + `\n3. open the invoice\n\nThe date is one day late; the total is right.\nSeen on the staging system too, with two tenants, since the release of last week. The job takes the month from local midnight and adds a day before it compares; in a zone east of Greenwich that is already March. The same code dates credit notes, reminders and the export for the tax office.",` +
	`"priority":"high","labels":[{"name":"bug","color":"d73a4a"},{"name":"calendar","color":"0e8a16"},{"name":"customer","color":"5319e7"}],` +
	`"assignees":[{"id":18250,"login":"m-okafor","email":"m.okafor@acme.example"},{"id":22917,"login":"lena","email":"lena@acme.example"}],` +
	`"reporter":{"id":9120,"login":"support-bot","email":"support@acme.example"},` +
	`"checklist":[` +
	`{"text":"reproduce on a leap day","done":true,"hours":1.5,"owner":{"id":18250,"login":"m-okafor"},"tags":["test","clock"]},` +
	`{"text":"find every use of local midnight","done":false,"hours":4,"owner":{"id":22917,"login":"lena"},"tags":["review"]},` +
	`{"text":"fix the month boundary","done":false,"hours":2.25,"owner":null,"tags":["code"]},` +
	`{"text":"re-date invoices that were sent","done":false,"hours":8,"owner":null,"tags":["data","customer"]},` +
	`{"text":"tell the two tenants","done":false,"hours":0.5,"owner":{"id":9120,"login":"support-bot","email":"support@acme.example"},"tags":["customer"]},` +
	`{"text":"add 29 February to the nightly run","done":false,"hours":1,"owner":{"id":18250,"login":"m-okafor"},"tags":["test"]}],` +
	`"links":{"blocks":[4120,4121],"blocked_by":[3998],"parent":3777}}`

// wideSchema has thirty optional properties: ten strings, ten integers, five
// booleans and five enums.
func wideSchema() string {
	var b strings.Builder
	b.WriteString(`{"type":"object","additionalProperties":false,"properties":{`)
	for i := range 30 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"field_%02d":`, i)
		switch i % 6 {
		case 0, 1:
			b.WriteString(`{"type":"string","maxLength":100}`)
		case 2, 3:
			b.WriteString(`{"type":"integer","minimum":0}`)
		case 4:
			b.WriteString(`{"type":"boolean"}`)
		case 5:
			b.WriteString(`{"enum":["none","some","all"]}`)
		}
	}
	b.WriteString(`}}`)
	return b.String()
}

func wideArgs() string {
	var b strings.Builder
	b.WriteByte('{')
	for i := range 30 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"field_%02d":`, i)
		switch i % 6 {
		case 0, 1:
			fmt.Fprintf(&b, `"value of %d"`, i)
		case 2, 3:
			fmt.Fprint(&b, i*1000)
		case 4:
			b.WriteString(`true`)
		case 5:
			b.WriteString(`"some"`)
		}
	}
	b.WriteByte('}')
	return b.String()
}

type wide struct {
	Field00 string `json:"field_00,omitempty"`
	Field01 string `json:"field_01,omitempty"`
	Field02 int64  `json:"field_02,omitempty"`
	Field03 int64  `json:"field_03,omitempty"`
	Field04 bool   `json:"field_04,omitempty"`
	Field05 string `json:"field_05,omitempty"`
	Field06 string `json:"field_06,omitempty"`
	Field07 string `json:"field_07,omitempty"`
	Field08 int64  `json:"field_08,omitempty"`
	Field09 int64  `json:"field_09,omitempty"`
	Field10 bool   `json:"field_10,omitempty"`
	Field11 string `json:"field_11,omitempty"`
	Field12 string `json:"field_12,omitempty"`
	Field13 string `json:"field_13,omitempty"`
	Field14 int64  `json:"field_14,omitempty"`
	Field15 int64  `json:"field_15,omitempty"`
	Field16 bool   `json:"field_16,omitempty"`
	Field17 string `json:"field_17,omitempty"`
	Field18 string `json:"field_18,omitempty"`
	Field19 string `json:"field_19,omitempty"`
	Field20 int64  `json:"field_20,omitempty"`
	Field21 int64  `json:"field_21,omitempty"`
	Field22 bool   `json:"field_22,omitempty"`
	Field23 string `json:"field_23,omitempty"`
	Field24 string `json:"field_24,omitempty"`
	Field25 string `json:"field_25,omitempty"`
	Field26 int64  `json:"field_26,omitempty"`
	Field27 int64  `json:"field_27,omitempty"`
	Field28 bool   `json:"field_28,omitempty"`
	Field29 string `json:"field_29,omitempty"`
}
