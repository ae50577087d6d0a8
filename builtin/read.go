package builtin

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/workspace"
)

type readInput struct {
	Path   string `json:"path" description:"File to read, relative to the workspace." minLength:"1"`
	Offset int    `json:"offset,omitzero" description:"Number of the first line to read; 1 if absent." minimum:"1"`
	Limit  int    `json:"limit,omitzero" description:"Most lines to read; as many as fit if absent." minimum:"1"`
	Column int    `json:"column,omitzero" description:"Read only line offset, from this character on (the first is 1). For lines that were cut." minimum:"1"`
}

type readOutput struct {
	Path       string    `json:"path"`
	Bytes      int       `json:"bytes" description:"Size of the whole file."`
	SHA256     string    `json:"sha256" description:"Of the whole file, in hex."`
	MediaType  string    `json:"media_type,omitzero" description:"Of an image; absent for text."`
	Encoding   string    `json:"encoding,omitzero"`
	LineEnding string    `json:"line_ending,omitzero" enum:"LF,CRLF,mixed,none"`
	Lines      int       `json:"lines,omitzero" description:"Lines of the whole file."`
	FirstLine  int       `json:"first_line,omitzero" description:"Number of the first line returned."`
	LastLine   int       `json:"last_line,omitzero" description:"Number of the last line returned."`
	Cut        []cutLine `json:"cut,omitzero" description:"Lines of which only a part is returned."`
	NextOffset int       `json:"next_offset,omitzero" description:"Line to continue with; absent at the end."`
}

// A cutLine says how to read on in a line that was returned in part.
type cutLine struct {
	Line   int `json:"line"`
	Column int `json:"column" description:"Character to continue with."`
	Rest   int `json:"rest" description:"Characters that are left."`
}

func (f *Files) readFile() (callgate.Tool, error) {
	return tool(f.spec("read_file", "Read file", callgate.Annotations{ReadOnlyHint: true}),
		func(in readInput) []callgate.Access {
			if strings.HasPrefix(in.Path, artifactScheme) {
				return []callgate.Access{{Key: in.Path}}
			}
			return []callgate.Access{{Key: f.Workspace.LexicalKey(in.Path)}}
		}, f.read)
}

func (f *Files) read(ctx context.Context, session string, in readInput) (a answer[readOutput], err error) {
	raw, shown, err := f.content(ctx, session, in.Path)
	if err != nil {
		return a, err
	}
	sum := sha256.Sum256(raw)
	a.value = readOutput{Path: shown, Bytes: len(raw), SHA256: hex.EncodeToString(sum[:])}

	kind, err := asImage(raw)
	if err != nil {
		return a, callgate.Errorf(callgate.ExecutionError, "read %q: %w", in.Path, err)
	}
	if kind != "" {
		a.value.MediaType = kind
		a.content = []callgate.Content{
			{Type: "text", Text: fmt.Sprintf("%s: %s, %d bytes", shown, kind, len(raw))},
			{Type: "image", MIMEType: kind, Data: raw},
		}
		return a, nil
	}
	d, ok := decode(raw)
	if !ok {
		return a, callgate.Errorf(callgate.ExecutionError, "read %q: it is a binary file (%s, %d bytes) and cannot be shown as text",
			in.Path, cmp.Or(sniff(raw), "of unknown type"), len(raw))
	}
	a.value.Encoding, a.value.LineEnding = d.enc.String(), endings(d.text)
	for _, s := range d.remarks() {
		a.note("%s", s)
	}
	p, err := d.page(in, f.outputLimit())
	if err != nil {
		return a, callgate.Errorf(callgate.ExecutionError, "read %q: %w", in.Path, err)
	}
	if p.last == p.total && p.next == 0 && d.text != "" && !strings.HasSuffix(d.text, "\n") {
		a.note("the last line has no line end")
	}
	a.value.Lines, a.value.FirstLine, a.value.LastLine = p.total, p.first, p.last
	a.value.Cut, a.value.NextOffset = p.cut, p.next
	a.text(p.body)
	return a, nil
}

// content returns what path holds and how it is shown, and remembers that the
// session saw it.
func (f *Files) content(ctx context.Context, session, path string) (raw []byte, shown string, err error) {
	raw, err = f.Workspace.ReadFile(path, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, "", f.missing(ctx, "read", path, err)
	case errors.Is(err, workspace.ErrIsDir):
		return nil, "", f.directory(path, err)
	case errors.Is(err, workspace.ErrTooLarge):
		return nil, "", &callgate.Error{Code: callgate.ExecutionError, Cause: err, Message: fmt.Sprintf(
			"read %q: the file has more than %d bytes; use grep to find the part that matters", path, workspace.DefaultReadLimit)}
	case err != nil:
		return nil, "", failed(err)
	}
	if shown, err = f.Workspace.Clean(path); err != nil {
		return nil, "", failed(err)
	}
	if real, err := f.Workspace.Resolve(path); err == nil {
		f.seen.saw(session, real, sha256.Sum256(raw))
	}
	return raw, shown, nil
}

// directory is the answer to who reads a directory: what is in it.
func (f *Files) directory(path string, cause error) error {
	const most = 40
	e := &callgate.Error{Code: callgate.ExecutionError, Cause: cause, Message: fmt.Sprintf("read %q: it is a directory", path)}
	entries, err := f.Workspace.ReadDir(path)
	switch {
	case err != nil:
	case len(entries) == 0:
		e.Message += " and it is empty"
	default:
		var names []string
		for _, d := range entries[:min(most, len(entries))] {
			names = append(names, entryName(d))
		}
		e.Message += fmt.Sprintf(" with %d entries: %s", len(entries), strings.Join(names, ", "))
		if len(entries) > most {
			e.Message += ", …"
		}
	}
	e.Message += "; name a file, or use glob to search below it"
	return e
}

func entryName(d fs.DirEntry) string {
	switch {
	case d.IsDir():
		return d.Name() + "/"
	case d.Type()&fs.ModeSymlink != 0:
		return d.Name() + "@"
	}
	return d.Name()
}
