//go:build unix

package journal

import (
	"fmt"
	"os"
	"syscall"
)

// oneName refuses a file that has another name: who opened it by that would not know
// of us, nor we of them.
func oneName(path string) error {
	st, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if sys, ok := st.Sys().(*syscall.Stat_t); ok && sys.Nlink > 1 {
		return fmt.Errorf("it has %d names (hard links): processes that open it by different ones would take each other for dead; remove all but one", sys.Nlink)
	}
	return nil
}
