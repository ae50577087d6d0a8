//go:build race

package callgate

// raceAllocs is what a dispatch allocates more under the race detector, whose
// sync.Pool drops some of what it is given.
const raceAllocs = 1
