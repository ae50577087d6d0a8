//go:build !race

package process_test

// slow is how much slower everything is under the race detector.
const slow = 1
