package shell
type Facts struct{}
type ReadOnlyOptions struct{}
func Parse(s string) (Facts, error) { return Facts{}, nil }
func ReadOnly(f Facts, o ReadOnlyOptions) (bool, string) { return false, "" }
