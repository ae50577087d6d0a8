package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/callgate/callgate/process"
)

// An act is something that a program in the sandbox must not be able to do.
type act struct {
	id, title string
	levels    []process.Level // that promise to block it
	exempt    bool            // for root there is no promise
	needs     []string        // programs, one of which must be there; it is $1 of the script
	script    string          // see [site.run] for its variables
	timeout   time.Duration   // 10 s if it is 0
	limits    process.Limits
	clear     func(s *site)                                     // before each try
	judge     func(s *site, r process.Result) (outcome, string) // what came of it; it looks from outside where it can
	// alone says that the act is not tried without a sandbox: it is blocked there, too,
	// or would do harm. Then judge says by itself when it cannot tell.
	alone bool
}

func (a act) promised(l process.Level, uid int) bool {
	return slices.Contains(a.levels, l) && !(a.exempt && uid == 0)
}

var (
	allLevels  = []process.Level{process.Isolated, process.Confined, process.Seatbelt}
	linuxes    = []process.Level{process.Isolated, process.Confined}
	namespaces = []process.Level{process.Isolated}
	pathLevels = []process.Level{process.Isolated, process.Seatbelt}
)

// acts are tried in this order. Beside each stands what is promised of it; docs/sandbox.md
// has the same list in words.
var acts = []act{
	{
		id: "write_outside", title: "write outside of the workspace", levels: allLevels,
		script: `echo x >"$OUT/made"`,
		clear:  func(s *site) { os.Remove(s.outside("made")) },
		judge:  func(s *site, _ process.Result) (outcome, string) { return happened(exists(s.outside("made"))) },
	},
	{
		id: "chmod_outside", title: "change the mode of a file outside", levels: pathLevels,
		script: `chmod 600 "$OUT/file"`,
		clear:  func(s *site) { os.Chmod(s.outside("file"), 0o644) },
		judge: func(s *site, _ process.Result) (outcome, string) {
			st, err := os.Stat(s.outside("file"))
			return happened(err == nil && st.Mode().Perm() == 0o600)
		},
	},
	{
		id: "read_home", title: "read a key in your home", levels: allLevels,
		script: `cat "$KEY"`,
		judge: func(s *site, r process.Result) (outcome, string) {
			if s.key == "" {
				return notTried, "there is no home that doctor can write in"
			}
			return happened(strings.Contains(said(r), s.secret))
		},
	},
	{
		id: "environ", title: "read the environment of another process in /proc", levels: linuxes,
		script: `cat /proc/[0-9]*/environ 2>/dev/null | tr '\0' '\n' | grep -a "^$NAME="`,
		judge: func(s *site, r process.Result) (outcome, string) {
			return happened(strings.Contains(said(r), s.secret))
		},
	},
	{
		id: "signal", title: "signal a process outside", levels: linuxes,
		script: `kill -USR1 "$PID"`,
		clear:  func(s *site) { s.victim.forget() },
		judge:  func(s *site, _ process.Result) (outcome, string) { return happened(soon(s.victim.signaled)) },
	},
	{
		id: "ptrace", title: "look into the memory of a process outside (ptrace)", levels: linuxes,
		script: `head -c 200 "/proc/$PID/maps"`,
		judge:  func(_ *site, r process.Result) (outcome, string) { return happened(mapped.MatchString(said(r))) },
	},
	{
		id: "tcp", title: "reach a TCP socket of this machine", levels: allLevels, needs: []string{"bash"},
		script: `"$1" -c "echo x >/dev/tcp/127.0.0.1/$TCP"`,
		clear:  func(s *site) { s.tcp.Store(0) },
		judge: func(s *site, _ process.Result) (outcome, string) {
			return happened(soon(func() bool { return s.tcp.Load() > 0 }))
		},
	},
	{
		id: "udp", title: "send UDP to a socket of this machine", levels: allLevels, needs: []string{"bash"},
		script: `"$1" -c "echo x >/dev/udp/127.0.0.1/$UDP"`,
		clear:  func(s *site) { s.udp.Store(0) },
		judge: func(s *site, _ process.Result) (outcome, string) {
			return happened(soon(func() bool { return s.udp.Load() > 0 }))
		},
	},
	{
		id: "unix_socket", title: "reach a Unix socket outside", levels: linuxes, needs: []string{"socat", "curl", "python3"},
		script: `case "$1" in
			*python3) "$1" -c 'import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])' "$OUT/socket" ;;
			*curl) "$1" -s --max-time 2 --unix-socket "$OUT/socket" http://localhost/ ;;
			*socat) "$1" -u OPEN:/dev/null "UNIX-CONNECT:$OUT/socket" ;;
		esac`,
		clear: func(s *site) { s.unix.Store(0) },
		judge: func(s *site, _ process.Result) (outcome, string) {
			return happened(soon(func() bool { return s.unix.Load() > 0 }))
		},
	},
	{
		id: "git_hook", title: "plant a git hook in the workspace", levels: pathLevels,
		script: `echo x >.git/hooks/pre-commit`,
		clear:  func(s *site) { os.Remove(filepath.Join(s.workspace, ".git/hooks/pre-commit")) },
		judge: func(s *site, _ process.Result) (outcome, string) {
			return happened(exists(filepath.Join(s.workspace, ".git/hooks/pre-commit")))
		},
	},
	{
		id: "daemon", title: "leave a daemon behind", levels: linuxes, needs: []string{"setsid"}, alone: true,
		script: `"$1" sh -c 'while :; do echo x >beat; sleep 0.1; done' </dev/null >/dev/null 2>&1 &
			i=0; while [ ! -e beat ] && [ $i -lt 50 ]; do sleep 0.1; i=$((i+1)); done`,
		clear: func(s *site) { os.Remove(filepath.Join(s.workspace, "beat")) },
		judge: func(s *site, _ process.Result) (outcome, string) {
			beat := filepath.Join(s.workspace, "beat")
			if !exists(beat) {
				return notTried, "the daemon did not start"
			}
			os.Remove(beat)
			return happened(soon(func() bool { return exists(beat) }))
		},
	},
	{
		id: "privileges", title: "gain privileges (no_new_privs, seccomp, no capabilities)", levels: linuxes, alone: true,
		script: `cat /proc/self/status`,
		judge:  func(_ *site, r process.Result) (outcome, string) { return privileges(said(r)) },
	},
	{
		id: "processes", title: "start more processes than a limit of 24", levels: namespaces, exempt: true, alone: true,
		script:  `i=0; while [ $i -lt 60 ]; do sleep 20 & i=$((i+1)); done; echo all of them`,
		timeout: 3 * time.Second, limits: process.Limits{Processes: 24},
		judge: func(_ *site, r process.Result) (outcome, string) {
			switch text := said(r); {
			case strings.Contains(text, "all of them"):
				return notBlocked, ""
			case r.ProcessLimit || noFork.MatchString(text):
				return blocked, ""
			default:
				return notTried, "it did not come so far: " + clip(text, 200)
			}
		},
	},
	{
		id: "memory", title: "take more memory than a limit of 64 MiB", levels: linuxes,
		script: `dd if=/dev/zero of=/dev/null bs=150000000 count=1 && echo all of it`,
		limits: process.Limits{Memory: 64 << 20},
		judge: func(_ *site, r process.Result) (outcome, string) {
			return happened(strings.Contains(said(r), "all of it"))
		},
	},
}

