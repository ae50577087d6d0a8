package config

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/internal/yamlfile"
	"github.com/callgate/callgate/schema"
)

// A File is one callgate.yaml. The zero File says nothing.
type File struct {
	Commands []Command `json:"commands,omitzero" description:"Tools that are programs: they get their arguments as JSON on standard input."`
	Env      Env       `json:"env,omitzero" description:"What programs that callgate starts see of the environment."`
	Journal  Journal   `json:"journal,omitzero" description:"What is recorded of calls, and for how long."`
	Confine  `json:",inline"`

	path string
	doc  *yamlfile.Document
}

// A Command is a tool that is a program. The program gets the arguments, which
// satisfy InputSchema, as one JSON object on standard input. What it prints is the
// result; a non-zero exit code is a failure with the end of what it printed on
// standard error.
type Command struct {
	Name         string               `json:"name" description:"Name of the tool: lower-case words, with dots between segments." pattern:"^[a-z][a-z0-9_]*(\\.[a-z][a-z0-9_]*)*$" maxLength:"128"`
	Title        string               `json:"title,omitempty" description:"Name for people."`
	Description  string               `json:"description" description:"What the tool does, for the model; the first line stands in lists." minLength:"1"`
	InputSchema  jsontext.Value       `json:"inputSchema" description:"JSON Schema of the arguments."`
	OutputSchema jsontext.Value       `json:"outputSchema,omitzero" description:"JSON Schema of what the program prints; it must print JSON then."`
	Command      []string             `json:"command" description:"The program and its fixed arguments. One that starts with ./ or ../ lies beside this file." minItems:"1"`
	Timeout      string               `json:"timeout,omitempty" description:"Time limit of a call, such as 10s or 2m. 2m if absent." pattern:"^[0-9]{1,6}(ms|s|m|h)$"`
	Annotations  callgate.Annotations `json:"annotations,omitzero" description:"What a call may do. Without it: anything."`
	Access       []Access             `json:"access,omitempty" description:"What a call touches, so that calls that touch different things may run at once."`
	OutputLimit  int64                `json:"outputLimit,omitempty" description:"Most characters of text that the model is shown. 50000 if absent." minimum:"1" maximum:"10000000"`
	Repair       []string             `json:"repair,omitempty" description:"Slips of a model's arguments that may be repaired."`
	Labels       map[string]string    `json:"labels,omitempty" description:"For audit."`
	Env          Env                  `json:"env,omitzero" description:"More of the environment, for this program alone."`
	Confine      `json:",inline"`
}

// An Access is one thing that a call of a command touches. In Key, each JSON
// Pointer in braces stands for the argument at it: file:{/path}.
type Access struct {
	Key   string `json:"key" description:"What is touched, as scheme:path; {/pointer} stands for an argument." minLength:"1"`
	Write bool   `json:"write,omitempty" description:"It is changed, not only read."`
}

// Env opens the environment of programs, which otherwise see only a fixed list
// of harmless variables.
type Env struct {
	Pass []string          `json:"pass,omitempty" description:"Variables to pass on as they are."`
	Set  map[string]string `json:"set,omitempty" description:"Variables to set."`
	Home string            `json:"home,omitempty" description:"What HOME is: workspace, or private for a directory of its own that is removed afterwards. workspace if absent." enum:"workspace,private"`
}

// Journal says what the record of calls holds.
type Journal struct {
	Redact []string `json:"redact,omitempty" description:"Regular expressions (RE2) of what is not stored: each match in arguments, results and turns is replaced by REDACTED."`
	Heads  string   `json:"heads,omitempty" description:"File to which each head of the chain is appended, one a line; a relative one lies beside this file. Keep it where the record's own writer can only append."`
	Keep   Keep     `json:"keep,omitzero" description:"What callgate sessions gc leaves, if it is not told otherwise."`
}

// IsZero reports whether the section says nothing.
func (j Journal) IsZero() bool { return len(j.Redact) == 0 && j.Heads == "" && j.Keep == (Keep{}) }

// Keep says which sessions stay.
type Keep struct {
	Days     int64 `json:"days,omitempty" description:"Sessions whose last turn is older go." minimum:"1" maximum:"36500"`
	Sessions int64 `json:"sessions,omitempty" description:"So many of the newest stay, the others go." minimum:"1" maximum:"1000000000"`
}

