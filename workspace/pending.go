package workspace

import (
	"crypto/rand"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/callgate/callgate/internal/filelock"
)

// A write that is under way has two files: the temporary one beside its target, and a note in the root that says where that
// is. The writer keeps the note locked while it lives. Open finds the notes of dead writers by listing one directory,
// however large the tree is, and removes both files.
//
//	.callgate-<id>.pending   in the root; its content is the directory of the other
//	.callgate-<id>.tmp       in that directory
//
// A note can be forged by whoever can write into the workspace. It can name only a file called .callgate-<its id>.tmp.
const (
	ownPrefix  = ".callgate-"
	noteSuffix = ".pending"
	tempSuffix = ".tmp"
	idLen      = 26 // crypto/rand.Text: 26 base32 characters, 130 bits
)

type pending struct {
	root *os.Root
	dir  string
	id   string
	note *os.File // nil where no note could be made, as in a root that cannot be written to
}

func (w *Workspace) begin(dir string) *pending {
	for range 8 {
		p := &pending{root: w.root, dir: dir, id: rand.Text()}
		note, err := w.root.OpenFile(p.noteName(), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return p
		}
		// A cleaner can come between creation and lock; then this note is lost and another one is made.
		if filelock.Try(note) == filelock.Busy || !filelock.Linked(note) {
			note.Close()
			continue
		}
		p.note = note
		if _, err := note.WriteString(dir); err != nil {
			p.end()
			p.note = nil
		}
		return p
	}
	return &pending{root: w.root, dir: dir, id: rand.Text()}
}

func (p *pending) noteName() string { return ownPrefix + p.id + noteSuffix }
func (p *pending) tempName() string { return path.Join(p.dir, ownPrefix+p.id+tempSuffix) }

func (p *pending) end() {
	if p.note == nil {
		return
	}
	p.root.Remove(p.noteName())
	p.note.Close()
}

// sweep removes what dead writers left. It is best effort: what cannot be removed stays hidden from Walk.
func (w *Workspace) sweep() {
	entries, err := readDir(w.root, ".")
	if err != nil {
		return
	}
	for _, e := range entries {
		id, suffix := ownName(e.Name())
		if suffix == noteSuffix && e.Type().IsRegular() {
			w.sweepNote(id)
		}
	}
}

func (w *Workspace) sweepNote(id string) {
	p := &pending{root: w.root, id: id}
	note, err := w.openRegular(p.noteName(), os.O_RDWR)
	if err != nil {
		return
	}
	defer note.Close()
	if filelock.Try(note) != filelock.Held {
		return
	}
	dir, err := io.ReadAll(io.LimitReader(note, 64<<10))
	if err != nil {
		return
	}
	if p.dir = string(dir); p.dir != "" && filepath.IsLocal(filepath.FromSlash(p.dir)) {
		if st, err := w.root.Lstat(p.tempName()); err == nil && st.Mode().IsRegular() {
			w.root.Remove(p.tempName())
		}
	}
	w.root.Remove(p.noteName())
}

// ownName splits the name of a note or temporary file; the suffix is empty for any other name.
func ownName(base string) (id, suffix string) {
	rest, ok := strings.CutPrefix(base, ownPrefix)
	if !ok {
		return "", ""
	}
	for _, suffix := range []string{noteSuffix, tempSuffix} {
		if id, ok := strings.CutSuffix(rest, suffix); ok && len(id) == idLen && strings.Trim(id, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") == "" {
			return id, suffix
		}
	}
	return "", ""
}
