package cluster

import (
	"fmt"

	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/wire"
)

const (
	journalFile       = logsDir + "/journal"
	journalTrackBytes = 4096 // the least that there can be: it is full now and then
)

// openJournal replays what the journal has that the logs lack, and begins it anew.
func (n *Node) openJournal() error {
	cfg := segment.JournalConfig{TrackBytes: journalTrackBytes, Bytes: int64(n.cluster.opt.Aimed.JournalTracks) * journalTrackBytes, Salt: n.cluster.world.Protocol.Uint64(), Truncations: true}
	var err error
	n.journal, n.journalFile, err = segment.OpenJournal(n.fs, journalFile, cfg, func(jr *segment.JournalReader) error {
		_, err := segment.ReplayJournal(n.fs, jr, n.wallClock(), n.logOf, n.runFlushes)
		return err
	})
	return err
}

func (n *Node) logOf(topic wire.TopicID, index wire.PartitionIndex) *segment.Log {
	for i, at := range n.cluster.places {
		if l := n.recovered[i]; at.Partition == index && l != nil && l.TopicID() == topic {
			return l
		}
	}
	return nil
}

func (n *Node) runFlushes(plans []segment.FlushPlan) error {
	for i := range plans {
		if err := plans[i].Run(n.fs); err != nil {
			return err
		}
	}
	return nil
}

// makeJournalRoom makes all logs durable where the journal is too full for a batch, so that it can begin anew.
func (n *Node) makeJournalRoom(length int) error {
	if n.journal == nil || n.journal.Fits(length) {
		return nil
	}
	if err := n.flushLogs(); err != nil {
		return err
	}
	return n.checkpointJournal()
}

// journalEntry writes an entry to the journal.
func (n *Node) journalEntry(e segment.JournalEntry) error {
	if err := n.makeJournalRoom(len(e.Batch)); err != nil {
		return err
	}
	plan, took := n.journal.PlanAppend([]segment.JournalEntry{e})
	if took != 1 {
		panic(fmt.Sprintf("BUG: the journal is empty and has no room for %d bytes", len(e.Batch)))
	}
	at := int64(plan.Position)
	for _, buf := range plan.Bufs {
		if _, err := n.journalFile.WriteAt(buf, at); err != nil {
			return err
		}
		at += int64(len(buf))
	}
	n.journal.Written(plan)
	return nil
}

// checkpointJournal lets the journal forget what is in synced segment files: all of it.
func (n *Node) checkpointJournal() error {
	c := n.journal.PlanCheckpoint()
	if err := c.Run(n.journalFile); err != nil {
		return err
	}
	n.journal.Checkpointed(c)
	return nil
}

// journalBatch writes a batch that is in a log's file to the journal too.
func (r *replica) journalBatch(plan segment.AppendPlan) error {
	return r.node.journalEntry(segment.JournalBatch(r.log.TopicID(), r.at(), plan.Bytes))
}

// journalCut makes the journal forget what a truncation is about to cut, durably.
func (r *replica) journalCut(plan *segment.TruncatePlan) error {
	n := r.node
	if n.journal == nil {
		return nil
	}
	if err := n.journalEntry(plan.JournalEntry(r.at())); err != nil {
		return err
	}
	upTo := n.journal.BeginSync()
	if err := n.journalFile.Sync(); err != nil {
		return err
	}
	n.journal.Synced(upTo)
	return nil
}
