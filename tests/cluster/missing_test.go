package cluster

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/tests/harness"
)

// logDirs are n log directories, as log.dirs names them.
func logDirs(t *testing.T, n int) (paths []string, property string) {
	t.Helper()
	for i := range n {
		paths = append(paths, filepath.Join(t.TempDir(), fmt.Sprint("disk", i)))
	}
	return paths, strings.Join(paths, ",")
}

func move(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

// produceTo writes values to partition after partition.
func produceTo(t *testing.T, n *harness.Node, topic string, partitions int, values []string) {
	t.Helper()
	client := n.Client(t, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	for i, value := range values {
		record := &kgo.Record{Topic: topic, Partition: int32(i % partitions), Value: []byte(value)}
		client.Produce(t.Context(), record, func(_ *kgo.Record, err error) {
			if err != nil {
				t.Error(err)
			}
		})
	}
	if err := client.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestAMissingLogDirOfTheOnlyReplica: a node of a cluster that has partitions which nobody else has does not start without one of its log
// directories, whether it is not named or empty, and loses nothing by having tried; nor do those of the others lose their leader where it is told
// to go on.
func TestAMissingLogDirOfTheOnlyReplica(t *testing.T) {
	t.Parallel()
	const partitions = 9
	dirs, all := logDirs(t, 3)
	alone := harness.StartRingmill(t, harness.Options{Properties: map[string]string{"node.id": "1", "ringmill.journal.bytes": "4194304", "log.dirs": all}})
	topic, values := harness.Name("kept"), harness.Numbered("record", 4000)
	alone.CreateNamedTopic(t, topic, partitions)
	produceTo(t, alone, topic, partitions, values)
	alone.Stop(t)
	n := harness.StartClusterOf(t, alone, map[string]string{"log.dirs": all}).Nodes[0]
	n.Set("ringmill.bootstrap.alone", "refuse")
	slices.Sort(values)
	wantAll := func(when string) {
		t.Helper()
		got := harness.Values(n.Consume(t, topic, len(values)))
		if slices.Sort(got); !slices.Equal(got, values) {
			t.Fatalf("%s: %d records are read, want %d", when, len(got), len(values))
		}
	}
	wantAll("as a cluster")
	away := dirs[2] + ".away"
	for _, end := range []func(testing.TB){n.Stop, n.Kill} {
		end(t)
		n.Set("log.dirs", strings.Join(dirs[:2], ","))
		refused(t, n, "partitions have no log, "+topic+"-", "of the last start is not in log.dirs", "ringmill.missing.data=begin")
		n.Set("log.dirs", all)
		move(t, dirs[2], away)
		for range 2 { // the first leaves nothing by which the second would take the directory for the one of the last start
			refused(t, n, "partitions have no log, "+topic+"-", "is empty or new", "ringmill.missing.data=begin")
		}
		if err := os.RemoveAll(dirs[2]); err != nil {
			t.Fatal(err)
		}
		move(t, away, dirs[2])
		n.Restart(t)
		wantAll("with all directories again")
	}

	n.Kill(t)
	lost := make(map[int32]bool)
	for p := range int32(partitions) {
		if _, err := os.Stat(filepath.Join(dirs[2], fmt.Sprint(topic, "-", p))); err == nil {
			lost[p] = true
		}
	}
	move(t, dirs[2], away)
	n.Set("ringmill.missing.data", "begin")
	n.Restart(t)
	awaitTopic(t, n, topic, func(p *kmsg.MetadataResponseTopicPartition) error {
		if p.Leader != 1 {
			return fmt.Errorf("partition %d is led by %d", p.Partition, p.Leader)
		}
		return nil
	})
	left := 0
	for i := range values {
		if !lost[int32(i%partitions)] {
			left++
		}
	}
	if got := n.Consume(t, topic, left); len(lost) == 0 || len(got) != left {
		t.Errorf("%d records are read, want the %d of the %d partitions whose directory is there", len(got), left, partitions-len(lost))
	}
	if !strings.Contains(n.Log(), "partitions begin anew, empty: a log directory is missing") {
		t.Error("the log does not say what begins anew")
	}
}

// TestAReplacedDisk: a replica that others have is fetched again where a log directory comes back empty, and those in the other directories stay.
func TestAReplacedDisk(t *testing.T) {
	t.Parallel()
	const partitions = 6
	base := t.TempDir()
	disk := func(i int) string { return filepath.Join(base, "{id}", fmt.Sprint("disk", i)) }
	c := harness.StartCluster(t, 3, map[string]string{"min.insync.replicas": "2", "log.dirs": disk(0) + "," + disk(1)})
	topic, values := harness.Name("kept"), harness.Numbered("record", 600)
	c.Nodes[0].MakeTopic(t, topic, partitions, 3)
	awaitReplicas(t, c.Nodes[0], topic, func(p *kmsg.MetadataResponseTopicPartition) bool { return len(p.Replicas) == 3 })
	produceTo(t, c.Nodes[0], topic, partitions, values)
	n := c.Nodes[2]
	n.Kill(t)
	if err := os.RemoveAll(filepath.Join(base, "3", "disk1")); err != nil {
		t.Fatal(err)
	}
	n.Restart(t)
	awaitReplicas(t, c.Nodes[0], topic, func(p *kmsg.MetadataResponseTopicPartition) bool { return len(p.ISR) == 3 })
	if !strings.Contains(n.Log(), "a log directory is missing, or new: replicas without a log are fetched from other nodes") {
		t.Error("the log does not say what is fetched")
	}
	if got := n.Consume(t, topic, len(values)); len(got) != len(values) {
		t.Errorf("%d records are read, want %d", len(got), len(values))
	}
}

// ahead is a cluster whose node 3 has lost the log of a partition of which it alone had all, and is down; node 2 has the first of its records.
type ahead struct {
	*harness.Cluster
	lost   *harness.Node
	topic  string
	values []string // that node 2 has
	base   string   // of log directories, base/NODE/disk0 and disk1
}

func startAhead(t *testing.T, properties map[string]string) *ahead {
	t.Helper()
	base := t.TempDir()
	disk := func(node string, i int) string { return filepath.Join(base, node, fmt.Sprint("disk", i)) }
	all := map[string]string{"log.dirs": disk("{id}", 0) + "," + disk("{id}", 1)}
	maps.Copy(all, properties)
	a := &ahead{Cluster: harness.StartCluster(t, 3, all), values: harness.Numbered("record", 100), base: base}
	a.topic, a.lost = createAssigned(t, a.Nodes[0], 2, 3), a.Nodes[2]
	awaitInSync(t, a.Nodes[0], a.topic)
	a.Nodes[0].Produce(t, a.topic, a.values)
	a.Nodes[1].Stop(t)
	a.ledBy(t, 3)
	a.Nodes[0].Produce(t, a.topic, []string{"that node 3 alone has"})
	a.lost.Stop(t)
	a.lost.Restart(t) // with a journal that has none of it
	a.ledBy(t, 3)
	a.lost.Kill(t)
	a.Nodes[1].Restart(t)
	for i := range 2 {
		if _, err := os.Stat(filepath.Join(disk("3", i), a.topic+"-0")); err != nil {
			continue
		}
		if err := os.RemoveAll(disk("3", i)); err != nil {
			t.Fatal(err)
		}
	}
	return a
}

func (a *ahead) ledBy(t *testing.T, leader int32) {
	t.Helper()
	awaitTopic(t, a.Nodes[0], a.topic, func(p *kmsg.MetadataResponseTopicPartition) error {
		if p.Leader != leader {
			return fmt.Errorf("led by %d", p.Leader)
		}
		return nil
	})
}

// wantLeft: nobody leads the partition until an operator has node 2 lead, which loses nothing of what it has.
func (a *ahead) wantLeft(t *testing.T) {
	t.Helper()
	a.ledBy(t, -1)
	contains(t, command(t, a.Cluster, "topic", "elect", a.topic, "--unclean", "--execute"), "elected")
	a.ledBy(t, 2)
	awaitInSync(t, a.Nodes[0], a.topic)
	if got := harness.Values(a.Nodes[0].Consume(t, a.topic, len(a.values))); !slices.Equal(got, a.values) {
		t.Errorf("%d records are read, want the %d that node 2 had", len(got), len(a.values))
	}
}

// TestAReplacedDiskThatWasAheadOfTheOthers: a node that alone has all of a partition with other replicas does not start without it; where it is
// told to go on, it does not empty what the others have, whether it was eligible to lead yet or fallen back on as the last leader.
func TestAReplacedDiskThatWasAheadOfTheOthers(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"commit", "interval"} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			a := startAhead(t, map[string]string{"ringmill.flush.policy": policy})
			refused(t, a.lost, "1 partitions have no log, "+a.topic+"-0 first, of which no other node has all that was acknowledged", "is empty or new", "ringmill.missing.data=begin")
			a.lost.Set("ringmill.missing.data", "begin")
			a.lost.Restart(t)
			a.wantLeft(t)
		})
	}
}

