package schema

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
	c := check{d: data, steps: 4096 + 4*len(data)}
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

// spend takes n steps and reports whether they are used up.
func (c *check) spend(n int) bool {
	c.steps -= n
	return c.steps < 0
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
		case c.spend(t.cost(raw)):
			return unsure
		case !t.re.Match(raw):
			return bad
		}
	}
	return 0
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
