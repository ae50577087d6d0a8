package schema

import (
	"math/big"
	"math/bits"
)

// A decimal is m / 10^k, exactly: at most 18 digits, 0 ≤ k ≤ 18, and no zeros at
// the end of m while k > 0.
type decimal struct {
	m int64
	k uint8
}

const maxDigits = 18

var pow10 = [maxDigits + 1]uint64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18}

// decimalOf reports whether r is such a number.
func decimalOf(r *big.Rat) (decimal, bool) {
	if r == nil {
		return decimal{}, false
	}
	k, exact := r.FloatPrec()
	if !exact || k > maxDigits {
		return decimal{}, false
	}
	m := new(big.Int).Mul(r.Num(), new(big.Int).SetUint64(pow10[k]))
	m.Quo(m, r.Denom())
	if !m.IsInt64() || m.CmpAbs(new(big.Int).SetUint64(pow10[maxDigits])) >= 0 {
		return decimal{}, false
	}
	return decimal{m.Int64(), uint8(k)}, true
}

// cmp is -1, 0 or 1 as d is less than, equal to or greater than e.
func (d decimal) cmp(e decimal) int {
	switch {
	case d.m < 0 && e.m >= 0:
		return -1
	case d.m >= 0 && e.m < 0:
		return 1
	case d.k == e.k:
		return compare(d.m, e.m)
	case d.m < 0:
		return -decimal{-d.m, d.k}.cmp(decimal{-e.m, e.k})
	}
	dh, dl := bits.Mul64(uint64(d.m), pow10[e.k])
	eh, el := bits.Mul64(uint64(e.m), pow10[d.k])
	if dh != eh {
		return compare(dh, eh)
	}
	return compare(dl, el)
}

func compare[T int64 | uint64](a, b T) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// multipleOf reports whether d is a multiple of f, and whether that could be told.
func (d decimal) multipleOf(f decimal) (yes, sure bool) {
	m := d.m
	if m < 0 {
		m = -m
	}
	xh, x := bits.Mul64(uint64(m), pow10[f.k])
	yh, y := bits.Mul64(uint64(f.m), pow10[d.k])
	if xh != 0 || yh != 0 || y == 0 {
		return false, false
	}
	return x%y == 0, true
}
