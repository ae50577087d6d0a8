// Package wire holds what the codecs of all providers share: names that a
// provider accepts and the way back ([View]), schemas as a provider accepts them,
// and strict reading of a response's envelope ([Object]).
package wire
