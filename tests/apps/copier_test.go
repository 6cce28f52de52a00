package apps

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ringmill/ringmill/tests/harness"
)

// copying is Apache Kafka's client at work on three nodes: an idempotent producer, two members of a group that copy what it writes in
// transactions, and a member of another group that reads the copy.
type copying struct {
	on       *servers
	producer *harness.Program
	history  string // of the producer: a file
	copiers  []*harness.Program
	reader   *harness.Program
	from, to string
}

const copyGroup, readGroup = "copiers", "copy-readers"

func copierID(i int) string { return fmt.Sprint("copier-", i) }

// startCopying has the groups go by a protocol.
func startCopying(t *testing.T, protocol string) *copying {
	t.Helper()
	dir := t.TempDir()
	c := &copying{from: "numbers", to: "copied", history: filepath.Join(dir, "history")}
	c.on = three(t, map[string]string{ // members that were killed are missed soon
		"group.consumer.min.session.timeout.ms": "6000", "group.consumer.session.timeout.ms": "6000",
		"group.consumer.min.heartbeat.interval.ms": "1000", "group.consumer.heartbeat.interval.ms": "1000"})
	c.on.createTopic(t, c.from, partitions)
	c.on.createTopic(t, c.to, partitions)
	c.producer = harness.StartProgram(t, harness.JavaApp(t, "Numbered", c.on.bootstrap(), c.from, fmt.Sprint(partitions), "0", "64", "5", c.history)...)
	for i := range 2 {
		c.copiers = append(c.copiers, harness.StartProgram(t, harness.JavaApp(t, "Copier",
			c.on.bootstrap(), c.from, c.to, copyGroup, copierID(i), protocol)...))
	}
	reads := filepath.Join(dir, "consumer.properties")
	writeLines(t, reads, "isolation.level=read_committed")
	c.reader = harness.StartProgram(t, harness.JavaApp(t, "org.apache.kafka.tools.VerifiableConsumer", "--bootstrap-server", c.on.bootstrap(),
		"--topic", c.to, "--group-id", readGroup, "--group-protocol", protocol, "--verbose", "--consumer.config", reads)...)
	return c
}

// TestJavaClassicGroups: what Apache Kafka's client writes, copies with exactly-once and reads by classic groups is all there and once, while
// the nodes of its groups' and transactions' coordinators are ended in turn, and the copiers.
func TestJavaClassicGroups(t *testing.T) {
	t.Parallel()
	copyOverKills(t, "classic")
}

// TestJavaConsumerGroups: the same with groups of the consumer protocol (KIP-848).
func TestJavaConsumerGroups(t *testing.T) {
	t.Parallel()
	copyOverKills(t, "consumer")
}

func copyOverKills(t *testing.T, protocol string) {
	t.Helper()
	c := startCopying(t, protocol)
	c.awaitMore(t) // it runs
	for i := range kills(t) - 1 {
		copier := i % len(c.copiers)
		c.on.failNode(t, c.on.groupCoordinator(t, copyGroup), func() { c.awaitMore(t) })
		c.on.failNode(t, c.on.transactionCoordinator(t, copierID(copier)), func() { c.awaitMore(t) })
		c.on.failNode(t, c.on.groupCoordinator(t, readGroup), func() { c.awaitMore(t) })
		c.copiers[copier].Kill(t)
		c.copiers[copier].Restart(t)
		c.awaitMore(t)
	}
	c.producer.Stop(t)
	c.wantAll(t)
}

// place is where a record is.
type place struct {
	partition int32
	offset    int64
}

// awaitMore waits until a record of each partition is copied, and read, that is not in the copy yet.
func (c *copying) awaitMore(t *testing.T) {
	t.Helper()
	ends := endOffsets(t, c.on, c.to)
	harness.Eventually(t, "the copy's reader goes on in each partition", func(context.Context) error {
		behind := map[int32]int64{}
		for p := range c.read() {
			behind[p.partition] = max(behind[p.partition], p.offset+1)
		}
		for partition, end := range ends {
			if behind[partition] <= end {
				return fmt.Errorf("partition %d is read up to %d, and ended at %d", partition, behind[partition], end)
			}
		}
		return nil
	})
}

