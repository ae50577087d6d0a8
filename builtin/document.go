package builtin

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// An encoding is how the characters of a text file are written.
type encoding uint8

const (
	utf8Text    encoding = iota // may hold bytes that are no UTF-8, which stay as they are
	utf16LE                     // little-endian UTF-16
	utf16BE                     // big-endian UTF-16
	windows1252                 // 8 bits a character; Latin-1 where that has letters
)

func (e encoding) String() string {
	return [...]string{"UTF-8", "UTF-16LE", "UTF-16BE", "Windows-1252"}[e]
}

// A document is a text file: its text in UTF-8 without a byte order mark, and
// what is needed to write it back as it was.
type document struct {
	text  string
	enc   encoding
	bom   bool
	exact bool // encode(text) gives the same bytes again
}

const (
	bomUTF8    = "\xef\xbb\xbf"
	bomUTF16LE = "\xff\xfe"
	bomUTF16BE = "\xfe\xff"
	bomUTF32LE = "\xff\xfe\x00\x00"
	bomUTF32BE = "\x00\x00\xfe\xff"
)

// decode reads raw as text; ok is false if it is none.
func decode(raw []byte) (d document, ok bool) {
	s := string(raw)
	switch {
	case strings.HasPrefix(s, bomUTF32LE) && len(s)%4 == 0, strings.HasPrefix(s, bomUTF32BE):
		return d, false
	case strings.HasPrefix(s, bomUTF8):
		d = document{text: s[len(bomUTF8):], bom: true, exact: true}
		return d, isText(d.text)
	case strings.HasPrefix(s, bomUTF16LE):
		return decode16(s, utf16LE, true)
	case strings.HasPrefix(s, bomUTF16BE):
		return decode16(s, utf16BE, true)
	}
	if enc, ok := looksUTF16(raw); ok {
		return decode16(s, enc, false)
	}
	switch {
	case !isText(s):
		return d, false
	case utf8.Valid(raw), mostlyUTF8(s):
		return document{text: s, exact: true}, true
	}
	return document{text: decode1252(s), enc: windows1252, exact: true}, true
}

// encode writes text in the form of d. It names the first character that the
// form does not have.
func (d document) encode(text string) ([]byte, error) {
	switch d.enc {
	case utf16LE, utf16BE:
		return d.encode16(text), nil
	case windows1252:
		return encode1252(text)
	}
	if d.bom {
		return append([]byte(bomUTF8), text...), nil
	}
	return []byte(text), nil
}

// remarks says what a reader of the text cannot see in it.
func (d document) remarks() []string {
	var out []string
	switch {
	case d.enc == windows1252:
		out = append(out, "the file is not UTF-8 and is read as Windows-1252 (Latin-1)")
	case d.enc != utf8Text && d.bom:
		out = append(out, fmt.Sprintf("the file is %v with a byte order mark", d.enc))
	case d.enc != utf8Text:
		out = append(out, fmt.Sprintf("the file is %v without a byte order mark", d.enc))
	case d.bom:
		out = append(out, "the file starts with a UTF-8 byte order mark")
	}
	if !d.exact {
		out = append(out, "it is damaged: some code units are no characters")
	}
	switch eol := endings(d.text); eol {
	case "CRLF":
		out = append(out, "its lines end in CRLF")
	case "mixed":
		out = append(out, "its lines end partly in CRLF, partly in LF")
	}
	return out
}

// endings returns LF, CRLF, mixed, or none.
func endings(text string) string {
	lf, crlf := strings.Count(text, "\n"), strings.Count(text, "\r\n")
	switch {
	case lf == 0:
		return "none"
	case crlf == 0:
		return "LF"
	case crlf == lf:
		return "CRLF"
	}
	return "mixed"
}

// isText reports whether s, in an 8-bit encoding, is text: no NUL, which no text
// has (git's test), and few other control characters.
func isText(s string) bool {
	controls := 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == 0:
			return false
		case c < 0x20 && c != '\n' && c != '\t' && c != '\r' && c != '\f' && c != '\b' && c != 0x1b:
			controls++
		}
	}
	return controls == 0 || controls < len(s)/10
}

// mostlyUTF8 reports whether the bytes of s that are not ASCII are rather a
// damaged UTF-8 text than one in an 8-bit encoding.
func mostlyUTF8(s string) bool {
	good, bad := 0, 0
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case n > 1:
			good++
		case r == utf8.RuneError:
			bad++
		}
		i += n
	}
	return good > bad
}

// looksUTF16 recognizes UTF-16 without a byte order mark by the zero bytes of
// its ASCII characters. It wants a beginning of at least 8 characters, nearly all
// of them ASCII.
func looksUTF16(raw []byte) (encoding, bool) {
	head := raw[:min(len(raw), 1024)&^1]
	if len(head) < 16 || len(raw)%2 != 0 {
		return 0, false
	}
	var zero [2]int
	for i, c := range head {
		if c == 0 {
			zero[i%2]++
		}
	}
	most := len(head) / 2
	switch {
	case zero[0] == 0 && zero[1] > most*9/10:
		return utf16LE, true
	case zero[1] == 0 && zero[0] > most*9/10:
		return utf16BE, true
	}
	return 0, false
}

func decode16(s string, enc encoding, bom bool) (document, bool) {
	d := document{enc: enc, bom: bom}
	body := []byte(s)
	if bom {
		body = body[2:]
	}
	units := make([]uint16, len(body)/2)
	for i := range units {
		units[i] = d.order().Uint16(body[2*i:])
	}
	d.text = string(utf16.Decode(units))
	d.exact = bytes.Equal(d.encode16(d.text), []byte(s))
	return d, strings.IndexByte(d.text, 0) < 0
}

func (d document) encode16(text string) []byte {
	units := utf16.Encode([]rune(text))
	out := make([]byte, 0, 2+2*len(units))
	if d.bom {
		out = d.order().AppendUint16(out, 0xfeff)
	}
	for _, u := range units {
		out = d.order().AppendUint16(out, u)
	}
	return out
}

func (d document) order() interface {
	binary.ByteOrder
	binary.AppendByteOrder
} {
	if d.enc == utf16BE {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

// high1252 are the characters 0x80 to 0x9f of Windows-1252. The five that it
// leaves undefined are the controls of the same number (WHATWG Encoding, index
// windows-1252), so that every byte is some character and comes back as it was.
var high1252 = [32]rune{
	0x20ac, 0x81, 0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021, 0x02c6, 0x2030, 0x0160, 0x2039, 0x0152, 0x8d, 0x017d, 0x8f,
	0x90, 0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014, 0x02dc, 0x2122, 0x0161, 0x203a, 0x0153, 0x9d, 0x017e, 0x0178,
}

func decode1252(s string) string {
	var b strings.Builder
	b.Grow(len(s) + len(s)/8)
	for i := 0; i < len(s); i++ {
		r := rune(s[i])
		if r >= 0x80 && r < 0xa0 {
			r = high1252[r-0x80]
		}
		b.WriteRune(r)
	}
	return b.String()
}

func encode1252(text string) ([]byte, error) {
	out := make([]byte, 0, len(text))
next:
	for _, r := range text {
		if r < 0x80 || r >= 0xa0 && r <= 0xff {
			out = append(out, byte(r))
			continue
		}
		for i, h := range high1252 {
			if r == h {
				out = append(out, byte(0x80+i))
				continue next
			}
		}
		return nil, fmt.Errorf("%v has no character %q (U+%04X)", windows1252, r, r)
	}
	return out, nil
}
