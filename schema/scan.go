package schema

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

const (
	lows  = 0x0101010101010101
	highs = 0x8080808080808080
)

// str scans the string whose opening quote is at i: the index behind the closing
// one or unsure, whether it has escapes, and its length in code points.
func (c *check) str(i int) (end int, escaped bool, length int) {
	d := c.d
	i++
	start, extra := i, 0 // extra: bytes beyond one a code point
	for {
		for i+8 <= len(d) { // eight bytes at a time while there is no quote, backslash, control or non-ASCII
			x := binary.LittleEndian.Uint64(d[i:])
			q, b := x^(lows*'"'), x^(lows*'\\')
			if m := (x | (x-lows*0x20)&^x | (q-lows)&^q | (b-lows)&^b) & highs; m != 0 {
				i += bits.TrailingZeros64(m) >> 3
				break
			}
			i += 8
		}
		if i >= len(d) {
			return unsure, false, 0
		}
		switch b := d[i]; {
		case b == '"':
			c.steps -= (i - start) >> 5
			return i + 1, escaped, i - start - extra
		case b == '\\':
			_, size := decodeEscape(d[i:])
			if size == 0 {
				return unsure, false, 0
			}
			escaped = true
			extra += size - 1
			i += size
		case b < 0x20:
			return unsure, false, 0
		case b < utf8.RuneSelf:
			i++
		default:
			for i < len(d) && d[i] >= utf8.RuneSelf {
				_, size := utf8.DecodeRune(d[i:])
				if size == 1 {
					return unsure, false, 0
				}
				i += size
				extra += size - 1
			}
		}
	}
}

// decodeEscape reads the escape at the start of d; size 0 if it is none, or half
// of a surrogate pair.
func decodeEscape(d []byte) (r rune, size int) {
	if len(d) < 2 {
		return 0, 0
	}
	switch d[1] {
	case '"', '\\', '/':
		return rune(d[1]), 2
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'u':
		u, ok := hex4(d, 2)
		switch {
		case !ok || u >= 0xDC00 && u <= 0xDFFF:
			return 0, 0
		case u < 0xD800 || u > 0xDFFF:
			return u, 6
		case len(d) < 12 || d[6] != '\\' || d[7] != 'u':
			return 0, 0
		}
		low, ok := hex4(d, 8)
		if !ok || low < 0xDC00 || low > 0xDFFF {
			return 0, 0
		}
		return 0x10000 + (u-0xD800)<<10 + (low - 0xDC00), 12
	}
	return 0, 0
}

func hex4(d []byte, i int) (rune, bool) {
	if i+4 > len(d) {
		return 0, false
	}
	var v rune
	for _, b := range d[i : i+4] {
		x, ok := hexDigit(b)
		if !ok {
			return 0, false
		}
		v = v<<4 | rune(x)
	}
	return v, true
}

// unescape writes the text of a scanned string into buf; false if it is too long.
func unescape(buf *[maxEscape]byte, raw []byte) (n int, ok bool) {
	for i := 0; i < len(raw); {
		if n+utf8.UTFMax > len(buf) {
			return 0, false
		}
		if raw[i] != '\\' {
			buf[n] = raw[i]
			n++
			i++
			continue
		}
		r, size := decodeEscape(raw[i:])
		n += utf8.EncodeRune(buf[n:], r)
		i += size
	}
	return n, true
}

// number scans the number at i and applies n to its exact value.
func (c *check) number(n *node, i int) int {
	d := c.d
	start := i
	neg := d[i] == '-'
	if neg {
		i++
	}
	var m uint64
	digits, k := 0, 0 // digits of m; digits behind the point
	from := i
	for i < len(d) && d[i]-'0' <= 9 {
		if digits < maxDigits {
			m = m*10 + uint64(d[i]-'0')
		}
		digits++
		i++
	}
	if digits == 0 || digits > 1 && d[from] == '0' {
		return unsure
	}
	whole := true
	if i < len(d) && d[i] == '.' {
		whole = false
		i++
		for i < len(d) && d[i]-'0' <= 9 {
			if digits < maxDigits {
				m = m*10 + uint64(d[i]-'0')
			}
			digits++
			k++
			i++
		}
		if k == 0 {
			return unsure
		}
	}
	if i < len(d) && d[i]|0x20 == 'e' {
		whole = false
		i++
		sign := 1
		if i < len(d) && (d[i] == '+' || d[i] == '-') {
			if d[i] == '-' {
				sign = -1
			}
			i++
		}
		x, from := 0, i
		for i < len(d) && d[i]-'0' <= 9 && i-from < 4 {
			x = x*10 + int(d[i]-'0')
			i++
		}
		if i == from || x > MaxExponent || i < len(d) && d[i]-'0' <= 9 {
			return unsure
		}
		k -= sign * x
	}
	if i-start > MaxNumber {
		return unsure
	}
	if !n.numeric {
		return i
	}
	exact := digits <= maxDigits
	if m == 0 && exact {
		k = 0
	}
	for ; exact && k < 0; k++ {
		if m *= 10; m >= pow10[maxDigits] {
			exact = false
		}
	}
	for exact && k > 0 && m%10 == 0 {
		m /= 10
		k--
	}
	if k > maxDigits {
		exact = false
	}
	if !exact {
		if whole && n.integer && n.min == nil && n.max == nil && n.factor == nil && len(n.enums) == 0 {
			return i
		}
		return unsure
	}
	v := decimal{int64(m), uint8(k)}
	if neg {
		v.m = -v.m
	}
	if n.integer && k > 0 {
		return bad
	}
	if n.min != nil {
		if s := v.cmp(n.min.at); s < 0 || s == 0 && n.min.exclusive {
			return bad
		}
	}
	if n.max != nil {
		if s := v.cmp(n.max.at); s > 0 || s == 0 && n.max.exclusive {
			return bad
		}
	}
	if n.factor != nil {
		if yes, sure := v.multipleOf(*n.factor); !sure {
			return unsure
		} else if !yes {
			return bad
		}
	}
	for e := range n.enums {
		if c.spend(len(n.enums[e].numbers) >> 5) {
			return unsure
		}
		if !n.enums[e].hasNumber(v) {
			return bad
		}
	}
	return i
}

func (e *enum) hasNumber(v decimal) bool {
	for _, x := range e.numbers {
		if x == v {
			return true
		}
	}
	return false
}
