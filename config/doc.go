// Package config reads callgate.yaml: what a person says in writing about tools,
// environment and rules.
//
// The file is YAML 1.2 as far as it is JSON with less punctuation (JSON itself is
// accepted): one document of mappings, lists and plain values. Anchors, aliases,
// merge keys and tags are refused, so that what a line says can be seen on it.
// Its form is the JSON Schema that [Schema] returns, inferred from [File] and
// enforced by the validator that also judges a model's arguments: an unknown key,
// a missing one or a wrong value is an error with its line, and all of them are
// reported at once.
//
// # Trust
//
// A configuration names programs that will be run. Who can write the file decides
// what a tool does; what the model can decide is only the arguments.
package config
