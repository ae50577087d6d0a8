package shell

// ReadOnlyOptions is a placeholder.
type ReadOnlyOptions struct{}

// ReadOnly is a placeholder: nothing is proven.
func ReadOnly(f Facts, o ReadOnlyOptions) (bool, string) { return false, "" }
