package journal

import (
	"context"
	"errors"
	"testing"
)

// Each head that is told is on disk and in the file when it is told; one that never
// came to be is not.
func TestOnHead(t *testing.T) {
	var told []Head
	g := newRig(t, Options{OnHead: func(h Head) { told = append(told, h) }}, nil)
	g.submit(1, 1, "once") // with the claim the session's row, then its own
	g.submit(2, 1, "read") // waits for no disk
	if len(told) != 2 || told[1].Rows != 2 {
		t.Fatalf("told %v", told)
	}
	fails := errors.New("no")
	err := g.write.do(true, func(w *writer) error {
		if err := w.append(kindTurn, func(int64) (int64, []byte, error) { return 1, make([]byte, 32), nil }); err != nil {
			return err
		}
		return fails
	})
	if err != fails {
		t.Fatal(err)
	}
	if _, err := g.Resume("s"); err != nil { // syncs, and appends nothing
		t.Fatal(err)
	}
	head, err := g.Head(context.Background())
	if err != nil || len(told) != 3 || told[2] != head || head.Rows != 3 {
		t.Errorf("told %v, the head is %v, %v", told, head, err)
	}
	g.submit(3, 3, "once")
	for i := 1; i < len(told); i++ {
		if told[i].Rows <= told[i-1].Rows {
			t.Errorf("told %v", told)
		}
		if _, err := g.Verify(context.Background(), told[i]); err != nil {
			t.Error(err)
		}
	}
	if now, _ := g.Head(context.Background()); told[len(told)-1] != now {
		t.Errorf("the last one told is %v, the head is %v", told[len(told)-1], now)
	}
}
