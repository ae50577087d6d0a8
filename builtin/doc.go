// Package builtin has the tools that come with the gate: read_file, write_file,
// edit_file, glob and grep; and bash with its background jobs, and programs that a
// configuration declares.
//
// # Trust model
//
// The arguments are a model's and not trusted. The file tools reach the disk
// through a [workspace.Workspace] and nothing else, so what that package promises
// and does not stop (a bind mount, say) holds here. What a file says is shown to
// the model as it is: a file can try to talk it into something.
//
// Each session has a memory of the content that it last saw of a file, as a
// hash. A write over content that the session has not seen is a conflict, not a
// loss. The memory guards against slips, not against malice: it is bounded, lost
// when the process ends, and a file that the session never saw may be replaced
// (the result says so). Between the last look at a file and its replacement,
// writers of this process are excluded and other programs are not: see
// [workspace.Workspace.WriteFile].
//
// # Text
//
// Files are shown as text if they are text: UTF-8 with or without a byte order
// mark, UTF-16, or an 8-bit file read as Windows-1252, which holds Latin-1. Edits
// put the file back in the form it had: encoding, mark, line ends and permissions
// stay, and every byte outside the replaced text is what it was.
package builtin
