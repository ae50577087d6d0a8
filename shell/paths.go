package shell

import (
	"slices"
	"strings"
)

// A Path is a word that names a file which the line reads or writes.
type Path struct {
	Word          Word
	Reads, Writes bool
	Dirs          []string // where a relative name starts, as in [Command]
	By            string   // the command's name, or the operator of a redirection
}

// Paths lists the files that the line names: targets of redirections, and
// operands of the commands whose use of them is known, in the order of the
// facts. It is a best effort: a command that is not known contributes nothing,
// and neither do files that a program finds by itself (what lies below a folder
// that find is given, a configuration). A judge may refuse because of what is
// listed, and must not allow because of what is not.
//
// A name is as written, relative to Dirs: links are not followed, and "link/.."
// is not shortened, because it leads to the parent of the link's target.
func Paths(f Facts) (paths []Path) {
	for _, c := range f.Commands {
		if use, ok := uses[c.Name()]; ok {
			paths = append(paths, use.paths(c)...)
		}
	}
	for _, r := range f.Redirects {
		if r.Reads || r.Writes {
			paths = append(paths, Path{Word: r.Target, Reads: r.Reads, Writes: r.Writes, Dirs: r.Dirs, By: r.Op})
		}
	}
	return paths
}

// A role is what a command does to an operand.
type role byte

const (
	reads   role = 'r'
	writes  role = 'w'
	edits   role = 'e' // reads and writes
	ignored role = '-'
)

// A use is how a command uses its operands. The roles are those of the first
// operands in turn, then of all others; last, if set, is that of the last of
// several.
type use struct {
	first  string // roles of the first operands
	rest   role
	last   role
	values string // short flags with a value, as in flags
	out    string // those of them whose value is a file that is written
	in     string // and read
	longs  string // long flags with a value: "output=w file=r"
}

var uses = func() map[string]use {
	m := map[string]use{
		"sort": {rest: reads, values: "k:t:S:T:o:", out: "o", longs: "output=w files0-from=r"},
		"uniq": {first: "rw", rest: ignored, values: "f:s:w:"},
		"head": {rest: reads, values: "n:c:"}, "tail": {rest: reads, values: "n:c:s:"},
		"cut": {rest: reads, values: "d:f:b:c:"}, "od": {rest: reads, values: "A:j:N:t:w:"},
		"grep": {first: "-", rest: reads, values: "e:f:m:A:B:C:d:D:", in: "f"}, "rg": {first: "-", rest: reads, values: "e:f:g:t:T:A:B:C:m:M:j:r:", in: "f"},
		"jq":  {first: "-", rest: reads, values: "L:f:", in: "f"},
		"awk": {first: "-", rest: reads, values: "F:v:f:", in: "f"},
		"sed": {first: "-", rest: edits, values: "e:f:l:", in: "f"},
		"cp":  {rest: reads, last: writes, values: "t:S:", out: "t", longs: "target-directory=w"}, "install": {rest: reads, last: writes, values: "t:m:o:g:S:", out: "t", longs: "target-directory=w"},
		"mv": {rest: edits, last: writes, values: "t:S:", out: "t", longs: "target-directory=w"}, "ln": {rest: reads, last: writes, values: "t:S:", out: "t", longs: "target-directory=w"},
		"chmod": {first: "-", rest: writes}, "chown": {first: "-", rest: writes}, "chgrp": {first: "-", rest: writes},
		"touch": {rest: writes, values: "d:r:t:", in: "r"}, "truncate": {rest: writes, values: "s:r:", in: "r"}, "mkdir": {rest: writes, values: "m:"},
		"split": {first: "rw", rest: ignored, values: "a:b:C:l:n:t:"}, "xxd": {first: "rw", rest: ignored, values: "l:s:c:g:o:"},
		"curl": {rest: ignored, values: "o:d:H:X:u:A:e:F:T:K:b:c:w:m:x:", out: "oc", in: "TK", longs: "output=w cookie-jar=w upload-file=r config=r"},
		"wget": {rest: ignored, values: "O:o:a:P:i:U:", out: "OoaP", in: "i", longs: "output-document=w output-file=w directory-prefix=w"},
		"cd":   {rest: reads}, "cmp": {first: "rr", rest: ignored, values: "n:i:"},
	}
	for name := range set("cat tac nl wc ls dir vdir stat readlink realpath du df file md5sum sha1sum sha256sum sha512sum b2sum cksum base64 strings diff paste join comm rev less more source . tree") {
		m[name] = use{rest: reads}
	}
	for name := range set("tee rm rmdir unlink shred mkfifo mknod") {
		m[name] = use{rest: writes}
	}
	return m
}()

func (u use) paths(c Command) (paths []Path) {
	words := c.Words[1:]
	add := func(w Word, what role) {
		if what != ignored && w.Why&More == 0 {
			paths = append(paths, Path{Word: w, Reads: what != writes, Writes: what != reads, Dirs: c.Dirs, By: c.Name()})
		}
	}
	var operands []Word
	first, rest, last := u.first, u.rest, u.last
	inPlace := false
	for i := 0; i < len(words); i++ {
		w := words[i]
		if w.Why == 0 && w.Text == "--" {
			operands = append(operands, words[i+1:]...)
			break
		}
		if w.Why != 0 && w.Text == "" || len(w.Text) < 2 || w.Text[0] != '-' {
			operands = append(operands, w)
			continue
		}
		if name, ok := strings.CutPrefix(w.Text, "--"); ok {
			name, value, has := strings.Cut(name, "=")
			inPlace = inPlace || strings.HasPrefix(name, "in-place")
			for long := range strings.FieldsSeq(u.longs) {
				if known, what, _ := strings.Cut(long, "="); known == name {
					v := w
					if v.Text = value; !has && i+1 < len(words) {
						i++
						v = words[i]
					}
					add(v, role(what[0]))
				}
			}
			continue
		}
		for j := 1; j < len(w.Text); j++ {
			letter := w.Text[j : j+1]
			inPlace = inPlace || letter == "i"
			if !strings.Contains(u.values, letter+":") {
				continue
			}
			v := w
			if v.Text = w.Text[j+1:]; v.Text == "" && w.Why == 0 {
				if i++; i == len(words) {
					break
				}
				v = words[i]
			}
			switch {
			case strings.Contains(u.out, letter):
				add(v, writes)
			case strings.Contains(u.in, letter):
				add(v, reads)
			}
			if letter == "t" && u.last != 0 {
				last = 0 // cp -t DIR: all operands are sources
			}
			if first == "-" && (letter == "e" || letter == "f") {
				first = "" // the pattern or program is not an operand
			}
			break
		}
	}
	if c.Name() == "sed" && !inPlace {
		rest = reads
	}
	for i, w := range operands {
		switch {
		case i < len(first):
			add(w, role(first[i]))
		case last != 0 && i == len(operands)-1 && i > 0:
			add(w, last)
		default:
			add(w, rest)
		}
	}
	return slices.Clip(paths)
}
