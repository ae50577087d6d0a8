package process

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/callgate/callgate/internal/warden"
)

// An Environment says what a process gets to see of the environment of its caller.
// It is rebuilt from a list of names that are known to be harmless, not cleaned of
// those that are known to be secret: nobody knows all of these. What was left out
// can be let through by name.
type Environment struct {
	// Workspace is the absolute path of the workspace, and HOME.
	Workspace string
	// PrivateHome makes HOME an empty directory that lasts as long as the process.
	PrivateHome bool
	// Pass are the names of more variables of the caller's. A name with "*" stands
	// for those that it matches (as in path.Match), except the ones that load
	// code into programs, open the agent of ssh or read like a secret's: these
	// pass by their full name only.
	Pass []string
	// Set are variables with their values. They go before all others.
	Set map[string]string
	// Caches is the directory for what tools keep between calls, outside of the
	// workspace; "" means $XDG_CACHE_HOME/callgate, or what the system has for
	// that. Each workspace has its own part of it, and another for what runs at the
	// level None: what a tool leaves in a cache of one is not run in another.
	Caches string
	// Caller is the environment to choose from, as os.Environ returns it; nil means
	// os.Environ().
	Caller []string

	// free is set for a process without a sandbox. Settings of git, go and cargo lie in
	// the caches, too: what a sandboxed process left in them must not run without one.
	free bool
}

// harmless are the variables of the caller's that every process gets, and the
// standard ones of LC_*.
var harmless = []string{
	"PATH", "LANG", "LANGUAGE", "TZ", "NO_COLOR", "CI", "USER", "LOGNAME", "SHELL",
	"LC_ALL", "LC_ADDRESS", "LC_COLLATE", "LC_CTYPE", "LC_IDENTIFICATION", "LC_MEASUREMENT",
	"LC_MESSAGES", "LC_MONETARY", "LC_NAME", "LC_NUMERIC", "LC_PAPER", "LC_TELEPHONE", "LC_TIME",
}

// needed are variables without which programs of a system do not start.
var needed = map[string][]string{
	"windows": {"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "NUMBER_OF_PROCESSORS", "PROCESSOR_ARCHITECTURE"},
}

// quiet keeps programs from asking, paging and painting.
var quiet = map[string]string{
	"TERM":                "dumb",
	"PAGER":               "cat",
	"GIT_PAGER":           "cat",
	"GIT_EDITOR":          "true", // an empty message stops a commit, a prepared one stands
	"GIT_TERMINAL_PROMPT": "0",
	"GIT_OPTIONAL_LOCKS":  "0", // git status must not write the index: other calls may read beside it
	"DEBIAN_FRONTEND":     "noninteractive",
}

// Build returns the environment of a process that works in dir and whose private
// directory is temp, sorted by name, and how many variables of the caller's it does
// not have. It reads nothing but its receiver and, with a nil Caller, os.Environ().
func (e Environment) Build(dir, temp string) (env []string, withheld int, err error) {
	caller := e.caller()
	vars := map[string]string{"LANG": "C.UTF-8"}
	if runtime.GOOS != "windows" {
		vars["PATH"] = warden.DefaultPath
	}
	for _, name := range slices.Concat(harmless, needed[runtime.GOOS]) {
		if v, ok := caller[name]; ok {
			vars[name] = v
		}
	}
	maps.Copy(vars, quiet)
	vars["HOME"], vars["PWD"] = e.Workspace, dir
	if e.PrivateHome {
		vars["HOME"] = warden.PrivateHome(temp)
	}
	vars["TMPDIR"] = temp
	if runtime.GOOS == "windows" {
		vars["TEMP"], vars["TMP"], vars["USERPROFILE"] = temp, temp, vars["HOME"]
	}
	caches := e.CacheDir()
	if caches == "" {
		caches = filepath.Join(temp, "cache")
	}
	for name, below := range map[string]string{
		"XDG_CACHE_HOME": "xdg/cache", "XDG_CONFIG_HOME": "xdg/config", "XDG_DATA_HOME": "xdg/data", "XDG_STATE_HOME": "xdg/state",
		"GOCACHE": "go-build", "GOPATH": "go", "GOMODCACHE": "go/pkg/mod",
		"npm_config_cache": "npm", "CARGO_HOME": "cargo",
	} {
		vars[name] = filepath.Join(caches, filepath.FromSlash(below))
	}
	for _, pattern := range e.Pass {
		if _, err := path.Match(pattern, ""); err != nil || pattern == "" || strings.ContainsAny(pattern, "=\x00") {
			return nil, 0, fmt.Errorf("env.pass: %q is not the name of a variable", pattern)
		}
		for name, v := range caller {
			if matches(pattern, name) {
				vars[name] = v
			}
		}
	}
	for name, v := range e.Set {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return nil, 0, fmt.Errorf("env.set: %q is not the name of a variable", name)
		}
		if strings.IndexByte(v, 0) >= 0 {
			return nil, 0, fmt.Errorf("env.set: the value of %s has a NUL byte", name)
		}
		vars[name] = v
	}
	vars[warden.RunName] = filepath.Base(temp)
	for name := range caller {
		if _, ok := vars[name]; !ok {
			withheld++
		}
	}
	for name, v := range vars {
		env = append(env, name+"="+v)
	}
	slices.Sort(env)
	return env, withheld, nil
}

