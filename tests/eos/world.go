package eos

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ringmill/ringmill/tests/harness"
	"github.com/ringmill/ringmill/tests/load"
)

const (
	partitions = 3
	// txnTimeout is long enough for a transaction on a busy machine, and short enough that some run out.
	txnTimeout = 2 * time.Second
	// segmentBytes is Kafka's lowest for a topic.
	segmentBytes = 1 << 20
)

// role of a client; those with the same id are zombies of each other.
type role struct{ role, id string }

// roles of the clients of one node, and those of a cluster's: there a raw producer would have to find leaders and coordinators.
var (
	nodeRoles = []role{
		{roleSecond, "second"}, {roleFirst, "first"}, {roleRaw, "raw"},
		{roleSecond, "zombie"}, {roleRaw, "zombie"},
		{roleLoop, "loop"}, {roleLoop1, "loop-1"},
	}
	clusterRoles = []role{{roleSecond, "second"}, {roleSecond, "zombie"}, {roleFirst, "zombie"}, {roleLoop, "loop"}}
)

// Properties let timeouts of transactions and of killed group members run out within a run.
var Properties = map[string]string{
	"transaction.abort.timed.out.transaction.cleanup.interval.ms": "200",
	"group.min.session.timeout.ms":                                "1000",
}

// slot is a client that is started again whenever it is killed.
type slot struct {
	client client
	child  *harness.Child
}

// World is a node or a cluster with its clients.
type World struct {
	t       testing.TB
	nodes   []*harness.Node
	enter   []string // what the command line of a client begins with
	random  *rand.Rand
	dir     string // of the histories
	in, out string
	numbers uint32 // of processes
	slots   []*slot
	readers []*slot
	own     *history // of the test's own process
	seen    map[string]int
	endings int
	killed  int // clients
}

// Start starts clients of a node, or of a cluster of three or more, which they run beside: enter is what their command lines begin with.
func Start(t testing.TB, nodes []*harness.Node, enter []string, random *rand.Rand) *World {
	t.Helper()
	w := &World{t: t, nodes: nodes, enter: enter, random: random, dir: t.TempDir(), in: harness.Name("in"), out: harness.Name("out"), seen: map[string]int{}}
	replicas, roles := int16(1), nodeRoles
	if len(nodes) > 1 {
		replicas, roles = 3, clusterRoles
	}
	for _, topic := range []string{w.in, w.out} {
		nodes[0].MakeTopic(t, topic, partitions, replicas, fmt.Sprint("segment.bytes=", segmentBytes))
	}
	load.AwaitWhole(t, nodes)
	var err error
	if w.own, err = appendHistory(w.path(0)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		w.readers = append(w.readers, w.start(roleReader, ""))
	}
	for _, r := range roles {
		w.slots = append(w.slots, w.start(r.role, r.id))
	}
	return w
}

func (w *World) addresses() string {
	var all []string
	for _, n := range w.nodes {
		all = append(all, n.Address)
	}
	return strings.Join(all, ",")
}

func (w *World) path(number uint32) string {
	return filepath.Join(w.dir, fmt.Sprintf("process-%03d.jsonl", number))
}

func (w *World) start(role, id string) *slot {
	s := &slot{client: client{role: role, transactionalID: id}}
	w.again(s)
	return s
}

// again starts a slot's client as a new process.
func (w *World) again(s *slot) {
	w.t.Helper()
	w.numbers++
	c := &s.client
	c.addresses, c.number, c.in, c.out, c.partitions, c.timeout = w.addresses(), w.numbers, w.in, w.out, partitions, txnTimeout
	binary, err := os.Executable()
	if err != nil {
		w.t.Fatal(err)
	}
	s.child = harness.StartChild(w.t, slices.Concat(w.enter, []string{binary}, c.arguments(w.path(c.number), w.random.Uint64()))...)
}

// killClient ends one with kill -9 at any point of a transaction and starts it again.
func (w *World) killClient() {
	s := w.slots[w.random.IntN(len(w.slots))]
	if w.random.IntN(6) == 0 {
		s = w.readers[1]
	}
	w.revive(s)
	s.child.Kill(w.t)
	w.killed++
	w.again(s)
}

// revive starts a client again that killed itself, as producers do now and then; one that ended otherwise has found what no
// client may find.
func (w *World) revive(s *slot) {
	w.t.Helper()
	switch {
	case s.child.Alive():
		return
	case s.child.ExitStatus() == harness.Signalled:
		w.killed++
	default:
		w.t.Errorf("the %s of process %d ended by itself: exit status %d", s.client.role, s.client.number, s.child.ExitStatus())
	}
	w.again(s)
}

// KillSome also runs while the node is down: what its clients have asked for then stays in doubt.
func (w *World) KillSome() {
	for range w.random.IntN(3) {
		w.killClient()
	}
}

// ended counts the transactions that clients were told to be committed or aborted, from what histories have grown by.
func (w *World) ended() int {
	w.t.Helper()
	for number := range w.numbers {
		name := w.path(number + 1)
		data, err := os.ReadFile(name)
		if err != nil {
			continue // not begun yet
		}
		w.endings += bytes.Count(data[w.seen[name]:], []byte(`"res":"ok"`))
		w.seen[name] = len(data)
	}
	return w.endings
}

