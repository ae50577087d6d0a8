// Package workspace is the only door of the file tools to the disk: one directory tree, and nothing outside it.
//
// # What it promises
//
// A path that the model wrote is cleaned by its spelling, mapped to a name below the root, and then opened through
// [os.Root], which checks every component while the kernel walks it. A link that is swapped in between check and use can
// make an operation fail; it cannot make it leave. Pipes, devices and sockets are refused without being opened. Writes are
// atomic: a reader, or a machine that lost power, sees the whole old or the whole new content.
//
// # What it does not stop
//
// A bind mount or another mounted file system below the root is inside. A hard link made by somebody else to a file outside
// is inside too: the content can be read, but never changed, because a write replaces the name and leaves the other file
// alone. A process that runs beside the gate (bash) is not held by this package but by its sandbox.
//
// # Spelling
//
// "a/../b" is cleaned to "b" before the disk is asked, even if a is a link or is missing; so the key that orders calls
// ([Workspace.LexicalKey], pure) and the file that is opened always agree. "~" is an ordinary name. An absolute path is
// accepted below the root, in the spelling given to [Open] or in the resolved one; an absolute link inside the workspace
// that points inside it is followed likewise. Paths that come out are relative to the root, with slashes.
package workspace
