package schema

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// What a scan answers instead of the index behind the value.
const (
	unsure = -1 // malformed, or only the engine can tell
	bad    = -2 // certainly not valid, if the document is strict JSON at all
)

const (
	maxOpen   = 32  // undeclared names of one object that are compared with each other
	maxFold   = 64  // bytes of an undeclared name that is compared with declared ones
	maxEscape = 256 // bytes of an escaped string that an enum or a class is applied to
	maxUnique = 32  // items that uniqueItems compares
)

// Check reports true only if data is strict JSON and valid: false means "not
// sure", and [Schema.Explain] has the answer. It reads data once where the schema
// has no alternatives, and allocates nothing.
func (s *Schema) Check(data []byte) bool {
	if s.fast == nil || len(data) > MaxBytes {
		return false
	}
	c := check{d: data, steps: 256 + 4*len(data)}
	i := c.value(s.fast, s.root, c.space(0), 1)
	return i > 0 && c.space(i) == len(data)
}

// check is one run over one document. Every scan of a value, by whichever
// node, does the whole work of the strict gate on it; so wherever one scan ends
// well, the bytes are strict JSON, and the answers of the others can be trusted.
type check struct {
	d     []byte
	steps int // left: alternatives can multiply
}

var kindOf = [256]uint8{'n': isNull, 't': isBool, 'f': isBool, '"': isString, '[': isArray, '{': isObject, '-': isNumber,
	'0': isNumber, '1': isNumber, '2': isNumber, '3': isNumber, '4': isNumber, '5': isNumber, '6': isNumber, '7': isNumber, '8': isNumber, '9': isNumber}

var anything = &node{kinds: isAny, maxLen: -1, maxProps: -1, maxItems: -1}

func (c *check) space(i int) int {
	for i < len(c.d) && c.d[i] <= ' ' {
		switch c.d[i] {
		case ' ', '\t', '\n', '\r':
			i++
		default:
			return i
		}
	}
	return i
}

// value checks the value that starts at i against n and returns the index behind
// it. At p are the names that the whole schema declares in this place; depth is
// what a container here would have.
func (c *check) value(n *node, p *place, i, depth int) int {
	c.steps--
	if i >= len(c.d) || c.steps < 0 {
		return unsure
	}
	kind := kindOf[c.d[i]]
	switch {
	case kind == 0 || kind&n.unsure != 0:
		return unsure
	case kind&n.kinds == 0:
		return bad
	case n.more != nil:
		return c.combined(n, p, i, depth, kind)
	}
	return c.single(n, p, i, depth, kind)
}

// single is value without what stands in n.more.
func (c *check) single(n *node, p *place, i, depth int, kind uint8) int {
	switch kind {
	case isString:
		end, escaped, length := c.str(i)
		if end < 0 || !n.textual {
			return end
		}
		if r := c.text(n, c.d[i+1:end-1], escaped, length); r < 0 {
			return r
		}
		return end
	case isObject:
		if depth > MaxDepth {
			return unsure
		}
		for k := range n.enums {
			if n.enums[k].kinds&kind == 0 {
				return bad
			}
		}
		return c.object(n, p, i, depth)
	case isArray:
		if depth > MaxDepth {
			return unsure
		}
		for k := range n.enums {
			if n.enums[k].kinds&kind == 0 {
				return bad
			}
		}
		return c.array(n, p, i, depth)
	case isNumber:
		return c.number(n, i)
	case isBool:
		yes, end := c.d[i] == 't', i+4
		if !yes {
			end++
		}
		if end > len(c.d) || yes && string(c.d[i:end]) != "true" || !yes && string(c.d[i:end]) != "false" {
			return unsure
		}
		for k := range n.enums {
			if yes && !n.enums[k].yes || !yes && !n.enums[k].no {
				return bad
			}
		}
		return end
	}
	if i+4 > len(c.d) || string(c.d[i:i+4]) != "null" {
		return unsure
	}
	for k := range n.enums {
		if n.enums[k].kinds&isNull == 0 {
			return bad
		}
	}
	return i + 4
}

