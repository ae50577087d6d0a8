#!/bin/bash
. "${0%/*}/../lib.sh"
needs heavy go
export PATH=/usr/local/go/bin:$PATH
prepare() {
	[ -z "${GOWARM:-}" ] || cp -r "$GOWARM" .gocache
	printf 'module example.com/m\n\ngo 1.21\n' >go.mod
	printf 'package m\n\nfunc Add(a, b int) int { return a + b }\n' >m.go
	printf 'package m\n\nimport "testing"\n\nfunc TestAdd(t *testing.T) {\n\tif Add(1, 2) != 3 {\n\t\tt.Fatal()\n\t}\n}\n' >m_test.go
	mkdir cmd; printf 'package main\n\nimport "example.com/m"\n\nfunc main() { println(m.Add(1, 2)) }\n' >cmd/main.go
}
LIMIT=240
act <<'A'
export GOFLAGS=-p=2 CGO_ENABLED=0 GOCACHE=$WS/.gocache
go build -o prog ./cmd
./prog
go vet .
go test .
A
judge allow
