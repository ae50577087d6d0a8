// Package schema decides whether a tool's arguments are what its JSON Schema
// promises, and says so in words that a model can act on.
//
// It has two tiers. [Schema.Check] is one compiled pass over the bytes without
// allocation that answers "valid" or "unsure". [Schema.Explain] is a complete
// engine (github.com/pb33f/jsonschema/v6); it alone refuses, and it names every
// violation. [Schema.Validate] tries the first and falls back to the second, so
// callers need nothing else. Check may never say valid where Explain would not.
//
// Before either of them stands the strict gate (see [Strict]): bytes that two
// parsers could read differently are not arguments.
//
// # Trust
//
// Both sides are hostile: the arguments come from a model, the schema often
// from an outside server. Compile therefore bounds what a schema may cost,
// refuses every reference that leaves the document, and never reads or fetches
// anything. What a value may cost under its schema is counted before the engine
// runs; beyond about a second the value is refused with the keyword "limit". An answer depends on the schema and the bytes alone: no I/O, no
// global state, so that a recorded call can be checked again years later.
//
// The one exception is a pattern that RE2 cannot take (look-around, back
// references): it runs on a backtracking engine that is stopped by a clock, and
// a stopped match counts as a violation. Such a verdict may differ on a slower
// machine; it can only differ towards refusal.
//
// Drafts 2020-12 (the default without $schema), 2019-09, 07, 06 and 04 are
// supported. format and the content keywords are annotations in all of them.
// Patterns are read as RE2 where RE2 accepts them, so \s, \d and \w are ASCII.
package schema
