package schema

import "unicode/utf8"

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
			switch {
			case sub != nil && home:
				inner = n.props[at].place
			case sub == nil && !open.add(key) || !c.known(p, key, &inner): // nil: required, but not declared
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
			if c.spend(1 + n.byPattern[k].name.cost(key)) {
				return unsure
			}
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
