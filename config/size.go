package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// sizeUnits are powers of 1024. KB, MB and GB are 1000 to some and 1024 to others,
// and are not taken.
var sizeUnits = []struct {
	name  string
	shift uint
}{{"KiB", 10}, {"MiB", 20}, {"GiB", 30}, {"TiB", 40}, {"K", 10}, {"M", 20}, {"G", 30}, {"T", 40}}

// ParseSize reads a number of bytes, more than 0: digits, and perhaps one of the
// units KiB, MiB, GiB and TiB, or K, M, G and T, which are the same.
func ParseSize(s string) (int64, error) {
	digits, shift := s, uint(0)
	for _, u := range sizeUnits {
		if d, ok := strings.CutSuffix(s, u.name); ok {
			digits, shift = strings.TrimSuffix(d, " "), u.shift
			break
		}
	}
	n, err := strconv.ParseUint(digits, 10, 63)
	if err != nil || digits[0] == '+' {
		return 0, fmt.Errorf("%q is no size; use a number of bytes, or one with a unit of 1024: 512MiB, 2GiB", s)
	}
	if n == 0 || n > math.MaxInt64>>shift {
		return 0, fmt.Errorf("the size %s is out of range", s)
	}
	return int64(n) << shift, nil
}
