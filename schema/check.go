package schema

// node is a schema compiled for Check.
type node struct{}

func build(s *Schema) (*node, string) { return nil, "nothing is compiled for Check" }

// Check reports whether data is certainly strict JSON and valid.
func (s *Schema) Check(data []byte) bool { return false }
