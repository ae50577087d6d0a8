// Package openai translates between a gate and the Chat Completions API of
// OpenAI, and of the many servers that speak it.
//
// It is pure: it sends nothing and knows no key. [Encode] makes the tools of a
// request out of a catalog and, with them, the [Codec] that reads the calls of
// the response and writes their results. Names that the API refuses are replaced
// on the way out and put back on the way in; the registry and the handlers never
// see them. Schemas are sent without "strict": what they say is enforced here.
//
// What the API accepts was taken from its reference (platform.openai.com/docs)
// and from the refusals that people reported; [Limits] holds it as data.
package openai
