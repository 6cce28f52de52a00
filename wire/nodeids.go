package wire

import "slices"

// NodeIDs are the ids that a message has as plain numbers; never nil.
func NodeIDs(numbers []int32) []NodeID {
	ids := make([]NodeID, len(numbers))
	for i, n := range numbers {
		ids[i] = NodeID(n)
	}
	return ids
}

// NodeNumbers is the reverse of NodeIDs.
func NodeNumbers(ids []NodeID) []int32 {
	numbers := make([]int32, len(ids))
	for i, id := range ids {
		numbers[i] = int32(id)
	}
	return numbers
}

// WithoutNodes gives ids without those of gone, in a list of its own.
func WithoutNodes(ids []NodeID, gone ...NodeID) []NodeID {
	return slices.DeleteFunc(slices.Clone(ids), func(n NodeID) bool { return slices.Contains(gone, n) })
}