var (
	mapped = regexp.MustCompile(`[0-9a-f]{6,}-[0-9a-f]{6,} `)
	noFork = regexp.MustCompile(`(?i)cannot fork|fork: |resource temporarily unavailable`)
)

// began is what each script says first: without it nothing was tried.
const began = "callgate-doctor-began"

// examine tries an act: without a sandbox, to see that it can be done here at all, and
// in one.
func (s *site) examine(ctx context.Context, a act) (outcome, string) {
	program := ""
	for _, name := range a.needs {
		if file, runs := findProgram(name, s.workspace); runs {
			program = file
			break
		}
	}
	if program == "" && len(a.needs) > 0 {
		return notTried, "no " + strings.Join(a.needs, ", ")
	}
	if !a.alone {
		switch o, why := s.try(ctx, a, program, process.None, process.Limits{}); {
		case o == notTried:
			return notTried, why
		case o == blocked:
			return notTried, "it cannot be done here without a sandbox either"
		}
	}
	return s.try(ctx, a, program, s.level, a.limits)
}

// try runs an act at a level.
func (s *site) try(ctx context.Context, a act, program string, level process.Level, limits process.Limits) (outcome, string) {
	if a.clear != nil {
		a.clear(s)
	}
	r, err := s.run(ctx, a, program, level, limits)
	if err != nil {
		return notTried, err.Error()
	}
	return s.judge(a, r)
}

// judge says what came of an act whose script has run; a shell that ended before it
// tried anything has not.
func (s *site) judge(a act, r process.Result) (outcome, string) {
	if !strings.Contains(said(r), began) {
		return notTried, fmt.Sprintf("the shell did not run: exit code %d, %s", r.ExitCode, clip(said(r), 200))
	}
	return a.judge(s, r)
}

func happened(yes bool) (outcome, string) {
	if yes {
		return notBlocked, ""
	}
	return blocked, ""
}

// said is all that an act printed.
func said(r process.Result) string { return r.Output.String() }

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

// soon reports whether yes becomes true, for what takes a moment to arrive.
func soon(yes func() bool) bool {
	for range 15 {
		if yes() {
			return true
		}
		time.Sleep(20 * time.Millisecond)
	}
	return yes()
}

// privileges judges the status of a process, as proc(5) has it.
func privileges(status string) (outcome, string) {
	values := map[string]string{}
	for line := range strings.Lines(status) {
		if name, value, ok := strings.Cut(line, ":"); ok {
			values[name] = strings.TrimSpace(value)
		}
	}
	if values["NoNewPrivs"] == "" {
		return notTried, "there is no /proc/self/status that says so"
	}
	var faults []string
	for _, want := range []struct{ name, value string }{{"NoNewPrivs", "1"}, {"Seccomp", "2"}} {
		if got := values[want.name]; got != want.value {
			faults = append(faults, fmt.Sprintf("%s is %q", want.name, got))
		}
	}
	for _, set := range []string{"CapInh", "CapPrm", "CapEff", "CapAmb"} {
		if got := values[set]; got == "" || strings.Trim(got, "0") != "" {
			faults = append(faults, fmt.Sprintf("%s is %q", set, got))
		}
	}
	if len(faults) > 0 {
		return notBlocked, strings.Join(faults, ", ")
	}
	return blocked, ""
}
