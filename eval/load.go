package eval

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/internal/closest"
	"github.com/callgate/callgate/internal/yamlfile"
	"github.com/callgate/callgate/provider/scripted"
)

// A Suite is the tasks of a directory, in the order of their files' names.
type Suite struct {
	Path    string
	Tasks   []*Task
	Skipped []*Task // that [Suite.Select] left out
}

// Load reads every file of dir whose name ends with .yaml or .yml, and what these
// name beside them; files in directories below are none of the suite. If path is a
// file, the suite is that one task. What trials start with, scripts, and what
// verifiers compare with is read now, so that no trial changes what the next one
// gets. All faults of all files are reported at once, each as file:line:column.
func Load(path string) (*Suite, error) {
	dir, names, err := taskFiles(path)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	s := &Suite{Path: path}
	var errs []error
	first := map[string]*Task{}
	for _, name := range names {
		file := filepath.Join(dir, name)
		data, err := yamlfile.ReadFile(file)
		var t *Task
		if err == nil {
			t, err = parse(file, data, root)
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if other := first[t.Name]; other != nil {
			errs = append(errs, t.doc.Fault("/name", "the task %q is already declared at %s", t.Name, other.Where("/name")))
			continue
		}
		first[t.Name] = t
		s.Tasks = append(s.Tasks, t)
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return s, nil
}

// taskFiles returns the directory of a suite and the names of its task files.
func taskFiles(path string) (dir string, names []string, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", nil, err
	}
	if !info.IsDir() {
		return filepath.Dir(path), []string{filepath.Base(path)}, nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return "", nil, err
	}
	for _, e := range entries {
		if ext := filepath.Ext(e.Name()); !e.IsDir() && (ext == ".yaml" || ext == ".yml") {
			names = append(names, e.Name())
		}
	}
	if len(names) == 0 {
		return "", nil, fmt.Errorf("%s has no task: a task is a .yaml file in it", path)
	}
	return path, names, nil
}

// Select leaves out the tasks whose names do not match.
func (s *Suite) Select(re *regexp.Regexp) {
	var kept []*Task
	for _, t := range s.Tasks {
		if re.MatchString(t.Name) {
			kept = append(kept, t)
		} else {
			s.Skipped = append(s.Skipped, t)
		}
	}
	s.Tasks = kept
}

// parse reads a task file; root holds what lies beside it.
func parse(path string, data []byte, root *os.Root) (*Task, error) {
	doc, err := yamlfile.Parse(path, data)
	if err != nil {
		return nil, err
	}
	t := new(Task)
	if err := doc.Bind(compiled(), t); err != nil {
		return nil, err
	}
	t.path, t.doc = path, doc
	if t.Name == "" {
		t.Name = strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
		if !nameForm.MatchString(t.Name) {
			return nil, doc.Fault("", "the name of the file, %q, cannot be that of the task: add a name of letters, digits, dots, - and _", t.Name)
		}
	}
	c := completion{Task: t, root: root}
	c.numbers()
	c.workspace()
	c.script()
	for i := range t.Verify {
		c.verifier(fmt.Sprintf("/verify/%d", i), &t.Verify[i])
	}
	if err := yamlfile.Join(c.faults); err != nil {
		return nil, err
	}
	return t, nil
}

var nameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)

// A completion checks what the schema cannot say, and reads what a task names.
type completion struct {
	*Task
	root   *os.Root
	faults []*yamlfile.Error
}

func (c *completion) fault(at, format string, args ...any) {
	c.faults = append(c.faults, c.doc.Fault(at, format, args...))
}

func (c *completion) numbers() {
	var err error
	if c.timeout, err = limit(c.Timeout, defaultTimeout); err != nil {
		c.fault("/timeout", "%v", err)
	}
	trials := max(c.Trials, 1)
	if c.Pass > trials {
		c.fault("/pass", "pass is %d, and there are %d trials", c.Pass, trials)
	}
	if c.K > trials {
		c.fault("/k", "k is %d, and there are %d trials to choose from", c.K, trials)
	}
	for at, r := range map[string]Range{"calls": c.Expect.Calls, "refusals": c.Expect.Refusals, "failures": c.Expect.Failures} {
		if r.Min != nil && r.Max != nil && *r.Min > *r.Max {
			c.fault("/expect/"+at, "min %d is over max %d", *r.Min, *r.Max)
		}
	}
	var known []string
	for _, info := range callgate.Codes() {
		if info.Code != "" {
			known = append(known, string(info.Code))
		}
	}
	for i, code := range c.Expect.Codes {
		if !slices.Contains(known, code) {
			c.fault(fmt.Sprintf("/expect/codes/%d", i), "there is no code %q; %s", code, nearest(code, known))
		}
	}
}

