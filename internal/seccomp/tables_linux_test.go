package seccomp

import (
	"bufio"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

var arches = []Arch{AMD64, ARM64}

// constants reads the constants of golang.org/x/sys/unix for an architecture from
// its source: the numbers that the table of calls is held against, also of the
// architecture that this test does not run on.
func constants(t testing.TB, a Arch) map[string]uint64 {
	t.Helper()
	dir := unixDir()
	if dir == "" {
		t.Fatal("the source of golang.org/x/sys/unix is not there")
	}
	found := make(map[string]uint64)
	for _, f := range []string{"zerrors_linux.go", "zerrors_linux_" + a.name + ".go", "zsysnum_linux_" + a.name + ".go", "ztypes_linux.go"} {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, f), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Names) != 1 || len(spec.Values) != 1 {
				return true
			}
			v := spec.Values[0]
			if call, ok := v.(*ast.CallExpr); ok && len(call.Args) == 1 { // syscall.Errno(0x1)
				v = call.Args[0]
			}
			if lit, ok := v.(*ast.BasicLit); ok && lit.Kind == token.INT {
				if n, err := strconv.ParseUint(lit.Value, 0, 64); err == nil {
					found[spec.Names[0].Name] = n
				}
			}
			return true
		})
	}
	return found
}

var unixDir = sync.OnceValue(func() string {
	out, err := exec.Command("go", "list", "-f", "{{.Dir}}", "golang.org/x/sys/unix").Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
})

// numbers are the system calls of an architecture by name.
func numbers(consts map[string]uint64) map[string]int {
	calls := make(map[string]int)
	for name, n := range consts {
		if call, ok := strings.CutPrefix(name, "SYS_"); ok {
			calls[strings.ToLower(call)] = int(n)
		}
	}
	return calls
}

type level struct {
	name  string
	rules Rules
}

// levels are what the columns of verdicts.txt are about.
var levels = []level{{"isolated", Isolated()}, {"confined", Confined(false)}, {"confined with the network", Confined(true)}}

// A row is a line of verdicts.txt for one architecture.
type row struct {
	text string
	arch Arch
	nr   uint32
	args [6]uint64
	want [3]uint32 // for each of levels
}

// rows reads verdicts.txt.
func rows(t testing.TB) []row {
	t.Helper()
	file, err := os.Open("testdata/verdicts.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var all []row
	consts := map[string]map[string]uint64{}
	calls := map[string]map[string]int{}
	for _, a := range arches {
		consts[a.name] = constants(t, a)
		calls[a.name] = numbers(consts[a.name])
	}
	lines := bufio.NewScanner(file)
	for n := 1; lines.Scan(); n++ {
		text := strings.TrimSpace(lines.Text())
		if text == "" || text[0] == '#' {
			continue
		}
		before := len(all)
		left, right, ok := strings.Cut(text, " : ")
		words, verdicts := strings.Fields(left), strings.Fields(right)
		if !ok || len(words) == 0 || len(words) > 7 || len(verdicts) != 1 && len(verdicts) != 3 {
			t.Fatalf("verdicts.txt:%d: %q has not the form of a row", n, text)
		}
		for _, a := range arches {
			r := row{text: fmt.Sprintf("verdicts.txt:%d: %s: %s", n, a, text), arch: a}
			if arch, raw, ok := strings.Cut(words[0], ":"); ok {
				v, err := strconv.ParseUint(raw, 0, 32)
				if err != nil {
					t.Fatalf("verdicts.txt:%d: %v", n, err)
				}
				if arch != a.name {
					continue
				}
				r.nr = uint32(v)
			} else if nr, ok := calls[a.name][words[0]]; ok {
				r.nr = uint32(nr)
			} else {
				continue
			}
			for i, w := range words[1:] {
				for part := range strings.SplitSeq(w, "|") {
					v, ok := consts[a.name][part]
					if part == "HIGH" {
						v, ok = 1<<32, true
					}
					if !ok {
						var err error
						if v, err = strconv.ParseUint(part, 0, 64); err != nil {
							if part != "AT_FDCWD" { // an expression in x/sys
								t.Fatalf("verdicts.txt:%d: %v", n, err)
							}
							v = 0xffffffffffffff9c
						}
					}
					r.args[i] |= v
				}
			}
			for i := range r.want {
				name := verdicts[i%len(verdicts)]
				switch name {
				case "ALLOW":
					r.want[i] = unix.SECCOMP_RET_ALLOW
				case "KILL":
					r.want[i] = unix.SECCOMP_RET_KILL_PROCESS
				default:
					e, ok := consts[a.name][name]
					if !ok {
						t.Fatalf("verdicts.txt:%d: %q is no verdict", n, name)
					}
					r.want[i] = unix.SECCOMP_RET_ERRNO | uint32(e)
				}
			}
			all = append(all, r)
		}
		if len(all) == before {
			t.Fatalf("verdicts.txt:%d: no architecture has %s", n, words[0])
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// A machine runs a program in the machine of golang.org/x/net/bpf.
type machine struct{ vm *bpf.VM }

func newMachine(t testing.TB, program []bpf.Instruction) machine {
	t.Helper()
	vm, err := bpf.NewVM(program)
	if err != nil {
		t.Fatal(err)
	}
	return machine{vm}
}

// says runs the program over a struct seccomp_data. The machine reads words in the
// order of networks, so that is how they are written here; in the kernel they are
// the processor's own, and an argument's low half comes first.
func (m machine) says(t testing.TB, audit, nr uint32, args [6]uint64) uint32 {
	t.Helper()
	words := []uint32{nr, audit, 0xdead, 0xbeef} // and an instruction pointer
	for _, a := range args {
		words = append(words, uint32(a), uint32(a>>32))
	}
	data := make([]byte, 0, 64)
	for _, w := range words {
		data = append(data, byte(w>>24), byte(w>>16), byte(w>>8), byte(w))
	}
	v, err := m.vm.Run(data)
	if err != nil {
		t.Fatal(err)
	}
	return uint32(v)
}

// word writes a verdict as verdicts.txt does.
func word(v uint32) string {
	switch {
	case v == unix.SECCOMP_RET_ALLOW:
		return "ALLOW"
	case v == unix.SECCOMP_RET_KILL_PROCESS:
		return "KILL"
	case v&^0xffff == unix.SECCOMP_RET_ERRNO:
		return unix.ErrnoName(unix.Errno(v & 0xffff))
	}
	return fmt.Sprintf("%#x", v)
}
