package seccomp

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

func TestVerdicts(t *testing.T) {
	all := rows(t)
	for i, l := range levels {
		for _, a := range arches {
			m := newMachine(t, l.rules.Program(a))
			for _, r := range all {
				if r.arch.name != a.name {
					continue
				}
				if got := m.says(t, a.audit, r.nr, r.args); got != r.want[i] {
					t.Errorf("%s\n%s: got %s, want %s", r.text, l.name, word(got), word(r.want[i]))
				}
			}
		}
	}
}

// TestRulesAreTested leaves out each rule in turn: a row has to see it.
func TestRulesAreTested(t *testing.T) {
	all := rows(t)
	for _, a := range arches {
		calls := Confined(false).calls() // which has all rules
		for i, c := range calls {
			if a.number(c) < 0 {
				continue
			}
			m := newMachine(t, compile(a, slices.Delete(slices.Clone(calls), i, i+1)))
			if !slices.ContainsFunc(all, func(r row) bool {
				return r.arch.name == a.name && m.says(t, a.audit, r.nr, r.args) != r.want[1]
			}) {
				t.Errorf("%s: no row of verdicts.txt notices that the rule of %s is gone", a, c.name)
			}
		}
	}
}

// TestNumbers holds the table of calls against golang.org/x/sys.
func TestNumbers(t *testing.T) {
	for _, a := range arches {
		want := numbers(constants(t, a))
		if len(want) < 300 {
			t.Fatalf("%s: only %d system calls are known", a, len(want))
		}
		seen := make(map[string]bool)
		for _, c := range Confined(false).calls() {
			nr, ok := want[c.name]
			if !ok {
				nr = -1
			}
			if got := a.number(c); got != nr {
				t.Errorf("%s: %s is %d in the table and %d in golang.org/x/sys", a, c.name, got, nr)
			}
			if seen[c.name] {
				t.Errorf("%s has two rules", c.name)
			}
			seen[c.name] = true
		}
	}
}

// TestOthersAreAllowed asks for all calls without a rule, those of the future too,
// with arguments that others are refused for.
func TestOthersAreAllowed(t *testing.T) {
	for _, a := range arches {
		ruled := make(map[uint32]bool)
		for _, c := range Confined(false).calls() {
			ruled[uint32(a.number(c))] = true
		}
		nrs := slices.Collect(maps.Values(numbers(constants(t, a))))
		for n := range 1024 {
			nrs = append(nrs, n)
		}
		rnd := rand.New(rand.NewPCG(1, 2))
		for range 1000 {
			nrs = append(nrs, rnd.IntN(0x4000_0000))
		}
		for _, l := range levels {
			m := newMachine(t, l.rules.Program(a))
			for _, nr := range nrs {
				if ruled[uint32(nr)] {
					continue
				}
				all := [6]uint64{}
				for i := range all {
					all[i] = rnd.Uint64()
				}
				for _, args := range [][6]uint64{{}, all, {^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0)}} {
					if got := m.says(t, a.audit, uint32(nr), args); got != unix.SECCOMP_RET_ALLOW {
						t.Fatalf("%s, %s: system call %d, which has no rule: %s", a, l.name, nr, word(got))
					}
				}
			}
		}
	}
}

func TestOtherArchitecturesAreKilled(t *testing.T) {
	for _, a := range arches {
		m := newMachine(t, Isolated().Program(a))
		for _, audit := range []uint32{unix.AUDIT_ARCH_I386, unix.AUDIT_ARCH_ARM, unix.AUDIT_ARCH_X86_64, unix.AUDIT_ARCH_AARCH64, unix.AUDIT_ARCH_RISCV64, 0, ^uint32(0)} {
			for nr := range uint32(600) {
				got, want := m.says(t, audit, nr, [6]uint64{}), uint32(unix.SECCOMP_RET_KILL_PROCESS)
				if audit == a.audit {
					continue
				}
				if got != want {
					t.Fatalf("filter of %s, architecture %#x, system call %d: %s", a, audit, nr, word(got))
				}
			}
		}
	}
}

// TestFarJumps has more rules than a jump of 8 bits passes over.
func TestFarJumps(t *testing.T) {
	arch := Arch{"wide", 7, func(c call) int { return c.amd64 }, false}
	var calls []call
	for i := range 600 {
		// Each rule is a node of its own, so that nothing is merged.
		calls = append(calls, call{"", 3 * i, 0, oneOf(low(i%6), 0, verdict(uint32(i)), allow, uint32(i), uint32(i+7))})
	}
	p := compile(arch, calls)
	far := 0
	for _, in := range p {
		if _, ok := in.(bpf.Jump); ok {
			far++
		}
	}
	if far == 0 {
		t.Errorf("%d instructions, and no jump is far: the test tests nothing", len(p))
	}
	m := newMachine(t, p)
	for i := range 600 {
		var args [6]uint64
		for _, arg := range []int{i, i + 7} {
			args[i%6] = uint64(arg)
			if got := m.says(t, 7, uint32(3*i), args); got != uint32(i) {
				t.Fatalf("rule %d: %d", i, got)
			}
		}
		args[i%6] = uint64(i + 1)
		for off := range uint32(3) {
			if got := m.says(t, 7, uint32(3*i)+off, args); got != unix.SECCOMP_RET_ALLOW {
				t.Fatalf("rule %d, call %d: %#x", i, uint32(3*i)+off, got)
			}
		}
	}
}

// TestFilterForm checks what the kernel takes and works out beforehand: few
// instructions, of kinds that it follows without the arguments.
func TestFilterForm(t *testing.T) {
	for _, a := range arches {
		for _, l := range levels {
			f, err := l.rules.Filter(a)
			if err != nil {
				t.Fatal(err)
			}
			if len(f) > 400 {
				t.Errorf("%s, %s: %d instructions", a, l.name, len(f))
			}
			for i, in := range f {
				switch in.Code {
				case unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, unix.BPF_RET | unix.BPF_K, unix.BPF_ALU | unix.BPF_AND | unix.BPF_K,
					unix.BPF_JMP | unix.BPF_JA, unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K,
					unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K:
				default:
					t.Errorf("%s, %s: instruction %d has the code %#x", a, l.name, i, in.Code)
				}
			}
		}
	}
}
