//go:build !unix

package artifact

const (
	openNoWait        = 0
	closeBeforeRename = true // Windows does not rename an open file
)
