#!/bin/bash
. "${0%/*}/../lib.sh"
prepare() { mkdir conf; echo good >conf/settings.json; ln -s conf .vscode; echo good >mcp; ln -s mcp .mcp.json; }
act <<'A'
echo evil >conf/settings.json
echo evil >.mcp.json
rm .vscode && mkdir .vscode && echo evil >.vscode/settings.json
A
did() { [ "$(cat .vscode/settings.json)" != good ] || [ "$(cat .mcp.json)" != good ]; }
judge forbid
