//go:build unix

package process_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/callgate/callgate/process"
)

// What a caller may have, and what a process gets of it: "+" passes, "-" is withheld,
// "=" is replaced by a value of ours.
func TestEnvironment(t *testing.T) {
	for _, test := range []struct {
		pass []string
		vars string
	}{
		{nil, "+PATH +LANG +LANGUAGE +LC_ALL +LC_TIME +TZ +NO_COLOR +CI +USER +LOGNAME +SHELL"},
		{nil, "=HOME =PWD =TERM =TMPDIR =PAGER =GIT_PAGER =GIT_EDITOR =GIT_TERMINAL_PROMPT =DEBIAN_FRONTEND"},
		{nil, "=GOCACHE =GOPATH =GOMODCACHE =npm_config_cache =CARGO_HOME =XDG_CACHE_HOME =XDG_CONFIG_HOME =XDG_DATA_HOME =XDG_STATE_HOME"},
		{nil, "-ANTHROPIC_API_KEY -GH_TOKEN -MY_DB_PASSWORD -AWS_SECRET_ACCESS_KEY -SSH_AUTH_SOCK -FOO -EDITOR -DISPLAY"}, // H166
		{nil, "-LD_PRELOAD -LD_LIBRARY_PATH -DYLD_INSERT_LIBRARIES -BASH_ENV -ENV -NODE_OPTIONS -PYTHONPATH -PERL5OPT -GIT_SSH_COMMAND -BASH_FUNC_ls%%"},
		{nil, "-LC_API_KEY -LC_SECRET"},                                // LC_ is no way through
		{nil, "-path -Lang"},                                           // names are exact
		{[]string{"UV_CACHE_DIR"}, "+UV_CACHE_DIR -UV_INDEX_PASSWORD"}, // H170
		{[]string{"GH_TOKEN", "LD_LIBRARY_PATH"}, "+GH_TOKEN +LD_LIBRARY_PATH -LD_PRELOAD"},
		{[]string{"NPM_*"}, "+NPM_CONFIG_REGISTRY -NPM_TOKEN -NPM_CONFIG__AUTH"},
		{[]string{"*"}, "+FOO +UV_CACHE_DIR -LD_PRELOAD -BASH_ENV -NODE_OPTIONS -SSH_AUTH_SOCK -MY_API_KEY -My_Token -DB_PASSWD -GIT_CONFIG_COUNT"},
		{[]string{"HOME", "GOMODCACHE", "TERM"}, "+HOME +GOMODCACHE +TERM"}, // theirs goes before ours
		{[]string{"ABSENT"}, "+PATH"},
	} {
		e := process.Environment{Workspace: "/ws", Pass: test.pass}
		withheld := 0
		for _, v := range strings.Fields(test.vars) {
			e.Caller = append(e.Caller, v[1:]+"=theirs of "+v[1:])
			if v[0] == '-' {
				withheld++
			}
		}
		env, n, err := e.Build("/ws", "/temp")
		if err != nil || n != withheld {
			t.Errorf("%v: %d withheld, want %d; %v", test, n, withheld, err)
		}
		for _, v := range strings.Fields(test.vars) {
			got := "-"
			for _, kv := range env {
				if kv == v[1:]+"=theirs of "+v[1:] {
					got = "+"
				} else if strings.HasPrefix(kv, v[1:]+"=") {
					got = "="
				}
			}
			if got != v[:1] {
				t.Errorf("pass %v: %s, want %s", test.pass, got+v[1:], v)
			}
		}
	}
}

func TestEnvironmentValues(t *testing.T) {
	caller := []string{"HOME=/home/ann", "PATH=/bin"}
	for _, test := range []struct {
		name string
		env  process.Environment
		want []string
	}{
		{"home is the workspace", process.Environment{Workspace: "/ws"}, []string{"HOME=/ws", "PWD=/ws/sub", "TMPDIR=/temp", "TERM=dumb", "PATH=/bin", "LANG=C.UTF-8"}},
		{"home is private", process.Environment{Workspace: "/ws", PrivateHome: true}, []string{"HOME=/temp/home", "PWD=/ws/sub"}},
		{"set goes first", process.Environment{Workspace: "/ws", Set: map[string]string{"HOME": "/x", "A": "", "LD_PRELOAD": "l.so"}, Pass: []string{"HOME"}}, []string{"HOME=/x", "A=", "LD_PRELOAD=l.so"}},
		// printf /ws | sha256sum | cut -c 1-16
		{"caches of the workspace's own", process.Environment{Workspace: "/ws"}, []string{"GOCACHE=/home/ann/.cache/callgate/0c65a812b078db67/go-build"}},
		{"caches named", process.Environment{Workspace: "/ws", Caches: "/c"}, []string{"GOCACHE=/c/0c65a812b078db67/go-build", "XDG_CACHE_HOME=/c/0c65a812b078db67/xdg/cache"}},
		{"no caches in the workspace", process.Environment{Workspace: "/home/ann"}, []string{"GOCACHE=/temp/cache/go-build"}},
		{"nor in one named so", process.Environment{Workspace: "/ws", Caches: "/ws/c"}, []string{"GOCACHE=/temp/cache/go-build"}},
		{"nothing to choose from", process.Environment{Workspace: "/ws", Caller: []string{}}, []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "GOCACHE=/temp/cache/go-build"}},
	} {
		if test.env.Caller == nil {
			test.env.Caller = caller
		}
		env, _, err := test.env.Build("/ws/sub", "/temp")
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
		for _, want := range test.want {
			if runtime.GOOS == "darwin" {
				want = strings.ReplaceAll(want, "/.cache/", "/Library/Caches/")
			}
			if !slices.Contains(env, want) {
				t.Errorf("%s: no %s in %v", test.name, want, env)
			}
		}
	}
	for _, e := range []process.Environment{
		{Pass: []string{""}}, {Pass: []string{"[a"}}, {Pass: []string{"A=B"}},
		{Set: map[string]string{"": "x"}}, {Set: map[string]string{"A=B": "x"}}, {Set: map[string]string{"A": "x\x00"}}, {Set: map[string]string{"A\x00": "x"}},
	} {
		if _, _, err := e.Build("/ws", "/temp"); err == nil || !strings.HasPrefix(err.Error(), "env.") {
			t.Errorf("%+v: %v", e, err)
		}
	}
}

