package builtin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/callgate/callgate/artifact"
)

// printed returns n bytes of lines that are all different.
func printed(n int) []byte {
	var b bytes.Buffer
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, "line %d ä€😀 of the output\n", i)
	}
	return b.Bytes()[:n]
}

// All of an output can be read while it grows, by the offsets that the views name,
// and a view accounts for every byte that it does not show.
func TestJobLog(t *testing.T) {
	store, err := artifact.Open(t.TempDir(), artifact.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	random := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		l := &jobLog{store: store}
		whole := printed(random.IntN(600_000))
		for rest := whole; len(rest) > 0; {
			n := min(len(rest), 1+random.IntN(64<<10))
			l.Write(rest[:n])
			rest = rest[n:]
			from := random.Int64N(l.total + 1)
			v, err := l.since(from, 0, len(rest) == 0)
			if err != nil {
				t.Fatal(err)
			}
			if len(v.text) > shownHead+shownTail+100 || v.gone != 0 {
				t.Fatalf("a view of %d bytes, %d gone", len(v.text), v.gone)
			}
			text := string(whole[v.from:v.next])
			if v.omit > 0 {
				mark := fmt.Sprintf("[... %d bytes left out ...]\n", v.omit)
				head, tail, ok := strings.Cut(v.text, mark)
				if !ok || v.omitAt != v.from+int64(len(head)) || !strings.HasPrefix(text, head) || !strings.HasSuffix(strings.TrimSuffix(text, "\n"), tail) {
					t.Fatalf("from %d to %d without %d at %d:\n%s", v.from, v.next, v.omit, v.omitAt, v.text)
				}
			} else if v.text != strings.TrimSuffix(text, "\n") {
				t.Fatalf("from %d to %d:\n%s", v.from, v.next, v.text)
			}
		}
		var read int64
		for read < l.total {
			v, err := l.page(read, true)
			if err != nil || v.from != read || v.next <= read || v.omit+v.gone > 0 {
				t.Fatalf("at %d: %+v, %v", read, v, err)
			}
			if got, want := v.text, strings.TrimSuffix(string(whole[v.from:v.next]), "\n"); got != want && !noText([]byte(want)) {
				t.Fatalf("page at %d", read)
			}
			read = v.next
		}
		ref, err := l.keep()
		if err != nil || (ref != "") != (len(whole) > shownHead+shownTail) {
			t.Fatalf("%d bytes are kept as %q: %v", len(whole), ref, err)
		}
		if ref == "" {
			continue
		}
		id, _ := artifact.ParseRef(ref)
		r, err := store.Open(id)
		if err != nil {
			t.Fatal(err)
		}
		if kept, err := io.ReadAll(r); err != nil || !bytes.Equal(kept, whole) {
			t.Fatalf("%d of %d bytes are kept: %v", len(kept), len(whole), err)
		}
		r.Close()
		if v, err := l.since(0, 0, true); err != nil || v.gone == 0 && len(whole) > 2*jobWindow || v.from != v.gone {
			t.Fatalf("after it was kept: %+v, %v", v, err)
		}
	}
}

// What cannot be kept is lost but for the newest, and that is said; the job goes on.
func TestJobLogWithoutRoom(t *testing.T) {
	full, err := artifact.Open(t.TempDir(), artifact.Options{MaxTotal: 100_000})
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	for name, store := range map[string]*artifact.Store{"none": nil, "full": full} {
		l := &jobLog{store: store}
		whole := printed(1 << 20)
		for b := whole; len(b) > 0; b = b[1<<15:] {
			if n, err := l.Write(b[:1<<15]); n != 1<<15 || err != nil {
				t.Fatal(n, err)
			}
		}
		v, err := l.page(0, true)
		if err != nil || v.gone != v.from || l.total-v.from < jobWindow || v.gone == 0 || v.text != strings.TrimSuffix(string(whole[v.from:v.next]), "\n") {
			t.Errorf("%s: from %d to %d, %d gone: %v", name, v.from, v.next, v.gone, err)
		}
		ref, err := l.keep()
		if ref != "" || (err == nil) != (store == nil) {
			t.Errorf("%s: kept as %q: %v", name, ref, err)
		}
	}
}

// A character that is not whole yet is left for the next view.
func TestJobLogCharacters(t *testing.T) {
	l := &jobLog{}
	var got string
	var from int64
	for _, b := range []byte("aé€😀z") {
		l.Write([]byte{b})
		v, err := l.since(from, 0, false)
		if err != nil {
			t.Fatal(err)
		}
		got, from = got+v.text, v.next
	}
	if got != "aé€😀z" {
		t.Errorf("shown as %q", got)
	}
	l.Write([]byte{0xe2})
	if v, _ := l.since(from, 0, true); v.next != l.total {
		t.Error("what the job ends with is left for a view that will not come")
	}
}

func TestLastLines(t *testing.T) {
	for _, tt := range []struct {
		text string
		n    int
		want string
	}{
		{"a\nb\nc\n", 1, "c\n"},
		{"a\nb\nc\n", 2, "b\nc\n"},
		{"a\nb\nc\n", 3, "a\nb\nc\n"},
		{"a\nb\nc\n", 9, "a\nb\nc\n"},
		{"a\nb\nc", 1, "c"},
		{"a\n\n", 1, "\n"},
		{"", 1, ""},
		{"\n", 1, "\n"},
	} {
		if got := string(lastLines([]byte(tt.text), tt.n)); got != tt.want {
			t.Errorf("the last %d of %q: %q, want %q", tt.n, tt.text, got, tt.want)
		}
	}
}

// When an answer that waits comes.
func TestJobWait(t *testing.T) {
	for _, tt := range []struct {
		name string
		job  func(j *job)
		most time.Duration
		took time.Duration
		err  error
	}{
		{"nobody waits", func(*job) {}, 0, 0, nil},
		{"nothing happens", func(*job) {}, 20 * time.Second, 20 * time.Second, nil},
		{"it ends", func(j *job) { time.Sleep(3 * time.Second); close(j.done) }, 20 * time.Second, 3 * time.Second, nil},
		{"it prints and pauses", func(j *job) {
			time.Sleep(3 * time.Second)
			j.log.Write([]byte("a"))
			time.Sleep(jobQuiet - 1)
			j.log.Write([]byte("b"))
		}, 20 * time.Second, 3*time.Second + 2*jobQuiet - 1, nil},
		{"it prints and ends", func(j *job) {
			time.Sleep(3 * time.Second)
			j.log.Write([]byte("a"))
			time.Sleep(100 * time.Millisecond)
			close(j.done)
		}, 20 * time.Second, 3100 * time.Millisecond, nil},
		{"it prints all the time", func(j *job) {
			for range 1000 {
				j.log.Write([]byte("a"))
				time.Sleep(100 * time.Millisecond)
			}
		}, 20 * time.Second, 20 * time.Second, nil},
		{"it prints more than is shown", func(j *job) {
			for range 100 {
				time.Sleep(90 * time.Millisecond)
				j.log.Write(make([]byte, 10_000))
			}
		}, 20 * time.Second, 590 * time.Millisecond, nil},
		{"the turn is canceled", func(*job) {}, time.Hour, time.Minute, context.DeadlineExceeded},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				j := &job{done: make(chan struct{})}
				var printer sync.WaitGroup
				defer printer.Wait()
				printer.Go(func() { tt.job(j) })
				begin := time.Now()
				err := j.wait(ctx, tt.most, 0)
				if took := time.Since(begin); took != tt.took || !errors.Is(err, tt.err) {
					t.Errorf("it took %v, want %v; %v", took, tt.took, err)
				}
			})
		})
	}
}
