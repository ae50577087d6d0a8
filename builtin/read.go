package builtin

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/artifact"
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
	Bytes      int64     `json:"bytes" description:"Size of the whole file."`
	SHA256     string    `json:"sha256,omitzero" description:"Of the whole file, in hex; absent over 64 MiB."`
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
			if strings.HasPrefix(in.Path, artifact.Scheme) {
				return []callgate.Access{{Key: in.Path}}
			}
			return []callgate.Access{{Key: f.Workspace.LexicalKey(in.Path)}}
		}, f.read)
}

func (f *Files) read(ctx context.Context, session string, in readInput) (a answer[readOutput], err error) {
	refuse := func(err error) (answer[readOutput], error) {
		return answer[readOutput]{}, callgate.Errorf(callgate.ExecutionError, "read %q: %w", in.Path, err)
	}
	file, err := f.open(ctx, in.Path)
	if err != nil {
		return a, err
	}
	defer file.Close()
	most := int64(workspace.DefaultReadLimit + 1) // a file may be larger than it says
	if file.size >= most {
		most = largeHead
	}
	raw, err := io.ReadAll(io.LimitReader(file, most))
	if err != nil {
		return refuse(err)
	}
	a.value.Path = file.shown
	var text io.Reader
	if most == largeHead || len(raw) > workspace.DefaultReadLimit {
		// Too large to hold: read as it is, and not for a later write.
		if text, err = file.asLargeText(raw[:min(len(raw), largeHead)]); err != nil {
			return refuse(err)
		}
		a.value.Bytes = file.size
		a.note("the file has %d bytes; grep finds the part that matters", file.size)
	} else {
		sum := sha256.Sum256(raw)
		a.value.Bytes, a.value.SHA256 = int64(len(raw)), hex.EncodeToString(sum[:])
		f.seen.saw(session, file.real, sum)
		kind, err := asImage(raw)
		if err != nil {
			return refuse(err)
		}
		if kind != "" {
			a.value.MediaType = kind
			a.content = []callgate.Content{
				{Type: "text", Text: fmt.Sprintf("%s: %s, %d bytes", file.shown, kind, len(raw))},
				{Type: "image", MIMEType: kind, Data: raw},
			}
			return a, nil
		}
		d, ok := decode(raw)
		if !ok {
			return refuse(binaryFile(raw, int64(len(raw))))
		}
		a.value.Encoding, a.value.LineEnding = d.enc.String(), endings(d.text)
		for _, s := range d.remarks() {
			a.note("%s", s)
		}
		text = strings.NewReader(d.text)
	}
	p, err := paginate(text, in, f.outputLimit())
	if err != nil {
		return refuse(err)
	}
	if p.open && p.last == p.total && len(p.cut) == 0 {
		a.note("the last line has no line end")
	}
	a.value.Lines, a.value.FirstLine, a.value.LastLine = p.total, p.first, p.last
	a.value.Cut, a.value.NextOffset = p.cut, p.next
	a.text(p.body)
	return a, nil
}

func binaryFile(head []byte, size int64) error {
	return fmt.Errorf("it is a binary file (%s, %d bytes) and cannot be shown as text", cmp.Or(sniff(head), "of unknown type"), size)
}

// A source is an open file of the workspace or a kept output.
type source struct {
	io.ReadSeekCloser
	size  int64
	shown string // its path for the model
	real  string // its path for the memory, "" if it is not to be remembered
}

// largeHead is how much of a large file decides what it is.
const largeHead = 64 << 10

// asLargeText returns the text of a file that is too large to convert.
func (s source) asLargeText(head []byte) (io.Reader, error) {
	d, ok := decode(head)
	switch {
	case !ok:
		return nil, binaryFile(head, s.size)
	case d.enc == utf16LE || d.enc == utf16BE:
		return nil, fmt.Errorf("it is %v and has %d bytes; more than %d cannot be converted", d.enc, s.size, workspace.DefaultReadLimit)
	}
	start := int64(0)
	if d.bom {
		start = int64(len(bomUTF8))
	}
	_, err := s.Seek(start, io.SeekStart)
	return s, err
}

// open opens what path names.
func (f *Files) open(ctx context.Context, path string) (s source, err error) {
	if strings.HasPrefix(path, artifact.Scheme) {
		return f.openArtifact(path)
	}
	file, err := f.Workspace.Open(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return s, f.missing(ctx, "read", path, err)
	case errors.Is(err, workspace.ErrIsDir):
		return s, f.directory(path, err)
	case err != nil:
		return s, failed(err)
	}
	defer func() {
		if err != nil {
			file.Close()
		}
	}()
	st, err := file.Stat()
	if err != nil {
		return s, failed(err)
	}
	s = source{ReadSeekCloser: file, size: st.Size()}
	if s.shown, err = f.Workspace.Clean(path); err != nil {
		return s, failed(err)
	}
	if s.real, err = f.Workspace.Resolve(path); err != nil {
		return s, failed(err)
	}
	return s, nil
}

func (f *Files) openArtifact(ref string) (source, error) {
	if f.Artifacts == nil {
		return source{}, callgate.Errorf(callgate.ExecutionError, "read %q: no outputs are kept here; run what made it again, with less output", ref)
	}
	id, err := artifact.ParseRef(ref)
	if err != nil {
		return source{}, callgate.Errorf(callgate.ExecutionError, "read %q: this is not the name of a kept output; use the one that its result names", ref)
	}
	r, err := f.Artifacts.Open(id)
	switch {
	case errors.Is(err, artifact.ErrNotFound):
		return source{}, &callgate.Error{Code: callgate.ExecutionError, Cause: err, Message: fmt.Sprintf("read %q: the output is not kept any more, or never was", ref)}
	case errors.Is(err, artifact.ErrChanged):
		return source{}, &callgate.Error{Code: callgate.ExecutionError, Cause: err, Message: fmt.Sprintf("read %q: what is kept is no longer what the tool put out, so it is not shown", ref)}
	case err != nil:
		return source{}, failed(err)
	}
	return source{ReadSeekCloser: r, size: r.Artifact.Size, shown: ref}, nil
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
