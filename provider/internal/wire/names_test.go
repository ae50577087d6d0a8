package wire

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/callgate/callgate/llm"
)

var word64 = llm.Word{Extra: "_-", Max: 64}

func TestRename(t *testing.T) {
	long := "mcp__regional_archive_of_scanned_documents_north__move_every_page_of_one_folder_into_another"
	for _, c := range []struct {
		why   string
		names string // separated by |
		want  string // a * stands for eight hex digits
	}{
		{"what is accepted stays", "bash|read_file|a-b", "bash|read_file|a-b"},
		{"H050: dots, slashes and blanks", "mcp__gw__git/commit|fs.read|do it", "mcp__gw__git_commit|fs_read|do_it"},
		{"a run of refused characters is one underscore", "a.. /b", "a_b"},
		{"a name that exists goes before one that is made", "weather.lookup|weather_lookup", "weather_lookup_*|weather_lookup"},
		{"in either order", "weather_lookup|weather.lookup", "weather_lookup|weather_lookup_*"},
		{"H055: of two alike, both are marked", "a.b|a/b", "a_b_*|a_b_*"},
		{"H052: too long", long, long[:55] + "_*"},
		{"no character of it is accepted", "天气|?!", "_*|_*"},
		{"one alone", "天气", "_"},
		{"the empty name", "", "_"},
	} {
		names := strings.Split(c.names, "|")
		shown := rename(names, word64)
		for i, want := range strings.Split(c.want, "|") {
			got := shown[names[i]]
			if stem, ok := strings.CutSuffix(want, "*"); ok {
				if !strings.HasPrefix(got, stem) || len(got) != len(stem)+8 {
					t.Errorf("%s: %q becomes %q; want %q", c.why, names[i], got, want)
				}
			} else if got != want {
				t.Errorf("%s: %q becomes %q; want %q", c.why, names[i], got, want)
			}
		}
	}
}

// Names are accepted, differ, and depend neither on order nor on the run.
func TestRenameOnRandomNames(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	letters := []string{"a", "b", "_", ".", "/", " ", "é", "-", strings.Repeat("long", 20)}
	for range 2000 {
		var names []string
		for range 1 + r.IntN(12) {
			var n strings.Builder
			for range 1 + r.IntN(4) {
				n.WriteString(letters[r.IntN(len(letters))])
			}
			names = append(names, n.String())
		}
		// A name that somebody made to be the hash of another.
		names = append(names, hashed(names[0], word64, nil))
		shown := rename(names, word64)
		checkNames(t, names, shown, word64)
		other := slices.Clone(names)
		r.Shuffle(len(other), func(i, j int) { other[i], other[j] = other[j], other[i] })
		for n, s := range rename(other, word64) {
			if shown[n] != s {
				t.Fatalf("%q is %q, or %q in another order of %q", n, shown[n], s, names)
			}
		}
	}
}

func checkNames(t *testing.T, names []string, shown map[string]string, word llm.Word) {
	t.Helper()
	back := map[string]string{}
	for _, n := range names {
		s := shown[n]
		if !word.Accepts(s) {
			t.Fatalf("%q becomes %q, which is refused", n, s)
		}
		if other, taken := back[s]; taken && other != n {
			t.Fatalf("%q and %q both become %q", n, other, s)
		}
		if word.Accepts(n) && s != n {
			t.Fatalf("%q is accepted and becomes %q", n, s)
		}
		back[s] = n
	}
}

func FuzzRename(f *testing.F) {
	f.Add("a.b|a/b|a_b", 64)
	f.Add("|x|天", 12)
	f.Fuzz(func(t *testing.T, names string, most int) {
		if most < 12 || most > 128 {
			return
		}
		list := strings.Split(names, "|")
		word := llm.Word{Extra: "_-", Max: most}
		checkNames(t, list, rename(list, word), word)
	})
}

// Ids that are refused become ones that are not, and no two the same.
func TestIDs(t *testing.T) {
	history := []llm.Message{
		llm.AssistantText("", callOf("functions.bash:0"), callOf("functions.bash:1")),
		llm.AssistantText("", callOf("toolu_1"), callOf(hashed("functions.bash:0", word64, nil))),
	}
	ids := NewIDs(word64, history)
	seen := map[string]bool{}
	for _, m := range history {
		for _, c := range m.Calls() {
			s := ids.Shown(c.ID)
			if !word64.Accepts(s) || seen[s] || s != ids.Shown(c.ID) {
				t.Errorf("%q becomes %q", c.ID, s)
			}
			seen[s] = true
		}
	}
	if !seen["toolu_1"] {
		t.Error("an id that is accepted was changed")
	}
}
