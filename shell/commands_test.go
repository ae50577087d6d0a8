package shell_test

import (
	"context"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/callgate/callgate/shell"
)

// Whatever the real bash runs is among the commands, or something is opaque.
// The lines are made of the pieces on which readers of bash disagree: quotes in
// expansions, here-documents, comments, case in substitutions. PATH is empty and
// bash's command_not_found_handle notes what would have run.
func TestBashRunsOnlyWhatIsListed(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Log("no bash here: nothing to compare with")
		return
	}
	lines := []string{
		`echo ${x+'}'; rm y; '}`, `echo "${x+'}'; rm y; '}"`, `echo "${x-"$(rm x)"}"`, `echo "${x#'}"; rm x; echo "'}"`,
		`echo $'\''; rm x #'`, `echo '\'; rm x; echo '`, `echo "\"; rm x; echo "`, "cat <<E\\OF\n$(rm x)\nEOF\nrm y", "cat <<\"E\"F\nrm x\nEF\nrm y",
		"a # \\\nrm x", "a #'\nrm x #'", "a \\# $(rm x)", "a$(rm x # )\n)", "b $(case a in a) rm x;; esac)", "a <<-E\n\trm x\n\tE\nrm y",
		"a `b \\`rm x\\``", "a \"`b \"rm x\"`\"", "a=(rm x) b", "a=1 b=2 rm x", "a $((1)) $( (rm x) )", "a ((1)", "! rm x", "{ rm x; }; }", "a { rm x", "a | ! rm x",
		"if a; then rm x; fi; b", "a() { rm x; }; a", "function b { rm x; }; b", "a &>x; b", "a 2>&1 >&- b", "a>x b<y c", "a <<< 'rm x'; b",
		"[[ a == a ]] && rm x", "[[ ' ]]; rm x #' ]] || b", "((1)) && rm x", "for a in b; do rm x; done", "a;b&c|d||e&&f", "a\\\n;rm x", "'a'\"b\"c\\d e",
		"a ${x:-`rm x`}", "a ${x:-'`rm x`'}", "a \"${x:-'`rm x`'}\"", "a \"$(b \"$(rm \"x\")\")\"", "time rm x", "a $'\\'$(rm x)'", "a $\"$(rm x)\"", "case a in a|b) rm x;& c) rm y;; esac",
		"a <<E; rm x\n$(rm y)\nE", "a <<E <<F\n$(rm x)\nE\n$(rm y)\nF\n", "a <<E\n\\$(rm x) `rm y`\nE", "a <<'E'\n$(rm x)\nE\n", "a {b,c}d", "~a b", "a\tb\\\tc", "a;\nb;;", "select x in a; do rm x; break; done </dev/null",
		"a \"`echo '\"'`\"", "a ${x//'/'/y} '", "a ${x/\"}\"/`rm x`}", "echo ${#x} # rm", "a <(rm x) >(b)", "until rm x; do b; break; done", "while b; do break; done; rm x", "coproc rm x", "a \"$\"'x'$ b", "a $[1+1] b", "a ${x:+${y:-$(rm x)}}",
		"\u00a0rm x", "a\u00a0b", "a\vb", "a\fb", "a\rb", "a \r rm x", "a #\rrm x", "a\u2028rm x", "a\x01b", "a \x7f b",
	}
	pieces := []string{"a", " ", " ", "rm x", "b", "'", "\"", "`", "$(", ")", "${x:-", "${y+", "}", "\\", "\n", ";", "|", "&", "&&", "<<E\n", "\nE\n", "<<'E'\n", "#", " #", "$'", "$((", "))", "1", "{", "(", "case a in a) ", ";; esac", "[[ ", " ]]", "=", "x=", "<(", "<<<", "~", "*", ",", "!", "if a; then ", " fi", "{ ", "; }", "\t", "é", "$x", "\"$(", ")\"", "f() ",
		"${x#", "${x//", "/", "[", "]", ";;", "for a in b; do ", "; done", "\\\n", "$[", "@", "-", ":", "+(", "<<-E\n\t", "$\"", "time ", "\\'", "\\`", "${#", "a() {", "1"}
	rng := rand.New(rand.NewPCG(3, 5))
	random := 0
	for tries := 0; random < 100 && tries < 1_000_000; tries++ {
		var b strings.Builder
		for range 3 + rng.IntN(12) {
			b.WriteString(pieces[rng.IntN(len(pieces))])
		}
		// Those that parse and are not opaque are the ones that are judged.
		if f, err := shell.Parse(b.String()); err == nil && len(f.Opaque) == 0 && len(f.Commands) > 0 && strings.ContainsAny(b.String(), "'\"`$<#{") {
			lines = append(lines, b.String())
			random++
		}
	}
	noted := 0
	for _, line := range lines {
		f, err := shell.Parse(line)
		if err != nil || len(f.Opaque) > 0 {
			continue // nothing is claimed
		}
		for _, argv := range ran(t, bash, line) {
			noted++
			if !slices.ContainsFunc(f.Commands, func(c shell.Command) bool { return matches(c, argv) }) {
				t.Errorf("%q ran %q, which is not among %s", line, argv, describe(f))
			}
		}
	}
	if t.Logf("%d lines, %d commands noted", len(lines), noted); noted == 0 {
		t.Log("this bash does not note what it does not find")
	}
}

// matches reports whether argv may be what c ran: the same words, where they
// are known.
func matches(c shell.Command, argv []string) bool {
	if len(c.Words) == 0 || !c.Words[0].Literal() || c.Words[0].Text != argv[0] {
		return false
	}
	if !slices.ContainsFunc(c.Words, func(w shell.Word) bool { return w.Many }) && len(c.Words) != len(argv) {
		return false
	}
	for i, w := range c.Words {
		if w.Many {
			return true // what follows has moved
		}
		if i < len(argv) && w.Literal() && w.Text != argv[i] {
			return false
		}
	}
	return true
}

// ran are the commands that bash could not find when it ran line.
func ran(t *testing.T, bash, line string) (argvs [][]string) {
	t.Helper()
	dir := t.TempDir()
	note, env := filepath.Join(dir, "note"), filepath.Join(dir, "env")
	if err := os.WriteFile(env, []byte("command_not_found_handle() { printf '%s\\0' $# \"$@\" >>\"$NOTE\"; }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	work := filepath.Join(dir, "work")
	if err := os.Mkdir(work, 0o700); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, bash, "-c", line)
	cmd.Dir, cmd.Env = work, []string{"PATH=" + filepath.Join(dir, "none"), "BASH_ENV=" + env, "NOTE=" + note, "HOME=" + work, "LC_ALL=C.UTF-8"}
	cmd.WaitDelay = 100 * time.Millisecond
	cmd.Run() // how it ends does not matter
	b, err := os.ReadFile(note)
	if err != nil {
		return nil
	}
	// The count comes first, in one write with the words: jobs run side by side.
	for words := strings.Split(string(b), "\x00"); len(words) > 1; {
		n, err := strconv.Atoi(words[0])
		if err != nil || n >= len(words) {
			t.Fatalf("%q noted %q", line, b)
		}
		argvs, words = append(argvs, words[1:1+n]), words[1+n:]
	}
	return argvs
}
