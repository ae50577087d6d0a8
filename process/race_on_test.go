//go:build race

package process_test

// slow is how much slower everything is under the race detector: the helper is
// this test's binary, which starts ten times slower then.
const slow = 10
