package callgate_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/callgate/callgate"

// layers lists the packages from the bottom up. A package may import only
// packages of lower layers; packages of one layer do not know each other.
var layers = [][]string{
	{"internal/closest", "internal/egress", "internal/filelock", "internal/plaintext", "internal/seccomp"},
	{"internal/warden"}, // the helper of package process, which must link little
	{"schema", "workspace", "artifact", "process", "shell"},
	{".", "internal/yamlfile"},
	{"journal/transfer"}, // a file format apart from SQLite, which a fuzzer must not have to instrument
	{"builtin", "journal", "llm"},
	{"provider/internal/wire"}, // what the codecs share: envelopes, names, schemas as a provider takes them
	{"agent", "provider/anthropic", "provider/openai", "provider/scripted", "session"},
	{"callgatetest", "config", "eval", "internal/turn", "replay"},
	{"internal/cli"},
	{"cmd/callgate"},
}

// light are the modules that the root package links: what embeds the gate pays
// for the gate only.
var light = []string{
	module,
	"github.com/dlclark/regexp2/v2",
	"github.com/go-json-experiment/json",
	"github.com/pb33f/jsonschema/v6",
	"golang.org/x/text",
}

// A listed package is what go list says of it.
type listed struct {
	ImportPath, Dir string
	GoFiles         []string
	Imports         []string
	Export          string
	Module          *struct{ Path string }
}

func list(t *testing.T, args ...string) (pkgs []listed) {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-json=ImportPath,Dir,GoFiles,Imports,Export,Module"}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs
		} else if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
}

func TestLayers(t *testing.T) {
	rank := make(map[string]int)
	for i, pkgs := range layers {
		for _, p := range pkgs {
			rank[strings.TrimSuffix(module+"/"+p, "/.")] = i
		}
	}
	found := 0
	for _, p := range list(t, "./...") {
		if len(p.GoFiles) == 0 {
			continue // tests only
		}
		r, ok := rank[p.ImportPath]
		if !ok {
			if !strings.HasPrefix(p.ImportPath, module+"/examples/") {
				t.Errorf("%s has no layer: add it to layers", p.ImportPath)
			}
			continue
		}
		found++
		for _, imp := range p.Imports {
			if ri, ok := rank[imp]; ok && ri >= r {
				t.Errorf("%s (layer %d) imports %s (layer %d)", p.ImportPath, r, imp, ri)
			}
		}
	}
	if found != len(rank) {
		t.Errorf("%d of the %d packages in layers exist", found, len(rank))
	}
}

func TestRootIsLight(t *testing.T) {
	var got []string
	for _, p := range list(t, "-deps", ".") {
		if p.Module != nil {
			got = append(got, p.Module.Path)
		}
	}
	slices.Sort(got)
	if got = slices.Compact(got); !slices.Equal(got, light) {
		t.Errorf("modules linked into the root package:\ngot  %q\nwant %q", got, light)
	}
}

// Each process costs what is initialized before package warden, and that comes in the
// order of paths: a package that is initialized late holds the warden up until all the
// heavy ones are done.
func TestWardenLinksLittle(t *testing.T) {
	for _, p := range list(t, "-deps", "./internal/warden") {
		foreign := p.Module != nil && p.Module.Path != module && !strings.HasPrefix(p.Module.Path, "golang.org/x/")
		if foreign || p.ImportPath == "path/filepath" || strings.HasPrefix(p.ImportPath, "net") || strings.HasPrefix(p.ImportPath, "crypto") {
			t.Errorf("internal/warden links %s", p.ImportPath)
		}
	}
}

// What is fuzzed at the border of the journal links no database: to instrument one
// takes tens of gigabytes.
func TestTransferHasNoDatabase(t *testing.T) {
	for _, p := range list(t, "-deps", "./journal/transfer") {
		if p.Module != nil && strings.HasPrefix(p.Module.Path, "modernc.org/") {
			t.Errorf("journal/transfer links %s", p.ImportPath)
		}
	}
}

// Only an Executor enters a Handler, and only the Dispatcher an Executor: every
// call site outside of tests is listed here, by file and function.
func TestCallSites(t *testing.T) {
	allowed := map[string][]string{
		"Handler": {
			"executor.go invoke",       // the one entry, from Execution.Handle
			"executor.go run",          // the same, surrounded by middleware
			"middleware.go Middleware", // middleware passes on what it was given
		},
		"Handle": {"executor.go Execute", "executor.go run",
			"journal/executor.go enter"}, // after the claim
		"Execute": {"carry.go carry",
			"journal/executor.go enter"}, // of the executor that it wraps
	}
	var got = map[string][]string{}
	exports := map[string]string{}
	pkgs := list(t, "-export", "-deps", "./...")
	for _, p := range pkgs {
		exports[p.ImportPath] = p.Export
	}
	for _, p := range pkgs {
		if p.Module == nil || p.Module.Path != module || p.ImportPath == module+"/callgatetest" {
			continue
		}
		for _, c := range callsIn(t, p, exports) {
			if !slices.Contains(got[c.of], c.at) {
				got[c.of] = append(got[c.of], c.at)
			}
		}
	}
	for of, sites := range got {
		for _, s := range sites {
			if !slices.Contains(allowed[of], s) {
				t.Errorf("%s is called in %s: only an Executor enters a Handler, and only the Dispatcher an Executor", of, s)
			}
		}
	}
	for of, sites := range allowed {
		for _, s := range sites {
			if !slices.Contains(got[of], s) {
				t.Errorf("no call of %s in %s any more: remove it from the list", of, s)
			}
		}
	}
}

type callSite struct{ of, at string }

// callsIn finds the calls of values of type callgate.Handler, of
// (*Execution).Handle and of an Execute method that takes an Execution.
func callsIn(t *testing.T, p listed, exports map[string]string) (sites []callSite) {
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	conf := types.Config{Importer: importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, fmt.Errorf("no export data of %s", path)
		}
		return os.Open(exports[path])
	})}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Selections: map[*ast.SelectorExpr]*types.Selection{}}
	if _, err := conf.Check(p.ImportPath, fset, files, info); err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		for _, decl := range f.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			dir, _ := strings.CutPrefix(p.ImportPath, module)
			at := strings.TrimPrefix(dir+"/"+filepath.Base(fset.Position(f.Pos()).Filename), "/") + " " + fn.Name.Name
			ast.Inspect(fn, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok || info.Types[call.Fun].IsType() {
					return true
				}
				if named, ok := types.Unalias(info.Types[call.Fun].Type).(*types.Named); ok && named.String() == module+".Handler" {
					sites = append(sites, callSite{"Handler", at})
				}
				if sel, ok := call.Fun.(*ast.SelectorExpr); ok {
					sig, _ := info.Types[sel].Type.(*types.Signature)
					switch recv := info.Selections[sel]; {
					case recv == nil || sig == nil:
					case sel.Sel.Name == "Handle" && strings.HasSuffix(recv.Recv().String(), module+".Execution"):
						sites = append(sites, callSite{"Handle", at})
					case sel.Sel.Name == "Execute" && strings.Contains(sig.Params().String(), module+".Execution"):
						sites = append(sites, callSite{"Execute", at})
					}
				}
				return true
			})
		}
	}
	return sites
}
