//go:build !unix

package journal

import "time"

// cpuTime is not known here.
func cpuTime() time.Duration { return 0 }
