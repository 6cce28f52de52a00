package quota

import (
	"bufio"
	"fmt"
	"os"
	"testing"
)

// testdata/kafka-4.1.1.txt is what Apache Kafka 4.1.1's own Sensor, with a Rate or a TokenBucket in it, says of random values: a
// line "rate|bucket WINDOWS MS LIMIT" and then for each value its time, itself, and the wait in milliseconds.
func TestWaitsAreKafkas(t *testing.T) {
	f, err := os.Open("testdata/kafka-4.1.1.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var o oracle
	compared := 0
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if o.begin(lines.Text()) {
			continue
		}
		var now, want int64
		var value float64
		if _, err := fmt.Sscan(lines.Text(), &now, &value, &want); err != nil {
			t.Fatalf("%q: %v", lines.Text(), err)
		}
		compared++
		if got := o.record(value, now); got != want {
			t.Errorf("%s, %v at %d: wait %d ms, want %d", o.header, value, now, got, want)
		}
	}
	if compared < 700 {
		t.Errorf("compared %d values", compared)
	}
}

type oracle struct {
	header string
	kind   string
	w      Windows
	limit  float64
	rate   Rate
	bucket bucket
}

// begin reads a header; false if line is none.
func (o *oracle) begin(line string) bool {
	var next oracle
	if n, err := fmt.Sscan(line, &next.kind, &next.w.Count, &next.w.SizeMS, &next.limit); n < 4 || err != nil {
		return false
	}
	next.header = line
	*o = next
	return true
}

func (o *oracle) record(value float64, now int64) int64 {
	if o.kind == "rate" {
		o.rate.add(o.w, value, now)
		return o.rate.wait(o.w, o.limit, now)
	}
	o.bucket.fill(o.w, o.limit, now)
	o.bucket.take(value)
	o.bucket.tokens = min(o.bucket.tokens, o.bucket.most(o.w, o.limit))
	return o.bucket.wait(o.limit)
}
