// Package eval measures how often a model solves tasks with the tools of a gate. A
// suite is a directory of task files; each is tried in fresh workspaces, and judged
// by what is in the workspace afterwards, by the final answer, and by how the calls
// went. docs/eval.md describes the file and the figures.
//
// A task that passes before anything was done says nothing about a model. So the
// verifiers are first run on the untouched workspace, and a task that they accept
// is an error.
//
// # Trust model
//
// Who writes a task decides which tools a model may use, and names programs that
// are run: a suite is trusted as a Makefile is. The model is not. What verifiers
// read is in the workspace of the trial, through [workspace.Workspace]: a link that
// leads outside is a failed verification. What they compare with was read before
// the first trial. What a trial does through bash is bounded by package process
// alone; it can change the suite's own files on disk, though not the tasks that
// were loaded. A program of exit_zero runs on what the model left behind, so a test
// that the model could have rewritten should be compared first.
package eval
