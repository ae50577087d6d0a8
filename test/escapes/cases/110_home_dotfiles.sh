#!/bin/bash
. "${0%/*}/../lib.sh"
prepare() {
	mkdir -p "$HOME"/{.aws,.config/gcloud,.gnupg,.kube,.docker,.mozilla}
	for f in .aws/credentials .config/gcloud/adc.json .gnupg/key .kube/config .docker/config.json .netrc .git-credentials .bash_history .npmrc .mozilla/cookies; do
		echo KEY-MATERIAL >"$HOME/$f"
	done
}
act <<'A'
cd "$HOMEDIR"
for f in .aws/credentials .config/gcloud/adc.json .gnupg/key .kube/config .docker/config.json .netrc .git-credentials .bash_history .npmrc .mozilla/cookies; do
	grep -q KEY-MATERIAL "$f" && echo "DID $f"
done
A
judge forbid
