package group

import "github.com/ringmill/ringmill/control/group/assignor"

// PartitionFor is the __consumer_offsets partition that holds a group: the absolute value of Java's String.hashCode,
// modulo the partitions. Kafka takes the absolute value of the smallest int, which has none, to be 0.
func PartitionFor(groupID string, partitions int32) int32 {
	hash := assignor.JavaHash(groupID)
	switch {
	case hash == -1<<31:
		hash = 0
	case hash < 0:
		hash = -hash
	}
	return hash % partitions
}

// javaLength is String.length: the UTF-16 units of s.
func javaLength(s string) int {
	n := 0
	for _, r := range s {
		n++
		if r >= 0x10000 {
			n++
		}
	}
	return n
}