func nearest(word string, known []string) string {
	if near := closest.Names(word, known, 3); len(near) > 0 {
		return "did you mean " + strings.Join(near, " or ") + "?"
	}
	return "the codes are " + strings.Join(known, ", ")
}

func (c *completion) workspace() {
	c.start = tree{}
	if dir := c.Workspace.Dir; dir != "" {
		if err := c.start.read(c.root, dir); err != nil {
			c.fault("/workspace/dir", "%v", err)
		}
	}
	for name, text := range c.Workspace.Files {
		if err := c.start.add(name, node{data: []byte(text), mode: 0o666}); err != nil {
			c.fault("/workspace/files/"+pointerEscape.Replace(name), "%v", err)
		}
	}
	if err := c.start.consistent(); err != nil {
		c.fault("/workspace", "%v", err)
	}
}

var pointerEscape = strings.NewReplacer("~", "~0", "/", "~1")

func (c *completion) script() {
	if c.Model.Script == "" {
		return
	}
	text, err := beside(c.root, c.Model.Script)
	if err == nil {
		c.steps, err = scripted.Parse(text)
	}
	if err == nil && len(c.steps) == 0 {
		err = errors.New("it has no turn")
	}
	if err != nil {
		c.fault("/model/script", "the script %s: %v", c.Model.Script, err)
	}
}

func (c *completion) verifier(at string, v *Verifier) {
	set := 0
	if v.FileEquals != nil {
		set++
		c.fileEquals(at+"/file_equals", v.FileEquals)
	}
	if v.FileAbsent != nil {
		set++
		c.path(at+"/file_absent/path", v.FileAbsent.Path)
	}
	if m := v.RegexMatch; m != nil {
		set++
		if m.Path != "" {
			c.path(at+"/regex_match/path", m.Path)
		}
		var err error
		if m.re, err = regexp.Compile(m.Pattern); err != nil {
			c.fault(at+"/regex_match/pattern", "%v", err)
		}
	}
	if e := v.ExitZero; e != nil {
		set++
		var err error
		if e.timeout, err = limit(e.Timeout, defaultVerify); err != nil {
			c.fault(at+"/exit_zero/timeout", "%v", err)
		}
		if strings.TrimSpace(e.Command[0]) == "" {
			c.fault(at+"/exit_zero/command/0", "the program has no name")
		}
	}
	if set != 1 {
		c.fault(at, "it has %d verifiers; begin each with a dash of its own: file_equals, file_absent, regex_match or exit_zero", set)
	}
}

func (c *completion) fileEquals(at string, v *FileEquals) {
	c.path(at+"/path", v.Path)
	switch {
	case (v.Text != nil) == (v.File != ""):
		c.fault(at, "what the file must hold is its text or that of a file beside this one: give one of text and file")
	case v.Text != nil:
		v.want = []byte(*v.Text)
	default:
		var err error
		if v.want, err = beside(c.root, v.File); err != nil {
			c.fault(at+"/file", "%v", err)
		}
	}
}

// path checks a path in the workspace.
func (c *completion) path(at, name string) {
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		c.fault(at, "%q is not a path in the workspace: it is relative to it, with slashes, and does not lead out", name)
	}
}

// beside reads a file that a task names, of at most maxFile bytes.
func beside(root *os.Root, name string) ([]byte, error) {
	info, err := root.Stat(filepath.FromSlash(name))
	switch {
	case err != nil:
		return nil, besideError(name, err)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", name)
	case info.Size() > maxFile:
		return nil, fmt.Errorf("%s has %d bytes; at most %d are taken", name, info.Size(), maxFile)
	}
	data, err := root.ReadFile(filepath.FromSlash(name))
	return data, besideError(name, err)
}

// besideError puts the errors of os.Root in words.
func besideError(name string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s does not exist beside the task file", name)
	case !filepath.IsLocal(filepath.FromSlash(name)):
		return fmt.Errorf("%s does not lie beside the task file, or below", name)
	}
	return err
}
