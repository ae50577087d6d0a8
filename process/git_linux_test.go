package process_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/callgate/callgate/process"
)

// What git would run for a person in the workspace cannot be chosen by a process there:
// not by a commondir, which names another directory to take config from, nor through the
// repository of a linked working tree, of another such tree, or one that lies elsewhere in the workspace.
func TestGitRunsNothingPlanted(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("no git")
	}
	sh := func(dir, line string) string {
		cmd := exec.Command("sh", "-c", line)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "PATH="+filepath.Dir(git)+":/usr/bin:/bin")
		out, _ := cmd.CombinedOutput()
		return string(out)
	}
	const create = "git init -q main; cd main; git -c user.name=t -c user.email=t@example.com commit -q --allow-empty -m x; "
	for _, test := range []struct{ name, prepare, act string }{
		{"commondir", create, `cp -r .git evil; git config -f evil/config core.fsmonitor evil; echo ../evil > .git/commondir`},
		{"commondir of a linked tree", create + "git worktree add -q ../ws", `c=$(git rev-parse --git-common-dir); d=$(git rev-parse --git-dir)
			cp -r $c evil; git config -f evil/config core.fsmonitor evil; echo $PWD/evil > $d/commondir`},
		{"linked tree moved", create + "git worktree add -q ../ws", `c=$(git rev-parse --git-common-dir); d=$(git rev-parse --git-dir)
			cp -r $c evil; git config -f evil/config core.fsmonitor evil; mv $c/worktrees $c/w && cp -r $c/w $c/worktrees && echo $PWD/evil > $d/commondir`},
		{"commondir of the repository", create + "git worktree add -q ../ws", `c=$(git rev-parse --git-common-dir)
			cp -r $c evil; git config -f evil/config core.fsmonitor evil; echo $PWD/evil > $c/commondir`},
		{"config of the main tree", create + "git worktree add -q ../ws; git config extensions.worktreeConfig true; git config --worktree x.y z",
			`git config -f $(git rev-parse --git-common-dir)/config.worktree core.fsmonitor evil`},
		{"commondir of another tree", create + "git worktree add -q ../other", `cp -r .git evil; git config -f evil/config core.fsmonitor evil
			echo $PWD/evil > .git/worktrees/other/commondir`},
		{"another tree moved", create + "git worktree add -q ../other", `cp -r .git evil; git config -f evil/config core.fsmonitor evil
			mv .git/worktrees .git/w; cp -r .git/w .git/worktrees; echo $PWD/evil > .git/worktrees/other/commondir`},
		{"stored in the workspace", create + "mv .git store; echo gitdir: store > .git", `git config -f store/config core.fsmonitor evil`},
		{"stored and moved", create + "mkdir a; mv .git a/store; echo gitdir: a/store > .git", `mv a b; cp -r b a; git config -f a/store/config core.fsmonitor evil`},
		{"commondir where it is stored", create + "mv .git store; echo gitdir: store > .git", `cp -r store evil; git config -f evil/config core.fsmonitor evil; echo ../evil > store/commondir`},
	} {
		for _, level := range []process.Level{process.None, process.Isolated} {
			dir, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			sh(dir, test.prepare)
			ws := filepath.Join(dir, "main")
			if strings.Contains(test.prepare, "../ws") {
				ws = filepath.Join(dir, "ws")
			}
			cmd := in(t, test.act)
			cmd.Env.Workspace, cmd.Sandbox = ws, process.Sandbox{Level: level}
			r, err := process.Run(t.Context(), cmd)
			if err != nil {
				t.Skip("isolated does not start here: ", err)
			}
			said := sh(filepath.Join(dir, "main"), "git config core.fsmonitor")
			if said == "" {
				said = sh(ws, "git config core.fsmonitor")
			}
			if strings.Contains(test.prepare, "../other") {
				said = sh(filepath.Join(dir, "other"), "git config core.fsmonitor")
			}
			if evil := strings.Contains(said, "evil"); evil != (level == process.None) {
				t.Errorf("%s, %s: git runs %q\n%s", test.name, level, said, r.Output)
			}
			if said := sh(ws, "git log --oneline"); level != process.None && !strings.HasSuffix(said, " x\n") {
				t.Errorf("%s, %s: git no longer works: %s", test.name, level, said)
			}
		}
	}
}
