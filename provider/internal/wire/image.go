package wire

import (
	"bytes"
	"slices"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/llm"
)

// Media types of the images that models see, by how their bytes begin.
var magic = []struct{ begin, mediaType string }{
	{"\x89PNG\r\n\x1a\n", "image/png"},
	{"\xff\xd8\xff", "image/jpeg"},
	{"GIF87a", "image/gif"},
	{"GIF89a", "image/gif"},
}

// ImageType returns the media type that the bytes of c show, if the provider
// takes it: what a tool claims is not believed, since one image with a wrong
// label makes the provider refuse the whole request.
func ImageType(c callgate.Content, limits llm.Limits) (string, bool) {
	if len(c.Data) == 0 || limits.ImageBytes > 0 && len(c.Data) > limits.ImageBytes {
		return "", false
	}
	found := ""
	for _, m := range magic {
		if bytes.HasPrefix(c.Data, []byte(m.begin)) {
			found = m.mediaType
		}
	}
	if len(c.Data) >= 12 && string(c.Data[:4]) == "RIFF" && string(c.Data[8:12]) == "WEBP" {
		found = "image/webp"
	}
	return found, slices.Contains(limits.Images, found)
}
