package callgate

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A world is a file system of names, links and contents, small enough that
// random turns meet themselves in it. Its tools take their time, so that what
// may overlap does.
type world struct {
	mu    sync.Mutex
	links map[string]string
	files map[string]string
	slow  time.Duration
}

func newWorld(slow time.Duration) *world {
	return &world{links: map[string]string{}, files: map[string]string{}, slow: slow}
}

// resolve follows the links of a name.
func (w *world) resolve(name string) string {
	for range 8 {
		to, ok := w.links[name]
		if !ok {
			break
		}
		name = to
	}
	return name
}

func (w *world) key(key string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return []string{"f:" + w.resolve(strings.TrimPrefix(key, "f:"))}
}

type worldArgs struct{ Name, Value string }

// tools returns get (reads what a name leads to), set (writes it), link (makes a
// name lead to another, declared as a write of the name only), and list (reads
// everything without saying so).
func (w *world) tools(r *Registry) error {
	do := func(name string, write bool, fn func(worldArgs) string) Tool {
		t := tool(name, func(_ context.Context, c Call) (Result, error) {
			var a worldArgs
			json.Unmarshal(c.Arguments, &a)
			time.Sleep(w.slow * time.Duration(1+len(a.Value)%3))
			w.mu.Lock()
			defer w.mu.Unlock()
			return Text(fn(a)), nil
		})
		t.Annotations.ReadOnlyHint = !write
		t.Access = func(args json.RawMessage) []Access {
			var a worldArgs
			json.Unmarshal(args, &a)
			return []Access{{"f:" + a.Name, write}}
		}
		return t
	}
	list := do("list", false, func(worldArgs) string { return fmt.Sprint(w.files, w.links) })
	list.Access = nil
	return r.Register(list,
		do("get", false, func(a worldArgs) string { return w.files[w.resolve(a.Name)] }),
		do("set", true, func(a worldArgs) string { w.files[w.resolve(a.Name)] = a.Value; return "" }),
		do("link", true, func(a worldArgs) string { w.links[a.Name] = a.Value; return "" }))
}

func randomTurn(rng *rand.Rand) (calls []Call) {
	names := []string{"a", "b", "c", "d", "e"}
	for i := range 4 + rng.IntN(8) {
		n := rng.IntN(len(names))
		args := worldArgs{names[n], fmt.Sprint("v", i)}
		name := []string{"get", "get", "get", "set", "set", "link", "list"}[rng.IntN(7)]
		if name == "link" { // to a later name only: no cycles
			if n == len(names)-1 {
				name = "set"
			} else {
				args.Value = names[n+1+rng.IntN(len(names)-n-1)]
			}
		}
		b, _ := json.Marshal(args)
		calls = append(calls, Call{ID: fmt.Sprint(i), Name: name, Arguments: b})
	}
	return calls
}

// play dispatches calls in a fresh world: all in one turn, or each in its own.
func play(t *testing.T, calls []Call, oneTurn, resolve bool) (results []string, took time.Duration) {
	w := newWorld(time.Millisecond)
	var r Registry
	if err := w.tools(&r); err != nil {
		t.Fatal(err)
	}
	d := Dispatcher{Policy: AllowAll, Parallel: 16}
	if resolve {
		d.Resolve = map[string]func(string) []string{"f:": w.key}
	}
	start := time.Now()
	turns := [][]Call{calls}
	if !oneTurn {
		turns = slices.Collect(slices.Chunk(calls, 1))
	}
	for _, turn := range turns {
		for _, res := range d.Dispatch(t.Context(), r.Catalog(), Calls(turn...)) {
			results = append(results, res.CallID+"="+res.String())
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return append(results, fmt.Sprint(w.files, w.links)), time.Since(start)
}

// The promise of Dispatch on random turns, with links made and followed within
// the turn: every result and the world at the end are what they would have been
// one by one. The control shows that the test can tell: without resolving keys,
// some turn goes wrong.
func TestConcurrentEqualsSerial(t *testing.T) {
	var all, alone time.Duration
	wrong := 0
	for seed := range uint64(1000) {
		rng := rand.New(rand.NewPCG(seed, 7))
		calls := randomTurn(rng)
		synctest.Test(t, func(t *testing.T) {
			serial, slow := play(t, calls, false, true)
			got, quick := play(t, calls, true, true)
			if !slices.Equal(got, serial) {
				for i, c := range calls {
					t.Logf("%d %s %s", i, c.Name, c.Arguments)
				}
				t.Fatalf("seed %d:\nconcurrent %q\nserial     %q", seed, got, serial)
			}
			if blind, _ := play(t, calls, true, false); !slices.Equal(blind, serial) {
				wrong++
			}
			alone, all = alone+slow, all+quick
		})
	}
	if wrong == 0 {
		t.Error("without resolved keys all turns went right: the test proves nothing")
	}
	if all > alone*9/10 {
		t.Errorf("the turns took %v, one by one %v: nothing ran at once", all, alone)
	}
	t.Logf("turns took %.2f of the serial time; %d of 1000 go wrong without resolved keys", float64(all)/float64(alone), wrong)
}

// DESIGN §5: "so that ln -s a b, then a write of a, then a read of b stay in
// order". The link is made by a call that declares nothing, as bash does.
func TestLinkMadeInTheTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(time.Second)
		var r Registry
		if err := w.tools(&r); err != nil {
			t.Fatal(err)
		}
		bash := tool("bash", func(context.Context, Call) (Result, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.links["b"] = "a"
			return Text(""), nil
		})
		if err := r.Register(bash); err != nil {
			t.Fatal(err)
		}
		d := Dispatcher{Policy: AllowAll, Resolve: map[string]func(string) []string{"f:": w.key}}
		got := d.Dispatch(t.Context(), r.Catalog(), Calls(
			Call{Name: "bash"},
			Call{Name: "set", Arguments: json.RawMessage(`{"Name":"a","Value":"new"}`)},
			Call{Name: "get", Arguments: json.RawMessage(`{"Name":"b"}`)}))
		if got[2].ModelText() != "new" {
			t.Errorf("the read through the link saw %q", got[2])
		}
	})
}

