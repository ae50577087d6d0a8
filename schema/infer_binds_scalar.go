package schema

import (
	"math/big"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// judgeInteger compares bounds. A missing bound is let pass where only a number of more than 64 bits could be past it.
func (b *binding) judgeInteger(k *bindKeywords, at string, t reflect.Type, path goPath) {
	if t.Kind() < reflect.Int || t.Kind() > reflect.Uintptr {
		return
	}
	lo, hi := integerRange(t)
	wide := t.Bits() == 64 || t.Kind() == reflect.Int || t.Kind() == reflect.Uint
	low, lowKnown := k.bound(k.Minimum, k.ExclusiveMinimum, 1)
	high, highKnown := k.bound(k.Maximum, k.ExclusiveMaximum, -1)
	var past, missing []string
	if lowKnown && (low == nil && (!wide || lo == "0") || low != nil && low.Cmp(exactNumber(lo)) < 0) {
		past, missing = append(past, "below "+lo), append(missing, "minimum")
	}
	if highKnown && (high == nil && !wide || high != nil && high.Cmp(exactNumber(hi)) > 0) {
		past, missing = append(past, "over "+hi), append(missing, "maximum")
	}
	if past != nil {
		b.fault(at, "the schema admits integers %s, which %v (%v) cannot hold: set %s", strings.Join(past, " and "), path, t, strings.Join(missing, " and "))
	}
}

// bound is the tighter of an inclusive and an exclusive bound, nil if there is neither; ok is false where a
// bound cannot be read cheaply.
func (k *bindKeywords) bound(inclusive, exclusive jsontext.Value, inward int64) (bound *big.Rat, ok bool) {
	for i, raw := range []jsontext.Value{inclusive, exclusive} {
		if raw.Kind() != '0' {
			continue // absent, or draft 4's boolean: then the inclusive bound is judged as it stands
		}
		if !modest(string(raw)) {
			return nil, false
		}
		n := exactNumber(string(raw))
		if i == 1 && n.IsInt() {
			n = n.Add(n, big.NewRat(inward, 1))
		}
		if bound == nil || n.Cmp(bound) == int(inward) {
			bound = n
		}
	}
	return bound, true
}

// modest reports whether a number is small enough to be made exact: an exponent of nine digits would fill the memory.
func modest(text string) bool {
	i := strings.IndexAny(text, "eE")
	if i < 0 {
		return len(text) <= 400
	}
	n, err := strconv.Atoi(strings.TrimPrefix(text[i+1:], "+"))
	return err == nil && n >= -400 && n <= 400 && i <= 400
}

// onlyIntegers reports whether every number that the subschema admits is an integer, or may be.
func (k *bindKeywords) onlyIntegers() bool {
	return k.MultipleOf.Kind() == '0' && (!modest(string(k.MultipleOf)) || exactNumber(string(k.MultipleOf)).IsInt())
}

// judgeString asks for some sign that not every string is meant where the type takes only some.
func (b *binding) judgeString(k *bindKeywords, at string, t reflect.Type, path goPath) {
	if k.Pattern != nil || k.Format != nil || k.ContentEncoding != nil {
		return
	}
	switch {
	case t == reflect.TypeFor[time.Time]():
		b.fault(at, "the schema admits any string, %v (%v) binds only RFC 3339: add format date-time, and a pattern to refuse others", path, t)
	case isBytes(t):
		b.fault(at, "the schema admits any string, %v (%v) binds only base64: add contentEncoding base64, and a pattern to refuse others", path, t)
	}
}
