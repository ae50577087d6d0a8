// Package anthropic translates between a gate and the Messages API of Anthropic.
//
// It is pure: it sends nothing and knows no key. [Encode] makes the tools of a
// request out of a catalog and, with them, the [Codec] that reads the calls of
// the response and writes their results. Names that the API refuses are replaced
// on the way out and put back on the way in, in schemas as in arguments; the
// registry and the handlers never see them.
//
// What the API accepts was taken from its reference (platform.claude.com/docs)
// and from the refusals that people reported; [Limits] holds it as data.
package anthropic
