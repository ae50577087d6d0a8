package eval

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/builtin"
	"github.com/callgate/callgate/llm"
	"github.com/callgate/callgate/process"
)

func TestMain(m *testing.M) {
	process.Main()
	if r := process.Probe(); r.Level == "" { // what runs programs shows nothing then
		fmt.Fprintln(os.Stderr, "no sandbox starts on this machine, so tests that run programs are skipped:", r.Tried)
		flag.Set("test.skip", "^(TestExamplesPass|TestPassesWithoutWork|TestFailedRuns|TestTrialsAreApart|TestExecutable|TestModelLinksOutside|TestVerifiers)$")
	}
	os.Exit(m.Run())
}

// suite writes files into a directory and loads it.
func suite(t *testing.T, files map[string]string) *Suite {
	t.Helper()
	s, err := Load(directory(t, files))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func directory(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// open makes a gate with the built-in tools, of which a task's list and reads are
// allowed.
func open(_ context.Context, p Place) (*Gate, error) {
	files := &builtin.Files{Workspace: p.Workspace}
	tools, err := files.Tools()
	if err != nil {
		return nil, err
	}
	programs := &builtin.Programs{Env: process.Environment{Workspace: p.Workspace.Dir(), Caches: p.Caches}, Sandbox: p.Sandbox}
	bash, err := programs.Bash(p.Workspace)
	if err != nil {
		return nil, err
	}
	var registry callgate.Registry
	if err := registry.Register(append(tools, bash)...); err != nil {
		return nil, err
	}
	policy := func(_ context.Context, req callgate.Request) (callgate.Decision, error) {
		if req.Spec.Annotations.ReadOnlyHint || slices.Contains(p.Task.Allow, req.Spec.Name) {
			return callgate.Decision{Verdict: callgate.Allow}, nil
		}
		return callgate.Decision{Reason: "it is not allowed"}, nil
	}
	return &Gate{Dispatcher: &callgate.Dispatcher{Policy: policy}, Catalog: registry.Catalog(), Session: fmt.Sprint(p.Task.Name, p.Trial)}, nil
}

// try runs a suite with a Runner that has a directory and a gate.
func try(t *testing.T, r Runner, s *Suite) *Report {
	t.Helper()
	r.Dir, r.Open = t.TempDir(), open
	report, err := r.Run(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(r.Dir); err != nil || len(entries) > 0 != r.Keep {
		t.Errorf("left behind: %v, %v", entries, err)
	}
	return report
}

// A model is a function that answers.
type model func(ctx context.Context, req llm.Request) (llm.Response, error)

func (m model) Generate(ctx context.Context, req llm.Request) (llm.Response, error) {
	return m(ctx, req)
}

// says is a model that does nothing but say something.
func says(text string) func(*Task) (llm.Model, error) {
	return func(*Task) (llm.Model, error) {
		return model(func(context.Context, llm.Request) (llm.Response, error) {
			return llm.Response{Message: llm.AssistantText(text), Usage: llm.Usage{Input: 10, Output: 2}}, nil
		}), nil
	}
}
