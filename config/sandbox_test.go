package config

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/callgate/callgate/process"
)

// section reads the sandbox and egress of a file.
func section(t *testing.T, text string) Confine {
	t.Helper()
	f, err := Parse("f", []byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return f.Confine
}

// What a person's file says is what programs get, over what was there before.
func TestConfine(t *testing.T) {
	for _, tt := range []struct {
		file       string
		base, want process.Sandbox
	}{
		{"{}", process.Sandbox{}, process.Sandbox{}},
		{"sandbox: none", process.Sandbox{}, process.Sandbox{Level: process.None}},
		{"sandbox: auto", process.Sandbox{Level: process.None}, process.Sandbox{}},
		{"sandbox: {ro: true}", process.Sandbox{Level: process.None}, process.Sandbox{Level: process.None, ReadOnly: true}},
		{"sandbox: {level: confined, ro: false}", process.Sandbox{ReadOnly: true}, process.Sandbox{Level: process.Confined}},
		{"sandbox: {net: full}", process.Sandbox{}, process.Sandbox{Net: process.FullNet}},
		{"sandbox: {net: none}", process.Sandbox{Net: process.AllowedNet, Hosts: []string{"a.b"}}, process.Sandbox{}},
		{"egress: {allow: [a.b, '*.c.d:8443']}", process.Sandbox{}, process.Sandbox{Net: process.AllowedNet, Hosts: []string{"a.b", "*.c.d:8443"}}},
		{"egress: {allow: [a.b]}", process.Sandbox{Net: process.FullNet}, process.Sandbox{Net: process.AllowedNet, Hosts: []string{"a.b"}}},
		{"egress: {allow: [e.f]}", process.Sandbox{Net: process.AllowedNet, Hosts: []string{"a.b"}}, process.Sandbox{Net: process.AllowedNet, Hosts: []string{"a.b", "e.f"}}},
		{"sandbox: {writable: [out, ~/w, '~'], readable: [/r], hide: [/h], protect: [p]}", process.Sandbox{Hide: []string{"/0"}},
			process.Sandbox{Writable: []string{"out", "/home/me/w", "/home/me"}, Readable: []string{"/r"}, Hide: []string{"/0", "/h"}, Protect: []string{"p"}}},
		{"sandbox: {limits: {processes: 7, fileSize: 2MiB, memory: 1000}}", process.Sandbox{Limits: process.Limits{Memory: 5}}, process.Sandbox{Limits: process.Limits{Processes: 7, FileSize: 2 << 20, Memory: 1000}}},
	} {
		before := slices.Clone(tt.base.Hide)
		got, err := section(t, tt.file).Sandbox(tt.base, "/home/me")
		if err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s over %+v:\ngot  %+v, %v\nwant %+v", tt.file, tt.base, got, err, tt.want)
		}
		if !slices.Equal(before, tt.base.Hide) {
			t.Errorf("%s: the base was changed", tt.file)
		}
	}
	if _, err := section(t, "sandbox: {hide: [~/keys]}").Sandbox(process.Sandbox{}, ""); err == nil {
		t.Error("a place in the home is hidden, though nobody knows where that is")
	}
}

// A list that two tools add to is not theirs to share.
func TestConfineShares(t *testing.T) {
	base := process.Sandbox{Hide: make([]string, 0, 8)}
	a, _ := section(t, "sandbox: {hide: [a]}").Sandbox(base, "")
	b, _ := section(t, "sandbox: {hide: [b]}").Sandbox(base, "")
	if a.Hide[0] != "a" || b.Hide[0] != "b" {
		t.Errorf("%v, %v", a.Hide, b.Hide)
	}
}

