package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
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

func (f *journalFlags) artifactsPlace() (string, error) {
	if f.journal != "" && f.journal != noJournal {
		path, err := filepath.Abs(f.journal)
		if real, e := filepath.EvalSymlinks(path); e == nil {
			path = real
		}
		return path + "-artifacts", err
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
	path, err := filepath.Abs(path)
	if err != nil {
		return true
	}
	rest := ""
	for {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			path = filepath.Join(real, rest)
			break
		}
		up := filepath.Dir(path)
		if up == path {
			break
		}
		path, rest = up, filepath.Join(filepath.Base(path), rest)
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// keptOpen opens the journal that is there, for commands that read it: they make
// none.
func (f *journalFlags) keptOpen(opts journal.Options) (*journal.Journal, error) {
	path, err := f.place()
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no journal %s: nothing has been recorded there yet", path)
	}
	return journal.Open(path, opts)
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

// journalOptions returns what the person's own configuration says of the journal.
func journalOptions(sources []source, artifacts *artifact.Store) (opts journal.Options, heads string) {
	opts = journal.Options{Artifacts: artifacts, Sandbox: "none"}
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
// line, with the time for people. Lines are only appended, so that several processes
// may share it and its owner may allow them no more than that.
type headsFile struct {
	f   *os.File
	err error
}

func openHeads(path string) (*headsFile, error) {
	if path == "" {
		return nil, nil
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("the heads of the journal cannot be kept: %w", err)
	}
	return &headsFile{f: f}, nil
}

// keep is for [journal.Options.OnHead]. It is called by one goroutine.
func (h *headsFile) keep(head journal.Head) {
	_, err := fmt.Fprintf(h.f, "%s %s\n", head, time.Now().UTC().Format(time.RFC3339))
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

// readHeads reads a file that [headsFile] wrote, or one with a head a line.
func readHeads(path string) ([]journal.Head, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var heads []journal.Head
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		word, _, _ := strings.Cut(lines.Text(), " ")
		if word == "" {
			continue
		}
		head, err := journal.ParseHead(word)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, n, err)
		}
		heads = append(heads, head)
	}
	return heads, lines.Err()
}
