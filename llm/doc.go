// Package llm is the vocabulary of a conversation with a model, without the wire
// format of any provider: messages made of blocks, requests and responses. The
// provider packages turn it into their provider's JSON and back; an agent speaks
// only this.
//
// A history is a ledger: messages are appended and never changed. What is sent
// to a provider is a projection of it, made anew for each request. [Pair] is the
// part of that projection which is the same for all providers: every call has
// exactly one result, in order, and no two calls have the same id.
package llm
