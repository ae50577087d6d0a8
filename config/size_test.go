package config

import (
	"strconv"
	"testing"
)

func TestParseSize(t *testing.T) {
	for _, tt := range []struct {
		text string
		want int64 // 0: refused
	}{
		{"1", 1},
		{"1000000", 1_000_000},
		{"2GiB", 2 << 30},
		{"2 GiB", 2 << 30},
		{"512M", 512 << 20},
		{"3K", 3 << 10},
		{"1T", 1 << 40},
		{"9223372036854775807", 1<<63 - 1},
		{"8388607T", 8388607 << 40},
		{"8388608T", 0}, // one more than there is
		{"9223372036854775808", 0},
		{"", 0}, {"0", 0}, {"0GiB", 0}, {"-1", 0}, {"+1", 0}, {"1.5GiB", 0}, {"GiB", 0}, {"2GB", 0}, {"2gib", 0}, {"0x10", 0}, {"1_000", 0}, {" 1", 0}, {"1 ", 0},
	} {
		got, err := ParseSize(tt.text)
		if got != tt.want || (err == nil) != (tt.want > 0) {
			t.Errorf("%q: %d, %v; want %d", tt.text, got, err, tt.want)
		}
	}
}

// What is accepted is positive, and digits alone are the number that they spell.
func FuzzParseSize(f *testing.F) {
	for _, s := range []string{"1", "2GiB", "8388608T", "K", "9223372036854775808", "٣", "2 MiB"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := ParseSize(s)
		if err == nil && n <= 0 || err != nil && n != 0 {
			t.Fatalf("%q: %d, %v", s, n, err)
		}
		if want, e := strconv.ParseInt(s, 10, 64); e == nil && err == nil && n != want {
			t.Fatalf("%q: %d", s, n)
		}
	})
}
