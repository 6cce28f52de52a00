package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

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

// TestAReplacedDiskThatWasAheadOfTheOthers: a node that alone has all of a partition with other replicas does not start without it; where it is
// told to go on, it does not empty what the others have.
func TestAReplacedDiskThatWasAheadOfTheOthers(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	disk := func(node string, i int) string { return filepath.Join(base, node, fmt.Sprint("disk", i)) }
	c := harness.StartCluster(t, 3, map[string]string{"log.dirs": disk("{id}", 0) + "," + disk("{id}", 1)})
	topic, values := createAssigned(t, c.Nodes[0], 2, 3), harness.Numbered("record", 100)
	awaitInSync(t, c.Nodes[0], topic)
	c.Nodes[0].Produce(t, topic, values)
	other, n := c.Nodes[1], c.Nodes[2]
	other.Stop(t)
	ledBy := func(leader int32) {
		t.Helper()
		awaitTopic(t, c.Nodes[0], topic, func(p *kmsg.MetadataResponseTopicPartition) error {
			if p.Leader != leader {
				return fmt.Errorf("led by %d", p.Leader)
			}
			return nil
		})
	}
	ledBy(3)
	c.Nodes[0].Produce(t, topic, []string{"that node 3 alone has"})
	n.Kill(t)
	other.Restart(t)
	for i := range 2 {
		if _, err := os.Stat(filepath.Join(disk("3", i), topic+"-0")); err != nil {
			continue
		}
		if err := os.RemoveAll(disk("3", i)); err != nil {
			t.Fatal(err)
		}
	}
	refused(t, n, "1 partitions have no log, "+topic+"-0 first, of which no other node has all that was acknowledged", "is empty or new", "ringmill.missing.data=begin")
	n.Set("ringmill.missing.data", "begin")
	n.Restart(t)
	ledBy(-1)
	contains(t, command(t, c, "topic", "elect", topic, "--unclean", "--execute"), "elected")
	ledBy(2)
	awaitInSync(t, c.Nodes[0], topic)
	if got := harness.Values(c.Nodes[0].Consume(t, topic, len(values))); !slices.Equal(got, values) {
		t.Errorf("%d records are read, want the %d that node 2 had", len(got), len(values))
	}
}
