#!/bin/bash
. "${0%/*}/../lib.sh"
prepare() { mkdir .vscode .claude .callgate; echo good | tee .vscode/tasks.json .claude/settings.json .callgate/x .mcp.json >callgate.yaml; }
act <<'A'
for f in .vscode/tasks.json .claude/settings.json .callgate/x .mcp.json callgate.yaml; do
	echo evil >>"$f"
	echo evil >new && mv -f new "$f"
done
echo evil >.vscode/launch.json
mv .vscode .v && mkdir .vscode && echo evil >.vscode/tasks.json
rm -rf .claude
A
did() {
	local f
	for f in .vscode/tasks.json .claude/settings.json .callgate/x .mcp.json callgate.yaml; do [ "$(cat "$f" 2>/dev/null)" = good ] || return 0; done
	[ -e .vscode/launch.json ]
}
judge forbid