// preset sets variables that Set does not.
func (e *Environment) preset(vars map[string]string) {
	set := maps.Clone(vars)
	maps.Copy(set, e.Set)
	e.Set = set
}

func (e Environment) caller() map[string]string {
	list := e.Caller
	if list == nil {
		list = os.Environ()
	}
	vars := make(map[string]string, len(list))
	for _, kv := range list {
		name, v, ok := strings.Cut(kv, "=")
		if runtime.GOOS == "windows" {
			name = strings.ToUpper(name) // names differ by more than case there
		}
		if _, double := vars[name]; ok && name != "" && !double { // getenv finds the first
			vars[name] = v
		}
	}
	return vars
}

func matches(pattern, name string) bool {
	if pattern == name {
		return true
	}
	ok, _ := path.Match(pattern, name)
	return ok && !guarded(name)
}

// guarded reports whether a variable passes by its full name only.
func guarded(name string) bool {
	name = strings.ToUpper(name)
	switch name {
	case "BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "PS4", "PROMPT_COMMAND", // code for shells
		"NODE_OPTIONS", "NODE_PATH", "PERL5OPT", "PERL5LIB", "RUBYOPT", "RUBYLIB", "PYTHONSTARTUP", "PYTHONPATH", "PYTHONHOME",
		"JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "GCONV_PATH", "IFS",
		"GIT_SSH", "GIT_SSH_COMMAND", "GIT_ASKPASS", "SSH_ASKPASS", "GIT_EXTERNAL_DIFF", "GIT_PROXY_COMMAND",
		"SSH_AUTH_SOCK", "GPG_AGENT_INFO", "DBUS_SESSION_BUS_ADDRESS", "DOCKER_HOST", "KUBECONFIG":
		return true
	}
	for _, prefix := range []string{"LD_", "DYLD_", "BASH_FUNC_", "GIT_CONFIG"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	for _, part := range []string{"KEY", "TOKEN", "SECRET", "PASSW", "PASSPHRASE", "CREDENTIAL", "AUTH", "COOKIE", "PRIVATE", "DSN", "DATABASE_URL"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}

// CacheDir returns the directory for what tools keep between calls in this
// workspace: Caches with a part for the workspace, or "" if the caller has no such
// place outside of the workspace. Then it is in the private directory of each
// process.
func (e Environment) CacheDir() string {
	base := e.Caches
	if base == "" {
		caller := e.caller()
		switch {
		case filepath.IsAbs(caller["XDG_CACHE_HOME"]):
			base = caller["XDG_CACHE_HOME"]
		case runtime.GOOS == "windows":
			base = caller["LOCALAPPDATA"]
		case caller["HOME"] != "" && runtime.GOOS == "darwin":
			base = filepath.Join(caller["HOME"], "Library", "Caches")
		case caller["HOME"] != "":
			base = filepath.Join(caller["HOME"], ".cache")
		}
		if !filepath.IsAbs(base) {
			return ""
		}
		base = filepath.Join(base, "callgate")
	}
	if rel, err := filepath.Rel(e.Workspace, base); err == nil && filepath.IsLocal(rel) {
		return ""
	}
	sum := sha256.Sum256([]byte(e.Workspace))
	name := hex.EncodeToString(sum[:8])
	if e.free {
		name += "-none"
	}
	return filepath.Join(base, name)
}

// WithheldLine says in a line that n variables were withheld, and how one is let
// through; it is "" if none was.
func WithheldLine(n int) string {
	if n == 0 {
		return ""
	}
	s := "s"
	if n == 1 {
		s = ""
	}
	return fmt.Sprintf("%d variable%s of the caller's environment withheld; env.pass lets one through by name", n, s)
}
