package shell

import (
	"bufio"
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// What is called read-only writes nothing: lines are made from the words of the
// table and from hostile ones, those that are approved are run by the real bash
// in a folder full of traps, and the folder, which holds HOME and TMPDIR too, is
// the same afterwards. File names in it are options, variables hold options and
// subscripts that run commands, and PATH starts with programs that leave a trace.
func TestWhatIsReadOnlyWritesNothing(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil || runtime.GOOS == "windows" {
		t.Log("no bash here: the lines are judged, not run")
	}
	g := generator{rand.New(rand.NewPCG(7, 11))}
	lines := approvedOfTable(t)
	if len(lines) < 100 {
		t.Fatalf("%d lines of the table are approved", len(lines))
	}
	made, tries, enough := 0, 0, 40
	if os.Getenv("CI") != "" {
		enough = 220
	}
	for ; made < enough && tries < 100_000; tries++ {
		line := g.line()
		if f, err := Parse(line); err == nil {
			if ok, _ := ReadOnly(f, Trusted); ok {
				lines = append(lines, line)
				made++
			}
		}
	}
	t.Logf("%d of %d made lines are read-only, and %d of the table", made, tries, len(lines)-made)
	if made < enough {
		t.Fatalf("%d lines after %d tries: the generator is off its table", made, tries)
	}
	if bash == "" {
		return
	}
	dir := trap(t)
	before := tree(t, dir)
	for batch := range slices.Chunk(lines, 16) {
		for _, line := range batch {
			run(bash, dir, line)
		}
		if after := tree(t, dir); !maps.Equal(before, after) {
			for _, line := range batch {
				one := trap(t)
				was := tree(t, one)
				run(bash, one, line)
				if is := tree(t, one); !maps.Equal(was, is) {
					t.Errorf("%q was called read-only and changed: %s", line, changes(was, is))
				}
			}
			t.Fatalf("a batch changed: %s", changes(before, after))
		}
	}
}

// The traps work: what is not read-only is seen.
func TestTrapsSeeWrites(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Log("no bash here")
		return
	}
	for _, line := range []string{"sort $x a", "echo $((y))", "[ -v \"$y\" ]", "sort *", "cd lib && sed p *", "touch a", "find . $z", "rm a", "git log --output=pwn", "echo a > $HOME/x", "awk 'BEGIN {system(\"touch p\")}'"} {
		dir := trap(t)
		before := tree(t, dir)
		run(bash, dir, line)
		if maps.Equal(before, tree(t, dir)) {
			t.Errorf("%q left no trace", line)
		}
		if f, err := Parse(line); err == nil {
			if ok, _ := ReadOnly(f, Trusted); ok {
				t.Errorf("%q is called read-only", line)
			}
		}
	}
}

func run(bash, dir, line string) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, bash, "-c", line)
	cmd.Dir = filepath.Join(dir, "work")
	cmd.Env = []string{
		"PATH=" + filepath.Join(dir, "first") + ":/usr/bin:/bin", "HOME=" + filepath.Join(dir, "home"), "TMPDIR=" + filepath.Join(dir, "tmp"),
		"TRACE=" + filepath.Join(dir, "trace"), "GIT_OPTIONAL_LOCKS=0", "GIT_CONFIG_NOSYSTEM=1",
		"x=--output=pwn", "y=a[$(touch $TRACE)]", "z=-delete",
	}
	cmd.WaitDelay = 100 * time.Millisecond
	cmd.Run() // how it ends does not matter
}

// trap makes a folder for a line to run in.
func trap(t *testing.T) string {
	dir := t.TempDir()
	write := func(name, text string, mode fs.FileMode) {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"a", "b", "c.txt", "w x", "x.json", "--output=pwn", "src/a.go", "src/-delete", "lib/a", "lib/-i"} {
		write("work/"+name, "3 c\n1 a\n2 b\n$(touch p)\n", 0o644)
	}
	for _, name := range []string{"rm", "touch", "less", "more", "pager", "gpg", "tee", "pr", "x", "helm"} {
		// The shell's own redirection: this touch is not the real one.
		write("first/"+name, "#!/bin/bash\n: > \"$TRACE\"\n", 0o755)
	}
	write("home/.profile", ": > \"$TRACE\"\n", 0o644)
	write("tmp/.keep", "", 0o644)
	git := exec.Command("git", "-c", "user.name=a", "-c", "user.email=a@a", "init", "-q", filepath.Join(dir, "work"))
	git.Env = []string{"HOME=" + filepath.Join(dir, "home"), "PATH=/usr/bin:/bin"}
	if err := git.Run(); err != nil {
		t.Log("no git here:", err)
	} else {
		git = exec.Command("git", "-c", "user.name=a", "-c", "user.email=a@a", "commit", "-q", "--allow-empty", "-m", "one")
		git.Dir, git.Env = filepath.Join(dir, "work"), []string{"HOME=" + filepath.Join(dir, "home"), "PATH=/usr/bin:/bin"}
		git.Run()
	}
	return dir
}

