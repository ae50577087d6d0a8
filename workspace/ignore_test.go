package workspace

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// What the manual (gitignore(5)) says and what git does where it is silent. Every row is also asked of git itself.
var ignoreRows = []struct {
	rules   string // lines of .gitignore
	ignored string // paths; a trailing slash makes a directory
	kept    string
}{
	{"*.log", "a.log d/b.log .log", "a.logx log"},
	{"foo", "foo d/foo d/e/foo/", "foobar Foo"},
	{"/foo", "foo", "d/foo"},
	{"foo/", "foo/ d/foo/", "foo2 d/e/foo"},
	{"d/foo", "d/foo", "x/d/foo foo"},
	{"/d/foo/", "d/foo/", "x/d/foo/"},
	{"**/foo", "foo d/foo d/e/foo", "xfoo"},
	{"**/d/foo", "d/foo x/d/foo", "d/x/foo"},
	{"d/**", "d/a d/e/b", "x/d/a"},
	{"d/**/f", "d/f d/a/f d/a/b/f", "x/d/f df"},
	{"**", "a d/b", ""},
	{"d/*", "d/a d/e/", "x/d/a"},
	{"d/*/f", "d/a/f", "d/f d/a/b/f"},
	{"a**b", "ab axb", "a/b c/d"},
	{"x/a**b", "x/ab x/aqqb", "x/a/b"},
	{"foo**/bar", "foo/bar foox/bar foo/x/bar", "bar fo/bar"},
	{"d/foo**bar", "d/foobar d/fooxbar", "d/foo/bar"},
	{"*a**/b", "a/b xa/b xax/b", "x/a/b xa/y/b"},
	{"?", "a d/b", "ab"},
	{"d/?", "d/x", "d/xy"},
	{"[abc].txt", "a.txt d/c.txt", "d.txt"},
	{"[a-c]", "b", "d -"},
	{"[!a-c]", "d -", "b"},
	{"[^a-c]", "d", "b"},
	{"[]x]", "] x", "y"},
	{"[!]x]", "y", "] x"},
	{"[a-]", "a -", "b"},
	{"[-a]", "a -", "b"},
	{`[\]]`, "]", `\`},
	{`[\a-c]`, "a b", `\`},
	{`[a-\c]`, "b", `d`},
	{"[[:digit:]]x", "1x", "ax"},
	{"[[:alpha:]_]", "a Z _", "1"},
	{"[![:space:]]", "a", ""},
	{"[[:nosuch:]]", "", "a n :"},
	{"[[:digit]", "[ : d", "1 x"},
	{"[abc", "", "[abc a"},
	{"x[", "", "x["},
	{"[z-a]", "z", "b a"},
	{"d[/]e", "", "d/e"},
	{`\#a`, "#a", `\#a`},
	{"#a", "", "#a"},
	{`\!a`, "!a", "a"},
	{"a\\ ", "", "a"},
	{"a   ", "a", "b"},
	{`a\*`, "a*", "ab"},
	{`a\b`, "ab", `c`},
	{`a\`, "", `a ab`},
	{`d\/e`, "d/e", "x/d/e"},
	{"a\n!a", "", "a"},
	{"*\n!keep", "a d/", "keep"},
	{"*\n!*/\n!*.go", "a d/b", "a.go d/b.go"},
	{"d/\n!d/keep", "d/ d/keep d/x", ""},
	{"d/*\n!d/keep", "d/x", "d/keep"},
	{"/", "", "a d/b"},
	{"//", "", "a d/b"},
	{"!", "", "a"},
	{"a/b/", "a/b/", "x/a/b/"},
	{"a//b", "", "a/b"},
	{"./a", "", "a"},
	{"../a", "", "a"},
	{"a\r\nb\r", "a b", "c"},
	{"\ufeffa\nb", "a b", "c"},
	{"\tb", "", "b"},
	{"*/foo", "d/foo", "foo d/e/foo"},
	{"*/", "d/ d/e/", "f"},
	{"***/x", "x d/x d/e/x", "y"},
	{"a/***", "a/b/ a/b/c", "b"},
	{"é?", "éa", "é"},
	{"*é*/", "xéy/", "xy/"},
	{"[é]", "", "a"},
}

func TestIgnoreRows(t *testing.T) {
	for _, r := range ignoreRows {
		for _, want := range []bool{true, false} {
			paths := r.ignored
			if !want {
				paths = r.kept
			}
			for _, p := range strings.Fields(paths) {
				if got := ignoredBy(r.rules, p); got != want {
					t.Errorf("%q: %q ignored is %v, want %v", r.rules, p, got, want)
				}
			}
		}
	}
}

// ignoredBy is what a walk would do: the first excluded component decides.
func ignoredBy(text, p string) bool {
	s := ruleset{parseRules(".", text, false)}
	isDir := strings.HasSuffix(p, "/")
	parts := strings.Split(strings.TrimSuffix(p, "/"), "/")
	for i := range parts {
		if s.ignored(strings.Join(parts[:i+1], "/"), isDir || i < len(parts)-1) {
			return true
		}
	}
	return false
}

// askGit is git's own answer: which of paths one .gitignore excludes. It is on every machine that has a .gitignore.
func askGit(t testing.TB, dir string, paths []string) map[string]bool {
	t.Helper()
	cmd := exec.Command("git", "-c", "core.excludesFile=", "-c", "core.ignoreCase=false", "check-ignore", "--no-index", "-z", "--stdin")
	cmd.Dir = dir
	cmd.Stdin = strings.NewReader(strings.Join(paths, "\x00"))
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil && (cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != 1) { // 1: none is ignored
		t.Fatalf("git check-ignore: %v: %s", err, errs.String())
	}
	ignored := map[string]bool{}
	for p := range strings.SplitSeq(string(out), "\x00") {
		ignored[p] = true
	}
	return ignored
}

func gitInit(t testing.TB, dir string) {
	t.Helper()
	if out, err := exec.Command("git", "init", "-q", dir).CombinedOutput(); err != nil {
		t.Fatalf("git init: %v: %s", err, out)
	}
}

// One repository, each row in a directory of its own: git is started once.
func TestGitAgreesWithTheRows(t *testing.T) {
	files := map[string]string{}
	var ask []string
	for i, r := range ignoreRows {
		row := fmt.Sprintf("r%d/", i)
		files[row+".gitignore"] = r.rules
		for _, p := range strings.Fields(r.ignored + " " + r.kept) {
			files[row+p] = ""
			ask = append(ask, row+p)
		}
	}
	dir := tree(t, files)
	gitInit(t, dir)
	got := askGit(t, dir, ask)
	for i, r := range ignoreRows {
		for k, p := range strings.Fields(r.ignored + " " + r.kept) {
			if want := k < len(strings.Fields(r.ignored)); got[fmt.Sprintf("r%d/%s", i, p)] != want {
				t.Errorf("%q: git says that %q ignored is %v, the row %v", r.rules, p, !want, want)
			}
		}
	}
}

// Random rules over a small alphabet, where the corners meet: 3,000 files of rules, 64 paths each.
func TestGitAgreesOnRandomRules(t *testing.T) {
	var paths []string
	for _, a := range []string{"a", "b", "ab", "a.b"} {
		for _, b := range []string{"a", "b", "ba", "]"} {
			for _, c := range []string{"a", "b", "ab", "-"} {
				paths = append(paths, a+"/"+b+"/"+c)
			}
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	pieces := []string{"a", "b", "a", "b", "/", "/", "*", "*", "**", "**/", "/**", "/**/", "?", "[a-b]", "[!a]", "[", "]", "-", `\`, "!", ".", " ", "\n", "\n!", "\n/"}
	files := map[string]string{}
	var ask []string
	rules := make([]string, 3000)
	for n := range rules {
		for range 1 + rng.IntN(7) {
			rules[n] += pieces[rng.IntN(len(pieces))]
		}
		files[fmt.Sprintf("r%d/.gitignore", n)] = rules[n]
		for _, p := range paths {
			ask = append(ask, fmt.Sprintf("r%d/%s", n, p))
		}
	}
	dir := tree(t, files)
	gitInit(t, dir)
	want := askGit(t, dir, ask)
	ignored := 0
	for n, text := range rules {
		for _, p := range paths {
			git := want[fmt.Sprintf("r%d/%s", n, p)]
			if got := ignoredBy(text, p); got != git {
				t.Fatalf("%q: %q ignored is %v, git says %v", text, p, got, git)
			}
			if git {
				ignored++
			}
		}
	}
	t.Logf("git ignores %d of %d", ignored, len(ask))
}

// A whole tree with nested files of rules, once by our walk and once by git ls-files.
func TestGitListsTheSameTree(t *testing.T) {
	dir := tree(t, map[string]string{
		".gitignore":          "*.log\n!important.log\nbuild/\n/only-top\n**/gen/*.go\ndocs/**/draft\n",
		"sub/.gitignore":      "!*.log\n*.tmp\n/local\nbuild2\n",
		"sub/deep/.gitignore": "*\n!.gitignore\n!keep\n",
		"a.log":               "", "important.log": "", "build/x": "", "only-top": "", "x/only-top": "", "gen/a.go": "", "x/gen/a.go": "", "x/gen/a.txt": "",
		"docs/draft": "", "docs/a/b/draft": "", "docs/a/draft2": "",
		"sub/a.log": "", "sub/a.tmp": "", "sub/local": "", "sub/x/local": "", "sub/build/y": "", "sub/build2/y": "",
		"sub/deep/keep": "", "sub/deep/drop": "", "sub/deep/more/keep": "", ".hidden/f": "", "excluded.me": "",
		"link.log -> a.log": "", "link -> sub": "", "build2 -> sub": "",
	})
	gitInit(t, dir)
	fill(t, dir, map[string]string{".git/info/exclude": "excluded.*\n"})
	cmd := exec.Command("git", "-c", "core.excludesFile=", "ls-files", "-z", "--others", "--exclude-standard")
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	slices.Sort(want)
	var got []string
	for e, err := range mustOpen(t, dir).Walk(context.Background(), WalkOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		if !e.IsDir() {
			got = append(got, e.Path)
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("walk %q\ngit  %q", got, want)
	}
}

// A pattern that takes a backtracking matcher years.
func TestPatternsAreNotExponential(t *testing.T) {
	p, ok := parsePattern("d/"+strings.Repeat("*a", 60)+"b", false)
	if !ok || p.match("d/"+strings.Repeat("a", 4000), false) {
		t.Error("no match was expected")
	}
}

func TestPatternsFoldCaseWhereTheDiskDoes(t *testing.T) {
	for _, fold := range []bool{true, false} {
		s := ruleset{parseRules(".", "Build/[A-C]*.LOG", fold)}
		if got := s.ignored("bUILD/bx.log", false); got != fold {
			t.Errorf("fold %v: ignored is %v", fold, got)
		}
	}
}

func FuzzIgnoreRules(f *testing.F) {
	for _, r := range ignoreRows {
		f.Add(r.rules, strings.ReplaceAll(r.ignored+" "+r.kept, " ", "/"))
	}
	f.Fuzz(func(t *testing.T, text, p string) {
		s := ruleset{parseRules(".", text, false)}
		s.ignored(p, true)
		// A later line that excludes everything, and one that takes everything back, decide alone.
		if p = strings.Trim(p, "/"); p == "" || strings.ContainsAny(text, "\x00") {
			return
		}
		all := ruleset{parseRules(".", text+"\n*", false)}
		none := ruleset{parseRules(".", text+"\n!*", false)}
		if !all.ignored(p, false) || none.ignored(p, false) {
			t.Errorf("%q: the last match does not decide for %q", text, p)
		}
	})
}
