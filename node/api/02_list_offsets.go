package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

var listOffsetsRow = row{key: wire.KeyListOffsets, min: 1, max: 10, handle: on(listOffsets)}

// The timestamps that ask for something else than a time (org.apache.kafka.common.requests.ListOffsetsRequest).
const (
	latestTimestamp            wire.Timestamp = -1
	earliestTimestamp          wire.Timestamp = -2
	maxTimestamp               wire.Timestamp = -3 // KIP-734
	earliestLocalTimestamp     wire.Timestamp = -4 // KIP-405: without tiers, the earliest
	latestTieredTimestamp      wire.Timestamp = -5 // KIP-1005: without tiers, there is none
	isolationReadCommitted                    = 1
	consumerReplica                           = -1
	listOffsetsLeaderEpochFrom                = 4
)

// specialTimestamps maps each to the version that brought it.
var specialTimestamps = map[wire.Timestamp]int16{
	latestTimestamp: 1, earliestTimestamp: 1, maxTimestamp: 7, earliestLocalTimestamp: 8, latestTieredTimestamp: 9,
}

func listOffsets(b Broker, r *Request, req *kmsg.ListOffsetsRequest) *kmsg.ListOffsetsResponse {
	resp := kmsg.NewPtrListOffsetsResponse()
	twice := repeated(func(yield func(wire.TopicPartition) bool) {
		for _, t := range req.Topics {
			for _, p := range t.Partitions {
				if !yield(wire.TopicPartition{Topic: t.Topic, Partition: wire.PartitionIndex(p.Partition)}) {
					return
				}
			}
		}
	})
	resp.Topics = make([]kmsg.ListOffsetsResponseTopic, len(req.Topics))
	for i, t := range req.Topics {
		resp.Topics[i].Topic = t.Topic
		resp.Topics[i].Partitions = make([]kmsg.ListOffsetsResponseTopicPartition, len(t.Partitions))
		allowed := r.may(b, describeTopic, t.Topic)
		for j := range t.Partitions {
			q := &t.Partitions[j]
			if !allowed {
				resp.Topics[i].Partitions[j] = noOffset(unauthorizedTopic.code).response(q.Partition, req.Version)
				continue
			}
			again := twice[wire.TopicPartition{Topic: t.Topic, Partition: wire.PartitionIndex(q.Partition)}]
			resp.Topics[i].Partitions[j] = listOffset(b, req, t.Topic, q, again).response(q.Partition, req.Version)
		}
	}
	return resp
}

// foundOffset is what ListOffsets answers for one partition.
type foundOffset struct {
	code   wire.ErrorCode
	offset wire.Offset
	at     wire.Timestamp
	epoch  wire.LeaderEpoch
}

// noOffset is the answer that names no record.
func noOffset(code wire.ErrorCode) foundOffset {
	return foundOffset{code, wire.NoOffset, wire.NoTimestamp, wire.NoLeaderEpoch}
}

func (f foundOffset) response(partition int32, version int16) kmsg.ListOffsetsResponseTopicPartition {
	p := kmsg.NewListOffsetsResponseTopicPartition()
	p.Partition, p.ErrorCode = partition, int16(f.code)
	p.Offset, p.Timestamp = int64(f.offset), int64(f.at)
	if version >= listOffsetsLeaderEpochFrom {
		p.LeaderEpoch = int32(f.epoch)
	}
	return p
}

func listOffset(b Broker, req *kmsg.ListOffsetsRequest, topic string, q *kmsg.ListOffsetsRequestTopicPartition, again bool) foundOffset {
	if again || req.IsolationLevel < 0 || req.IsolationLevel > isolationReadCommitted {
		return noOffset(wire.InvalidRequest)
	}
	ts := wire.Timestamp(q.Timestamp)
	if since, special := specialTimestamps[ts]; ts < 0 && (!special || req.Version < since) {
		return noOffset(wire.UnsupportedVersion)
	}
	p, code := leaderOf(b, topic, wire.PartitionIndex(q.Partition), wire.LeaderEpoch(q.CurrentLeaderEpoch))
	if code != wire.None {
		return noOffset(code)
	}
	return lookUpOffset(p, ts, req)
}

// offsetNotAvailableFrom is the first version whose clients know OFFSET_NOT_AVAILABLE.
const offsetNotAvailableFrom = 5

// notYet is the answer to what a new leader does not know until its followers have fetched from it (KIP-207).
func notYet(version int16) foundOffset {
	if version < offsetNotAvailableFrom {
		return noOffset(wire.LeaderNotAvailable)
	}
	return noOffset(wire.OffsetNotAvailable)
}

// lookUpOffset answers for what a new leader knows. A consumer that asks for the end, or for what is not below it, could otherwise be told
// less than it was by the leader before.
func lookUpOffset(p Partition, ts wire.Timestamp, req *kmsg.ListOffsetsRequest) foundOffset {
	old := req.ReplicaID == consumerReplica && p.WatermarkIsOld()
	if old && ts == latestTimestamp {
		return notYet(req.Version)
	}
	f := knownOffset(p, ts, req)
	if old && f.code == wire.None && f.offset < 0 && ts != latestTieredTimestamp {
		return notYet(req.Version)
	}
	return f
}

func knownOffset(p Partition, ts wire.Timestamp, req *kmsg.ListOffsetsRequest) foundOffset {
	logStart, bound, lastStable := p.Offsets()
	if req.IsolationLevel == isolationReadCommitted && req.ReplicaID == consumerReplica {
		bound = lastStable
	}
	switch ts {
	case latestTimestamp:
		return foundOffset{wire.None, bound, wire.NoTimestamp, p.LeaderEpoch()}
	case earliestTimestamp, earliestLocalTimestamp:
		return foundOffset{wire.None, logStart, wire.NoTimestamp, earliestEpoch(p, logStart, bound)}
	case latestTieredTimestamp:
		return noOffset(wire.None)
	case maxTimestamp:
		off, at, epoch, found, err := p.MaxTimestamp()
		return foundRecord(off, at, epoch, found && off < bound, err)
	}
	off, at, epoch, found, err := p.OffsetForTime(ts)
	return foundRecord(off, at, epoch, found && off < bound, err)
}

// earliestEpoch is the epoch of the first record; while there is none, the epoch that will write it.
func earliestEpoch(p Partition, logStart, end wire.Offset) wire.LeaderEpoch {
	if logStart >= end {
		return p.LeaderEpoch()
	}
	return p.EpochAt(logStart)
}

func foundRecord(off wire.Offset, at wire.Timestamp, epoch wire.LeaderEpoch, found bool, err error) foundOffset {
	switch {
	case err != nil:
		return noOffset(wire.KafkaStorageError)
	case !found:
		return noOffset(wire.None)
	}
	return foundOffset{wire.None, off, at, epoch}
}
