package builtin

import (
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

type writeInput struct {
	Path    string `json:"path" description:"File to write, relative to the workspace." minLength:"1"`
	Content string `json:"content" description:"The whole new content."`
}

type writeOutput struct {
	Path     string `json:"path"`
	Created  bool   `json:"created" description:"There was no such file before."`
	Changed  bool   `json:"changed" description:"False if the file had this content already."`
	Bytes    int    `json:"bytes" description:"Size of the file now."`
	Added    int    `json:"added" description:"Lines added."`
	Removed  int    `json:"removed" description:"Lines removed."`
	Encoding string `json:"encoding"`
	SHA256   string `json:"sha256" description:"Of the file now, in hex."`
}

// writeFile is idempotent: a repetition finds the content that it would write and
// leaves it, or is refused as a conflict because somebody changed it since.
func (f *Files) writeFile() (callgate.Tool, error) {
	return tool(f.spec("write_file", "Write file", callgate.Annotations{DestructiveHint: new(true), IdempotentHint: true}),
		func(in writeInput) []callgate.Access {
			return []callgate.Access{{Key: f.Workspace.LexicalKey(in.Path), Write: true}}
		}, f.write)
}

func (f *Files) write(_ context.Context, session string, in writeInput) (a answer[writeOutput], err error) {
	if err := notAFile("write", in.Path); err != nil {
		return a, err
	}
	real, err := f.Workspace.Resolve(in.Path)
	if err != nil {
		return a, failed(err)
	}
	old, err := f.Workspace.ReadFile(in.Path, 0)
	absent := errors.Is(err, fs.ErrNotExist)
	if err != nil && !absent {
		return a, failed(err)
	}
	was := document{exact: true}
	data := []byte(in.Content)
	if !absent {
		if was, data, err = a.inFormOf(old, in.Content); err != nil {
			return a, callgate.Errorf(callgate.ExecutionError, "write %q: %w", in.Path, err)
		}
	}
	last, known := f.seen.last(session, real)
	sum := sha256.Sum256(data)
	opts := workspace.WriteOptions{IfAbsent: absent}
	switch {
	case absent && known:
		a.note("the file was removed since this session last saw it; it is a new file now")
	case absent:
	case string(old) == string(data): // whoever wrote it
	case known && last != sha256.Sum256(old):
		return answer[writeOutput]{}, outsideChange("write", in.Path)
	default:
		opts.IfDigest = sha256.Sum256(old)
		if !known && session != "" && len(old) > 0 {
			a.note("the replaced file was never read in this session")
		}
	}
	a.value = writeOutput{Created: absent, Changed: absent || string(old) != string(data), Bytes: len(data), SHA256: hex.EncodeToString(sum[:])}
	if a.value.Path, err = f.Workspace.Clean(in.Path); err != nil {
		return a, failed(err)
	}
	if a.value.Changed {
		if err := f.Workspace.WriteFile(in.Path, data, opts); err != nil {
			return answer[writeOutput]{}, failed(err)
		}
	}
	f.seen.saw(session, real, sum)

	now, _ := decode(data)
	diff := compare(was.text, now.text)
	a.value.Added, a.value.Removed, a.value.Encoding = diff.added, diff.removed, now.enc.String()
	switch {
	case !a.value.Changed:
		a.text(fmt.Sprintf("%s already has this content (%d bytes); nothing was written", a.value.Path, len(data)))
	case absent:
		a.text(fmt.Sprintf("Wrote %d bytes to %s (new file, %s)", len(data), a.value.Path, plural(diff.added, "line")))
	default:
		a.text(fmt.Sprintf("Wrote %d bytes to %s (%v)", len(data), a.value.Path, diff))
	}
	return a, nil
}

// inFormOf returns content in the form of the file old that it replaces, and old
// as text. What is adapted is noted.
func (a *answer[Out]) inFormOf(old []byte, content string) (was document, data []byte, err error) {
	was, ok := decode(old)
	if !ok {
		a.note("the replaced file was binary (%d bytes); it is UTF-8 text now", len(old))
		return document{exact: true}, []byte(content), nil
	}
	content, marked := strings.CutPrefix(content, "\ufeff") // a mark that the model sent itself
	switch eol := endings(was.text); {
	case eol == "CRLF" && endings(content) == "LF":
		content = strings.ReplaceAll(content, "\n", "\r\n")
		a.note("the file's line ends are CRLF and were kept")
	case eol == "LF" && endings(content) == "CRLF":
		a.note("the file's lines ended in LF and end in CRLF now, as in content")
	}
	form := was
	form.bom = was.bom || marked
	data, err = form.encode(content)
	if err != nil { // a new text may need characters that the old one did without
		a.note("the file was %v and is UTF-8 now: %v", was.enc, err)
		data = []byte(content)
	} else if was.enc != utf8Text {
		a.note("the file's encoding, %v, was kept", was.enc)
	} else if was.bom && !marked {
		a.note("the file's byte order mark was kept")
	}
	return was, data, nil
}

// outsideChange is the refusal to write over what the session has not seen.
func outsideChange(op, path string) error {
	return callgate.Errorf(callgate.Conflict,
		"%s %q: the file changed since this session last saw it, and nothing was written; read it again and redo the change on what is there now", op, path)
}
