//go:build !invariants

package node

// poison is for builds with the tag invariants, where a returned buffer is overwritten.
func poison([]byte) {}

// checkReturned is for builds with the tag invariants, where a stopped loop must have got back all it lent.
func checkReturned(*Loop) {}
