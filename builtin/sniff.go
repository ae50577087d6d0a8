package builtin

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"image"
	_ "image/gif"  // for image.DecodeConfig
	_ "image/jpeg" // for image.DecodeConfig
	_ "image/png"  // for image.DecodeConfig
	"strings"
)

// signatures are the beginnings by which files that are no text are named. The
// name of a file says nothing about its content.
var signatures = []struct{ at, magic, is string }{
	{"", "\x89PNG\r\n\x1a\n", "image/png"},
	{"", "\xff\xd8\xff", "image/jpeg"},
	{"", "GIF87a", "image/gif"},
	{"", "GIF89a", "image/gif"},
	{"RIFF....", "WEBP", "image/webp"},
	{"RIFF....", "WAVE", "audio/wav"},
	{"", "%PDF-", "application/pdf"},
	{"", "PK\x03\x04", "application/zip (also office documents and jar files)"},
	{"", "\x1f\x8b", "application/gzip"},
	{"", "BZh", "application/x-bzip2"},
	{"", "\xfd7zXZ\x00", "application/x-xz"},
	{"", "\x28\xb5\x2f\xfd", "application/zstd"},
	{"", "7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"},
	{"", "\x7fELF", "an ELF program or library"},
	{"", "MZ", "a Windows program or library"},
	{"", "\xcf\xfa\xed\xfe", "a Mach-O program or library"},
	{"", "\xca\xfe\xba\xbe", "a Mach-O universal binary or Java class"},
	{"", "\x00asm", "application/wasm"},
	{"", "SQLite format 3\x00", "an SQLite database"},
	{"....", "ftyp", "video/mp4 or a relative of it"},
	{"", "OggS", "audio/ogg"},
	{"", "ID3", "audio/mpeg"},
	{"", "\x00\x01\x00\x00", "a TrueType font"},
	{"", "wOF2", "font/woff2"},
	{"", bomUTF32LE, "UTF-32 text"},
	{"", bomUTF32BE, "UTF-32 text"},
}

// sniff names the type of a file that is no text by its content, or returns "".
func sniff(raw []byte) string {
	for _, s := range signatures {
		n := len(s.at)
		if len(raw) < n+len(s.magic) || string(raw[n:n+len(s.magic)]) != s.magic {
			continue
		}
		if fixed := strings.TrimRight(s.at, "."); bytes.HasPrefix(raw, []byte(fixed)) {
			return s.is
		}
	}
	return ""
}

// What a provider takes as a picture: 5 MB of base64, and 8,000 pixels a side.
// One that it does not take would stay in the history and fail every later turn.
const (
	maxImageBytes = 5_000_000 / 4 * 3
	maxImageSide  = 8_000
)

// asImage returns the media type of raw if it is a picture that a model can be
// sent, "" if it is no picture, and an error if it is one that cannot be sent.
func asImage(raw []byte) (string, error) {
	kind := sniff(raw)
	var whole bool
	switch kind {
	case "image/png":
		whole = wholePNG(raw)
	case "image/jpeg":
		whole = bytes.LastIndex(raw, []byte("\xff\xd9")) > 0
	case "image/gif":
		whole = bytes.LastIndexByte(raw, ';') > 0
	case "image/webp":
		size := binary.LittleEndian.Uint32(raw[4:])
		whole = len(raw) > 20 && size >= 12 && int64(size) <= int64(len(raw))-8
	default:
		return "", nil
	}
	if !whole {
		return kind, errors.New("it begins as " + kind + " but is cut off or damaged")
	}
	if len(raw) > maxImageBytes {
		return kind, fmt.Errorf("it is an image (%s) of %d bytes; at most %d can be shown", kind, len(raw), maxImageBytes)
	}
	if kind == "image/webp" { // the standard library has no decoder
		return kind, nil
	}
	c, _, err := image.DecodeConfig(bytes.NewReader(raw))
	if err != nil {
		return kind, errors.New("it begins as " + kind + " but is damaged: " + err.Error())
	}
	if c.Width > maxImageSide || c.Height > maxImageSide {
		return kind, fmt.Errorf("it is an image (%s) of %d×%d pixels; at most %d a side can be shown", kind, c.Width, c.Height, maxImageSide)
	}
	return kind, nil
}

// wholePNG reports whether the chunks of a PNG are intact up to the last (W3C PNG, 5.3).
func wholePNG(raw []byte) bool {
	for rest := raw[8:]; len(rest) >= 12; {
		n := int64(binary.BigEndian.Uint32(rest))
		if n > int64(len(rest))-12 {
			return false
		}
		body := rest[4 : 8+n]
		if crc32.ChecksumIEEE(body) != binary.BigEndian.Uint32(rest[8+n:]) {
			return false
		}
		if string(body[:4]) == "IEND" {
			return true
		}
		rest = rest[12+n:]
	}
	return false
}