// combined is value with what stands in n.more. It needs one scan that ended
// well; then "bad" of another is a true answer.
func (c *check) combined(n *node, p *place, i, depth int, kind uint8) int {
	m := n.more
	end := 0
	if n.own || m.all == nil && m.any == nil && m.one == nil {
		if end = c.single(n, p, i, depth, kind); end < 0 {
			return end
		}
	}
	for _, sub := range m.all {
		if end = c.value(sub, p, i, depth); end < 0 {
			return end
		}
	}
	if m.any != nil {
		if end = c.anyOf(m.any, p, i, depth); end < 0 {
			return end
		}
	}
	if m.one != nil {
		if end = c.oneOf(m.one, p, i, depth); end < 0 {
			return end
		}
	}
	if m.not != nil {
		switch r := c.value(m.not, p, i, depth); {
		case r >= 0:
			return bad
		case r == unsure:
			return unsure
		}
	}
	if m.cond != nil {
		branch := m.yes
		switch r := c.value(m.cond, p, i, depth); r {
		case unsure:
			return unsure
		case bad:
			branch = m.nay
		}
		if branch != nil {
			return c.value(branch, p, i, depth)
		}
	}
	return end
}

func (c *check) anyOf(branches []*node, p *place, i, depth int) int {
	worst := bad
	for _, b := range branches {
		r := c.value(b, p, i, depth)
		if r >= 0 {
			return r
		}
		worst = max(worst, r)
	}
	return worst
}

func (c *check) oneOf(branches []*node, p *place, i, depth int) int {
	end := bad
	for _, b := range branches {
		switch r := c.value(b, p, i, depth); {
		case r == unsure:
			return unsure
		case r >= 0 && end >= 0:
			return bad
		case r >= 0:
			end = r
		}
	}
	return end
}

func (c *check) object(n *node, p *place, i, depth int) int {
	var seen [maxProps / 64]uint64
	var open names
	if p != nil && p.twins {
		return unsure // the gate refuses the two together; it is not worth a word here
	}
	home := p == n.home
	count, next := 0, 0
	i = c.space(i + 1)
	if i < len(c.d) && c.d[i] == '}' {
		return n.complete(&seen, 0, i+1)
	}
	for {
		if i >= len(c.d) || c.d[i] != '"' {
			return unsure
		}
		quote := i
		end, escaped, _ := c.str(i)
		if end < 0 || escaped { // an escaped name: the engine compares it
			return unsure
		}
		key := c.d[i+1 : end-1]
		i = c.space(end)
		if i >= len(c.d) || c.d[i] != ':' {
			return unsure
		}
		i = c.space(i + 1)

		at := -1
		if next < len(n.props) && string(key) == n.props[next].name {
			at = next
		} else if k, ok := n.index[string(key)]; ok {
			at = k
		}
		var sub *node
		var inner *place
		if at >= 0 {
			next = at + 1
			word, bit := &seen[at/64], uint64(1)<<(at%64)
			if *word&bit != 0 {
				return unsure // a duplicate
			}
			*word |= bit
			sub = n.props[at].n
			if home && sub != nil {
				inner = n.props[at].place
			} else if !c.known(p, key, &inner) {
				return unsure
			}
		} else if !open.add(key) || !c.known(p, key, &inner) {
			return unsure
		}
		declared := sub != nil
		if n.names != nil {
			if r := c.value(n.names, nil, quote, depth); r < 0 {
				return r
			}
		}
		for k := range n.byPattern {
			if n.byPattern[k].name.match(key) {
				declared = true
				if r := c.value(n.byPattern[k].n, inner, i, depth+1); r < 0 {
					return r
				}
			}
		}
		if !declared {
			if n.closed {
				return bad
			}
			sub = n.others
		}
		if sub == nil {
			sub = anything
		}
		if i = c.value(sub, inner, i, depth+1); i < 0 {
			return i
		}
		count++
		i = c.space(i)
		if i >= len(c.d) {
			return unsure
		}
		if c.d[i] == ',' {
			i = c.space(i + 1)
			continue
		}
		if c.d[i] != '}' {
			return unsure
		}
		return n.complete(&seen, count, i+1)
	}
}

// complete is the end of an object, or bad if it has too few or too many members.
func (n *node) complete(seen *[maxProps / 64]uint64, count, end int) int {
	for w, r := range n.required {
		if seen[w]&r != r {
			return bad
		}
	}
	if count < n.minProps || n.maxProps >= 0 && count > n.maxProps {
		return bad
	}
	return end
}

// known finds the place below key; false if key is, or may be, a case variant of
// a declared name.
func (c *check) known(p *place, key []byte, inner **place) bool {
	if p == nil {
		return true
	}
	if sub, ok := p.names[string(key)]; ok {
		*inner = sub
		return true
	}
	*inner = p.other
	if p.names == nil {
		return true
	}
	if len(key) > maxFold {
		return false
	}
	var folded [maxFold]byte
	for k, b := range key {
		folded[k] = upper(b)
	}
	_, variant := p.folded[string(folded[:len(key)])]
	return !variant
}

