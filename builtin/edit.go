package builtin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"unicode/utf8"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/workspace"
)

type editInput struct {
	Path       string `json:"path" description:"File to change, relative to the workspace." minLength:"1"`
	OldText    string `json:"old_text" description:"Text to replace, exactly as in the file."`
	NewText    string `json:"new_text" description:"Text to put in its place; may be empty."`
	ReplaceAll bool   `json:"replace_all,omitzero" description:"Replace every match; false if absent."`
}

type editOutput struct {
	Path         string `json:"path"`
	Replacements int    `json:"replacements"`
	Exact        bool   `json:"exact" description:"False if trailing blanks, quotation marks or line ends were ignored to find the place."`
	Lines        []int  `json:"lines" description:"Where the replacements start, at most 100."`
	Added        int    `json:"added" description:"Lines added."`
	Removed      int    `json:"removed" description:"Lines removed."`
	Bytes        int    `json:"bytes" description:"Size of the file now."`
	SHA256       string `json:"sha256" description:"Of the file now, in hex."`
}

func (f *Files) editFile() (callgate.Tool, error) {
	return tool(f.spec("edit_file", "Edit file", callgate.Annotations{DestructiveHint: new(true)}),
		func(in editInput) []callgate.Access {
			return []callgate.Access{{Key: f.Workspace.LexicalKey(in.Path), Write: true}}
		}, f.edit)
}

func (f *Files) edit(ctx context.Context, session string, in editInput) (a answer[editOutput], err error) {
	refuse := func(err error) (answer[editOutput], error) {
		return answer[editOutput]{}, callgate.Errorf(callgate.ExecutionError, "edit %q: %w", in.Path, err)
	}
	if err := notAFile("edit", in.Path); err != nil {
		return a, err
	}
	raw, err := f.Workspace.ReadFile(in.Path, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return a, f.missing(ctx, "edit", in.Path, err)
	case errors.Is(err, workspace.ErrIsDir):
		return refuse(errors.New("it is a directory; name a file in it"))
	case err != nil:
		return a, failed(err)
	}
	real, err := f.Workspace.Resolve(in.Path)
	if err != nil {
		return a, failed(err)
	}
	sum := sha256.Sum256(raw)
	if last, known := f.seen.last(session, real); known && last != sum {
		return a, outsideChange("edit", in.Path)
	}
	d, ok := decode(raw)
	switch {
	case !ok:
		return refuse(errors.New("it is a binary file, which edit_file cannot change"))
	case !d.exact:
		return refuse(fmt.Errorf("it is damaged %v, and an edit would change more than the text; nothing was written", d.enc))
	}
	e := edit{old: in.OldText, new: in.NewText, all: in.ReplaceAll}
	if d.bom { // the model cannot see the mark, but may send one
		e.old, e.new = strings.TrimPrefix(e.old, "\ufeff"), strings.TrimPrefix(e.new, "\ufeff")
	}
	c, err := e.apply(d.text)
	if err != nil {
		return refuse(err)
	}
	data, err := d.encode(c.text)
	if err != nil {
		return refuse(fmt.Errorf("%w, in which the file is written; use other characters in new_text, or write_file to write it whole as UTF-8", err))
	}
	if err := f.Workspace.WriteFile(in.Path, data, workspace.WriteOptions{IfDigest: sum}); err != nil {
		return a, failed(err)
	}
	now := sha256.Sum256(data)
	f.seen.saw(session, real, now)

	if c.ignored != "" {
		a.note("old_text did not match exactly; the place was found by ignoring %s", c.ignored)
	}
	diff := compare(d.text, c.text)
	a.value = editOutput{
		Replacements: len(c.spots), Exact: c.ignored == "", Lines: []int{}, Added: diff.added, Removed: diff.removed,
		Bytes: len(data), SHA256: hex.EncodeToString(now[:]),
	}
	if a.value.Path, err = f.Workspace.Clean(in.Path); err != nil {
		return a, failed(err)
	}
	for _, s := range c.spots[:min(len(c.spots), 100)] {
		a.value.Lines = append(a.value.Lines, lineAt(c.text, s.from))
	}
	a.text(fmt.Sprintf("Edited %s: %s (%v)\n%s", a.value.Path, plural(len(c.spots), "replacement"), diff,
		excerpt(c.text, c.spots, f.outputLimit()-utf8.RuneCountInString(in.Path)-200)))
	return a, nil
}

// excerpt returns the lines of text at the spots and four around each, numbered
// as read_file does, in at most room characters.
func excerpt(text string, spots []span, room int) string {
	const around, middle, width = 4, 40, 500
	var b strings.Builder
	lines := spansOfLines(text)
	if len(lines) == 0 {
		return "(the file is empty)"
	}
	shown := 0 // lines up to this one are done
	put := func(from, to int) bool {
		if from > shown && b.Len() > 0 {
			b.WriteString("   ...\n")
			room -= 7
		}
		for i := max(from, shown); i < to; i++ {
			line, left := clip(strings.TrimSuffix(text[lines[i].from:lines[i].to], "\r"), width)
			s := fmt.Sprintf("%6d\t%s", i+1, line)
			if left > 0 {
				s += fmt.Sprintf(" ... (%s)", plural(left, "more character"))
			}
			if room -= utf8.RuneCountInString(s) + 1; room < 0 {
				return false
			}
			b.WriteString(s + "\n")
		}
		shown = max(shown, to)
		return true
	}
	line, counted := 0, 0
	for n, s := range spots {
		line += strings.Count(text[counted:s.from], "\n")
		first := min(line, len(lines)-1)
		line += strings.Count(text[s.from:s.to], "\n")
		last := min(line, len(lines)-1)
		counted = s.to
		from, to := max(first-around, 0), min(last+around+1, len(lines))
		ok := true
		if to-from > middle+2*around {
			ok = put(from, first+middle/2) && put(last-middle/2, to)
		} else {
			ok = put(from, to)
		}
		if !ok {
			fmt.Fprintf(&b, "... (%s not shown)\n", plural(len(spots)-n, "change"))
			break
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}
