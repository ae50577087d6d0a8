// Package process starts the programs that tools run, and is the only place where
// the gate starts any. What it starts ends with the call: when the program exits,
// runs out of its time, is canceled, writes without end, or when the caller itself
// is killed.
//
// # Trust model
//
// The program is not trusted. It gets an environment that was rebuilt (see
// Environment), an empty standard input, a session without a terminal, a private
// temporary directory, no other open file of the caller's, and a sandbox (see Sandbox):
// by default the strongest that the machine starts, and none only when that is asked
// for in words. docs/sandbox.md says what each level keeps from it.
//
// On Linux each process is watched over by a helper: this very executable, started
// again, which is what Main is for. The helper sets up the sandbox and is the subreaper
// of all that the process starts, so that a daemon that forked twice and left the
// session is still found and killed. A library must not make its host a subreaper:
// orphans of the host's would come to it, and nobody would wait for them.
//
//   - Isolated: the helper is the first process of a namespace of pids. The kernel kills
//     all in it when the helper ends, and the helper ends when the caller does. The
//     process sees a read-only view of the file system that ends at the caller's home,
//     with its workspace in it, and a network without anything.
//   - Confined: the process can neither signal the helper nor look into it. What it can
//     do to files is bounded by Landlock, which has no right for mode, owner and times.
//
// What it does not stop at None:
//
//   - The process has the rights of its user. It can read that user's files, the
//     environment of the caller in /proc among them, and signal that user's
//     processes.
//   - When it kills the helper, the process dies with it and the caller kills what
//     it finds: all of the session, and what carries the mark of the run in its
//     environment. What left the session, dropped its environment and killed the
//     helper stays, and so may what starts itself again in new sessions faster than
//     it is found. The same goes for a process that kills the caller and the helper.
//   - Memory, processors and the number of processes are not limited.
//
// What no level stops: the use of processors, of the disk of the workspace beyond the size
// of one file, faults of the kernel, and what programs outside do with what the process
// left in the workspace.
//
// On other systems the process group (Unix) or the job (Windows) is all that is
// killed, and nobody is there to do it when the caller is killed: see NotEnforced.
package process
