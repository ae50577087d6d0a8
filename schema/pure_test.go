package schema

import (
	"bytes"
	"fmt"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// mayImport is what the package may link directly. None of it reads, sends or
// looks at a clock, but for time and regexp2 in pattern.go: see the package doc.
var mayImport = []string{
	"encoding/binary", "encoding/json", "errors", "fmt", "math/big", "math/bits", "net/url", "reflect", "regexp", "regexp/syntax",
	"slices", "strconv", "strings", "sync", "time", "unicode", "unicode/utf8",
	"github.com/dlclark/regexp2/v2", "github.com/pb33f/jsonschema/v6", "github.com/pb33f/jsonschema/v6/kind",
	"github.com/callgate/callgate/internal/closest", // strings only
}

// TestPure pins the imports of what decides a verdict. infer*.go and repair*.go
// work on types and on raw bytes before a verdict, and have their own tests.
func TestPure(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") || strings.HasPrefix(f, "infer") || strings.HasPrefix(f, "repair") {
			continue
		}
		seen++
		src, err := parser.ParseFile(token.NewFileSet(), f, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, imp := range src.Imports {
			path, err := strconv.Unquote(imp.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Contains(mayImport, path) {
				t.Errorf("%s imports %s", f, path)
			}
			if (path == "time" || path == "github.com/dlclark/regexp2/v2") && f != "pattern.go" {
				t.Errorf("%s imports %s: a clock may matter in pattern.go only", f, path)
			}
		}
	}
	if seen < 10 {
		t.Errorf("looked at %d files only", seen)
	}
}

// verdicts answers a thousand random questions in full.
func verdicts() []byte {
	var out bytes.Buffer
	r := rand.New(rand.NewPCG(7, 11))
	for range 1500 {
		seed := make([]byte, 300)
		for i := range seed {
			seed[i] = byte(r.Uint32())
		}
		m := &maker{bytes: seed}
		s, err := Compile([]byte(m.document()))
		if err != nil {
			fmt.Fprintln(&out, err)
			continue
		}
		fast, why := s.Fast()
		fmt.Fprintln(&out, fast, why)
		for range 3 {
			data := []byte(m.value(3))
			found, err := s.Validate(data)
			fmt.Fprintln(&out, found, err, s.Check(data))
		}
	}
	return out.Bytes()
}

const verdictsTo = "CALLGATE_TEST_VERDICTS"

func TestMain(m *testing.M) {
	if to := os.Getenv(verdictsTo); to != "" {
		if err := os.WriteFile(to, verdicts(), 0o600); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestVerdictsAreTheSameInAnotherProcess: map order, hash seeds and addresses
// differ there; not one byte of an answer may.
func TestVerdictsAreTheSameInAnotherProcess(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "verdicts")
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), verdictsTo+"="+to)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	there, err := os.ReadFile(to)
	if err != nil {
		t.Fatal(err)
	}
	here := verdicts()
	if bytes.Equal(here, there) {
		return
	}
	a, b := strings.Split(string(here), "\n"), strings.Split(string(there), "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			t.Fatalf("line %d differs\nhere  %s\nthere %s", i, a[i], b[i])
		}
	}
	t.Fatalf("%d lines here, %d there", len(a), len(b))
}
