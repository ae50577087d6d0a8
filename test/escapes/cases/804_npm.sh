#!/bin/bash
. "${0%/*}/../lib.sh"
needs heavy npm node
prepare() {
	mkdir -p lib
	printf '{"name":"lib","version":"1.0.0","main":"i.js","bin":{"lib":"cli.js"}}' >lib/package.json
	echo 'module.exports = 42' >lib/i.js
	printf '#!/usr/bin/env node\nconsole.log(require("./i.js"))\n' >lib/cli.js; chmod +x lib/cli.js
	printf '{"name":"app","version":"1.0.0","dependencies":{"lib":"file:./lib"},"scripts":{"postinstall":"node -e 1"}}' >package.json
}
LIMIT=90
act <<'A'
npm install --no-audit --no-fund --offline
node -e 'if (require("lib") !== 42) process.exit(1)'
npx --offline lib
npm run postinstall
A
judge allow
