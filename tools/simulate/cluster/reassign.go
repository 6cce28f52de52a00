package cluster

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/tools/simulate/world"
	"github.com/ringmill/ringmill/wire"
)

// reassign moves a partition to other nodes now and then. What becomes of it nobody waits for.
func (a *admin) reassign() {
	c := a.cluster
	if c.calm {
		return
	}
	a.process.After(world.Between(c.world.Workload, 100*time.Millisecond, 2*time.Second), a.reassign)
	request := kmsg.NewPtrAlterPartitionAssignmentsRequest()
	topic, part := kmsg.NewAlterPartitionAssignmentsRequestTopic(), kmsg.NewAlterPartitionAssignmentsRequestTopicPartition()
	place := c.places[c.world.Workload.IntN(len(c.places))]
	topic.Topic, part.Partition = place.Topic, int32(place.Partition)
	for _, i := range c.world.Workload.Perm(c.opt.Nodes)[:c.opt.Replication] {
		part.Replicas = append(part.Replicas, int32(c.nodes[i].id))
	}
	topic.Partitions = append(topic.Partitions, part)
	request.Topics = append(request.Topics, topic)
	node := c.nodes[c.world.Workload.IntN(len(c.nodes))]
	c.ask(a.process, node, "reassign", clientPatience, func(func(func())) {
		node.control.decide(func(m *image.Image) []image.Record {
			records, _ := node.control.decider.AlterPartitionReassignments(m, request)
			return records
		}, func() {}, func() {})
	}, func() {})
}

// dropReplica removes a partition that the metadata has taken from this node; false if the node died of it.
func (n *Node) dropReplica(index int) bool {
	r := n.replicas[index]
	n.cluster.world.Tracef("%s drops partition %d", n.process.Name(), index)
	r.refuseVerifying()
	n.resignCoordinator(r)
	r.partition.Stop(wire.NotLeaderOrFollower, &r.effects)
	r.carryOut()
	for _, s := range n.fetchers {
		if s != nil {
			s.fetcher.Remove(r.log.TopicID(), r.at())
		}
	}
	r.gone = true
	r.cuts++ // what is being synced is no more
	n.replicas[index] = nil
	n.noteLacking(r)
	return n.process.Running() && n.run(func() error { return n.removeFiles(r) })
}

// removeFiles makes the journal forget the log before its files go: it may be made anew.
func (n *Node) removeFiles(r *replica) error {
	_ = r.file.Close()
	if n.journal != nil {
		if err := n.journalEntry(segment.JournalTruncation(r.log.TopicID(), r.at(), 0)); err != nil {
			return err
		}
		if err := n.journalFile.Sync(); err != nil {
			return err
		}
	}
	tp := n.cluster.places[r.index]
	if _, known := n.points[tp]; known {
		delete(n.points, tp)
		if err := n.writePoints(); err != nil {
			return err
		}
	}
	if err := n.fs.RemoveAll(r.log.Dir()); err != nil {
		return fmt.Errorf("remove partition %d: %w", r.index, err)
	}
	return n.fs.SyncDir(logsDir)
}
