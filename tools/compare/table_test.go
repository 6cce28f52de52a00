package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/ringmill/ringmill/bench/limits"
)

func TestTable(t *testing.T) {
	var got table
	rate := func(v float64) []figure { return []figure{{"rate", "MB/s", v, true}, {"p50", "ms", 1 / v, false}} }
	for i := range 3 {
		got.note("durable: produce", "ringmill", rate(float64(200+i)))
		got.note("durable: produce", "kafka", rate(float64(100+i)))
	}
	got.note("fetch", "ringmill", []figure{{"rate", "MB/s", 1, true}})
	got.note("fetch", "kafka", []figure{{"rate", "MB/s", 1, true}})
	got.note("peak", "ringmill", []figure{{"lost", "records", 0, false}})
	got.note("peak", "kafka", []figure{{"lost", "records", 0, false}})
	got.doubt("fetch", "kafka", "")
	got.doubt("fetch", "kafka", "3 records never arrived")
	want := `| case | figure | ringmill | Kafka | ratio (range) | better |
|---|---|---:|---:|---|---|
| durable: produce | rate, MB/s | 201 | 101 | 1.99 (1.98 to 2.00) | ringmill |
|  | p50, ms | 0.005 | 0.010 | 0.502 (0.500 to 0.505) | ringmill |
| fetch | rate, MB/s | 1.00 | 1.00 | 1.00 (1.00 to 1.00) | ~ |
| peak | lost, records | 0.00 | 0.00 | - | ~ |

In doubt: fetch on kafka: 3 records never arrived
`
	var b strings.Builder
	if err := got.print(&b); err != nil || b.String() != want {
		t.Errorf("%v\n%s", err, b.String())
	}
}

func TestOrderTurns(t *testing.T) {
	a, b := &server{name: "a"}, &server{name: "b"}
	if got := turned([]*server{a, b}, 1); got[0] != b || got[1] != a {
		t.Error("the second round has the same order as the first")
	}
}

func TestEveryCaseIsAWorkload(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range cases(1) {
		if seen[c.title()] {
			t.Errorf("two cases are called %q", c.title())
		}
		seen[c.title()] = true
		if c.limit.name != "" && !slices.Contains(limits.Names(), c.limit.name) {
			t.Errorf("%q is bounded by %q, which nothing measures", c.title(), c.limit.name)
		}
	}
}

func TestShareOfALimit(t *testing.T) {
	c := benchCase{limit: limit{"sync", thousandOperations}}
	measured := map[string]limits.Limit{"sync": {OperationsPerSecond: 4000}}
	got := c.share([]figure{{"requests", "k/s", 3, true}, {"p50", "ms", 1, false}}, measured)
	if want := []figure{{"share of: sync", "%", 75, true}}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := (&benchCase{}).share(nil, measured); got != nil {
		t.Errorf("a case without a limit has %v", got)
	}
}
