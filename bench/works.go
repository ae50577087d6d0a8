package bench

import (
	"context"
	"fmt"
	"testing"
)

// A Work is one cell of the tables: one piece of work, done by one contestant.
type Work struct {
	Kind   string // validate, bind, dispatch or batch8
	Shape  string
	Who    string // an engine's or a peer's name
	Checks string // what was checked, see [Engine] and [Peer]
	Run    func(*testing.B)
}

// Name is the path of a sub-benchmark; its last part is a key for benchstat's
// -col.
func (w Work) Name() string { return fmt.Sprintf("%s/%s/by=%s", w.Kind, w.Shape, w.Who) }

// Task is what w has in common with the cells that it is compared with.
func (w Work) Task() string { return w.Kind + "/" + w.Shape }

// Works returns every cell: the verdict on each shape by each engine; the verdict
// and the Go value of each valid one; then a call, a call with bad arguments, and
// a batch of eight calls by each peer.
func Works() []Work {
	var works []Work
	for _, s := range Shapes() {
		for _, e := range Engines() {
			works = append(works, Work{"validate", s.Name, e.Name, e.Checks, func(b *testing.B) { validate(b, e, s) }})
		}
	}
	for _, s := range Shapes() {
		for _, e := range Engines() {
			if s.Valid && e.Bind != nil {
				works = append(works, Work{"bind", s.Name, e.Name, e.Checks, func(b *testing.B) { bind(b, e, s) }})
			}
		}
	}
	for _, p := range Peers() {
		works = append(works, Work{"dispatch", "small", p.Name, p.Checks, func(b *testing.B) { dispatch(b, p) }})
	}
	for _, p := range Peers() {
		works = append(works, Work{"dispatch", "invalid", p.Name, p.Checks, func(b *testing.B) { refuse(b, p) }})
	}
	for _, p := range Peers() {
		works = append(works, Work{"batch8", "small", p.Name, p.Checks, func(b *testing.B) { batch(b, p) }})
	}
	return works
}

func validate(b *testing.B, e Engine, s Shape) {
	verdict, err := e.Compile(s)
	if err != nil {
		b.Fatal(err)
	}
	args := []byte(s.Args)
	want := s.Valid || e.Checks == "JSON"
	b.ReportAllocs()
	for b.Loop() {
		if err := verdict(args); (err == nil) != want {
			b.Fatalf("verdict %v", err)
		}
	}
}

func bind(b *testing.B, e Engine, s Shape) {
	verdict, err := e.Compile(s)
	if err != nil {
		b.Fatal(err)
	}
	args := []byte(s.Args)
	b.ReportAllocs()
	for b.Loop() {
		if err := verdict(args); err != nil {
			b.Fatal(err)
		}
		if err := e.Bind(args, s.New()); err != nil {
			b.Fatal(err)
		}
	}
}

// noOp is the tool that the dispatch benchmarks call.
func noOp() Tool {
	return Tool{Name: "run_command", Schema: commandSchema, Run: func(context.Context, Command) (string, error) { return "ok", nil }}
}

func dispatch(b *testing.B, p Peer) {
	s, err := p.Open(noOp())
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	call := s.Prepare(Call{Name: "run_command", Args: SmallArgs})
	b.ReportAllocs()
	for b.Loop() {
		if a := call(b.Context()); a.Text != "ok" || a.Failed || a.Err != nil {
			b.Fatalf("answer %+v", a)
		}
	}
}

// refuse times how a call with three faults is answered. All peers refuse it, for
// its types do not even decode; how much of it they tell is in [Facts].
func refuse(b *testing.B, p Peer) {
	s, err := p.Open(noOp())
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	call := s.Prepare(Call{Name: "run_command", Args: invalidArgs})
	b.ReportAllocs()
	for b.Loop() {
		if a := call(b.Context()); !a.Failed || a.Text == "" {
			b.Fatalf("answer %+v", a)
		}
	}
}

func batch(b *testing.B, p Peer) {
	s, err := p.Open(noOp())
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	calls := make([]Call, 8)
	for i := range calls {
		calls[i] = Call{Name: "run_command", Args: SmallArgs}
	}
	turn := s.Batch(calls)
	b.ReportAllocs()
	for b.Loop() {
		answers := turn(b.Context())
		if len(answers) != len(calls) {
			b.Fatalf("%d answers", len(answers))
		}
		for _, a := range answers {
			if a.Text != "ok" || a.Failed || a.Err != nil {
				b.Fatalf("answer %+v", a)
			}
		}
	}
}
