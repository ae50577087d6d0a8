package process

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// git makes a linked working tree, whose repository can be written; a file .git that a
// process made opens nothing.
func TestLinkedTree(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("no git")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	run := func(in string, args ...string) {
		t.Helper()
		cmd := exec.Command(git, append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com"}, args...)...)
		cmd.Dir = in
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	main, tree := filepath.Join(dir, "main"), filepath.Join(dir, "tree")
	run(dir, "init", "-q", "main")
	run(main, "commit", "-q", "--allow-empty", "-m", "x")
	run(main, "worktree", "add", "-q", tree)
	l, ok := linkedTree(tree)
	if !ok || l.common != filepath.Join(main, ".git") {
		t.Errorf("%+v, %v", l, ok)
	}
	for _, name := range []string{"hooks", "config", "config.worktree", "modules", "commondir", "worktrees/tree/config.worktree", "worktrees/tree/commondir", ".vscode"} {
		if !slices.Contains(l.fixed, filepath.Join(main, ".git", name)) {
			t.Errorf("%s is not protected", name)
		}
	}
	if l, _ := linkedTree(main); l.common != "" || !slices.Contains(l.fixed, filepath.Join(main, ".git", "worktrees", "tree", "commondir")) {
		t.Errorf("a working tree with its own repository: %+v", l)
	}

	other := filepath.Join(dir, "other")
	secret := filepath.Join(dir, "secret", "worktrees", "x")
	inside := filepath.Join(other, "worktrees", "x")
	for _, d := range []string{secret, inside} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(inside, "gitdir"), filepath.Join(other, ".git")+"\n")
	write(filepath.Join(other, ".git"), "gitdir: worktrees/x\n")
	if l, ok := linkedTree(other); !ok || l.common != "" || !slices.Contains(l.fixed, filepath.Join(inside, "config")) {
		t.Errorf("a repository in the workspace: %+v, %v", l, ok)
	}
	// What a process in the working tree of another call laid out there, is it not.
	planted := func(name string) string {
		made := filepath.Join(dir, name, "worktrees", "x")
		for _, d := range []string{made, filepath.Join(dir, name, "objects"), filepath.Join(dir, name, "refs")} {
			if err := os.MkdirAll(d, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		write(filepath.Join(dir, name, "HEAD"), "ref: refs/heads/x\n")
		write(filepath.Join(made, "gitdir"), filepath.Join(other, ".git")+"\n")
		write(filepath.Join(made, "commondir"), "../..\n")
		return made
	}
	write(filepath.Join(other, ".git"), "gitdir: "+planted("bare")+"\n")
	if l, ok := linkedTree(other); !ok || l.common != filepath.Join(dir, "bare") {
		t.Errorf("the control: %+v, %v", l, ok)
	}
	tampered := planted("tampered")
	write(filepath.Join(tampered, "commondir"), dir+"\n")
	headless := planted("headless")
	if err := os.Remove(filepath.Join(dir, "headless", "HEAD")); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(other, "link")
	if err := os.Symlink(filepath.Join(main, ".git", "worktrees", "tree"), link); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"another's repository":            filepath.Join(main, ".git", "worktrees", "tree"),
		"through a link":                  link,
		"a directory without a link back": secret,
		"one with another common":         tampered,
		"no repository":                   headless,
		"a working tree":                  planted("main"),
		"none":                            filepath.Join(dir, "nowhere"),
		"a relative one":                  "../main/.git/worktrees/tree",
		"not laid out so":                 dir,
	} {
		write(filepath.Join(other, ".git"), "gitdir: "+text+"\n")
		if l, ok := linkedTree(other); ok {
			t.Errorf("%s is believed: %+v", name, l)
		}
	}
	write(filepath.Join(other, ".git"), "gitdir: "+inside+"\n")
	if l, ok := linkedTree(other); !ok || l.common != "" || !slices.Contains(l.fixed, filepath.Join(inside, "hooks")) {
		t.Errorf("a repository in the workspace is not protected: %+v, %v", l, ok)
	}
	write(filepath.Join(other, ".git"), strings.Repeat("x", 9<<10))
	if _, ok := linkedTree(other); ok {
		t.Error("a large file is believed")
	}
}
