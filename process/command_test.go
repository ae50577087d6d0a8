package process

import (
	"testing"
	"time"
)

// H113: a command that says nothing has every limit.
func TestDefaults(t *testing.T) {
	c := Command{Args: []string{"true"}, Dir: t.TempDir()}
	if err := c.complete(); err != nil {
		t.Fatal(err)
	}
	if c.Timeout != 120*time.Second || c.Grace != time.Second || c.Keep != 50_000 || c.Limit != 256<<20 {
		t.Errorf("timeout %v, grace %v, keep %d, limit %d", c.Timeout, c.Grace, c.Keep, c.Limit)
	}
	c = Command{Args: []string{"true"}, Dir: c.Dir, Grace: -1, Timeout: Forever}
	if err := c.complete(); err != nil || c.Grace != 0 || c.Timeout != Forever {
		t.Errorf("grace %v, timeout %v, %v", c.Grace, c.Timeout, err)
	}
}

// However an output is cut into pieces, its start and its end are kept.
func TestKeeper(t *testing.T) {
	all := make([]byte, 1000)
	for i := range all {
		all[i] = byte(i % 251)
	}
	for _, total := range []int{0, 1, 19, 20, 21, 99, 100, 101, 180, 181, 1000} {
		for _, piece := range []int{1, 7, 80, 81, 1000} {
			k := keeper{keep: 100}
			for rest := all[:total]; len(rest) > 0; {
				n := min(piece, len(rest))
				k.add(rest[:n])
				rest = rest[n:]
			}
			s := k.stream()
			head := min(total, 20)
			tail := min(total-head, 80)
			if string(s.Head) != string(all[:head]) || string(s.Tail) != string(all[total-tail:total]) || s.Total != int64(total) || s.Omitted() != int64(total-head-tail) {
				t.Errorf("%d bytes in pieces of %d: kept %d + %d, omitted %d", total, piece, len(s.Head), len(s.Tail), s.Omitted())
			}
		}
	}
}