// upper is fold for ASCII.
func upper(b byte) byte {
	if b >= 'a' && b <= 'z' {
		b -= 'a' - 'A'
	}
	return b
}

// names holds the undeclared names of one object.
type names struct {
	n    int
	list [maxOpen][]byte
}

// add is false if key repeats another or differs from it only by case, if there
// are too many, or if folding is not a matter of ASCII.
func (o *names) add(key []byte) bool {
	if o.n == maxOpen {
		return false
	}
	for _, b := range key {
		if b >= utf8.RuneSelf {
			return false
		}
	}
	for _, other := range o.list[:o.n] {
		if len(other) != len(key) {
			continue
		}
		same := true
		for k, b := range key {
			if b != other[k] && upper(b) != upper(other[k]) {
				same = false
				break
			}
		}
		if same {
			return false
		}
	}
	o.list[o.n] = key
	o.n++
	return true
}

func (c *check) array(n *node, p *place, i, depth int) int {
	inner := p.element()
	start := i
	count := 0
	i = c.space(i + 1)
	if i < len(c.d) && c.d[i] == ']' {
		i++
	} else {
		for {
			sub := n.items
			if count < len(n.prefix) {
				sub = n.prefix[count]
			} else if n.full {
				return bad
			}
			if sub == nil {
				sub = anything
			}
			if i = c.value(sub, inner, i, depth+1); i < 0 {
				return i
			}
			count++
			i = c.space(i)
			if i >= len(c.d) {
				return unsure
			}
			if c.d[i] == ',' {
				i = c.space(i + 1)
				continue
			}
			if c.d[i] != ']' {
				return unsure
			}
			i++
			break
		}
	}
	if count < n.minItems || n.maxItems >= 0 && count > n.maxItems {
		return bad
	}
	if n.unique && count > 1 {
		if r := c.unique(start, count); r < 0 {
			return r
		}
	}
	return i
}

// unique compares the items of the array at i, which was scanned before: texts
// without escapes, whole numbers and literals are equal if their bytes are.
func (c *check) unique(i, count int) int {
	if count > maxUnique {
		return unsure
	}
	var items [maxUnique][]byte
	for k := range count {
		i = c.space(i + 1) // behind [ or ,
		from := i
		switch c.d[i] {
		case '{', '[':
			return unsure
		case '"':
			end, escaped, _ := c.str(i)
			if end < 0 || escaped {
				return unsure
			}
			i = end
		default:
			for c.d[i] != ',' && c.d[i] != ']' && c.d[i] > ' ' {
				if b := c.d[i]; kindOf[c.d[from]] == isNumber && (b == '.' || b == 'e' || b == 'E' || b == '-' && c.d[i+1] == '0') {
					return unsure // 1, 1.0 and 1e0 are equal, and so are 0 and -0
				}
				i++
			}
		}
		item := c.d[from:i]
		for _, other := range items[:k] {
			if string(other) == string(item) {
				return bad
			}
		}
		items[k] = item
		i = c.space(i)
	}
	return i
}

// text applies lengths, enum and patterns to a string; raw is between the quotes.
func (c *check) text(n *node, raw []byte, escaped bool, length int) int {
	if length < n.minLen || n.maxLen >= 0 && length > n.maxLen {
		return bad
	}
	if len(n.enums) == 0 && len(n.patterns) == 0 {
		return 0
	}
	var buf [maxEscape]byte
	plain := raw
	if escaped {
		m, ok := unescape(&buf, raw)
		if !ok {
			return unsure
		}
		plain = buf[:m]
	}
	for k := range n.enums {
		if !n.enums[k].hasText(plain) {
			return bad
		}
	}
	for k := range n.patterns {
		switch t := &n.patterns[k]; {
		case t.run != nil:
			if !t.run.match(plain) {
				return bad
			}
		case escaped:
			return unsure // regexp would make buf escape to the heap
		case !t.re.Match(raw):
			return bad
		}
	}
	return 0
}

func (t *textPattern) match(text []byte) bool {
	if t.run != nil {
		return t.run.match(text)
	}
	return t.re.Match(text)
}

func (e *enum) hasText(text []byte) bool {
	if e.set != nil {
		return e.set[string(text)]
	}
	for _, t := range e.texts {
		if t == string(text) {
			return true
		}
	}
	return false
}

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
