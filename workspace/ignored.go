package workspace

// Ignored tells whether name lies in .git or is excluded by a .gitignore or .git/info/exclude, by a pattern of its own or
// of a directory above it. A [Workspace.Walk] that starts at such a name walks it all the same.
func (w *Workspace) Ignored(name string) (bool, error) {
	real, err := w.locate("list", name)
	if err != nil {
		return false, err
	}
	_, ignored, err := w.rulesAbove(real)
	return ignored, describe("list", name, err)
}
