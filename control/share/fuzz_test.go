package share

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

// FuzzRequests plays requests for states of share partitions, with any fields, at a share coordinator whose appends fail now and
// then. A state that it gives out is taken up by a share partition, whose members fetch and acknowledge whatever the input says.
// Each operation is answered once, and a coordinator that has only read the log knows the same.
func FuzzRequests(f *testing.F) {
	f.Add([]byte{0, 0, 0, 1, 3, 5, 5, 1, 0, 0, 0, 2, 2, 4, 4, 4, 1, 3, 3, 3, 8, 9, 10})
	f.Add([]byte{0, 1, 3, 0, 5, 1, 2, 0, 0, 2, 1, 6, 12, 5, 0, 5, 1, 1, 0, 0, 8, 8, 9, 9})
	f.Fuzz(func(t *testing.T, input []byte) { play(t, input) })
}

// TestRandomRequests is FuzzRequests over inputs from fixed seeds.
func TestRandomRequests(t *testing.T) {
	for seed := range uint64(600) {
		source := rand.New(rand.NewPCG(seed, 1))
		input := make([]byte, 1000)
		for i := range input {
			input[i] = byte(source.Uint32())
		}
		play(t, input)
	}
}

// player spells steps out of bytes.
type player struct {
	*stateScript
	t     *testing.T
	input []byte
	open  map[Handle]Operation // asked of the coordinator and not answered
	// partition has the last state that was given out, and is nil before; acknowledged waits for its answers.
	partition    *Partition
	acknowledged map[Handle]struct{}
	written      bool // a write of the partition is under way
}

func play(t *testing.T, input []byte) {
	p := &player{stateScript: newStateScript(), t: t, input: input, open: map[Handle]Operation{}, acknowledged: map[Handle]struct{}{}}
	p.cfg.ColdSnapshotIntervalMS, p.cfg.PruneIntervalMS, p.cfg.MemoryBytes = 500, 300, 2000
	p.restart()
	p.holds = true
	for len(p.input) > 0 {
		p.step()
		p.bounded()
	}
	for len(p.held) > 0 {
		p.land(wire.None)
	}
	if len(p.open) > 0 {
		t.Fatalf("%d operations were not answered", len(p.open))
	}
	p.reload()
}

func (p *player) choose(n int) int {
	if len(p.input) == 0 {
		return 0
	}
	b := p.input[0]
	p.input = p.input[1:]
	return int(b) % n
}

func (p *player) step() {
	p.nowMS += int64(p.choose(40))
	switch p.choose(14) {
	case 0, 1, 2, 3, 4:
		p.send(p.request())
	case 5, 6, 7:
		p.land([]wire.ErrorCode{wire.None, wire.None, wire.None, wire.KafkaStorageError}[p.choose(4)])
	case 8:
		if p.choose(8) == 0 {
			p.take(p.coordinator.TopicDeleted(p.nowMS, p.wall(), p.topic()))
		}
		p.take(p.coordinator.Tick(p.nowMS, p.wall()))
		if p.partition != nil {
			p.hear(p.partition.Tick(p.nowMS))
			p.hear(p.partition.LogStartMoved(p.nowMS, wire.Offset(p.choose(30)))) // a log that there is
		}
	case 9, 10:
		p.acquire()
	case 11, 12:
		p.acknowledge()
	case 13:
		p.endWrite()
	}
}

func (p *player) send(req kmsg.Request) {
	ops := Operations(req)
	results := make([]Result, len(ops))
	Response(req, ops, results).AppendTo(nil)
	for _, op := range ops {
		p.next++
		p.open[p.next] = op
		p.take(p.coordinator.Handle(p.nowMS, p.wall(), p.next, op))
	}
}

// land tells the outcome of the oldest append.
func (p *player) land(code wire.ErrorCode) {
	if len(p.held) == 0 {
		return
	}
	a, at := p.held[0], wire.NoOffset
	p.held = p.held[1:]
	if code == wire.None {
		at = wire.Offset(len(p.log))
		p.log = append(p.log, a.Record)
	}
	p.take(p.coordinator.Appended(p.nowMS, p.wall(), a.ID, at, code))
}

// take does what the coordinator wants. The answer to a Read is taken up by a partition.
func (p *player) take(fx StateEffects) {
	p.held = append(p.held, fx.Appends...)
	for _, r := range fx.Replies {
		op, asked := p.open[r.Handle]
		if !asked {
			p.t.Fatalf("operation %d is answered and was not asked, or is answered twice", r.Handle)
		}
		delete(p.open, r.Handle)
		if op.Kind == Read && r.Result.Code == wire.None {
			part, fx := NewPartition(p.nowMS, PartitionConfig{MaxDeliveries: 3, MaxRecordLocks: 25}, op.LeaderEpoch, r.Result, 5)
			p.partition, p.written = part, false
			clear(p.acknowledged)
			p.hear(fx)
		}
	}
}

func (p *player) hear(fx Effects) {
	for _, d := range fx.Done {
		if _, asked := p.acknowledged[d.Handle]; !asked {
			p.t.Fatalf("acknowledgement %d is answered and was not asked, or is answered twice", d.Handle)
		}
		delete(p.acknowledged, d.Handle)
	}
	if fx.Write != nil {
		if p.written {
			p.t.Fatal("two writes at once")
		}
		p.written = true
	}
}

func (p *player) endWrite() {
	if p.partition == nil || !p.written {
		return
	}
	p.written = false
	p.hear(p.partition.Written(p.nowMS, []wire.ErrorCode{wire.None, wire.None, wire.CoordinatorNotAvailable, wire.FencedStateEpoch}[p.choose(4)], ""))
}

