package group

import (
	"testing"

	"github.com/ringmill/ringmill/control/group/assignor"
)

// TestPartitionFor has the values of String.hashCode as Java 17 gives them, and the partitions that Apache Kafka 4.1.1 with
// ten of them put these groups' records into.
func TestPartitionFor(t *testing.T) {
	for _, c := range []struct {
		id         string
		hash       int32
		partitions int32
		want       int32
	}{
		{"", 0, 50, 0},
		{"g", 103, 50, 3},
		{"rmg-1795964913425687680-g2", 1983689263, 10, 3},
		{"rmg-1795964813393051617-c", 320041165, 10, 5},
		{"rmg-1795964796655956391-g3", -1237176750, 10, 0}, // a negative hash
		{"polygenelubricants", -1 << 31, 50, 0},
		{"console-consumer-1", 35782224, 50, 24},
		{"größe", 98762257, 50, 7},
		{"𝄞-clef", 1436437325, 50, 25},
	} {
		if got := PartitionFor(c.id, c.partitions); got != c.want {
			t.Errorf("PartitionFor(%q, %d) = %d, want %d", c.id, c.partitions, got, c.want)
		}
		if got := assignor.JavaHash(c.id); got != c.hash {
			t.Errorf("JavaHash(%q) = %d, want %d", c.id, got, c.hash)
		}
	}
}

func TestJavaLength(t *testing.T) {
	for s, want := range map[string]int{"": 0, "abc": 3, "größe": 5, "𝄞-clef": 7} {
		if got := javaLength(s); got != want {
			t.Errorf("javaLength(%q) = %d, want %d", s, got, want)
		}
	}
}
