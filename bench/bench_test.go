package bench

import (
	"encoding/json"
	"os"
	"reflect"
	"testing"
)

func TestMain(m *testing.M) {
	Child()
	os.Exit(m.Run())
}

// The sizes are what the README promises.
func TestShapes(t *testing.T) {
	bounds := map[string][2]int{
		"small": {45, 45}, "read": {60, 80}, "edit": {22 << 10, 24 << 10}, "nested": {1650, 1750}, "wide": {550, 650}, "invalid": {40, 50},
	}
	for _, s := range Shapes() {
		if b := bounds[s.Name]; len(s.Args) < b[0] || len(s.Args) > b[1] {
			t.Errorf("%s has %d bytes, not %d to %d", s.Name, len(s.Args), b[0], b[1])
		}
	}
}

// A verdict is worth timing only if it is the right one.
func TestEnginesAgree(t *testing.T) {
	for _, s := range Shapes() {
		for _, e := range Engines() {
			verdict, err := e.Compile(s)
			if err != nil {
				t.Errorf("%s: %s: %v", s.Name, e.Name, err)
				continue
			}
			err = verdict([]byte(s.Args))
			if want := s.Valid || e.Checks == "JSON"; (err == nil) != want {
				t.Errorf("%s: %s says %v", s.Name, e.Name, err)
			}
		}
	}
}

// What the engines bind is the same value.
func TestBind(t *testing.T) {
	for _, s := range Shapes() {
		if !s.Valid {
			continue
		}
		want := s.New()
		if err := json.Unmarshal([]byte(s.Args), want); err != nil {
			t.Fatal(err)
		}
		back, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		if len(back) < len(s.Args) {
			t.Errorf("%s: the Go type holds %d of %d bytes", s.Name, len(back), len(s.Args))
		}
		for _, e := range Engines() {
			if e.Bind == nil {
				continue
			}
			got := s.New()
			if err := e.Bind([]byte(s.Args), got); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %s binds %+v, %v", s.Name, e.Name, got, err)
			}
		}
	}
}

// Every peer takes the small call to the handler with the same values.
func TestPeersRun(t *testing.T) {
	for _, p := range Peers() {
		a, ran, err := call(t.Context(), p, commandSchema, Call{Name: "run_command", Args: SmallArgs})
		if err != nil {
			t.Errorf("%s: %v", p.Name, err)
			continue
		}
		want := Command{Command: "go vet ./...", TimeoutMS: 60000}
		if len(ran) != 1 || ran[0] != want || a.Text != "ok" || a.Failed || a.Err != nil {
			t.Errorf("%s: ran %+v, answer %+v", p.Name, ran, a)
		}
	}
}

// Checks is a claim about each peer: a bound of the schema and a required name
// tell which is true.
func TestPeersCheck(t *testing.T) {
	for _, p := range Peers() {
		runs := func(args string) bool {
			_, ran, err := call(t.Context(), p, commandSchema, Call{Name: "run_command", Args: args})
			if err != nil {
				t.Errorf("%s: %v", p.Name, err)
			}
			return len(ran) > 0
		}
		got := "nothing"
		switch bound, required := runs(`{"command":"ls","timeout_ms":600001}`), runs(`{}`); {
		case !bound && !required:
			got = "schema"
		case !required:
			got = "required"
		}
		if got != p.Checks {
			t.Errorf("%s checks %s, and is listed as %s", p.Name, got, p.Checks)
		}
	}
}

func Benchmark(b *testing.B) {
	for _, w := range Works() {
		b.Run(w.Name(), w.Run)
	}
}