func (p *player) acquire() {
	if p.partition == nil {
		return
	}
	from, ok := p.partition.BeginFetch()
	if !ok {
		return
	}
	defer p.partition.EndFetch()
	batch := FetchedBatch{Base: from, Last: from + wire.Offset(p.choose(8)), Aborted: p.choose(8) == 0}
	if batch.Last < from {
		return // no log has offsets beyond
	}
	p.hear(p.partition.Acquire(p.nowMS, Acquisition{
		Member: p.member(), LockMS: 100, From: from, Batches: []FetchedBatch{batch}, MaxRecords: int64(1 + p.choose(9)), BatchSize: int64(1 + p.choose(9)),
	}))
}

func (p *player) member() string { return runMembers[p.choose(len(runMembers))] }

// acknowledge says something of records near the partition's start, or of any.
func (p *player) acknowledge() {
	if p.partition == nil {
		return
	}
	var acks []Acknowledgement
	for range 1 + p.choose(2) {
		first := p.partition.Start() + p.offset()
		a := Acknowledgement{First: first, Last: first + wire.Offset(p.choose(4)), Types: []int8{int8(p.choose(5))}}
		switch p.choose(6) {
		case 0:
			a.First, a.Last = p.offset(), p.offset()
		case 1:
			a.Last, a.Types = first+1, []int8{int8(p.choose(5)), int8(p.choose(5))}
		}
		acks = append(acks, a)
	}
	p.next++
	p.acknowledged[p.next] = struct{}{}
	switch {
	case p.choose(16) == 0:
		p.hear(p.partition.Release(p.nowMS, p.next, p.member()))
	case CheckAcknowledgements(acks):
		p.hear(p.partition.Acknowledge(p.nowMS, p.next, p.member(), acks))
	default:
		delete(p.acknowledged, p.next)
	}
}

// offset is a small one most of the time, and any of the extremes now and then.
func (p *player) offset() wire.Offset {
	extremes := []wire.Offset{math.MinInt64, -2, -1, math.MaxInt64 - 1, math.MaxInt64, 1 << 40}
	if n := p.choose(40); n < len(extremes) {
		return extremes[n]
	}
	return wire.Offset(p.choose(30))
}

func (p *player) epoch() int32 {
	return []int32{-1, 0, 0, 1, 1, 2, 3, math.MaxInt32, math.MinInt32}[p.choose(9)]
}

func (p *player) topic() [16]byte  { return [16]byte{byte('a' + p.choose(2))} }
func (p *player) partIndex() int32 { return []int32{0, 0, 0, 1, 2, 9, -1}[p.choose(7)] }

func (p *player) request() kmsg.Request {
	switch p.choose(8) {
	case 0, 1:
		return &kmsg.InitializeShareGroupStateRequest{GroupID: "g", Topics: []kmsg.InitializeShareGroupStateRequestTopic{{TopicID: p.topic(),
			Partitions: []kmsg.InitializeShareGroupStateRequestTopicPartition{{Partition: p.partIndex(), StateEpoch: p.epoch(), StartOffset: int64(p.offset())}}}}}
	case 2:
		return &kmsg.DeleteShareGroupStateRequest{GroupID: "g", Topics: []kmsg.DeleteShareGroupStateRequestTopic{{TopicID: p.topic(),
			Partitions: []kmsg.DeleteShareGroupStateRequestTopicPartition{{Partition: p.partIndex()}}}}}
	case 3, 4:
		return &kmsg.ReadShareGroupStateRequest{GroupID: "g", Topics: []kmsg.ReadShareGroupStateRequestTopic{{TopicID: p.topic(),
			Partitions: []kmsg.ReadShareGroupStateRequestTopicPartition{{Partition: p.partIndex(), LeaderEpoch: p.epoch()}}}}}
	case 5:
		return &kmsg.ReadShareGroupStateSummaryRequest{GroupID: "g", Topics: []kmsg.ReadShareGroupStateSummaryRequestTopic{{TopicID: p.topic(),
			Partitions: []kmsg.ReadShareGroupStateSummaryRequestTopicPartition{{Partition: p.partIndex(), LeaderEpoch: p.epoch()}}}}}
	}
	part := kmsg.WriteShareGroupStateRequestTopicPartition{
		Partition: p.partIndex(), StateEpoch: p.epoch(), LeaderEpoch: p.epoch(), StartOffset: int64(p.offset()),
	}
	for range p.choose(4) {
		first := p.offset()
		b := kmsg.WriteShareGroupStateRequestTopicPartitionStateBatch{
			FirstOffset: int64(first), LastOffset: int64(first) + int64(p.choose(6)), DeliveryState: int8(p.choose(6)), DeliveryCount: int16(p.choose(5)) - 1,
		}
		if p.choose(8) == 0 {
			b.LastOffset = int64(p.offset())
		}
		part.StateBatches = append(part.StateBatches, b)
	}
	return &kmsg.WriteShareGroupStateRequest{GroupID: "g", Topics: []kmsg.WriteShareGroupStateRequestTopic{{TopicID: p.topic(),
		Partitions: []kmsg.WriteShareGroupStateRequestTopicPartition{part}}}}
}

// bounded looks at what the coordinator and the partition hold.
func (p *player) bounded() {
	p.t.Helper()
	sum := int64(0)
	for _, k := range p.coordinator.keys {
		if k.known {
			sum += k.size()
		}
	}
	if sum != p.coordinator.memory || sum > p.cfg.MemoryBytes {
		p.t.Fatalf("states take %d bytes, %d are counted, %d allowed", sum, p.coordinator.memory, p.cfg.MemoryBytes)
	}
}

// reload compares the coordinator with one that has only read the log.
func (p *player) reload() {
	run := &stateRun{stateScript: p.stateScript}
	run.reload(p.t)
}
