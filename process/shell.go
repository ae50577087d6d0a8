package process

import "os"

// Shell returns the Args that run a command line: with bash, without start-up files
// and never as a login shell, or with sh where there is no bash.
func Shell(line string) []string {
	for _, bash := range []string{"/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"} {
		if _, err := os.Stat(bash); err == nil {
			return []string{bash, "--noprofile", "--norc", "-c", "--", line}
		}
	}
	return []string{"/bin/sh", "-c", "--", line}
}
