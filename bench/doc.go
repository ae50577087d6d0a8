// Package bench sets the gate beside its peers: the same validation and dispatch
// work, each library set up as its own documentation does, in one process.
//
// It has three lists. [Shapes] are the arguments, [Engines] turn bytes into a
// verdict, [Peers] carry a call to a typed handler. [Works] is their product for
// the benchmarks and for cmd/ratios; [Facts] asks every peer the same awkward
// questions, since a fast answer counts only beside what was checked for it.
package bench