// Whatever panics, hangs, is refused, asked about or canceled, each call of a
// random turn gets exactly one result and one settled event.
func TestExactlyOneResult(t *testing.T) {
	for seed := range uint64(300) {
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 3))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			misbehave := func(ctx context.Context, c Call) (Result, error) {
				switch c.Identity.Index * 7 % 5 {
				case 0:
					panic("p")
				case 1:
					time.Sleep(time.Hour)
				case 2:
					<-ctx.Done()
					return Result{}, ctx.Err()
				case 3:
					return Result{}, NotSent(fmt.Errorf("refused"))
				}
				return Text("x"), nil
			}
			r := registry(t, readOnly(tool("r", misbehave)), tool("w", misbehave), idempotent(tool("i", misbehave)))
			settled := map[int]int{}
			var mu sync.Mutex
			d := Dispatcher{
				Middleware: []Middleware{Retry{}.Middleware(), (&Breaker{}).Middleware()},
				Policy: func(ctx context.Context, req Request) (Decision, error) {
					switch req.Call.Identity.Index % 4 {
					case 0:
						return Decision{Verdict: Ask}, nil
					case 1:
						panic("policy")
					}
					return Decision{Verdict: Allow}, nil
				},
				Approver: func(ctx context.Context, req Request, _ Decision) (Answer, error) {
					time.Sleep(time.Second)
					return Answer{Approved: req.Call.Identity.Index%8 == 0}, nil
				},
				Observers: []Observer{func(_ context.Context, e Event) {
					mu.Lock()
					defer mu.Unlock()
					if e.Kind == Settled {
						settled[e.Call.Identity.Index]++
					}
				}},
			}
			var calls []Call
			for i := range 12 {
				calls = append(calls, Call{ID: fmt.Sprint(i), Name: []string{"r", "w", "i", "nope"}[rng.IntN(4)]})
			}
			if rng.IntN(2) == 0 {
				time.AfterFunc(time.Duration(rng.IntN(300))*time.Second, cancel)
			}
			got := d.Dispatch(ctx, r.Catalog(), Turn{Session: "s", Number: int(seed), Calls: calls})
			for i, res := range got {
				if res.CallID != fmt.Sprint(i) || settled[i] != 1 || res.State == "" || res.Code != "" && res.Message == "" {
					t.Fatalf("seed %d: call %d: %d settled events, result %+v", seed, i, settled[i], res)
				}
			}
			time.Sleep(2 * time.Hour)
			synctest.Wait()
			if n := d.Abandoned(); n != 0 {
				t.Fatalf("%d handlers never returned", n)
			}
		})
	}
}

// A world where the file that a name leads to is told by a map, for the tests of
// one rule each.
func aliases(m map[string]string) map[string]func(string) []string {
	return map[string]func(string) []string{"f:": func(key string) []string { return []string{m[key]} }}
}

