package cli

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// What is the gate's own is hidden from programs, wherever it lies, and what configures
// it is protected.
func TestOwnIsHidden(t *testing.T) {
	state, dir := t.TempDir(), t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	f := gateFlags{}
	cmd := &cobra.Command{}
	f.add(cmd)
	journal := resolved(filepath.Join(t.TempDir(), "kept.db"))
	f.workspace, f.journal = dir, journal
	g, err := f.open(cmd)
	if err != nil {
		t.Fatal(err)
	}
	defer g.close()
	for _, want := range []string{filepath.Join(state, "callgate"), journal, journal + "-wal", journal + "-artifacts"} {
		if !slices.Contains(g.sandbox.Hide, want) {
			t.Errorf("%s is not among %q", want, g.sandbox.Hide)
		}
	}
	if !slices.ContainsFunc(g.sandbox.Hide, func(p string) bool { return strings.HasPrefix(p, journal+"-owner-") }) {
		t.Errorf("the file of who has the journal open is not among %q", g.sandbox.Hide)
	}
	sources, _ := f.places()
	for _, s := range sources {
		if !slices.Contains(g.sandbox.Protect, s.path) {
			t.Errorf("%s is not among %q", s.path, g.sandbox.Protect)
		}
	}
	// It is what programs get.
	if p := g.programs(nil); !slices.Equal(p.Sandbox.Hide, g.sandbox.Hide) {
		t.Errorf("programs get %q", p.Sandbox.Hide)
	}
}
