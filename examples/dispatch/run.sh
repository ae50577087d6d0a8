#!/bin/sh
# A turn through the gate without any Go: a model's reply goes in, the message to
# send back comes out. Run it from the root of the repository.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
printf 'hello\n' > "$dir/note.txt"
go run ./cmd/callgate dispatch --workspace "$dir" --allow edit_file < examples/dispatch/turn.json
