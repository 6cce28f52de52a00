package node

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

func TestProduceFetchPipelined(t *testing.T) {
	eachShape(t, func(t *testing.T, s shape) {
		tn := startNode(t, nodeOptions{shape: s})
		tn.createTopic("a", 3)
		c := tn.dial()
		const rounds = 50
		var reqs []kmsg.Request
		for i := range rounds {
			acks := []int16{1, -1}[i%2]
			reqs = append(reqs, produce(acks, toProduce{"a", int32(i % 3), batch(fmt.Sprint(i))}), fetch(toFetch{"a", 0, 0}))
		}
		c.send(reqs...)
		for i := range rounds {
			if p := produced(c.mustReceive())[0]; p.ErrorCode != 0 || p.BaseOffset != int64(i/3) {
				t.Fatalf("produce %d: code %d, base offset %d", i, p.ErrorCode, p.BaseOffset)
			}
			if p := fetched(c.mustReceive())["a-0"]; p.ErrorCode != 0 {
				t.Fatalf("fetch %d: code %d", i, p.ErrorCode)
			}
		}
		for part := range int32(3) {
			got := c.readAll("a", part, 0)
			for i, v := range got {
				if v != fmt.Sprint(i*3+int(part)) {
					t.Fatalf("partition %d holds %v", part, got)
				}
			}
		}
	})
}

// TestPipelineLongerThanInFlight: answers let further requests in while their effects are still being applied.
func TestPipelineLongerThanInFlight(t *testing.T) {
	eachShape(t, func(t *testing.T, s shape) {
		for _, acks := range []int16{1, -1} {
			tn := startNode(t, nodeOptions{shape: s})
			tn.createTopic("a", 1)
			c := tn.dial()
			const rounds = 10 * inFlightMax
			var reqs []kmsg.Request
			for i := range rounds {
				reqs = append(reqs, produce(acks, toProduce{"a", 0, batch(fmt.Sprint(i))}))
			}
			go c.send(reqs...)
			for i := range rounds {
				if p := produced(c.mustReceive())[0]; p.ErrorCode != 0 || p.BaseOffset != int64(i) {
					t.Fatalf("produce %d: code %d, base offset %d", i, p.ErrorCode, p.BaseOffset)
				}
			}
			tn.stop()
		}
	})
}

func TestPartialFrames(t *testing.T) {
	eachShape(t, func(t *testing.T, s shape) {
		tn := startNode(t, nodeOptions{shape: s})
		tn.createTopic("a", 1)
		c := tn.dial()
		probe := (&client{}).frame(produce(1, toProduce{"a", 0, batch("x")}))
		for cut := range len(probe) {
			b := c.frame(produce(1, toProduce{"a", 0, batch("x")}))
			received := tn.receivedBytes()
			c.write(b[:cut])
			await(t, "first part received", func() bool { return tn.receivedBytes() == received+cut })
			c.write(b[cut:])
			if p := produced(c.mustReceive())[0]; p.BaseOffset != int64(cut) {
				t.Fatalf("cut at %d: base offset %d", cut, p.BaseOffset)
			}
		}
		// Two frames, the cut in the second.
		for cut := range len(probe) {
			b := c.frame(produce(1, toProduce{"a", 0, batch("x")}))
			second := c.frame(produce(1, toProduce{"a", 0, batch("x")}))
			c.write(append(b, second[:cut]...))
			c.mustReceive()
			c.write(second[cut:])
			c.mustReceive()
		}
	})
}

func (tn *testNode) receivedBytes() (n int) {
	for _, l := range tn.loops {
		n += int(l.metrics.received.Get())
	}
	return n
}

func TestLargeFrames(t *testing.T) {
	eachShape(t, func(t *testing.T, s shape) {
		for _, path := range []string{"inline", "ring"} {
			tn := startNode(t, nodeOptions{shape: s, set: []string{"ringmill.append.path=" + path, "message.max.bytes=16777216"}})
			tn.createTopic("a", 2)
			c := tn.dial()
			sizes := []int{16<<10 - 200, 16 << 10, 32 << 10, 100 << 10, 256 << 10, 1<<20 + 1, 5 << 20}
			go func() {
				for i, size := range sizes {
					b := batch(strings.Repeat(string(rune('a'+i)), size))
					c.send(produce(-1, toProduce{"a", 0, b}, toProduce{"a", 1, b}))
				}
			}()
			for i := range sizes {
				for _, p := range produced(c.mustReceive()) {
					if p.ErrorCode != 0 || p.BaseOffset != int64(i) {
						t.Fatalf("produce %d: %s, base offset %d", i, wire.ErrorCode(p.ErrorCode), p.BaseOffset)
					}
				}
			}
			for part := range int32(2) {
				got := c.readAll("a", part, 0)
				if len(got) != len(sizes) {
					t.Fatalf("%d records, want %d", len(got), len(sizes))
				}
				for i, v := range got {
					if v != strings.Repeat(string(rune('a'+i)), sizes[i]) {
						t.Fatalf("record %d of %d bytes is not what was sent", i, len(v))
					}
				}
			}
			tn.stop()
		}
	})
}

func TestManyPartitionsInOneRequest(t *testing.T) {
	eachShape(t, func(t *testing.T, s shape) {
		tn := startNode(t, nodeOptions{shape: s})
		tn.createTopic("a", 40)
		tn.createTopic("b", 7)
		c := tn.dial()
		var out []toProduce
		var in []toFetch
		for _, topic := range []string{"a", "b"} {
			for i := range int32(42) {
				out = append(out, toProduce{topic, i, batch(fmt.Sprint(topic, i))})
				in = append(in, toFetch{topic, i, 0})
			}
		}
		for i, p := range produced(c.call(produce(-1, out...))) {
			want := wire.None
			if i%42 >= 40 || i >= 42+7 {
				want = wire.UnknownTopicOrPartition
			}
			if p.Partition != int32(i%42) || wire.ErrorCode(p.ErrorCode) != want {
				t.Fatalf("answer %d: partition %d, %s", i, p.Partition, wire.ErrorCode(p.ErrorCode))
			}
		}
		for name, p := range fetched(c.call(fetch(in...))) {
			got, _ := values(t, p.RecordBatches)
			if p.ErrorCode == 0 && !slices.Equal(got, []string{strings.ReplaceAll(name, "-", "")}) {
				t.Fatalf("%s holds %v", name, got)
			}
		}
	})
}
