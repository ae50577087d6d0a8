package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/callgate/callgate/artifact"
	"github.com/callgate/callgate/config"
	"github.com/callgate/callgate/journal"
)

// journalFlags say where the record of calls is.
type journalFlags struct{ journal string }

// noJournal is the word for a run without a record.
const noJournal = "none"

func (f *journalFlags) add(cmd *cobra.Command, none string) {
	cmd.Flags().StringVar(&f.journal, "journal", "", "`FILE` of the record of calls"+none+" (default journal.db in the state directory)")
	cmd.MarkFlagFilename("journal", "db")
}

// place returns the file of the journal.
func (f *journalFlags) place() (string, error) {
	if f.journal != "" {
		return f.journal, nil
	}
	dir, err := stateDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "journal.db"), nil
}

// openArtifacts opens the store of the outputs that were too long to show. It belongs
// to the journal: what one refers to, another does not know of.
func (f *journalFlags) openArtifacts() (*artifact.Store, error) {
	dir, err := f.artifactsPlace()
	if err != nil {
		return nil, err
	}
	return artifact.Open(dir, artifact.Options{})
}

// keptWithOutputs opens the journal that is there, to change it, with the outputs that
// belong to it. end closes both.
func (f *journalFlags) keptWithOutputs() (j *journal.Journal, end func(), err error) {
	artifacts, err := f.openArtifacts()
	if err != nil {
		return nil, nil, err
	}
	if j, err = f.keptToChange(journal.Options{Artifacts: artifacts}); err != nil {
		artifacts.Close()
		return nil, nil, err
	}
	return j, func() {
		j.Close()
		artifacts.Close()
	}, nil
}

func (f *journalFlags) artifactsPlace() (string, error) {
	if f.journal != "" && f.journal != noJournal {
		return resolved(f.journal) + "-artifacts", nil
	}
	dir, err := stateDir()
	return filepath.Join(dir, "artifacts"), err
}

// outside refuses a workspace that the journal or its artifacts lie in: a tool could
// change the record of what it did, and read what others put out.
func (f *journalFlags) outside(workspace string) error {
	var places []string
	if f.journal != noJournal {
		path, err := f.place()
		if err != nil {
			return nil // opening it will say so
		}
		places = append(places, path)
	}
	if dir, err := f.artifactsPlace(); err == nil {
		places = append(places, dir)
	}
	for _, p := range places {
		if within(workspace, p) {
			return usagef("%s lies in the workspace, where tools could change the record of what they do; name another file with --journal, another directory for state with XDG_STATE_HOME, or another workspace", visible(p))
		}
	}
	return nil
}

// within reports whether path, of which the end need not exist, lies below dir.
func within(dir, path string) bool {
	rel, err := filepath.Rel(resolved(dir), resolved(path))
	return err != nil || rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// resolved returns path without links, as far as it exists.
func resolved(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	for up, rest := path, ""; ; up, rest = filepath.Dir(up), filepath.Join(filepath.Base(up), rest) {
		if real, err := filepath.EvalSymlinks(up); err == nil {
			return filepath.Join(real, rest)
		}
		if up == filepath.Dir(up) {
			return path
		}
	}
}

// keptOpen opens the journal that is there, for commands that read it: they make
// none, and change nothing.
func (f *journalFlags) keptOpen(opts journal.Options) (*journal.Journal, error) {
	return f.kept(opts, journal.OpenToRead)
}

// keptToChange opens the journal that is there, for commands that remove from it.
func (f *journalFlags) keptToChange(opts journal.Options) (*journal.Journal, error) {
	return f.kept(opts, journal.Open)
}

func (f *journalFlags) kept(opts journal.Options, open func(string, journal.Options) (*journal.Journal, error)) (*journal.Journal, error) {
	path, err := f.place()
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no journal %s: nothing has been recorded there yet", path)
	}
	return open(path, opts)
}

