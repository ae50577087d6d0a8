//go:build !race

package callgate

const raceAllocs = 0