// tree is what lies below dir: names, modes, times and contents.
func tree(t *testing.T, dir string) map[string]string {
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		entry := fmt.Sprint(info.Mode(), info.ModTime().UnixNano())
		if name == filepath.Join(dir, "tmp") {
			entry = "" // tac and sort put there what they cannot hold, and remove it
		}
		if info.Mode().IsRegular() {
			b, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			entry += fmt.Sprintf(" %d %x", len(b), sha256.Sum256(b))
		}
		out[name] = entry
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func changes(before, after map[string]string) string {
	var out []string
	for name := range after {
		if before[name] != after[name] {
			out = append(out, name)
		}
	}
	for name := range before {
		if _, ok := after[name]; !ok {
			out = append(out, "no "+name)
		}
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// approvedOfTable are the lines of the table that are called read-only and end.
func approvedOfTable(t *testing.T) (lines []string) {
	f, err := os.Open("testdata/lines.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for in := bufio.NewScanner(f); in.Scan(); {
		verdict, line, _ := strings.Cut(in.Text(), " ")
		if verdict != "ro" && verdict != "git" || strings.Contains(line, "tail -f") || strings.Contains(line, "while true") {
			continue
		}
		if s, err := strconv.Unquote(line); err == nil {
			line = s
		}
		if f, err := Parse(line); err != nil {
			t.Errorf("%q: %v", line, err)
		} else if ok, why := ReadOnly(f, Trusted); !ok {
			t.Errorf("%q is not called read-only: %v", line, why)
		}
		lines = append(lines, line)
	}
	return lines
}

// A generator makes lines that are often read-only, and nearly so otherwise.
type generator struct{ *rand.Rand }

func (g generator) pick(from ...string) string { return from[g.IntN(len(from))] }

func (g generator) line() string {
	line := g.command()
	for g.IntN(3) == 0 {
		line += g.pick(" | ", " && ", "; ", " || ", " & ", "\n") + g.command()
	}
	switch g.IntN(12) {
	case 0:
		line = "(" + line + ")"
	case 1:
		line = "cd " + g.pick("src", "lib") + " && " + line
	case 2:
		line = "for f in * $x; do " + line + "; done"
	case 3:
		line = "bash -c '" + strings.ReplaceAll(line, "'", `'\''`) + "'"
	case 4:
		line = "if " + line + "; then " + g.command() + "; fi"
	}
	return line
}

// names leaves out what never ends, and sleeps.
var names = slices.DeleteFunc(slices.Sorted(maps.Keys(proofs)), func(name string) bool {
	return name == "yes" || name == "sleep" || name == "cd" || name == "w"
})

func (g generator) command() string {
	name := names[g.IntN(len(names))]
	p := proofs[name]
	var words []string
	known := p.flags
	switch name {
	case "git":
		sub := slices.Sorted(maps.Keys(gitProofs))[g.IntN(len(gitProofs))]
		words, known = append(words, sub), gitProofs[sub].flags
		if verbs := gitProofs[sub].verbs; verbs != nil {
			words = append(words, slices.Sorted(maps.Keys(verbs))[g.IntN(len(verbs))])
		}
	case "sed":
		words = append(words, g.pick("-n 1p", "s/a/b/g", "'s/a/b/w pwn'", "'1,2{p;d}'", "-e p", "'w pwn'", "'$!N;P;D'", "'y/abc/xyz/'", "'s|[/]|w pwn|'", "'s/a/touch p/e'", "-i p", "'s/[/]/w pwn/'", "p;w pwn"))
	case "awk", "gawk", "mawk":
		words = append(words, g.pick("'{print $1}'", "-F: '{n++} END {print n}'", `'{print > "pwn"}'`, "1", `'{system("touch p")}'`, "-v v=1 '{print v}'", `'BEGIN {"touch p" | getline}'`, "'NR == 1 || /a/'"))
	case "find":
		words = append(words, g.pick(".", "src", "*", "./*"), g.pick("-name a", "-type f", "-exec cat {} +", `-exec sort {} \;`, "-delete", "-print0", "-fprint pwn", "$z", `-name "$z"`, `\( -name a -o -empty \)`, "-printf '%p\\n'", "-newer a", "-maxdepth 1 -ls"))
	case "printf":
		words = append(words, g.pick("'%s\\n' a", "%d 1", "-v PATH x", "%n PATH", "'%(%F)T'", "'%5.1f' 2", "'%q ' *"))
	case "test", "[":
		words = append(words, g.pick("-f a", `"$y" = b`, `-n "$y"`, `-v "$y"`, "a -nt b", `"$y"`, `! -d src`, `"$y" -eq 1`))
		if name == "[" {
			words = append(words, "]")
		}
		return name + " " + strings.Join(words, " ") + g.redirect()
	case "bash", "sh", "dash":
		return name + " -c " + g.pick("'cat a'", `"ls \$y"`, "'sort $x a'", "'echo $0' *", `'echo "$((1+1))"'`)
	case "xargs", "env", "timeout", "nice", "ionice", "time", "command", "exec", "stdbuf", "builtin":
		before := map[string]string{"timeout": " 1", "stdbuf": " -oL", "exec": "", "nice": g.pick("", " -n 3", " -3"), "env": g.pick("", " -i", " LC_ALL=C", " -u x")}[name]
		if name == "time" {
			name = "command time"
		}
		return name + before + " " + g.command()
	}
	for g.IntN(2) == 0 {
		words = append(words, g.flag(known))
	}
	for g.IntN(3) > 0 {
		words = append(words, g.pick("a", "b", "c.txt", "src", ".", "--", "'w x'", "./-o", "./*", "src/*", "*", "$x", `"$x"`, "$y", `"$y"`, `"a$x"`, "x.json", "-", "$(cat a)", "`pwd`", "<(ls)", "{a,b}", "~", "HEAD", "pwn", "+%s", "1", "/dev/null", "${y:-a}", "$'a'", `"$@"`, "a=b"))
	}
	prefix := ""
	if g.IntN(12) == 0 {
		prefix = g.pick("LC_ALL=C ", "TZ=UTC ", "A=1 ", "PATH=. ", "v=1; ")
	}
	return prefix + name + " " + strings.Join(words, " ") + g.redirect()
}

func (g generator) flag(known flags) string {
	long := strings.Fields(known.long)
	switch n := g.IntN(8); {
	case n < 3 && known.short != "":
		i := g.IntN(len(known.short))
		if c := known.short[i]; c == '#' {
			return "-3"
		} else if c != ':' && c != '?' {
			if i+1 < len(known.short) && known.short[i+1] == ':' {
				return "-" + string(c) + g.pick("", " ") + g.pick("1", "a", "2,3", ",")
			}
			return "-" + string(c)
		}
		return "-3"
	case n < 5 && len(long) > 0:
		name := long[g.IntN(len(long))]
		if strings.HasSuffix(name, "=") {
			return "--" + name + g.pick("1", "a", "name", "%H")
		}
		return "--" + strings.TrimSuffix(name, "?")
	case n < 7:
		return "-" + string(rune('a'+g.IntN(26)))
	}
	return g.pick("-o pwn", "--output=pwn", "--outp=pwn", "-i", "--in-place", "-T .", "-C", "-s now", "--set=now", "-w", "-R", "-E", "-D", "-P", "--textconv", "-Opwn", "--ext-diff", "-9", "-rn", "-la", "--help", "--version")
}

func (g generator) redirect() string {
	if g.IntN(6) > 0 {
		return ""
	}
	return " " + g.pick("2>/dev/null", ">/dev/null", "2>&1", "< a", "> pwn", ">> a", ">&2", "< $y", "<<< $y", "&> pwn", "> >(cat)", "{fd}>/dev/null", "<> a", "< ./$y")
}