// read are the records that the reader of the copy was given.
func (c *copying) read() map[place]bool {
	all := map[place]bool{}
	for line := range strings.Lines(c.reader.Log()) {
		var event struct {
			Name      string
			Partition int32
			Offset    int64
		}
		if strings.HasSuffix(line, "\n") && json.Unmarshal([]byte(line), &event) == nil && event.Name == "record_data" {
			all[place{event.Partition, event.Offset}] = true
		}
	}
	return all
}

// wantAll: the topic has what was acknowledged, once and in order; the copy has the same; its reader has had all of that.
func (c *copying) wantAll(t *testing.T) {
	t.Helper()
	want := c.wantWritten(t)
	count := 0
	for _, records := range want {
		count += len(records)
	}
	awaitCommitted(t, c.on, c.to, count)
	for _, p := range c.copiers {
		p.Stop(t)
	}
	harness.Eventually(t, "the copy is read", func(context.Context) error {
		if read := len(c.read()); read < count {
			return fmt.Errorf("%d of %d", read, count)
		}
		return nil
	})
	c.reader.Stop(t)
	c.wantCommitted(t, copyGroup, c.from, 0)
	c.wantCommitted(t, readGroup, c.to, 1) // a transaction's end
	got := byPartition(readToEnd(t, c.on, c.to, partitions))
	read := c.read()
	for partition, records := range want {
		if len(got[partition]) != len(records) {
			t.Fatalf("partition %d: %d records, want %d", partition, len(got[partition]), len(records))
		}
		for i, r := range records {
			g := got[partition][i]
			if !same(g.Value, r.Value) {
				t.Fatalf("partition %d, record %d at offset %d: %x, want %x", partition, i, g.Offset, g.Value, r.Value)
			}
			if !read[place{partition, g.Offset}] {
				t.Errorf("partition %d: the record at offset %d was not read", partition, g.Offset)
			}
		}
	}
}

// wantWritten gives the records of the topic, which are those that were acknowledged, each where the producer was told.
func (c *copying) wantWritten(t *testing.T) map[int32][]*kgo.Record {
	t.Helper()
	history, err := os.ReadFile(c.history)
	if err != nil {
		t.Fatal(err)
	}
	acknowledged := map[place]int{} // which of its partition's records it is
	for line := range strings.Lines(string(history)) {
		var sent struct {
			Res     string
			Part    int32
			Counter int
			Offset  int64
		}
		if err := json.Unmarshal([]byte(line), &sent); err != nil || sent.Res != "ok" {
			t.Fatalf("%s: %v", line, err)
		}
		acknowledged[place{sent.Part, sent.Offset}] = sent.Counter
	}
	records := byPartition(pollAll(t, committed(t, c.on, c.from), len(acknowledged)))
	for partition, end := range endOffsets(t, c.on, c.from) {
		if len(records[partition]) != int(end) {
			t.Errorf("partition %d ends at %d, and %d records were acknowledged", partition, end, len(records[partition]))
		}
		for i, r := range records[partition] {
			counter, ok := acknowledged[place{partition, r.Offset}]
			if written := int(binary.BigEndian.Uint32(r.Value[4:])); !ok || counter != i || written != i {
				t.Fatalf("partition %d, offset %d: record %d, acknowledged as %d (%t), want %d", partition, r.Offset, written, counter, ok, i)
			}
		}
	}
	return records
}

// wantCommitted: a group has nothing left to read but so many offsets.
func (c *copying) wantCommitted(t *testing.T, group, topic string, rest int64) {
	t.Helper()
	// stable: the last transaction's end may have come to the records already, and to the offsets not yet
	committed := harness.Asked(t, c.on.nodes[0], "the offsets of "+group, func(ctx context.Context, admin *kadm.Client) (kadm.OffsetResponses, error) {
		return admin.FetchOffsets(kadm.RequireStable(ctx), group)
	})
	for partition, end := range endOffsets(t, c.on, topic) {
		if at, ok := committed.Lookup(topic, partition); !ok || at.Err != nil || at.At < end-rest {
			t.Errorf("group %s, partition %d of %s: %d (%v) is committed, want %d", group, partition, topic, at.At, at.Err, end)
		}
	}
}
