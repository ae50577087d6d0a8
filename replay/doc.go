// Package replay asks what yesterday's calls would meet today. A session that the journal recorded is judged again by
// today's tools and rules ([Check]), its read-only calls are run again and their outputs compared ([Rerun]), and it plays
// the model and the tools for the test of an agent ([Session]).
//
// # What it promises
//
// Check runs nothing and asks nobody: a call is planned and judged by the dispatcher's own road up to the point where
// something would happen. What it reports is a function of the record, the catalog and the policy: no times, no order of
// a map. A call that was refused and would be refused in the same way is no difference. A call that the plan refuses today
// is listed with each violation and its JSON Pointer.
//
// Rerun runs what today's catalog calls read-only, was done, and today's policy allows without asking. It believes the
// annotation, as the dispatcher does.
//
// # What it does not
//
// The journal keeps digests of tools, not their definitions: that a definition changed is seen, not how. Where arguments
// were redacted before they were stored, the redacted ones are checked, and every difference says so. Calls of a fork are
// those of the fork alone; what came before belongs to the session that it was forked from, and [Forked] counts it.
package replay