// HeadsPath returns the file for the heads of the journal, "" for none.
func (f *File) HeadsPath() string {
	if h := f.Journal.Heads; h == "" || filepath.IsAbs(h) {
		return h
	}
	return filepath.Join(f.Dir(), f.Journal.Heads)
}

// Path returns the name of the file, "" if it was not read from one.
func (f *File) Path() string { return f.path }

// Dir returns the directory that relative programs are looked for in.
func (f *File) Dir() string {
	if f.path == "" {
		return "."
	}
	return filepath.Dir(f.path)
}

// Where returns the line on which the value at a JSON Pointer stands, as
// file:line, for messages about it.
func (f *File) Where(at string) string {
	if f.doc == nil {
		return f.path
	}
	return f.doc.Where(at)
}

// An Error is a fault of a configuration file: its place, and what to do.
type Error = yamlfile.Error

// Load reads a file. The error of a file that does not exist satisfies
// errors.Is(err, fs.ErrNotExist); that of a file with faults is an *Error, or
// several of them joined, in the order of their lines.
func Load(path string) (*File, error) {
	data, err := yamlfile.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, data)
}

// Parse is Load for a file that was read already; path is its name in messages.
func Parse(path string, data []byte) (*File, error) {
	doc, err := yamlfile.Parse(path, data)
	if err != nil {
		return nil, err
	}
	var f File
	if err := doc.Bind(compiled(), &f); err != nil {
		return nil, err
	}
	f.path, f.doc = path, doc
	if err := f.consistent(); err != nil {
		return nil, err
	}
	return &f, nil
}

// Schema returns the JSON Schema of the file, for editors and for people.
func Schema() []byte { return slices.Clone(raw()) }

var raw = sync.OnceValue(func() []byte {
	b, err := schema.For[File]()
	if err != nil {
		panic(err) // a test would have seen it
	}
	return b
})

var compiled = sync.OnceValue(func() *schema.Schema {
	s, err := schema.Compile(raw())
	if err != nil {
		panic(err)
	}
	return s
})

// User returns the name of the user's own file: callgate/callgate.yaml in
// $XDG_CONFIG_HOME, or in the system's place for configuration.
func User() (string, error) {
	dir := os.Getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(dir) {
		var err error
		if dir, err = os.UserConfigDir(); err != nil {
			return "", fmt.Errorf("no directory for configuration: %w; set XDG_CONFIG_HOME or HOME", err)
		}
	}
	return filepath.Join(dir, "callgate", "callgate.yaml"), nil
}

// Project returns the name of a workspace's file.
func Project(workspace string) string { return filepath.Join(workspace, "callgate.yaml") }

// Example is a file that says nothing yet and shows what can be said.
var Example = strings.TrimLeft(`
# callgate.yaml: see callgate config schema for all that can stand here.

# Tools that are programs. They get their arguments, checked against inputSchema,
# as one JSON object on standard input; what they print is the result.
commands: []
#  - name: weather.lookup
#    description: Look up the weather of a city.
#    inputSchema: {type: object, properties: {city: {type: string}}, required: [city], additionalProperties: false}
#    command: [./weather.sh]
#    timeout: 10s
#    annotations: {readOnlyHint: true}

# Programs see PATH, LANG, LC_*, TZ and a few more, and none of your keys.
env:
  pass: []
  set: {}

# What programs may touch: write in the workspace, read the system and no home, reach
# no network. A workspace's own file can only make it less.
sandbox: {}
#  level: isolated                     # auto, isolated, confined, none
#  ro: true
#  writable: [~/.cache/my-tool]
#  hide: [secrets]
#  limits: {memory: 4GiB}
egress:
  allow: []
#  allow: [proxy.golang.org, "*.npmjs.org"]

# The record of calls: what is not to be stored, and what sessions gc leaves.
journal:
  redact: []
#  redact: ["sk-[A-Za-z0-9]{20,}", "-----BEGIN [A-Z ]*PRIVATE KEY-----"]
#  keep: {days: 90}
`, "\n")
