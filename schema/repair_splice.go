package schema

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// span is where a value stands in a JSON text.
type span struct {
	start, end int    // of the value
	members    []bool // for each token of the pointer: it names a member, not an element
	name       int    // where the member's name starts, if the last one does
}

// locate finds the value at an RFC 6901 pointer, in one pass. It is false where data has no such value or is not JSON
// up to there.
func locate(data []byte, pointer string) (span, bool) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(data))
	s := span{}
	for token := range jsontext.Pointer(pointer).Tokens() {
		open, err := dec.ReadToken()
		if err != nil {
			return span{}, false
		}
		switch open.Kind() {
		case '{':
			s.members = append(s.members, true)
			for {
				if dec.PeekKind() != '"' {
					return span{}, false
				}
				name, err := dec.ReadToken()
				if err != nil {
					return span{}, false
				}
				if name.String() == token {
					s.name = int(dec.InputOffset()) - nameLength(data[:dec.InputOffset()])
					break
				}
				if dec.SkipValue() != nil {
					return span{}, false
				}
			}
		case '[':
			s.members = append(s.members, false)
			n, err := strconv.Atoi(token)
			if err != nil || n < 0 || strconv.Itoa(n) != token {
				return span{}, false
			}
			for ; n > 0; n-- {
				if dec.PeekKind() == ']' || dec.SkipValue() != nil {
					return span{}, false
				}
			}
			if dec.PeekKind() == ']' {
				return span{}, false
			}
		default:
			return span{}, false
		}
	}
	value, err := dec.ReadValue()
	if err != nil {
		return span{}, false
	}
	s.end = int(dec.InputOffset())
	s.start = s.end - len(value)
	return s, true
}

// nameLength is the length of the quoted string that text ends with.
func nameLength(text []byte) int {
	for i := len(text) - 2; i >= 0; i-- {
		if text[i] != '"' {
			continue
		}
		escapes := 0
		for i-1-escapes >= 0 && text[i-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return len(text) - i
		}
	}
	return len(text)
}

// splice returns a copy of data with the bytes from start to end replaced.
func splice(data []byte, start, end int, by []byte) []byte {
	out := make([]byte, 0, len(data)-(end-start)+len(by))
	out = append(out, data[:start]...)
	out = append(out, by...)
	return append(out, data[end:]...)
}

// withoutMember removes a member of an object together with one comma and the blanks between; everything else stays as it is.
func withoutMember(data []byte, s span) []byte {
	const blanks = " \t\r\n"
	after := s.end + len(data[s.end:]) - len(bytes.TrimLeft(data[s.end:], blanks))
	if after < len(data) && data[after] == ',' {
		next := after + 1
		next += len(data[next:]) - len(bytes.TrimLeft(data[next:], blanks))
		return splice(data, s.name, next, nil)
	}
	before := len(bytes.TrimRight(data[:s.name], blanks))
	if before > 0 && data[before-1] == ',' {
		return splice(data, before-1, s.end, nil)
	}
	return splice(data, s.name, s.end, nil)
}

// under reports whether pointer is at or below root.
func under(pointer, root string) bool {
	rest, ok := strings.CutPrefix(pointer, root)
	return ok && (rest == "" || rest[0] == '/')
}
