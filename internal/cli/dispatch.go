package cli

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/callgate/callgate/internal/turn"
	"github.com/callgate/callgate/journal"
	"github.com/callgate/callgate/llm"
)

// maxTurn bounds one turn, in bytes.
const maxTurn = 64 << 20

func dispatchCommand() *cobra.Command {
	var flags gateFlags
	var format string
	var stream bool
	number := -1
	cmd := &cobra.Command{
		Use:   "dispatch [flags] < turn.json",
		Short: "Run the calls of one assistant turn and print the message to send back",
		Long: `Read one assistant turn from standard input, a whole API response or just its
message, run its calls through the gate, and print the message to send back: for
anthropic one user message of tool_result blocks, for openai the list of tool
messages, for callgate {"results":[...]} with every field. A callgate turn is
{"calls":[{"id","name","arguments"}]} with arguments as an object, or as the
string that a provider sent, and "cut":true if the turn hit its output limit: of
a turn that was cut off, in any format, no call runs.

Reads in the workspace are allowed; every other tool needs --allow. A call that
fails is a result like any other, and the exit code is 0. A turn that cannot be
read without guessing (no JSON, a member twice or in another case, two formats at
once) runs nothing and exits with 2 and the reason. A turn without calls is
answered by null (anthropic), [] (openai) or {"results":[]}. A turn has at most
64 MiB.

With --stream each line of the input is a turn, and each is answered by one line
as soon as it is done. All belong to one session: what a turn read, a later one
may edit, and is told if somebody else changed it. A line that repeats another is
a new turn. A line that cannot be read is
answered by {"error":{"code":"unreadable_turn","message":…,"line":N}}; the stream
goes on, and the exit code is 2 at its end. Background jobs of bash run on from turn
to turn until the stream ends; without --stream they end when the turn is answered.

Turns and calls are recorded in the journal under --session. When a program was
killed, it sends its last turn again: if it has the bytes of the session's last
turn, it is that turn, what had been done is answered from the record, and a call
of which it is not known whether it ran is answered with outcome_unknown and not
run again. --turn says which turn it is; one that was submitted with other bytes
is refused.`,
		Example: `  callgate dispatch --workspace . < response.json
  callgate dispatch --allow edit_file --allow write_file < response.json
  echo '{"calls":[{"id":"1","name":"read_file","arguments":{"path":"go.mod"}}]}' | callgate dispatch
  callgate dispatch --session build-7 --allow bash < response.json
  my-agent | callgate dispatch --stream --allow '*'`,
		Args: cobra.NoArgs,
		RunE: does(func(cmd *cobra.Command, _ []string) (err error) {
			if format != "auto" && turn.Find(format) == nil {
				return usagef("--format %q is none of auto, %s", format, strings.Join(turn.Names(), ", "))
			}
			g, err := flags.open(cmd)
			if err != nil {
				return err
			}
			defer g.closing(&err)
			d := dispatch{gate: g, format: format, warn: cmd.ErrOrStderr()}
			if err := d.begin(cmd, number); err != nil {
				return err
			}
			if stream {
				return d.stream(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
			}
			g.oneTurn()
			return d.once(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout())
		}),
	}
	flags.add(cmd)
	cmd.Flags().IntVar(&number, "turn", -1, "number of the (first) turn in its session (default the next one, or the last one again if it has the same bytes)")
	cmd.Flags().StringVar(&format, "format", "auto", "format of the turn and of the answer: auto, "+strings.Join(turn.Names(), ", "))
	cmd.Flags().BoolVar(&stream, "stream", false, "read one turn a line, in one session, and answer each with a line")
	cmd.RegisterFlagCompletionFunc("format", oneOf(append([]string{"auto"}, turn.Names()...)...))
	return cmd
}

// newSession returns a name that no other session has.
func newSession() string { return "s-" + strings.ToLower(rand.Text()[:16]) }

// A dispatch answers the turns of one session.
type dispatch struct {
	gate   *gate
	format string // auto, or the name of one
	warn   io.Writer
	turns  int           // answered so far
	next   int           // number of the next turn
	last   *journal.Turn // of the session, before this command; nil if there is none
}

// begin finds out where the session is.
func (d *dispatch) begin(cmd *cobra.Command, number int) (err error) {
	if number > maxTurnNumber || number < -1 || number < 0 && cmd.Flags().Changed("turn") {
		return usagef("--turn %d is no number of a turn; use 0 to %d", number, maxTurnNumber)
	}
	if number >= 0 {
		d.next = number
		return nil
	}
	if d.next, err = d.gate.nextTurn(); err != nil {
		return err
	}
	if d.gate.held != nil {
		d.last, err = d.gate.held.Last(cmd.Context())
	}
	return err
}

// number records the turn and returns its number.
func (d *dispatch) number(format string, body []byte, r llm.Response) (int, error) {
	n := d.next
	if d.turns == 0 && d.last != nil && d.last.Digest == sha256.Sum256(body) {
		n = d.last.Number
		fmt.Fprintf(d.warn, "callgate: this is turn %d of session %s again, with the same bytes: what it did is answered from the record (--turn %d makes it a new turn)\n", n, visible(d.gate.session), d.next)
	} else {
		d.next++
	}
	d.turns++
	if d.gate.held == nil {
		return n, nil
	}
	err := d.gate.held.Append(&journal.Turn{Number: n, Role: journal.Assistant, Format: format, Body: body, Stop: string(r.Stop),
		Input: r.Usage.Input, Output: r.Usage.Output, CacheRead: r.Usage.CacheRead, CacheWrite: r.Usage.CacheWrite})
	if errors.Is(err, journal.ErrOtherTurn) {
		return n, usagef("turn %d of session %s was submitted before with other bytes, so nothing ran; --turn with a higher number makes it a new turn", n, visible(d.gate.session))
	}
	if err != nil {
		return n, fmt.Errorf("the turn cannot be recorded, so nothing ran: %w", err)
	}
	return n, nil
}

// once answers the one turn that in holds.
func (d *dispatch) once(ctx context.Context, in io.Reader, out io.Writer) error {
	body, err := await(ctx, func() ([]byte, error) { return io.ReadAll(io.LimitReader(in, maxTurn+1)) })
	if err != nil {
		return err
	}
	if len(body) > maxTurn {
		return &failure{exitUsage, &turn.Unreadable{Reason: fmt.Sprintf("it has more than %d bytes", maxTurn)}}
	}
	reply, err := d.answer(ctx, body)
	if err != nil {
		return unreadableIsUsage(err)
	}
	if _, err := out.Write(append(reply, '\n')); err != nil {
		return err
	}
	return ctx.Err()
}

// stream answers one turn a line.
func (d *dispatch) stream(ctx context.Context, in io.Reader, out, diagnostics io.Writer) error {
	var failed error
	lines := lineReader{r: bufio.NewReaderSize(in, 64<<10), max: maxTurn}
	for ctx.Err() == nil {
		line, err := await(ctx, lines.next)
		if err == io.EOF {
			return failed
		} else if err != nil && !errors.As(err, new(*turn.Unreadable)) {
			return err
		}
		if err == nil && len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var reply []byte
		if err == nil {
			reply, err = d.answer(ctx, line)
		}
		if err != nil {
			if !errors.As(unreadableIsUsage(err), new(*failure)) {
				return err
			}
			fmt.Fprintf(diagnostics, "callgate: line %d: %v\n", lines.n, err)
			reply, failed = errorLine(err, lines.n), silent(exitUsage)
		}
		if _, err := out.Write(append(reply, '\n')); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func errorLine(err error, line int) []byte {
	type report struct {
		Code    string `json:"code"`
		Message string `json:"message"`
		Line    int    `json:"line"`
	}
	b, _ := json.Marshal(map[string]report{"error": {"unreadable_turn", err.Error(), line}}) // three plain fields
	return b
}

// A decodeError is a turn that its format refused.
type decodeError struct{ error }

func (d decodeError) Unwrap() error { return d.error }

// unreadableIsUsage gives the error of a turn that cannot be read its exit code.
func unreadableIsUsage(err error) error {
	if errors.As(err, new(*turn.Unreadable)) || errors.As(err, new(decodeError)) {
		return &failure{exitUsage, err}
	}
	return err
}

// answer runs the calls of a turn and returns what is sent back for it.
func (d *dispatch) answer(ctx context.Context, body []byte) ([]byte, error) {
	if d.turns == 0 {
		body = bytes.TrimPrefix(body, []byte("\ufeff")) // some shells put a byte order mark before what they pipe
	}
	if err := turn.Scan(body); err != nil {
		return nil, err
	}
	f, err := turn.Choose(d.format, body)
	if err != nil {
		return nil, err
	}
	codec := f.Make(d.gate.catalog)
	response, err := codec.Decode(body)
	if err != nil {
		return nil, decodeError{fmt.Errorf("as %s: %w", f.Name, err)}
	}
	number, err := d.number(f.Name, bytes.TrimSpace(body), response) // a line end more or less is no other turn
	if err != nil {
		return nil, err
	}
	t := response.Turn(d.gate.session, number)
	if len(t.Calls) == 0 {
		return []byte(f.Nothing), nil
	}
	return codec.Results(d.gate.dispatcher.Dispatch(ctx, d.gate.catalog, t))
}

// await returns what read returns, or the end of ctx if that comes first: a
// reader that waits for a person, or for a program that hangs, cannot be stopped.
func await(ctx context.Context, read func() ([]byte, error)) ([]byte, error) {
	type got struct {
		data []byte
		err  error
	}
	done := make(chan got, 1)
	go func() {
		data, err := read()
		done <- got{data, err}
	}()
	select {
	case g := <-done:
		return g.data, g.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// A lineReader reads lines of at most max bytes.
type lineReader struct {
	r   *bufio.Reader
	max int
	n   int // number of the last line, from 1
}

// next returns the next line, or io.EOF. Of a line that is too long it reads all
// and keeps nothing.
func (l *lineReader) next() ([]byte, error) {
	var line []byte
	size := 0
	for {
		part, err := l.r.ReadSlice('\n')
		if size += len(part); size <= l.max {
			line = append(line, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil && (err != io.EOF || size == 0) {
			return nil, err
		}
		l.n++
		if size > l.max {
			return nil, &turn.Unreadable{Reason: fmt.Sprintf("it has more than %d bytes", l.max)}
		}
		return line, nil
	}
}
