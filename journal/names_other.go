//go:build !unix

package journal

// oneName accepts every file: the number of its names is not known here.
func oneName(string) error { return nil }
