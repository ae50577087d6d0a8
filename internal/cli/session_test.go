package cli_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/callgate/callgate/internal/cli"
)

// A conversation is a running dispatch --stream.
type conversation struct {
	t     *testing.T
	in    *io.PipeWriter
	lines *bufio.Reader
	ended chan int
}

func converse(ctx context.Context, t *testing.T, args ...string) *conversation {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	stdin, in := io.Pipe()
	out, stdout := io.Pipe()
	c := &conversation{t, in, bufio.NewReader(out), make(chan int, 1)}
	go func() {
		code := cli.Run(ctx, append([]string{"dispatch", "--stream"}, args...), stdin, stdout, io.Discard)
		stdout.Close()
		c.ended <- code
	}()
	return c
}

// call sends a turn of one call and returns its result.
func (c *conversation) call(name string, args any) (r struct{ Code, Message, Text string }) {
	c.t.Helper()
	turn, err := json.Marshal(map[string]any{"calls": []any{map[string]any{"id": "1", "name": name, "arguments": args}}})
	if err != nil {
		c.t.Fatal(err)
	}
	if _, err := fmt.Fprintf(c.in, "%s\n", turn); err != nil {
		c.t.Fatal(err)
	}
	// The answer comes now, not at the end of the input.
	line, err := c.lines.ReadString('\n')
	if err != nil {
		c.t.Fatal(err)
	}
	var reply struct {
		Results []struct {
			Code, Message string
			Content       []struct{ Text string }
		}
	}
	if err := json.Unmarshal([]byte(line), &reply); err != nil || len(reply.Results) != 1 {
		c.t.Fatalf("the reply is %s (%v)", line, err)
	}
	got := reply.Results[0]
	r.Code, r.Message = got.Code, got.Message
	if len(got.Content) > 0 {
		r.Text = got.Content[0].Text
	}
	return r
}

func (c *conversation) end() int {
	c.in.Close()
	return <-c.ended
}

// What somebody else changed after it was read is not overwritten; and an edit
// keeps the byte order mark, the line ends, the mode and every other byte.
func TestEditInSession(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "notes.txt")
	const (
		before = "\ufeffone\r\ntwo  \r\n\r\nthree\tmixed\nend without line end"
		other  = "\ufeffone\r\ntwo  \r\n\r\nthree\tmixed\nsomebody was here"
		after  = "\ufeffone\r\n2 and\r\nmore\r\n\r\nthree\tmixed\nsomebody was here"
	)
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(file, 0o751); err != nil {
			t.Fatal(err)
		}
	}
	is := func(want string) {
		t.Helper()
		got, err := os.ReadFile(file)
		if err != nil || string(got) != want {
			t.Errorf("the file is %q (%v)\nwant %q", got, err, want)
		}
		if st, err := os.Stat(file); err != nil || os.PathSeparator == '/' && st.Mode() != 0o751 {
			t.Errorf("the mode is %v (%v)", st.Mode(), err)
		}
	}
	write(before)
	c := converse(t.Context(), t, "--workspace", dir, "--allow", "edit_file")
	edit := map[string]any{"path": "notes.txt", "old_text": "two  \n", "new_text": "2 and\nmore\n"}

	if r := c.call("read_file", map[string]any{"path": "notes.txt"}); r.Code != "" || !strings.Contains(r.Text, "two") {
		t.Fatalf("read: %+v", r)
	}
	write(other) // the outside change
	if r := c.call("edit_file", edit); r.Code != "conflict" {
		t.Errorf("edit of what somebody else changed: %+v, want conflict", r)
	}
	is(other)
	if r := c.call("read_file", map[string]any{"path": "notes.txt"}); r.Code != "" {
		t.Errorf("read again: %+v", r)
	}
	if r := c.call("edit_file", edit); r.Code != "" {
		t.Errorf("edit after reading again: %+v", r)
	}
	is(after)
	if r := c.call("write_file", map[string]any{"path": "notes.txt", "content": "x"}); r.Code != "permission_denied" {
		t.Errorf("write, which is not allowed: %+v", r)
	}
	is(after)
	if code := c.end(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("left in the workspace: %v", entries)
	}
}

// An interrupted stream ends at once, though its input is open.
func TestStreamInterrupted(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	c := converse(ctx, t, "--workspace", t.TempDir())
	if r := c.call("read_file", map[string]any{"path": "missing"}); r.Code != "execution_error" {
		t.Errorf("read: %+v", r)
	}
	stop()
	select {
	case code := <-c.ended:
		if code != 130 {
			t.Errorf("exit code %d, want 130", code)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("it still waits for input")
	}
}

// A turn of more than 64 MiB is not read.
func TestTurnTooLarge(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	turn := `{"calls":[]}`
	for _, test := range []struct{ size, code int }{{64 << 20, 0}, {64<<20 + 1, 2}} {
		in := io.MultiReader(strings.NewReader(strings.Repeat(" ", test.size-len(turn))), strings.NewReader(turn))
		var out, errs bytes.Buffer
		if code := cli.Run(t.Context(), []string{"dispatch", "--workspace", t.TempDir()}, in, &out, &errs); code != test.code {
			t.Errorf("a turn of %d bytes: exit code %d, want %d; %s", test.size, code, test.code, errs.String())
		}
	}
}
