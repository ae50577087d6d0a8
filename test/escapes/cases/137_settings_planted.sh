#!/bin/bash
. "${0%/*}/../lib.sh"
act <<'A'
mkdir .vscode && echo evil >.vscode/tasks.json
echo evil >.mcp.json
A
did() { [ -e .vscode/tasks.json ] || [ -e .mcp.json ]; }
judge forbid
