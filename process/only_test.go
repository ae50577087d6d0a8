package process_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// starters are the ways of the standard library to start a program, by package; ""
// is all of it.
var starters = map[string][]string{
	"os/exec":                  {""},
	"os":                       {"StartProcess"},
	"syscall":                  {"ForkExec", "StartProcess", "Exec", "CreateProcess", "CreateProcessAsUser"},
	"golang.org/x/sys/unix":    {"Exec"},
	"golang.org/x/sys/windows": {"CreateProcess", "CreateProcessAsUser", "ShellExecute"},
	"golang.org/x/sys/execabs": {""},
	"github.com/creack/pty":    {""},
	"golang.org/x/sys/plan9":   {"ForkExec", "StartProcess", "Exec"},
}

// Package process is the only one that starts programs.
func TestOnlyHere(t *testing.T) {
	here := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && d.Name() != ".." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || filepath.ToSlash(path) == "../bench") {
			return fs.SkipDir // bench is a module of its own, of measurements
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, what := range starts(f) {
			if dir := filepath.ToSlash(filepath.Dir(path)); dir == "../process" || dir == "../internal/warden" { // its helper
				here++
			} else {
				t.Errorf("%s uses %s: package process is the only way to start a program", path, what)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if here == 0 {
		t.Error("package process starts none: this test does not see what it looks for")
	}
}

// starts returns what a file uses of starters.
func starts(f *ast.File) (found []string) {
	names := map[string]string{} // of imported packages in this file
	for _, imp := range f.Imports {
		path := strings.Trim(imp.Path.Value, `"`)
		name := path[strings.LastIndexByte(path, '/')+1:]
		if imp.Name != nil {
			name = imp.Name.Name
		}
		for _, fn := range starters[path] {
			if fn == "" || name == "." {
				found = append(found, path)
			}
		}
		names[name] = path
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if pkg, ok := sel.X.(*ast.Ident); ok {
				for _, fn := range starters[names[pkg.Name]] {
					if fn == sel.Sel.Name {
						found = append(found, pkg.Name+"."+fn)
					}
				}
			}
		}
		return true
	})
	return found
}