// AwaitProgress returns when count more transactions have ended: the node serves again.
func (w *World) AwaitProgress(count int) {
	w.t.Helper()
	goal := w.ended() + count
	harness.Eventually(w.t, "transactions end after a restart", func(context.Context) error {
		short := goal - w.ended()
		if short <= 0 {
			return nil
		}
		for _, s := range w.slots {
			w.revive(s)
		}
		return fmt.Errorf("%d transactions short of %d more", short, count)
	})
}

// moment waits for the instant of an ending; clients are killed on the way.
func (w *World) moment() {
	w.t.Helper()
	w.AwaitProgress(30 + w.random.IntN(60))
	w.KillSome()
	w.noteCommitted()
	time.Sleep(time.Duration(w.random.IntN(100_000)) * time.Microsecond)
}

// AwaitLoop returns when the loops have committed more: without that their invariants would hold of nothing.
func (w *World) AwaitLoop() {
	w.t.Helper()
	before := w.noteCommitted()
	harness.Await(w.t, fmt.Sprint("the loops' offsets add up to more than ", before), func() bool { return w.noteCommitted() > before })
}

// noteCommitted asks for the group's offsets and gives their sum.
func (w *World) noteCommitted() (sum int64) {
	w.t.Helper()
	offsets := harness.Asked(w.t, w.nodes[0], "the loops' offsets", func(ctx context.Context, admin *kadm.Client) (kadm.OffsetResponses, error) {
		return admin.FetchOffsets(ctx, group)
	})
	for partition := range int32(partitions) {
		if o, ok := offsets.Lookup(w.in, partition); ok && o.Err == nil && o.At >= 0 {
			w.own.add(event{Op: "committed", Group: group, Topic: w.in, Part: partition, Offset: o.At})
			sum += o.At
		}
	}
	return sum
}

// Finish ends the clients, waits until every transaction is decided, reads the final logs, and judges. It is the caller's to say what a
// verdict without judgement means.
func (w *World) Finish(minCommitted int) load.Verdict {
	w.t.Helper()
	for _, s := range append(w.slots, w.readers...) {
		s.child.Terminate(w.t)
		if status := s.child.ExitStatus(); status != 0 && status != harness.Signalled {
			w.t.Errorf("the %s of process %d ended with status %d", s.client.role, s.client.number, status)
		}
	}
	ends := w.decided()
	w.noteCommitted()
	w.readFinal(ends)
	histories, err := filepath.Glob(filepath.Join(w.dir, "*.jsonl"))
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Logf("%d processes, %d clients killed", w.numbers, w.killed)
	return load.Judge(w.t, []string{"-txn", "-min-acked", fmt.Sprint(minCommitted)}, histories...)
}

// decided waits until the last stable offset of every partition is its end, and gives the ends.
func (w *World) decided() kadm.ListedOffsets {
	w.t.Helper()
	return harness.Asked(w.t, w.nodes[0], "all transactions are decided", func(ctx context.Context, admin *kadm.Client) (kadm.ListedOffsets, error) {
		stable, err := admin.ListCommittedOffsets(ctx, w.in, w.out)
		if err != nil {
			return nil, err
		}
		ends, err := admin.ListEndOffsets(ctx, w.in, w.out)
		open := 0
		ends.Each(func(end kadm.ListedOffset) {
			if s, _ := stable.Lookup(end.Topic, end.Partition); s.Offset != end.Offset {
				open++
			}
		})
		if err == nil && open > 0 {
			err = fmt.Errorf("%d partitions have open transactions", open)
		}
		return ends, err
	})
}

// readFinal reads all partitions to their ends; what ends them is a control record of the last transaction.
func (w *World) readFinal(ends kadm.ListedOffsets) {
	w.t.Helper()
	reader := client{in: w.in, out: w.out, partitions: partitions}
	kafka := w.nodes[0].Client(w.t, kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords(), kgo.ConsumePartitions(reader.everything()))
	defer kafka.Close()
	finals, missing := map[string]*event{}, 0
	ends.Each(func(end kadm.ListedOffset) {
		finals[fmt.Sprint(end.Topic, end.Partition)] = &event{Op: "final", Topic: end.Topic, Part: end.Partition, Stable: &end.Offset, End: end.Offset}
		if end.Offset > 0 {
			missing++
		}
	})
	ctx := harness.Context(w.t)
	for missing > 0 {
		fetches := kafka.PollFetches(ctx)
		if ctx.Err() != nil {
			w.t.Fatalf("%d partitions were not read to their ends", missing)
		}
		fetches.EachPartition(func(p kgo.FetchTopicPartition) {
			if len(p.Records) == 0 {
				return
			}
			final := finals[fmt.Sprint(p.Topic, p.Partition)]
			final.Recs = append(final.Recs, decodeAll(p.Records)...)
			if p.Records[len(p.Records)-1].Offset == final.End-1 {
				missing--
			}
		})
	}
	for _, final := range finals {
		w.own.add(*final)
	}
}
