package assignor

import (
	"bytes"
	"slices"

	"github.com/ringmill/ringmill/wire"
)

// TopicPartitions are some partitions of one topic, in rising order, each once; at least one.
type TopicPartitions struct {
	Topic      wire.TopicID
	Partitions []int32
}

// Assignment is a set of partitions: topics in the order of their ids, each once. It is never changed once it is made, and
// may be shared.
type Assignment []TopicPartitions

// CompareTopics orders topic ids by their bytes.
func CompareTopics(a, b wire.TopicID) int { return bytes.Compare(a[:], b[:]) }

// Normal makes an Assignment of lists in any order that may name topics and partitions again. It keeps neither.
func Normal(lists []TopicPartitions) Assignment {
	sorted := slices.Clone(lists)
	slices.SortStableFunc(sorted, func(a, b TopicPartitions) int { return CompareTopics(a.Topic, b.Topic) })
	var out Assignment
	for i := 0; i < len(sorted); {
		topic := sorted[i].Topic
		var partitions []int32
		for ; i < len(sorted) && sorted[i].Topic == topic; i++ {
			partitions = append(partitions, sorted[i].Partitions...)
		}
		slices.Sort(partitions)
		if partitions = slices.Compact(partitions); len(partitions) > 0 {
			out = append(out, TopicPartitions{topic, partitions})
		}
	}
	return out
}

// Of are the partitions of one topic; nil if there are none.
func (a Assignment) Of(topic wire.TopicID) []int32 {
	i, found := slices.BinarySearchFunc(a, topic, func(t TopicPartitions, id wire.TopicID) int { return CompareTopics(t.Topic, id) })
	if !found {
		return nil
	}
	return a[i].Partitions
}

// Has reports whether the partition is in the set.
func (a Assignment) Has(topic wire.TopicID, partition int32) bool {
	_, found := slices.BinarySearch(a.Of(topic), partition)
	return found
}

// Count is the number of partitions.
func (a Assignment) Count() int {
	n := 0
	for i := range a {
		n += len(a[i].Partitions)
	}
	return n
}

// Equal reports whether both hold the same partitions.
func (a Assignment) Equal(b Assignment) bool {
	return slices.EqualFunc(a, b, func(x, y TopicPartitions) bool {
		return x.Topic == y.Topic && slices.Equal(x.Partitions, y.Partitions)
	})
}

// Filter gives the partitions for which keep is true.
func (a Assignment) Filter(keep func(topic wire.TopicID, partition int32) bool) Assignment {
	var out Assignment
	for i := range a {
		var kept []int32
		for _, p := range a[i].Partitions {
			if keep(a[i].Topic, p) {
				kept = append(kept, p)
			}
		}
		if kept != nil {
			out = append(out, TopicPartitions{a[i].Topic, kept})
		}
	}
	return out
}

// Intersect gives the partitions that are in both.
func (a Assignment) Intersect(b Assignment) Assignment { return a.Filter(b.Has) }

// Minus gives the partitions that are not in b.
func (a Assignment) Minus(b Assignment) Assignment {
	return a.Filter(func(topic wire.TopicID, partition int32) bool { return !b.Has(topic, partition) })
}

// Union gives the partitions that are in either.
func (a Assignment) Union(b Assignment) Assignment {
	switch {
	case len(a) == 0:
		return b
	case len(b) == 0:
		return a
	}
	return Normal(slices.Concat(a, b))
}
