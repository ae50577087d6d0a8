package eval

import (
	"fmt"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/callgate/callgate/internal/yamlfile"
	"github.com/callgate/callgate/provider/scripted"
	"github.com/callgate/callgate/schema"
)

// A Task is what a model is to do, and how it is judged: the content of a task
// file. It is made by [Load] and must not be changed.
type Task struct {
	Name        string     `json:"name,omitempty" description:"Name in reports. That of the file, without its extension, if absent." pattern:"^[A-Za-z0-9][A-Za-z0-9._-]*$" maxLength:"100"`
	Description string     `json:"description,omitempty" description:"For people."`
	Prompt      string     `json:"prompt" description:"What the model is asked." minLength:"1"`
	System      string     `json:"system,omitempty" description:"System prompt."`
	Workspace   Workspace  `json:"workspace,omitzero" description:"What a trial starts with. Nothing if absent."`
	Model       ModelRef   `json:"model,omitzero" description:"Which model solves the task, unless another one is given."`
	Allow       []string   `json:"allow,omitempty" description:"Tools that may run besides reads in the workspace: names, in which * stands for any characters."`
	Trials      int        `json:"trials,omitempty" description:"How often the task is tried. 1 if absent." minimum:"1" maximum:"10000"`
	Pass        int        `json:"pass,omitempty" description:"How many trials must pass. All if absent." minimum:"1" maximum:"10000"`
	K           int        `json:"k,omitempty" description:"The k of pass@k. The number of trials if absent." minimum:"1" maximum:"10000"`
	Timeout     string     `json:"timeout,omitempty" description:"Time limit of a trial, such as 30s or 5m, verifiers not included. 2m if absent." pattern:"^[0-9]{1,6}(ms|s|m|h)$"`
	MaxTurns    int        `json:"maxTurns,omitempty" description:"Most turns of the model in a trial. 50 if absent." minimum:"1" maximum:"10000"`
	Expect      Expect     `json:"expect,omitzero" description:"How the calls of a trial must have gone."`
	Verify      []Verifier `json:"verify" description:"What must be true afterwards: each of them, checked in this order." minItems:"1"`

	path    string
	doc     *yamlfile.Document
	timeout time.Duration
	start   tree            // of Workspace
	steps   []scripted.Step // of Model; nil without a script
}

// A Workspace is what a trial starts with.
type Workspace struct {
	Dir   string            `json:"dir,omitempty" description:"Directory beside this file that is copied." minLength:"1"`
	Files map[string]string `json:"files,omitempty" description:"More files: paths in the workspace and their texts."`
}

// A ModelRef says which model solves a task.
type ModelRef struct {
	Script string `json:"script,omitempty" description:"File beside this one that a scripted model plays." minLength:"1"`
}

// Expect says how the calls of a trial must have gone. The zero value expects
// nothing.
type Expect struct {
	Calls    Range    `json:"calls,omitzero" description:"How many calls the model makes."`
	Refusals Range    `json:"refusals,omitzero" description:"How many of them the gate refuses: they do not start."`
	Failures Range    `json:"failures,omitzero" description:"How many of them start and fail."`
	Codes    []string `json:"codes,omitempty" description:"Codes of failed calls, of which each must occur."`
}

// A Range bounds a number.
type Range struct {
	Min *int `json:"min,omitempty" description:"Least number." minimum:"0"`
	Max *int `json:"max,omitempty" description:"Most. No limit if absent." minimum:"0"`
}

// A Verifier checks one thing after a trial: exactly one of its fields is set.
type Verifier struct {
	FileEquals *FileEquals `json:"file_equals,omitempty" description:"A file has exactly this content."`
	FileAbsent *FileAbsent `json:"file_absent,omitempty" description:"There is nothing of that name, not even a link."`
	RegexMatch *RegexMatch `json:"regex_match,omitempty" description:"A file, or the final answer, matches a regular expression."`
	ExitZero   *ExitZero   `json:"exit_zero,omitempty" description:"A program that is run in the workspace succeeds."`
}

// FileEquals compares a file of the workspace, byte for byte.
type FileEquals struct {
	Path string  `json:"path" description:"File in the workspace." minLength:"1"`
	Text *string `json:"text,omitempty" description:"What it must hold."`
	File string  `json:"file,omitempty" description:"File beside this one that it must equal, instead of text." minLength:"1"`

	want []byte
}

// FileAbsent wants nothing to be at a path.
type FileAbsent struct {
	Path string `json:"path" description:"Path in the workspace." minLength:"1"`
}

// RegexMatch looks for a match of an RE2 expression anywhere in a text.
type RegexMatch struct {
	Path    string `json:"path,omitempty" description:"File in the workspace. The final answer if absent." minLength:"1"`
	Pattern string `json:"pattern" description:"Regular expression (RE2); (?m) makes ^ and $ match at lines." minLength:"1"`

	re *regexp.Regexp
}

// ExitZero runs a program in the workspace.
type ExitZero struct {
	Command []string `json:"command" description:"The program and its arguments. A path with a slash starts in the workspace." minItems:"1"`
	Timeout string   `json:"timeout,omitempty" description:"Time limit, such as 10s or 2m. 1m if absent." pattern:"^[0-9]{1,6}(ms|s|m|h)$"`

	timeout time.Duration
}

// Time limits where a task names none.
const (
	defaultTimeout = 2 * time.Minute // of a trial
	defaultVerify  = time.Minute     // of a program that verifies
)

// Path returns the name of the task's file.
func (t *Task) Path() string { return t.path }

// Where returns the line on which the value at a JSON Pointer stands, as file:line.
func (t *Task) Where(at string) string { return t.doc.Where(at) }

// Schema returns the JSON Schema of a task file, for editors and for people.
func Schema() []byte { return slices.Clone(raw()) }

var raw = sync.OnceValue(func() []byte {
	b, err := schema.For[Task]()
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

// limit reads a time limit, whose form the schema has checked.
func limit(text string, none time.Duration) (time.Duration, error) {
	if text == "" {
		return none, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 || d > 24*time.Hour {
		return 0, fmt.Errorf("the time limit %q is not between 1ms and 24h", text)
	}
	return d, nil
}