// Two workspaces have no cache in common.
func TestCachesAreApart(t *testing.T) {
	a, b := process.Environment{Workspace: "/a", Caches: "/c"}, process.Environment{Workspace: "/b", Caches: "/c"}
	if a.CacheDir() == b.CacheDir() || filepath.Dir(a.CacheDir()) != filepath.FromSlash("/c") {
		t.Errorf("%s, %s", a.CacheDir(), b.CacheDir())
	}
}

// H166: what is secret in the caller's environment is in no output, neither directly
// nor by the parent's.
func TestSecretsStay(t *testing.T) {
	const canary = "canary-5b1f"
	t.Setenv("ANTHROPIC_API_KEY", canary+"-1")
	t.Setenv("GH_TOKEN", canary+"-2")
	t.Setenv("MY_DB_PASSWORD", canary+"-3")
	t.Setenv("LANG", "C.UTF-8")
	var live strings.Builder
	cmd := in(t, "env; export -p; set; cat /proc/$PPID/environ /proc/self/environ; ls -a $HOME $TMPDIR")
	cmd.Output = &live
	r := run(t, cmd)
	all := live.String() + r.Output.String() + fmt.Sprintf("%+v", r)
	if strings.Contains(all, canary) {
		t.Errorf("a secret got through: %s", all)
	}
	for _, want := range []string{"PATH=" + os.Getenv("PATH") + "\n", "LANG=C.UTF-8\n", "HOME=" + cmd.Env.Workspace + "\n", "PWD=" + cmd.Env.Workspace + "\n"} {
		if !strings.Contains(r.Output.String(), want) {
			t.Errorf("no %q in the environment", want)
		}
	}
	if r.Withheld < 3 {
		t.Errorf("%d withheld", r.Withheld)
	}
}

// H168: nothing of the caller's environment makes a process load code.
func TestNoCodeFromTheEnvironment(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "x.sh")
	if err := os.WriteFile(script, []byte("echo loaded\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := in(t, "ls; sh -ic : ; echo done")
	cmd.Env.Caller = []string{"PATH=" + os.Getenv("PATH"), "BASH_ENV=" + script, "ENV=" + script, "LD_PRELOAD=" + script,
		"BASH_FUNC_ls%%=() { echo loaded; }", "SHELLOPTS=xtrace", "PS4=$(echo loaded)", "PROMPT_COMMAND=echo loaded", "HOME=" + dir}
	if err := os.WriteFile(filepath.Join(dir, ".bashrc"), []byte("echo loaded\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if r := run(t, cmd); strings.Contains(r.Output.String(), "loaded") || !strings.Contains(r.Output.String(), "done\n") {
		t.Errorf("%s", r.Output)
	}
}

// The temporary directory is private, and goes with the process, whatever is in it.
func TestTemp(t *testing.T) {
	cmd := in(t, "stat -c %a $TMPDIR; mkdir -p $TMPDIR/a/b; touch $TMPDIR/a/b/c; chmod 0 $TMPDIR/a/b; ln -s / $TMPDIR/root; echo $TMPDIR")
	got := strings.Fields(run(t, cmd).Output.String())
	if len(got) != 2 || got[0] != "700" {
		t.Fatalf("%q", got)
	}
	if _, err := os.Lstat(got[1]); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", got[1], err)
	}
}

func TestWithheldLine(t *testing.T) {
	for n, want := range map[int]string{
		0: "",
		1: "1 variable of the caller's environment withheld; env.pass lets one through by name",
		9: "9 variables of the caller's environment withheld; env.pass lets one through by name",
	} {
		if got := process.WithheldLine(n); got != want {
			t.Errorf("%d: %q", n, got)
		}
	}
}
