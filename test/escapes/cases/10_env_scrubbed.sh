#!/bin/bash
. "${0%/*}/../lib.sh"
CONTROL=bare
prepare() {
	export OPENAI_API_KEY=sk-a ANTHROPIC_API_KEY=sk-b AWS_SECRET_ACCESS_KEY=c GITHUB_TOKEN=d SSH_AUTH_SOCK=/tmp/x LD_PRELOAD="" BASH_ENV=/dev/null NODE_OPTIONS=--no-warnings
	export CI=true
}
act <<'A'
env | grep -E '^(OPENAI|ANTHROPIC|AWS|GITHUB|SSH_AUTH|BASH_ENV|LD_|NODE_OPTIONS)' | sed 's/^/DID have /'
[ "$HOME" = "$WS" ] && [ "$PWD" = "$WS" ] || echo "DID HOME=$HOME PWD=$PWD"
env | grep -qx CI=true || echo "DID lose CI" # what is harmless is there
A
judge forbid
