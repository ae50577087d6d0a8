package journal

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/journal/transfer"
)

// ErrExists is the error of [Journal.Import] if a session has the name already.
var ErrExists = errors.New("a session of that name is there already")

// imported is the owner of calls that ran under another journal. Owners are files
// beside the database, by random names of 26 letters: no such file has this name, and
// the rows are settled, so nobody asks whether it lives.
const imported = "import"

// Import adds what Export wrote, and returns the sessions, the oldest ancestor first.
// They have the names of the file; or, if as is not "", the session is named as, what
// it was forked from as.parent1, what that was forked from as.parent2. A name that is
// taken is [ErrExists].
//
// All of it is imported or nothing: the whole file is read and checked first, and kept
// in a file beside the database that is removed again, then its rows are written in one
// transaction, during which others wait. They have new places in this journal's chain,
// in the order of the file: the chain says from now on that they are not changed, not
// that they happened. What Options.Redact matches is redacted. Outputs of the file are
// kept under their names; other content of the same name is an error.
//
// The turns of an imported session can be submitted again and are answered from the
// record, so who imports a file believes what it says.
func (j *Journal) Import(ctx context.Context, r io.Reader, as string) ([]SessionInfo, error) {
	i := &importer{j: j, ctx: ctx, as: as}
	list, err := i.all(r)
	if err != nil {
		i.undo()
		return nil, fmt.Errorf("journal: nothing was imported: %w", err)
	}
	return list, nil
}

type importer struct {
	j    *Journal
	ctx  context.Context
	as   string
	kept []string                     // artifacts that were not there before
	here map[string][sha256.Size]byte // the artifacts that were
}

func (i *importer) all(r io.Reader) (list []SessionInfo, err error) {
	if i.j.write == nil {
		return nil, ErrReadOnly
	}
	copied, err := os.CreateTemp(filepath.Dir(i.j.path), filepath.Base(i.j.path)+"-import-*") // 0600
	if err != nil {
		return nil, err
	}
	os.Remove(copied.Name()) // where a file may be removed that is open, nothing is left of it whatever happens
	defer os.Remove(copied.Name())
	defer copied.Close()
	names, err := i.look(io.TeeReader(r, copied))
	if err != nil {
		return nil, err
	}
	if err := i.j.write.do(true, func(w *writer) error { return i.write(w, copied) }); err != nil {
		return nil, err
	}
	for _, id := range names {
		info, err := i.j.SessionInfo(context.WithoutCancel(i.ctx), id)
		if err != nil {
			return list, err
		}
		list = append(list, info)
	}
	return list, nil
}

// undo removes what the failed import has kept.
func (i *importer) undo() {
	i.j.removeArtifacts(i.kept) // or the next collection does
}

// look reads the whole file, keeps its artifacts, and returns the names of the sessions.
func (i *importer) look(in io.Reader) (names []string, err error) {
	r, err := transfer.NewReader(in)
	if err != nil {
		return nil, err
	}
	for n := range r.Header.Sessions {
		id := i.name(r.Header, n)
		if _, err := i.j.SessionInfo(i.ctx, id); err == nil { // before a gigabyte is read
			return nil, fmt.Errorf("session %s: %w", id, ErrExists)
		} else if !errors.Is(err, ErrNoSession) {
			return nil, err
		}
		names = append(names, id)
	}
	for {
		it, err := r.Next()
		switch {
		case err == io.EOF:
			return names, nil
		case err != nil:
			return nil, err
		case i.ctx.Err() != nil:
			return nil, i.ctx.Err()
		case it.Call != nil && it.Call.Artifact != "":
			err = i.known(it.Call)
		case it.Artifact != nil:
			err = i.keep(it.Artifact, r)
		}
		if err != nil {
			return nil, err
		}
	}
}

// known sees to it that a call does not name an artifact of this store which is
// another one: who has the session could read it, and would remove it.
func (i *importer) known(c *transfer.Call) error {
	if i.j.opts.Artifacts == nil {
		return nil
	}
	if i.here == nil {
		list, err := i.j.opts.Artifacts.List()
		if err != nil {
			return err
		}
		i.here = map[string][sha256.Size]byte{}
		for _, a := range list {
			i.here[a.ID] = a.SHA256
		}
	}
	if sum, ok := i.here[c.Artifact]; ok && hex.EncodeToString(sum[:]) != c.ArtifactSum {
		return fmt.Errorf("call %d/%d of session %s names the output %s, which is another one here", c.Turn, c.Index, c.Session, c.Artifact)
	}
	return nil
}

func (i *importer) keep(a *transfer.Artifact, r *transfer.Reader) error {
	if i.j.opts.Artifacts == nil {
		return errors.New("the file has whole outputs, and there is no place of artifacts to keep them")
	}
	sum, err := hex.DecodeString(a.SHA256)
	if err != nil {
		return err
	}
	in := &pieces{r: r, left: a.Size}
	created, err := i.j.opts.Artifacts.Restore(i.ctx, a.ID, [sha256.Size]byte(sum), in)
	if created {
		i.kept = append(i.kept, a.ID)
	}
	if in.err != nil {
		return in.err // with the number of the line
	}
	return err
}