// TestANodeThatBeginsAnewIsKilled: between making logs anew and telling the controller. What it has written down keeps its empty logs from being
// elected when it starts again; without that they are, and what others have is cut.
func TestANodeThatBeginsAnewIsKilled(t *testing.T) {
	t.Parallel()
	for _, marked := range []bool{true, false} {
		t.Run(fmt.Sprint("marked=", marked), func(t *testing.T) {
			t.Parallel()
			a := startAhead(t, nil)
			a.lost.Set("ringmill.missing.data", "begin")
			state := filepath.Join(a.lost.DataDir(), "state")
			heldUp := lockFile(t, filepath.Join(state, "log-directories"+segment.TempSuffix)) // which it writes when the logs are made
			a.lost.Set("broker.heartbeat.interval.ms", "600000")
			a.lost.Begin(t)
			harness.Await(t, "the log to be made anew", func() bool {
				made, err := filepath.Glob(filepath.Join(a.base, "3", "*", a.topic+"-0", segment.PartitionMetadataFile))
				return err == nil && len(made) == 1
			})
			a.lost.Kill(t)
			if err := heldUp.Close(); err != nil {
				t.Fatal(err)
			}
			a.lost.Set("broker.heartbeat.interval.ms", "2000")
			if !marked {
				if err := os.Remove(filepath.Join(state, "begun-anew")); err != nil {
					t.Fatal(err)
				}
			}
			a.lost.Restart(t)
			if marked {
				a.wantLeft(t)
				return
			}
			a.ledBy(t, 3)
			harness.Eventually(t, "what node 2 had to be lost", func(ctx context.Context) error {
				ends, err := kadm.NewClient(a.Nodes[0].Client(t)).ListEndOffsets(ctx, a.topic)
				if end, there := ends.Lookup(a.topic, 0); err != nil || !there || end.Err != nil || end.Offset != 0 {
					return fmt.Errorf("the partition ends at %+v, %w", end, err)
				}
				return nil
			})
		})
	}
}

// lockFile makes a file and holds its lock (flock(2)) until it is closed.
func lockFile(t *testing.T, name string) *os.File {
	t.Helper()
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	return f
}
