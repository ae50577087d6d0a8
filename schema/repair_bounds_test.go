package schema

import (
	"strings"
	"testing"
)

// The work of one repair is bounded in validations and in bytes validated, whatever the number of slips.
func TestRepairWork(t *testing.T) {
	s, err := Compile([]byte(`{"type":"object","properties":{"s":{"type":"string"},"n":{"type":"array","items":{"type":"integer"}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	slips := `"n":["1","2","3","4","5","6","7","8","9"]}`
	small, large := []byte(`{"s":"",`+slips), []byte(`{"s":"`+strings.Repeat("x", 1<<20-100)+`",`+slips)
	if _, _, ok := s.Repair(small, RepairKinds()); !ok {
		t.Error("nine slips in few bytes are repaired")
	}
	if _, _, ok := s.Repair(large, RepairKinds()); ok {
		t.Error("nine slips in a megabyte are repaired: more than 8 MiB were validated")
	}
	for _, r := range []repairer{
		{schema: s, kinds: RepairKinds(), runs: 1, work: maxRepairWork},
		{schema: s, kinds: RepairKinds(), runs: maxRepairRuns, work: len(small)},
	} {
		found, _ := s.Validate(small)
		if _, ok := r.solve(small, found); ok {
			t.Errorf("solved with %d runs and %d bytes left", r.runs, r.work)
		}
	}
}
