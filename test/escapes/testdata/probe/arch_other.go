//go:build !amd64

package main

// int80 does nothing where there is no such table.
func int80(uint32) uint32 { return 0 }

func portCalls() {}
