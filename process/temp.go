package process

import (
	"crypto/rand"
	"strings"
)

// tempName returns a name for the private directory of a process. Whoever watches
// over the process makes the directory and removes it, so that it goes even when
// we are killed.
func tempName() string { return "callgate-" + strings.ToLower(rand.Text()) }
