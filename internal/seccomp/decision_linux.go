package seccomp

import (
	"slices"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// A node is one step of a decision: a verdict, or a test of one word of what the
// kernel says about the system call, and where to go then.
type node struct {
	verdict uint32 // if yes is nil

	load    int    // the offset of the word in struct seccomp_data, or loaded
	mask    uint32 // of the bits that count; 0 means all
	cond    bpf.JumpTest
	val     uint32
	yes, no *node
}

// loaded says that the word is there already.
const loaded = -1

// Offsets in struct seccomp_data. An argument has 64 bits and comes low half first
// on both architectures.
const (
	offNumber = 0
	offArch   = 4
	offArgs   = 16
)

func verdict(v uint32) *node { return &node{verdict: v} }

func errno(e unix.Errno) *node { return verdict(unix.SECCOMP_RET_ERRNO | uint32(e)) }

// The verdicts. Two rules are the same if they are the same node.
var (
	allow           = verdict(unix.SECCOMP_RET_ALLOW)
	kill            = verdict(unix.SECCOMP_RET_KILL_PROCESS)
	eperm           = errno(unix.EPERM)
	enosys          = errno(unix.ENOSYS)
	eafnosupport    = errno(unix.EAFNOSUPPORT)
	eprotonosupport = errno(unix.EPROTONOSUPPORT)
)

// low and high are the halves of an argument. The kernel takes an int, an unsigned
// int and a umode_t from the low half and forgets the other: to compare both would
// let a process pass by setting a high bit.
func low(arg int) int  { return offArgs + 8*arg }
func high(arg int) int { return offArgs + 8*arg + 4 }

// anyBit is yes if the word has one of the bits.
func anyBit(load int, bits uint32, yes, no *node) *node {
	return &node{load: load, cond: bpf.JumpBitsSet, val: bits, yes: yes, no: no}
}

// oneOf is yes if the word, of which the bits of mask count, is one of vals.
func oneOf(load int, mask uint32, yes, no *node, vals ...uint32) *node {
	for _, v := range slices.Backward(vals) {
		no = &node{load: load, mask: mask, cond: bpf.JumpEqual, val: v, yes: yes, no: no}
	}
	return no
}

// A segment is a run of numbers with one decision, up to the next segment.
type segment struct {
	from uint32
	then *node
}

// search finds the segment that the word is in. It loads the word once.
func search(load int, segments []segment) *node {
	if len(segments) == 1 {
		return segments[0].then
	}
	mid := len(segments) / 2
	return &node{load: load, cond: bpf.JumpGreaterOrEqual, val: segments[mid].from,
		yes: search(loaded, segments[mid:]), no: search(loaded, segments[:mid])}
}

// An assembler writes a decision down from its end, so that where a jump goes to is
// known: jumps of BPF go forward only.
type assembler struct {
	reversed []bpf.Instruction
	at       map[*node]int // len(reversed) when the node had been written
}

// program returns the instructions of a decision.
func program(n *node) []bpf.Instruction {
	a := assembler{at: make(map[*node]int)}
	a.write(n)
	slices.Reverse(a.reversed)
	return a.reversed
}

// write returns where the node is, and writes it if it is nowhere yet.
func (a *assembler) write(n *node) int {
	if at, ok := a.at[n]; ok {
		return at
	}
	if n.yes == nil {
		a.add(bpf.RetConstant{Val: n.verdict})
	} else {
		no, yes := a.write(n.no), a.write(n.yes)
		no, yes = a.near(no), a.near(yes)
		a.add(bpf.JumpIf{Cond: n.cond, Val: n.val, SkipTrue: uint8(len(a.reversed) - yes), SkipFalse: uint8(len(a.reversed) - no)})
		if n.mask != 0 {
			a.add(bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: n.mask})
		}
		if n.load != loaded {
			a.add(bpf.LoadAbsolute{Off: uint32(n.load), Size: 4})
		}
	}
	a.at[n] = len(a.reversed)
	return len(a.reversed)
}

func (a *assembler) add(i bpf.Instruction) { a.reversed = append(a.reversed, i) }

// near returns a place that leads to the one given and that a conditional jump,
// which skips 255 instructions at most, reaches also after one more instruction.
func (a *assembler) near(at int) int {
	if len(a.reversed)+1-at <= 255 {
		return at
	}
	a.add(bpf.Jump{Skip: uint32(len(a.reversed) - at)})
	return len(a.reversed)
}
