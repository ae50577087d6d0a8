//go:build race

package journal_test

// raced says that everything is many times slower.
const raced = true
