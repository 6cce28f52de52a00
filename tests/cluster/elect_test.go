package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/tests/harness"
)

// electedPartition is what topic elect tells of one.
type electedPartition struct {
	Leader     int32
	Candidates []int32
	Result     string
}

// TestLeadersAreElectedByCommand: a preferred leader that came back leads again, and a replica that is not in sync leads only where it was said twice that
// it shall.
func TestLeadersAreElectedByCommand(t *testing.T) {
	t.Parallel()
	c := harness.StartCluster(t, 3, nil)
	preferred, lost := createAssigned(t, c.Nodes[0], 2, 1), createAssigned(t, c.Nodes[0], 2, 3)
	awaitInSync(t, c.Nodes[0], preferred)
	awaitInSync(t, c.Nodes[0], lost)
	c.Nodes[1].Stop(t)
	ledBy := func(topic string, leader int32) {
		t.Helper()
		awaitTopic(t, c.Nodes[0], topic, func(p *kmsg.MetadataResponseTopicPartition) error {
			if p.Leader != leader {
				return fmt.Errorf("led by %d", p.Leader)
			}
			return nil
		})
	}
	ledBy(preferred, 1)
	ledBy(lost, 3)
	c.Nodes[0].Produce(t, lost, []string{"that node 3 alone has"})
	c.Nodes[2].Kill(t)
	c.Nodes[1].Restart(t)
	awaitInSync(t, c.Nodes[0], preferred)
	ledBy(lost, -1)

	elect := func(want electedPartition, args ...string) {
		t.Helper()
		harness.Eventually(t, "topic elect", func(context.Context) error {
			var told []electedPartition
			err := asked(t, c, &told, append([]string{"topic", "elect"}, args...)...)
			if len(told) != 1 || told[0].Leader != want.Leader || told[0].Result != want.Result || !slices.Equal(told[0].Candidates, want.Candidates) {
				return errors.Join(err, fmt.Errorf("%v tells %+v, want %+v", args, told, want))
			}
			return err
		})
	}
	contains(t, command(t, c, "cluster", "status"), lost+"-0 has no leader", "ringmill topic elect TOPIC:PARTITION --unclean")
	contains(t, refusedCommand(t, c, "topic", "elect", lost, "--dry-run"), "1 partition cannot be led as wanted")
	contains(t, refusedCommand(t, c, "topic", "elect", lost), "PREFERRED_LEADER_NOT_AVAILABLE")
	elect(electedPartition{-1, []int32{2}, "planned"}, "--all-topics", "--unclean")
	elect(electedPartition{1, []int32{2}, "planned"}, preferred, "--dry-run")
	ledBy(lost, -1)
	ledBy(preferred, 1)

	contains(t, command(t, c, "topic", "elect", preferred+":0"), "elected")
	ledBy(preferred, 2)
	contains(t, command(t, c, "topic", "elect", lost, "--unclean", "--execute"), "elected")
	ledBy(lost, 2)
	elect(electedPartition{2, nil, "not needed"}, lost, "--unclean", "--execute")
}
