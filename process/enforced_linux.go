package process

// NotEnforced says what this system does not keep of the promises of the package,
// a sentence each; nil if it keeps all.
func NotEnforced() []string { return nil }
