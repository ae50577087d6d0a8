package builtin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/internal/closest"
	"github.com/callgate/callgate/workspace"
)

// maxNear is how many entries of the workspace are looked at for a file of the
// same name elsewhere.
const maxNear = 2_000

// missing is the answer to who names a file that is not there: what else could
// have been meant, at most three names.
func (f *Files) missing(ctx context.Context, op, name string, cause error) error {
	e := &callgate.Error{Code: callgate.ExecutionError, Cause: cause, Message: fmt.Sprintf("%s %q: there is no such file", op, name)}
	clean, err := f.Workspace.Clean(name)
	if err != nil {
		return failed(cause)
	}
	near, dir := f.near(ctx, clean)
	if dir != "" {
		e.Message += fmt.Sprintf(" (%q is not there either)", dir)
	}
	if len(near) > 0 {
		e.Message += "; near it: " + strings.Join(near, ", ")
	} else {
		e.Message += "; use glob to find it"
	}
	return e
}

// near returns names like clean, a path that leads to nothing, and the first
// directory on its way that does not exist, if it is not the last part.
func (f *Files) near(ctx context.Context, clean string) (names []string, gone string) {
	dir, base := path.Split(clean)
	dir = path.Clean("./" + dir)
	for {
		entries, err := f.Workspace.ReadDir(dir)
		if err == nil {
			var all []string
			for _, d := range entries {
				all = append(all, entryName(d))
			}
			for _, n := range closest.Names(base, all, 3) {
				names = append(names, path.Join(dir, n)+strings.TrimPrefix(n, strings.TrimRight(n, "/")))
			}
			break
		}
		if dir == "." || !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, workspace.ErrNotDir) {
			break
		}
		gone = dir
		dir, base = path.Dir(dir), path.Base(dir)
	}
	if len(names) < 3 {
		names = append(names, f.sameName(ctx, path.Base(clean), names, 3-len(names))...)
	}
	return names, gone
}

// sameName returns files called base anywhere in the workspace, case aside.
func (f *Files) sameName(ctx context.Context, base string, but []string, n int) (names []string) {
	looked := 0
	for e, err := range f.Workspace.Walk(ctx, workspace.WalkOptions{}) {
		if looked++; looked > maxNear || len(names) == n {
			break
		}
		if err != nil || e.IsDir() || !strings.EqualFold(path.Base(e.Path), base) || slices.Contains(but, e.Path) {
			continue
		}
		names = append(names, e.Path)
	}
	return names
}