// Of a file that nobody vouches for, what tightens counts and what loosens does not.
func TestTightening(t *testing.T) {
	low := process.Limits{Processes: 10, FileSize: 10, Memory: 10}
	for _, tt := range []struct {
		file   string
		base   process.Sandbox
		want   process.Sandbox
		loosen string // the keys that do not count
	}{
		{"sandbox: none", process.Sandbox{}, process.Sandbox{}, "sandbox"},
		{"sandbox: {level: none}", process.Sandbox{}, process.Sandbox{}, "sandbox/level"},
		{"sandbox: confined", process.Sandbox{}, process.Sandbox{}, "sandbox"},
		{"sandbox: auto", process.Sandbox{Level: process.Isolated}, process.Sandbox{Level: process.Isolated}, "sandbox"},
		{"sandbox: seatbelt", process.Sandbox{Level: process.Confined}, process.Sandbox{Level: process.Confined}, "sandbox"},
		{"sandbox: isolated", process.Sandbox{}, process.Sandbox{Level: process.Isolated}, ""},
		{"sandbox: auto", process.Sandbox{}, process.Sandbox{}, ""},
		{"sandbox: auto", process.Sandbox{Level: process.None}, process.Sandbox{}, ""},
		{"sandbox: auto", process.Sandbox{Level: process.Confined}, process.Sandbox{}, ""},
		{"sandbox: confined", process.Sandbox{Level: process.None}, process.Sandbox{Level: process.Confined}, ""},
		{"sandbox: none", process.Sandbox{Level: process.None}, process.Sandbox{Level: process.None}, ""},
		{"sandbox: {ro: true}", process.Sandbox{}, process.Sandbox{ReadOnly: true}, ""},
		{"sandbox: {ro: false}", process.Sandbox{ReadOnly: true}, process.Sandbox{ReadOnly: true}, "sandbox/ro"},
		{"sandbox: {ro: false}", process.Sandbox{}, process.Sandbox{}, ""},
		{"sandbox: {net: none}", process.Sandbox{Net: process.FullNet}, process.Sandbox{}, ""},
		{"sandbox: {net: full}", process.Sandbox{}, process.Sandbox{}, "sandbox/net"},
		{"sandbox: {net: allow}", process.Sandbox{}, process.Sandbox{}, "sandbox/net"},
		{"sandbox: {net: full}", process.Sandbox{Net: process.AllowedNet, Hosts: []string{"a"}}, process.Sandbox{Net: process.AllowedNet, Hosts: []string{"a"}}, "sandbox/net"},
		{"sandbox: {net: full}", process.Sandbox{Net: process.FullNet}, process.Sandbox{Net: process.FullNet}, ""},
		{"egress: {allow: [evil.example]}", process.Sandbox{}, process.Sandbox{}, "egress/allow"},
		{"egress: {allow: [evil.example]}", process.Sandbox{Net: process.AllowedNet, Hosts: []string{"a"}}, process.Sandbox{Net: process.AllowedNet, Hosts: []string{"a"}}, "egress/allow"},
		{"sandbox: {writable: [/etc]}", process.Sandbox{}, process.Sandbox{}, "sandbox/writable"},
		{"sandbox: {readable: [~/.ssh]}", process.Sandbox{}, process.Sandbox{}, "sandbox/readable"},
		{"sandbox: {hide: [secrets], protect: [dist]}", process.Sandbox{}, process.Sandbox{Hide: []string{"secrets"}, Protect: []string{"dist"}}, ""},
		{"sandbox: {limits: {processes: 513}}", process.Sandbox{}, process.Sandbox{}, "sandbox/limits/processes"},
		{"sandbox: {limits: {processes: 512}}", process.Sandbox{}, process.Sandbox{Limits: process.Limits{Processes: 512}}, ""},
		{"sandbox: {limits: {fileSize: 2GiB}}", process.Sandbox{}, process.Sandbox{}, "sandbox/limits/fileSize"},
		{"sandbox: {limits: {memory: 100GiB}}", process.Sandbox{}, process.Sandbox{Limits: process.Limits{Memory: 100 << 30}}, ""},
		{"sandbox: {limits: {processes: 11, fileSize: 11, memory: 11}}", process.Sandbox{Limits: low}, process.Sandbox{Limits: low}, "sandbox/limits/processes sandbox/limits/fileSize sandbox/limits/memory"},
		{"sandbox: {limits: {processes: 9, fileSize: 9, memory: 9}}", process.Sandbox{Limits: low}, process.Sandbox{Limits: process.Limits{Processes: 9, FileSize: 9, Memory: 9}}, ""},
		{"sandbox: {level: none, ro: true, net: full, writable: [/], hide: [x]}", process.Sandbox{}, process.Sandbox{ReadOnly: true, Hide: []string{"x"}}, "sandbox/level sandbox/net sandbox/writable"},
	} {
		kept, loosens := section(t, tt.file).Tightening(tt.base)
		got, err := kept.Sandbox(tt.base, "/home/me")
		if err != nil || !reflect.DeepEqual(got, tt.want) || strings.Join(loosens, " ") != tt.loosen {
			t.Errorf("%s over %+v:\ngot  %+v, not %v, %v\nwant %+v, not %s", tt.file, tt.base, got, loosens, err, tt.want, tt.loosen)
		}
	}
}

// What a file cannot say is told with its line and what was meant.
func TestSandboxFaults(t *testing.T) {
	for _, tt := range []struct{ file, want string }{
		{"sandbox: nothing", "f:1:1: /sandbox:"},
		{"sandbox: nothing", "isolated"},
		{"sandbox:\n  net: some", "f:2:3: /sandbox/net:"},
		{"sandbox:\n  lvl: none", "f:2:3: /sandbox/lvl: unknown field"},
		{"sandbox:\n  limits: {memry: 1}", "f:2:12: /sandbox/limits/memry: unknown field"},
		{"sandbox:\n  limits: {memory: 2GB}", "f:2:12: /sandbox/limits/memory:"},
		{"sandbox:\n  limits: {memory: 0}", "/sandbox/limits/memory:"},
		{"sandbox:\n  limits: {processes: 0}", "/sandbox/limits/processes:"},
		{"sandbox:\n  hide: ['']", "/sandbox/hide/0:"},
		{"egress:\n  allow: [https://example.com]", "f:2:11: /egress/allow/0:"},
		{"egress:\n  allw: [example.com]", "allow?"},
		{"sandbox: {net: none}\negress: {allow: [a.b]}", "f:2:10: hosts are allowed, but sandbox.net says none"},
		{"sandbox: {net: full}\negress: {allow: [a.b]}", "f:2:10: hosts are allowed, but sandbox.net says full"},
		{"sandbox: {level: confined}\negress: {allow: [a.b]}", "f:2:10: single hosts need the level isolated"},
		{"commands:\n- name: a\n  description: d\n  inputSchema: {type: object}\n  command: [x]\n  sandbox: {net: none}\n  egress: {allow: [a.b]}", "f:7:12: hosts"},
	} {
		_, err := Parse("f", []byte(tt.file))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s:\ngot  %v\nwant %s", tt.file, err, tt.want)
		}
	}
}
