package assignor

import (
	"slices"
	"strings"
)

// JavaHash is java.lang.String.hashCode, which goes over UTF-16 units.
func JavaHash(s string) int32 {
	var hash int32
	for _, r := range s {
		if r >= 0x10000 {
			r -= 0x10000
			hash = 31*hash + 0xd800 + r>>10
			r = 0xdc00 + r&0x3ff
		}
		hash = 31*hash + r
	}
	return hash
}

// hashTableMin is the size that a java.util.HashMap begins with.
const hashTableMin = 16

// sortAsHashMap puts keys in the order in which a java.util.HashMap of 16 or more places goes over them: by the place that
// their hash leads to. Of keys that share a place, which Kafka has in the order of insertion, the lesser comes first.
func sortAsHashMap(keys []string) {
	size := int32(hashTableMin)
	for int64(len(keys))*4 > int64(size)*3 { // it doubles when it is three quarters full
		size *= 2
	}
	place := func(key string) int32 {
		h := uint32(JavaHash(key))
		return int32(h^h>>16) & (size - 1)
	}
	slices.SortFunc(keys, func(a, b string) int {
		if d := place(a) - place(b); d != 0 {
			return int(d)
		}
		return strings.Compare(a, b)
	})
}
