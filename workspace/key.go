package workspace

import (
	"fmt"
	"strings"
	"unicode"
)

// WholeKey is the key that covers every file of the workspace.
const WholeKey = "file:"

// LexicalKey is the key of a path by its spelling alone: "file:" and the clean slash path below the root. It asks nothing
// of the disk and gives the same answer every time. A path that the file tools would refuse has [WholeKey], which is the
// cautious reading. On macOS and Windows names are folded, so that two spellings of one file meet.
func (w *Workspace) LexicalKey(name string) string {
	rel, err := w.rel("resolve", name)
	if err != nil {
		return WholeKey
	}
	return w.key(rel)
}

// Key is the key of what a path leads to now, every link resolved; what does not exist yet is kept as written. A regular
// file with several hard links also gets "inode:<device>:<number>", which all its names share; on disks that fold case
// every regular file gets it. A path that cannot be resolved has [WholeKey].
func (w *Workspace) Key(name string) []string {
	real, err := w.locate("resolve", name)
	if err != nil {
		return []string{WholeKey}
	}
	keys := []string{w.key(real)}
	st, err := w.root.Lstat(real)
	if err != nil || !st.Mode().IsRegular() {
		return keys
	}
	if dev, ino, names, ok := identity(w.root, real, st); ok && (names > 1 || w.fold) {
		keys = append(keys, fmt.Sprintf("inode:%d:%d", dev, ino))
	}
	return keys
}

func (w *Workspace) key(rel string) string {
	if rel == "." {
		return WholeKey
	}
	if w.fold {
		rel = foldCase(rel)
	}
	return WholeKey + rel
}

// foldCase maps the letters that differ only by case to one of them: the smallest of their Unicode simple folding.
func foldCase(s string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			least = min(least, f)
		}
		return least
	}, s)
}