// slowly returns a tool that takes d to read or write key.
func slowly(name, key string, write bool, d time.Duration, fn func()) Tool {
	t := tool(name, func(context.Context, Call) (Result, error) {
		if fn != nil {
			fn()
		}
		time.Sleep(d)
		return Text(name), nil
	})
	t.Annotations.ReadOnlyHint = !write
	t.Access = func(json.RawMessage) []Access { return []Access{{key, write}} }
	return t
}

// A cancel ends the wait for a call that turned out to touch the same thing.
func TestCancelWhileInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := registry(t, slowly("writes", "f:a", true, time.Hour, nil), slowly("reads", "f:link", false, 0, nil))
		d := Dispatcher{Policy: AllowAll, Resolve: aliases(map[string]string{"f:a": "f:a", "f:link": "f:a"})}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		start := time.Now()
		for i, res := range d.Stream(ctx, r.Catalog(), Calls(Call{Name: "writes"}, Call{Name: "reads"})) {
			if took := time.Since(start); i == 1 && (took != 10*time.Second || res.Code != Canceled) {
				t.Errorf("the waiting call was answered after %v: %s", took, res)
			}
		}
		time.Sleep(2 * time.Hour)
	})
}

// A call is held up by what may change names, and that is writes.
func TestReadsUnsettleNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := registry(t, slowly("reads_a", "f:a", false, time.Second, nil), slowly("writes_a", "f:a", true, time.Second, nil), slowly("writes_b", "f:b", true, time.Second, nil))
		d := Dispatcher{Policy: AllowAll, Resolve: aliases(map[string]string{"f:a": "f:a", "f:b": "f:b"})}
		start := time.Now()
		for i := range d.Stream(t.Context(), r.Catalog(), Calls(Call{Name: "reads_a"}, Call{Name: "writes_a"}, Call{Name: "writes_b"})) {
			if took := time.Since(start); i == 2 && took != time.Second {
				t.Errorf("the write of another file ended after %v", took)
			}
		}
	})
}

// Two dispatchers that share Locks meet in what names lead to, not in names.
func TestLocksAreOnWhatNamesLeadTo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var inside atomic.Int32
		alone := func() {
			if inside.Add(1) != 1 {
				t.Error("two writers of one file at once")
			}
			time.AfterFunc(time.Second, func() { inside.Add(-1) })
		}
		r := registry(t, slowly("by_name", "f:a", true, 2*time.Second, alone), slowly("by_link", "f:link", true, 2*time.Second, alone))
		var l Locks
		var wg sync.WaitGroup
		for _, name := range []string{"by_name", "by_link"} {
			wg.Go(func() {
				d := Dispatcher{Policy: AllowAll, Locks: &l, Resolve: aliases(map[string]string{"f:a": "f:a", "f:link": "f:a"})}
				d.Dispatch(t.Context(), r.Catalog(), Calls(Call{Name: name}))
			})
		}
		wg.Wait()
	})
}

// What a started call touches is what its names led to when it started.
func TestKeysOfAStartedCallStay(t *testing.T) {
	m := map[string]string{"f:link": "f:a"}
	r := run{gate: &Dispatcher{Resolve: aliases(m)}, plan: Plan{{Access: write("f:link")}}, states: make([]state, 1)}
	if j := r.inTheWay(0, true); j != -1 {
		t.Fatal(j)
	}
	m["f:link"] = "f:b"
	r.epoch++
	if got := r.lockKeys(0); !slices.Equal(got, write("f:link", "f:a")) {
		t.Errorf("keys %v", got)
	}
}

// Nor does it take longer where the names are the same.
func TestCancelWhileAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := registry(t, slowly("writes", "f:a", true, time.Hour, nil), slowly("reads", "f:a", false, 0, nil))
		d := Dispatcher{Policy: AllowAll}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		start := time.Now()
		for i := range d.Stream(ctx, r.Catalog(), Calls(Call{Name: "writes"}, Call{Name: "reads"})) {
			if took := time.Since(start); i == 1 && took != 10*time.Second {
				t.Errorf("the waiting call was answered after %v", took)
			}
		}
		time.Sleep(2 * time.Hour)
	})
}

// A whole scheme is what it is: no resolver is asked.
func TestSchemesAreNotResolved(t *testing.T) {
	d := Dispatcher{Resolve: map[string]func(string) []string{"f:": func(key string) []string { return []string{key + "!"} }}}
	if got := d.resolveKey("f:"); got != nil {
		t.Errorf("f: became %q", got)
	}
	if got := d.resolveKey("f:a"); len(got) != 1 {
		t.Errorf("f:a became %q", got)
	}
}
