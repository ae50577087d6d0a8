package process

import (
	"bufio"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/callgate/callgate/internal/warden"
)

// seatbelts are the policies of the sections of testdata/seatbelt.txt.
var seatbelts = func() map[string]seatbelt {
	usual := seatbelt{
		Workspace: "/Users/ada/proj",
		Temp:      "/private/var/folders/callgate-1",
		Caches:    "/Users/ada/Library/Caches/callgate/1",
		Hide:      []string{"/Users/ada/proj/secret", "/Users", "/Users/ada/proj/deep/in/it", "/private/var"},
		Readable:  []string{"/Users/ada/proj/vendor", "/Users/ada/proj/secret/shown", "/Users/ada/go/bin"},
		Protect:   []string{"/Users/ada/proj/.git/hooks", "/Users/ada/proj/.vscode"},
	}
	readOnly, full := usual, usual
	readOnly.ReadOnly, readOnly.Writable = true, []string{"/Users/ada/proj/out", "/Users/ada/proj/twice"}
	readOnly.Hide = append(slices.Clone(usual.Hide), "/Users/ada/proj/twice")
	full.FullNet = true
	return map[string]seatbelt{
		"usual": usual, "read-only": readOnly, "full network": full,
		"odd names": {
			Workspace: `/w/a"b`, Temp: `/w/a")(allow default)`,
			Hide:     []string{"/w/a"},
			Writable: []string{`/w/back\slash`, `/w/end\`, "/w/new\nline", "/w/tab\t", "/w/;comment", `/w/#"raw`, "/w/ünï"},
			Protect:  []string{`/w/a"b/.a(b)*[c]^$.+?{d}|\"`},
		},
	}
}()

func TestSeatbelt(t *testing.T) {
	f, err := os.Open("testdata/seatbelt.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var rules []sbpl
	section, rows := "", 0
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		switch {
		case line == "" || line[0] == '#':
			continue
		case line[0] == '[':
			section = strings.Trim(line, "[]")
			s, ok := seatbelts[section]
			if !ok {
				t.Fatalf("seatbelt.txt:%d: there is no policy %q", n, section)
			}
			text, err := s.profile()
			if err != nil {
				t.Fatal(err)
			}
			if rules, err = parseSBPL(text); err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			continue
		}
		left, want, ok := strings.Cut(line, " : ")
		op, name, ok2 := strings.Cut(left, " ")
		name, err := url.PathUnescape(name)
		if !ok || !ok2 || err != nil {
			t.Fatalf("seatbelt.txt:%d: %q has not the form of a row", n, line)
		}
		rows++
		if got, why := judge(rules, op, name); got != want {
			t.Errorf("seatbelt.txt:%d: %s: %s: got %s by %v", n, section, line, got, why)
		}
	}
	if rows < 70 {
		t.Errorf("only %d rows were read", rows)
	}
}

func TestSeatbeltOfPlan(t *testing.T) {
	temp := t.TempDir()
	real, err := filepath.EvalSymlinks(temp)
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(temp, link); err != nil {
		t.Fatal(err)
	}
	for _, readOnly := range []bool{false, true} {
		p := &warden.Plan{
			Workspace: "/Users/ada/proj", FullNet: true, Resolv: "/private/var/run/resolv.conf",
			Places: []warden.Place{
				{Path: "/Users", Access: warden.Hidden}, {Path: "/private/tmp", Access: warden.Private},
				{Path: "/Users/ada/proj", Access: warden.Writable}, {Path: "/Users/ada/go/bin", Access: warden.Readable},
			},
			Protect: []warden.Path{".git/hooks"},
		}
		want := seatbelt{
			Workspace: "/Users/ada/proj", Temp: real, FullNet: true,
			Hide: []string{"/Users", "/private/tmp"}, Writable: []string{"/Users/ada/proj"},
			Readable: []string{"/Users/ada/go/bin", "/private/var/run/resolv.conf"},
			Protect:  []string{"/Users/ada/proj/.git/hooks"},
		}
		if readOnly {
			p.Places[2].Access = warden.Readable
			want.ReadOnly, want.Writable, want.Readable = true, nil, slices.Insert(want.Readable, 0, "/Users/ada/proj")
		}
		if got := seatbeltOf(p, link); !reflect.DeepEqual(got, want) {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
	}
}

func TestSeatbeltWrap(t *testing.T) {
	s := seatbelts["usual"]
	profile, err := s.profile()
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.wrap("/bin/echo", []string{"echo", "-n", "--"})
	want := []string{"/usr/bin/sandbox-exec", "-p", profile, "--", "/bin/echo", "-n", "--"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := (seatbelt{Workspace: "/\xff"}).wrap("/bin/echo", []string{"echo"}); err == nil {
		t.Errorf("without a profile: %q", got)
	}
}

func TestSeatbeltRefuses(t *testing.T) {
	for _, p := range []string{"/w/\xff", "/w/\x01", "/w/\x7f", "w", "/w/../x", "/w/", "/w//x"} {
		for _, s := range []seatbelt{{Workspace: p}, {Temp: p}, {Caches: p}, {Hide: []string{p}}, {Readable: []string{p}}, {Writable: []string{p}}, {Protect: []string{p}}} {
			if text, err := s.profile(); err == nil {
				t.Errorf("%+q: %s", p, text)
			}
		}
	}
}

// FuzzSeatbelt looks whether a path stays a path in a profile.
func FuzzSeatbelt(f *testing.F) {
	for _, s := range seatbelts {
		f.Add(s.Workspace, s.Temp, slices.Concat(s.Hide, s.Protect)[0])
	}
	f.Add("/a\\", `/"`, `/x")(allow default)("`)
	f.Add("/a;b", "/#|", "/[a")
	f.Fuzz(func(t *testing.T, workspace, hide, protect string) {
		s := seatbelt{Workspace: workspace, Hide: []string{hide}, Protect: []string{protect}}
		text, err := s.profile()
		if err != nil {
			return
		}
		if workspace == "" || hide == "" || protect == "" {
			return
		}
		rules, err := parseSBPL(text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		plain, _ := seatbelt{Workspace: "/a", Hide: []string{"/b"}, Protect: []string{"/c"}}.profile()
		if want, _ := parseSBPL(plain); len(rules) != len(want) && workspace != "/" { // nothing is above it
			t.Fatalf("%d rules, and %d for plain paths:\n%s", len(rules), len(want), text)
		}
		for _, op := range []string{"file-write-create", "file-write-unlink", "file-write-data"} {
			if got, why := judge(rules, op, protect); got != "deny" {
				t.Errorf("%s of the protected %+q: %s by %v", op, protect, got, why)
			}
			if got, why := judge(rules, op, hide); got != "deny" {
				t.Errorf("%s of the hidden %+q: %s by %v", op, hide, got, why)
			}
		}
		if got, why := judge(rules, "file-read-data", hide+"/x"); got != "deny" && !strings.HasPrefix(workspace, hide) {
			t.Errorf("what is in the hidden %+q: %s by %v", hide, got, why)
		}
	})
}

// A sbpl is an expression of a profile: a list, or a word or string.
type sbpl struct {
	list []sbpl
	atom string
	text bool // a string
}

func (x sbpl) String() string {
	if x.list == nil {
		return x.atom
	}
	return fmt.Sprint(x.list)
}

// parseSBPL reads the expressions of a profile, as Scheme has them.
func parseSBPL(s string) ([]sbpl, error) {
	var read func(depth int) ([]sbpl, error)
	read = func(depth int) (out []sbpl, err error) {
		for {
			s = strings.TrimLeft(s, " \n\t")
			switch {
			case s == "" && depth == 0:
				return out, nil
			case s == "":
				return nil, fmt.Errorf("a list has no end")
			case s[0] == ')' && depth == 0:
				return nil, fmt.Errorf("a list ends that has not begun, before %q", s)
			case s[0] == ')':
				s = s[1:]
				return out, nil
			case s[0] == '(':
				s = s[1:]
				l, err := read(depth + 1)
				if err != nil {
					return nil, err
				}
				out = append(out, sbpl{list: l})
			case s[0] == '"':
				var b strings.Builder
				i := 1
				for ; i < len(s) && s[i] != '"'; i++ {
					if s[i] < ' ' {
						return nil, fmt.Errorf("a control character in a string, before %q", s[i:])
					}
					if s[i] == '\\' && i+1 < len(s) {
						i++
						switch s[i] {
						case 'n':
							b.WriteByte('\n')
						case 't':
							b.WriteByte('\t')
						default:
							b.WriteByte(s[i])
						}
						continue
					}
					b.WriteByte(s[i])
				}
				if i >= len(s) {
					return nil, fmt.Errorf("a string has no end")
				}
				s = s[i+1:]
				out = append(out, sbpl{atom: b.String(), text: true})
			case s[0] == ';' || s[0] == '#':
				return nil, fmt.Errorf("a comment or a raw string, which no profile of ours has, before %q", s)
			default:
				end := strings.IndexAny(s, " \n\t()\"")
				if end < 0 {
					end = len(s)
				}
				out = append(out, sbpl{atom: s[:end]})
				s = s[end:]
			}
		}
	}
	return read(0)
}

// judge says what a profile answers to an operation on a name, and by which rule:
// rules for the operation itself before those for its class, the last one of them
// that matches, and the default.
func judge(rules []sbpl, op, name string) (string, sbpl) {
	classes := []string{op}
	if i := strings.LastIndex(op, "-"); i > 0 {
		classes = append(classes, op[:i]+"*")
	}
	for _, class := range append(classes, "default") {
		for _, r := range slices.Backward(rules) {
			if len(r.list) < 2 || r.list[0].atom != "allow" && r.list[0].atom != "deny" {
				continue
			}
			names, filters := false, []sbpl(nil)
			for _, x := range r.list[1:] {
				names = names || x.list == nil && x.atom == class
				if x.list != nil {
					filters = append(filters, x)
				}
			}
			if names && (len(filters) == 0 || slices.ContainsFunc(filters, func(f sbpl) bool { return matchesFilter(f, name) })) {
				return r.list[0].atom, r
			}
		}
	}
	return "deny", sbpl{}
}

func matchesFilter(f sbpl, name string) bool {
	value := f.list[len(f.list)-1].atom
	switch f.list[0].atom {
	case "subpath":
		return name == value || strings.HasPrefix(name, strings.TrimSuffix(value, "/")+"/")
	case "literal", "global-name":
		return name == value
	case "regex":
		return regexp.MustCompile(value).MatchString(name)
	case "remote", "local":
		return !strings.HasPrefix(name, "/")
	}
	return false // target, socket-domain
}
