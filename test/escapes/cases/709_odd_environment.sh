#!/bin/bash
. "${0%/*}/../lib.sh"
CONTROL=bare
SH=bash
launch() {
	timeout "$LIMIT" env 'BASH_FUNC_ls%%=() { echo DID run a function; }' 'BASH_FUNC_true%%=() { echo DID run a function; }' 'A B=c' 'x-y=z' $'LINE\nBREAK=1' $'BAD\xff=\xfe' 'IFS=x' 'PS4=$(echo DID)' 'ENV=/dev/null' 'PERL5OPT=-d' 'PYTHONSTARTUP=/dev/null' "$@" </dev/null >"$R/stdout" 2>"$R/stderr"
	RC=$?
}
act <<'A'
ls / >/dev/null; ls -d /
env -0 | tr '\0\n' '\n ' | grep -aE '^(BASH_FUNC|A B=|x-y=|LINE|BAD|PS4|ENV=|PERL5OPT|PYTHONSTARTUP)' | sed 's/^/DID have /'
A
judge forbid
