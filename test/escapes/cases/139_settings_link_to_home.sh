#!/bin/bash
. "${0%/*}/../lib.sh"
prepare() { ln -s "$HOME/.ssh" .vscode; ln -s "$HOME/.ssh/id_test" .mcp.json; ln -s "$HOME/.ssh" .claude; }
act <<'A'
grep -q KEY-MATERIAL .vscode/id_test && echo "DID by the directory"
grep -q KEY-MATERIAL .mcp.json && echo "DID by the file"
grep -q KEY-MATERIAL "$HOMEDIR/.ssh/id_test" && echo "DID itself"
A
judge forbid
