package replicatetest

import (
	"errors"
	"fmt"
	"time"

	"github.com/ringmill/ringmill/replicate"
	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/wire"
)

// Ask is a follower's fetch on its way to the leader.
type Ask struct {
	From *Node
	replicate.ReplicaPosition
}

// Answer is a leader's answer on its way back.
type Answer struct {
	Ask
	replicate.Read
	// Records are whole batches.
	Records []byte
}

// Ask is what the node fetches with now. eligible is what the leader's metadata says of the node when the fetch arrives.
func (n *Node) Ask(eligible bool) Ask {
	at := n.Partition.Position()
	return Ask{n, replicate.ReplicaPosition{
		Replica: n.ID, BrokerEpoch: n.BrokerEpoch, Eligible: eligible, Offset: at.Offset, LogStart: n.Log.LogStartOffset(),
		LastEpoch: at.LastEpoch, CurrentEpoch: n.Partition.LeaderEpoch(),
	}}
}

// Serve is the leader's part of a fetch. most bounds the batches, 0 none.
func (n *Node) Serve(now time.Duration, a Ask, most int) (Answer, error) {
	read := n.Partition.ReplicaFetch(now, a.ReplicaPosition, &n.Effects)
	n.take()
	answer := Answer{Ask: a, Read: read}
	if read.Code != wire.None || read.Diverging.Set {
		return answer, nil
	}
	var err error
	answer.Records, err = n.read(a.Offset, read.Bound, most)
	return answer, err
}

// Take is the follower's part of an answer: what it brings is planned. taken is false for an answer that changes nothing.
func (n *Node) Take(a Answer, now wire.Timestamp) (taken bool, err error) {
	fetched := replicate.Fetched{
		Epoch: a.CurrentEpoch, Position: replicate.Position{Offset: a.Offset, LastEpoch: a.LastEpoch},
		HighWatermark: a.HighWatermark, LogStart: a.LogStart, Diverging: a.Diverging,
	}
	defer n.take()
	switch a.Code {
	case wire.None:
		if !n.Partition.FetchedFrom(fetched, &n.Effects) {
			return false, nil
		}
		return true, n.append(a.Records, now)
	case wire.OffsetOutOfRange:
		fetched.Diverging = wire.EpochEndOffset{}
		return n.Partition.FetchedOutOfRange(fetched, a.Diverging.EndOffset, &n.Effects), nil
	}
	return false, nil
}

func (n *Node) append(records []byte, now wire.Timestamp) error {
	records = append([]byte(nil), records...)
	for len(records) > 0 {
		b, tail, err := wire.ReadRecordBatch(records)
		if err != nil {
			return err
		}
		plan, outcome := n.Partition.AppendFetched(b, now)
		if outcome == replicate.NeedsRoll {
			if err := n.roll(); err != nil {
				return err
			}
			plan, outcome = n.Partition.AppendFetched(b, now)
		}
		if outcome != replicate.Planned {
			return nil
		}
		n.Plans = append(n.Plans, plan)
		records = tail
	}
	return nil
}

// read gives batches from the one that holds from to the one below bound, of one segment.
func (n *Node) read(from, bound wire.Offset, most int) ([]byte, error) {
	p := n.Log.PlanFetch(from, bound)
	if p.Status == segment.FetchNeedIndex {
		x, err := p.LoadIndex(n.FS)
		if err != nil {
			return nil, err
		}
		n.Log.IndexLoaded(x)
		p = n.Log.PlanFetch(from, bound)
	}
	if p.Status != segment.FetchReady {
		return nil, nil
	}
	f, err := n.FS.OpenFile(p.Segment.LogName(), segment.ReadOnly, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	at, err := p.Locate(f)
	if errors.Is(err, segment.ErrNoBatch) {
		return n.read(p.Segment.NextOffset(), bound, most)
	}
	if err != nil || at.Start >= at.End {
		return nil, err
	}
	b := make([]byte, at.End-at.Start)
	if k, err := f.ReadAt(b, int64(at.Start)); k < len(b) {
		return nil, err
	}
	return firstBatches(b, most)
}

// firstBatches cuts after most batches.
func firstBatches(b []byte, most int) ([]byte, error) {
	tail := b
	for i := 0; len(tail) > 0 && (most == 0 || i < most); i++ {
		_, rest, err := wire.ReadRecordBatch(tail)
		if err != nil {
			return nil, err
		}
		tail = rest
	}
	return b[:len(b)-len(tail)], nil
}

// Record is one record of a log.
type Record struct {
	Offset wire.Offset
	Epoch  wire.LeaderEpoch
	Value  string
}

func (r Record) String() string { return fmt.Sprintf("%d:%s@%d", r.Offset, r.Value, r.Epoch) }

// Records gives the records from the log's start to end, which is at most what is written.
func (n *Node) Records(end wire.Offset) (records []Record, err error) {
	for from := n.Log.LogStartOffset(); from < end; {
		b, err := n.read(from, end, 0)
		if err != nil {
			return nil, err
		}
		if len(b) == 0 {
			return records, nil
		}
		for len(b) > 0 {
			var batch []Record
			if batch, from, b, err = recordsOf(b); err != nil {
				return nil, err
			}
			records = append(records, batch...)
		}
	}
	return records, nil
}

// recordsOf takes the first batch of b apart; next is the offset after it.
func recordsOf(b []byte) (records []Record, next wire.Offset, tail []byte, err error) {
	batch, tail, err := wire.ReadRecordBatch(b)
	if err == nil {
		err = batch.Check()
	}
	if err != nil {
		return nil, 0, nil, err
	}
	it, err := batch.Records(nil)
	if err != nil {
		return nil, 0, nil, err
	}
	for r, ok := it.Next(); ok; r, ok = it.Next() {
		records = append(records, Record{batch.BaseOffset() + wire.Offset(r.OffsetDelta), batch.PartitionLeaderEpoch(), string(r.Value)})
	}
	return records, batch.NextOffset(), tail, it.Err()
}
