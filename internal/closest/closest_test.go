package closest

import (
	"slices"
	"strings"
	"testing"
)

func TestNames(t *testing.T) {
	tools := []string{"read_file", "write_file", "edit_file", "glob", "grep", "bash"}
	for _, tt := range []struct {
		wrong string
		want  []string
	}{
		{"reed_file", []string{"read_file", "write_file", "edit_file"}}, // the slip first, then those that share a word
		{"Read-File", []string{"read_file", "write_file", "edit_file"}},
		{"greb", []string{"grep"}},
		{"gerp", []string{"grep"}},                                 // a swap is one slip
		{"file", []string{"read_file", "edit_file", "write_file"}}, // among equals, the order given
		{"run_sql", nil},
		{"", nil},
		{"x", nil},
	} {
		got := Names(tt.wrong, tools, 3)
		if !slices.Equal(got, tt.want) {
			t.Errorf("%q: got %q, want %q", tt.wrong, got, tt.want)
		}
	}
}

func TestEdits(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"a", "", 1}, {"", "ab", 2}, {"abc", "abc", 0}, {"abc", "abd", 1}, {"abcd", "acbd", 1}, {"kitten", "sitting", 3}, {"ca", "abc", 3},
	} {
		if got := Edits([]rune(tt.a), []rune(tt.b)); got != tt.want {
			t.Errorf("%q to %q: %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}

func TestLeast(t *testing.T) {
	if got := Least("nope", []string{"read_file", "glob", "write_file", "grep"}, 3); !slices.Equal(got, []string{"grep", "glob", "read_file"}) { // 3 edits (two letters and a swap), 4, 7
		t.Errorf("got %q", got)
	}
	if got := Least("", nil, 3); len(got) != 0 {
		t.Errorf("of nothing: %q", got)
	}
}

func TestName(t *testing.T) {
	for _, c := range []struct {
		sent     string
		declared []string
		want     string
	}{
		{"pth", []string{"path", "query"}, "path"},
		{"aeg", []string{"email", "age"}, "age"},
		{"file_path", []string{"filePath", "fileMode"}, "filePath"},
		{"file", []string{"query", "file_path"}, "file_path"},
		{"modle", []string{"prompt"}, ""},
		{"x", []string{"y", "z"}, ""},
		{"", []string{"a"}, ""},
		{strings.Repeat("a", 129), []string{strings.Repeat("a", 128)}, ""},
		{"queyr", []string{"query"}, "query"},
	} {
		if got := Name(c.sent, c.declared); got != c.want {
			t.Errorf("Name(%q, %q) = %q, want %q", c.sent, c.declared, got, c.want)
		}
	}
}
