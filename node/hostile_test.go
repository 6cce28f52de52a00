package node

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

// A partition that is named many times is planned once, as it was asked for last.
func TestRepeatedPartitionsCountOnce(t *testing.T) {
	ask := func(name string, index wire.PartitionIndex, offset wire.Offset) fetchPart {
		return fetchPart{name: []byte(name), ask: wire.FetchPartition{Index: index, FetchOffset: offset}}
	}
	got := uniqueFetchParts([]fetchPart{ask("a", 0, 1), ask("b", 0, 2), ask("a", 0, 3), ask("a", 1, 4), ask("a", 0, 5)})
	if len(got) != 3 || got[0].ask.FetchOffset != 5 || got[1].ask.FetchOffset != 2 || got[2].ask.FetchOffset != 4 {
		t.Errorf("%+v", got)
	}
}

// Beyond the bound on what sessions remember a client is served without one, and those that are open go on.
func TestSessionsRememberSoMuch(t *testing.T) {
	tn := startNode(t, nodeOptions{})
	c := tn.dial()
	open := func(partitions int32) *kmsg.FetchResponse {
		req := fetch()
		req.SessionID, req.SessionEpoch = 0, 0
		topic := kmsg.NewFetchRequestTopic()
		topic.Topic = "unknown"
		for i := range partitions {
			part := kmsg.NewFetchRequestTopicPartition()
			part.Partition = i
			topic.Partitions = append(topic.Partitions, part)
		}
		req.Topics = append(req.Topics, topic)
		return c.call(req).(*kmsg.FetchResponse)
	}
	first := open(sessionPartsMax/2 + 1)
	if first.SessionID == 0 {
		t.Fatal("no session while there is room")
	}
	if second := open(sessionPartsMax / 2); second.SessionID != 0 || second.ErrorCode != 0 || len(second.Topics[0].Partitions) != sessionPartsMax/2 {
		t.Errorf("beyond the bound: session %d, error %d", second.SessionID, second.ErrorCode)
	}
	if third := open(10); third.SessionID == 0 {
		t.Error("no session where there is room for a small one")
	}
}

// Records that must be read are read off the loop, and a producer's batches keep their order around it.
func TestRecordsAreReadInOrder(t *testing.T) {
	eachShape(t, func(t *testing.T, s shape) {
		tn := startNode(t, nodeOptions{shape: s})
		tn.createTopic("t", 1)
		c := tn.dial()
		var want []string
		for i := range 20 {
			value := string(rune('a' + i))
			want = append(want, value)
			h := wire.BatchHeader{}
			if i%3 == 0 {
				h.Codec, h.TimestampType = wire.CompressionZstd, wire.LogAppendTime // its own times must be read
			}
			c.send(produce(-1, toProduce{"t", 0, batchOf(h, value)}))
		}
		for i := range want {
			if p := produced(c.mustReceive()); p[0].ErrorCode != 0 || p[0].BaseOffset != int64(i) {
				t.Fatalf("produce %d: error %d at offset %d", i, p[0].ErrorCode, p[0].BaseOffset)
			}
		}
		if got := c.readAll("t", 0, 0); len(got) != len(want) || got[3] != want[3] || got[19] != want[19] {
			t.Errorf("read %q", got)
		}
	})
}

// A client that leaves while its records are read takes nothing with it.
func TestClientLeavesWhileRecordsAreRead(t *testing.T) {
	tn := startNode(t, nodeOptions{})
	tn.createTopic("t", 1)
	for range recordReaders { // nobody reads until the places are free again
		tn.recordReaders <- struct{}{}
	}
	c := tn.dial()
	c.send(produce(-1, toProduce{"t", 0, batchOf(wire.BatchHeader{Codec: wire.CompressionGzip, TimestampType: wire.LogAppendTime}, "v")}))
	reading := func() (n int) {
		tn.loops[0].on(func(l *Loop) {
			l.conns.all(func(c *Conn) {
				if c.reading != nil {
					n++
				}
			})
		})
		return n
	}
	await(t, "the records to wait", func() bool { return reading() == 1 })
	c.conn.Close()
	other := tn.dial()
	other.mustProduce("t", 0, batch("w"))
	for range recordReaders {
		<-tn.recordReaders
	}
	other.alive()
}

// More partitions than may stay open: all are written, synced and read.
func TestMorePartitionsThanFiles(t *testing.T) {
	tn := startNode(t, nodeOptions{seams: func(s *seams) { s.filesKept = 4 }})
	const partitions = 40
	tn.createTopic("t", partitions)
	c := tn.dial()
	for round := range int64(3) {
		for i := range int32(partitions) {
			if at := c.mustProduce("t", i, batch("v")); at != round {
				t.Fatalf("partition %d round %d: offset %d", i, round, at)
			}
		}
	}
	await(t, "idle files closed", func() bool { return tn.openFiles.Load() <= 2*4+1 })
	for i := range int32(partitions) {
		if got := c.readAll("t", i, 0); len(got) != 3 {
			t.Fatalf("partition %d: %q", i, got)
		}
	}
}

// TestForeignPeer: what is no Kafka client is named in the log, in place of a length that it never meant.
func TestForeignPeer(t *testing.T) {
	for prefix, named := range map[string]bool{
		"GET ": true, "POST": true, "\x16\x03\x01\x02": true,
		"\x7f\xff\xff\xff": false, "\xff\xff\xff\xff": false, "\x00\x00\x00\x00": false,
	} {
		if got := foreign([4]byte([]byte(prefix))); (got != "") != named {
			t.Errorf("%q: %q", prefix, got)
		}
	}
}
