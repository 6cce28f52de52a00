package load

import (
	"context"
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ringmill/ringmill/tests/harness"
)

// Finish ends the load, reads the final logs and the bytes of every replica, and judges. minAcked is how many acknowledged records
// a judgement takes. A violation fails the test; it is the caller's to say what a verdict without judgement means.
func (l *Load) Finish(minAcked int) Verdict {
	l.tb.Helper()
	l.stop()
	for _, f := range l.foreign {
		f.finish(l.tb)
	}
	l.running.Wait()
	l.AwaitWhole()
	for partition := range l.Options.Partitions {
		end := l.readFinal(partition)
		if l.Options.Replicas == 1 {
			continue
		}
		for _, id := range l.replicas(partition) {
			l.History.Add(Event{Op: "replica", Topic: l.Topic, Part: partition, Node: id, End: end,
				Sum: replicaSum(l.tb, l.nodes[id-1], l.Topic, int(partition), end)})
		}
	}
	if l.Options.Admin != 0 {
		l.readAdmin()
	}
	return Judge(l.tb, []string{"-min-acked", fmt.Sprint(minAcked)}, l.histories()...)
}

func (l *Load) histories() []string {
	all := []string{l.History.Path(l.tb)}
	for _, f := range l.foreign {
		all = append(all, f.history)
	}
	return all
}

// readFinal notes one partition from start to end, and gives the end.
func (l *Load) readFinal(partition int32) int64 {
	l.tb.Helper()
	starts := harness.Asked(l.tb, l.nodes[0], "start offsets", func(ctx context.Context, admin *kadm.Client) (kadm.ListedOffsets, error) {
		return admin.ListStartOffsets(ctx, l.Topic)
	})
	ends := harness.Asked(l.tb, l.nodes[0], "end offsets", func(ctx context.Context, admin *kadm.Client) (kadm.ListedOffsets, error) {
		return admin.ListEndOffsets(ctx, l.Topic)
	})
	start, _ := starts.Lookup(l.Topic, partition)
	end, _ := ends.Lookup(l.Topic, partition)
	e := Event{Op: "final", T0: Now(), Topic: l.Topic, Part: partition, Start: start.Offset, End: end.Offset}
	if end.Offset > start.Offset {
		client := l.Client(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{l.Topic: {partition: kgo.NewOffset().At(start.Offset)}}))
		e.Recs = l.names(harness.Poll(l.tb, client, int(end.Offset-start.Offset)))
		client.Close()
	}
	e.T1 = Now()
	l.History.Add(e)
	return end.Offset
}

// replicas are the ids of the nodes that have a partition.
func (l *Load) replicas(partition int32) (ids []int32) {
	l.tb.Helper()
	harness.Eventually(l.tb, "replicas", func(ctx context.Context) error {
		metadata, err := Metadata(ctx, l.nodes[0])
		if err != nil {
			return err
		}
		for _, t := range metadata.Topics {
			for _, p := range t.Partitions {
				if *t.Topic == l.Topic && p.Partition == partition {
					ids = p.Replicas
				}
			}
		}
		return nil
	})
	return ids
}

// replicaSum is a checksum of all batches that a node has of a partition, once they reach up to end.
func replicaSum(tb testing.TB, node *harness.Node, topic string, partition int, end int64) (sum string) {
	tb.Helper()
	harness.Eventually(tb, fmt.Sprintf("%s has %s-%d up to %d", node.Address, topic, partition, end), func(context.Context) error {
		reached, digest := node.StoredSum(tb, topic, partition)
		if sum = digest; reached != end {
			return fmt.Errorf("it has it up to %d", reached)
		}
		return nil
	})
	return sum
}