// pieces reads an artifact from the lines that follow its first.
type pieces struct {
	r    *transfer.Reader
	left int64 // bytes that have not been read from r
	rest []byte
	err  error
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.rest) == 0 && p.left == 0 {
		return 0, io.EOF
	}
	if len(p.rest) == 0 {
		it, err := p.r.Next()
		if err != nil { // io.EOF cannot be: a piece is missing
			p.err = err
			return 0, err
		}
		p.rest = it.Piece // the reader has seen to it that it is one
		p.left -= int64(len(it.Piece))
	}
	n := copy(b, p.rest)
	p.rest = p.rest[n:]
	return n, nil
}

// write reads the file again, and writes its rows.
func (i *importer) write(w *writer, copied *os.File) error {
	if _, err := copied.Seek(0, io.SeekStart); err != nil { // it may be called twice
		return err
	}
	r, err := transfer.NewReader(copied)
	if err != nil {
		return err
	}
	names := map[transfer.Text]string{}
	parent := ""
	for n, s := range r.Header.Sessions {
		id := i.name(r.Header, n)
		if taken, err := w.exists(id); err != nil {
			return err
		} else if taken {
			return fmt.Errorf("session %s: %w", id, ErrExists)
		}
		about := About{Workspace: string(s.Workspace), Title: i.j.redactText(string(s.Title)), Parent: parent, ParentTurn: int(s.ParentTurn)}
		if err := errors.Join(w.create(id, about, s.Created), w.exec(`UPDATE sessions SET updated = ? WHERE id = ?`, s.Updated, id)); err != nil {
			return err
		}
		names[s.ID], parent = id, id
	}
	for {
		it, err := r.Next()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case i.ctx.Err() != nil:
			return i.ctx.Err()
		case it.Turn != nil:
			err = i.turn(w, it.Turn, names[it.Turn.Session])
		case it.Approval != nil:
			err = i.approval(w, it.Approval, names[it.Approval.Session])
		case it.Call != nil:
			err = i.call(w, it.Call, names[it.Call.Session])
		}
		if err != nil {
			return err
		}
	}
}

// name returns what session n of the file is named here.
func (i *importer) name(h transfer.Header, n int) string {
	last := len(h.Sessions) - 1
	switch {
	case i.as == "":
		return string(h.Sessions[n].ID)
	case n == last:
		return i.as
	}
	return fmt.Sprintf("%s.parent%d", i.as, last-n)
}

func (i *importer) turn(w *writer, t *transfer.Turn, session string) error {
	body, redacted := i.j.redact([]byte(t.Body))
	digest, err := hex.DecodeString(t.Digest)
	if err != nil {
		return err
	}
	return w.addTurn(&turnRow{
		Turn: Turn{Session: session, Pos: int(t.Pos), Number: int(t.Number), Role: string(t.Role), Format: string(t.Format), Body: body,
			Model: string(t.Model), Stop: string(t.Stop), Input: t.Input, Output: t.Output, CacheRead: t.CacheRead, CacheWrite: t.CacheWrite, Redacted: t.Redacted || redacted},
		digest: digest, created: t.Created,
	})
}

func (i *importer) approval(w *writer, a *transfer.Approval, session string) error {
	digest, err := hex.DecodeString(a.Digest)
	if err != nil {
		return err
	}
	return w.addApproval(&approvalRow{
		Approval: Approval{Identity: callgate.Identity{Session: session, Turn: int(a.Turn), Index: int(a.Index)}, Tool: string(a.Tool), ToolDigest: string(a.ToolDigest), Digest: digest,
			Rule: string(a.Rule), Reason: i.j.redactText(string(a.Reason)), Approved: a.Approved, By: string(a.By), Message: i.j.redactText(string(a.Message)),
			Asked: time.UnixMicro(a.Asked), Answered: time.UnixMicro(a.Answered)},
		asked: a.Asked, answered: a.Answered,
	})
}

func (i *importer) call(w *writer, c *transfer.Call, session string) error {
	args, redacted := i.j.redact([]byte(c.Arguments))
	digest, err := hex.DecodeString(c.Digest)
	if err != nil {
		return err
	}
	sum, err := hex.DecodeString(c.ArtifactSum)
	if err != nil {
		return err
	}
	result := []byte(c.Result)
	if len(i.j.opts.Redact) > 0 {
		var res callgate.Result
		if err := json.Unmarshal(result, &res); err != nil {
			return err
		}
		if i.j.redactResult(&res) {
			redacted = true
			if result, err = json.Marshal(res); err != nil {
				return err
			}
		}
	}
	r := &row{
		session: session, turn: c.Turn, index: c.Index, run: c.Run, callID: string(c.CallID), tool: string(c.Tool), source: string(c.Source), toolDigest: string(c.ToolDigest),
		effect: c.Effect, arguments: args, digest: digest, redacted: c.Redacted || redacted, verdict: c.Verdict, rule: string(c.Rule), reason: i.j.redactText(string(c.Reason)),
		by: string(c.By), labels: string(c.Labels), sandbox: string(c.Sandbox), owner: imported, claimed: c.Claimed, started: c.Started, ended: c.Ended, attempts: c.Attempts,
		state: c.State, code: c.Code, truncated: c.Truncated, result: result, artifact: c.Artifact, artifactSum: sum,
	}
	if mine, err := w.insert(r); err != nil {
		return err
	} else if !mine {
		return fmt.Errorf("call %s/%d/%d is there already", session, c.Turn, c.Index)
	}
	return w.settle(r)
}
