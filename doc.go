// Package callgate is the boundary between a language model and the machine:
// the model proposes a [Call], the gate decides whether and how it becomes a
// local execution, and exactly one [Result] answers it.
//
//	provider bytes → []Call → Plan → authorize → run → []Result → provider bytes
//
// A [Tool] is registered once. What the model is shown (the [Catalog]), what
// its arguments are checked against, and what runs all come from that record.
//
// # The road
//
// Every call goes down one road, whether it comes alone or with nine others,
// streamed or not, local or remote: look up, strict JSON, validate, order
// against its siblings, authorize, take its locks, run under a deadline, settle
// the result. The order of the stages is code, not configuration: no option can
// run a handler whose arguments were not validated or whose call was not
// authorized. What can be configured is who answers ([Policy], [Approver]), what
// surrounds a handler ([Middleware]), what carries the call to it ([Executor])
// and who watches ([Observer]).
//
// # Trust
//
// Calls are untrusted: their names, their identifiers and every byte of their
// arguments. Specs that come from a [Source] are untrusted as text. Handlers,
// policies, approvers, middleware and executors are the embedder's own code and
// are trusted, though a panic in any of them is contained. The gate decides what
// runs; it does not confine what a handler does once it runs: that is the work
// of the workspace package for files and of the sandbox for processes.
package callgate