// open opens the journal, and makes it if it is missing; it is nil if the person
// wants none. Without a record nothing runs unless they said so.
func (f *journalFlags) open(opts journal.Options) (*journal.Journal, error) {
	if f.journal == noJournal {
		return nil, nil
	}
	path, err := f.place()
	if err == nil && f.journal == "" {
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	var j *journal.Journal
	if err == nil {
		j, err = journal.Open(path, opts)
	}
	if err != nil {
		return nil, fmt.Errorf("calls cannot be recorded, so none will run: %w; name another file with --journal FILE, or run without a record with --journal %s", err, noJournal)
	}
	return j, nil
}

// files returns the files of an open journal: all that have its name and more. Who has
// it open has a file of its own there.
func (f *journalFlags) files() (paths []string) {
	path, err := f.real()
	if err != nil {
		return nil
	}
	entries, _ := os.ReadDir(filepath.Dir(path)) // the journal is open, so it can be read
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), filepath.Base(path)) {
			paths = append(paths, filepath.Join(filepath.Dir(path), e.Name()))
		}
	}
	return paths
}

// journalOptions returns what the person's own configuration says of the journal.
func journalOptions(sources []source, artifacts *artifact.Store) (opts journal.Options, heads string) {
	opts = journal.Options{Artifacts: artifacts}
	for _, s := range sources {
		if s.file == nil || !s.vouched {
			continue
		}
		for _, p := range s.file.Journal.Redact {
			opts.Redact = append(opts.Redact, regexp.MustCompile(p)) // the file was checked
		}
		if h := s.file.HeadsPath(); h != "" {
			heads = h
		}
	}
	return opts, heads
}

// keepOf returns what the person's own configuration says of retention.
func keepOf(sources []source) (keep config.Keep) {
	for _, s := range sources {
		if s.file != nil && s.vouched && s.file.Journal.Keep != (config.Keep{}) {
			keep = s.file.Journal.Keep
		}
	}
	return keep
}

// A headsFile is where the heads of the chain are kept outside of the journal, one a
// line, with the time and the journal. Lines are only appended, so that several
// processes and journals may share it and its owner may allow them no more than that.
type headsFile struct {
	f       *os.File
	journal string
	err     error
}

func openHeads(path, journal string) (*headsFile, error) {
	if path == "" {
		return nil, nil
	}
	fail := func(err error) error { return fmt.Errorf("the heads of the journal cannot be kept: %w", err) }
	if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() {
		return nil, fail(fmt.Errorf("%s is not a regular file", path)) // opening it might wait
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fail(err)
	}
	if torn(path) {
		if _, err := f.WriteString("\n"); err != nil {
			f.Close()
			return nil, fail(err)
		}
	}
	return &headsFile{f: f, journal: journal}, nil
}

// torn reports whether the last line of a file has no end: who wrote it was stopped.
func torn(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil || st.Size() == 0 {
		return false
	}
	last := make([]byte, 1)
	_, err = f.ReadAt(last, st.Size()-1)
	return err == nil && last[0] != '\n'
}

// keep is for [journal.Options.OnHead]. It is called by one goroutine.
func (h *headsFile) keep(head journal.Head) {
	_, err := fmt.Fprintf(h.f, "%s %s %s\n", head, time.Now().UTC().Format(time.RFC3339), strconv.Quote(h.journal))
	h.err = errors.Join(h.err, err)
}

func (h *headsFile) close() error {
	if h == nil {
		return nil
	}
	if h.err != nil {
		return errors.Join(fmt.Errorf("heads of the journal are missing in %s: %w", h.f.Name(), h.err), h.f.Close())
	}
	return h.f.Close()
}

// readHeads reads a file that [headsFile] wrote, or one with a head a line. It leaves
// out those of other journals. A line that is none, since whoever wrote it was
// stopped, is told and does not stop the others from being compared.
func readHeads(path, of string) (heads []journal.Head, unreadable []string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		word, rest, _ := strings.Cut(lines.Text(), " ")
		if word == "" {
			continue
		}
		_, name, named := strings.Cut(rest, " ")
		if other, err := strconv.Unquote(name); named && err == nil && other != of {
			continue
		}
		head, err := journal.ParseHead(word)
		if err != nil {
			unreadable = append(unreadable, fmt.Sprintf("%s:%d: it is no head, and was left out", path, n))
			continue
		}
		heads = append(heads, head)
	}
	return heads, unreadable, lines.Err()
}

// real returns the file of the journal as all who open it name it.
func (f *journalFlags) real() (string, error) {
	path, err := f.place()
	if err != nil {
		return "", err
	}
	return resolved(path), nil
}
