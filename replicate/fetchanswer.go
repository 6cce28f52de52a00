package replicate

import (
	"math"
	"time"

	"github.com/ringmill/ringmill/wire"
)

// FetchKind says what an answer asks for.
type FetchKind uint8

// The kinds of actions.
const (
	// FetchNews: the leader's high watermark or log start, and nothing else: Partition.FetchedFrom.
	FetchNews FetchKind = iota
	// FetchRecords: Partition.FetchedFrom, then AppendFetched for each batch of Records; Ready when they are kept.
	FetchRecords
	// FetchDiverged: Partition.FetchedFrom, which asks for a truncation; Ready when it is done.
	FetchDiverged
	// FetchOutOfRange: Partition.FetchedOutOfRange, which asks for one too, or BackOff if it gives false.
	FetchOutOfRange
	// FetchFailed: the leader answered with Code, and the partition backs off. Leader may say who leads now.
	FetchFailed
)

// FetchAction is what an answer asks to be done about one partition.
type FetchAction struct {
	Kind FetchKind
	// Ref is the FetchTarget's.
	Ref any
	Fetched
	// LeaderEnd is the leader's log end, beside FetchOutOfRange.
	LeaderEnd wire.Offset
	// Records are record batches, the last of which may be cut short: a part of the response's bytes.
	Records []byte
	Code    wire.ErrorCode
	Leader  wire.CurrentLeader
	// Lasting says of a FetchFailed that it was not the first: the partition has failed so often in a row that it rests for the whole of
	// FetcherConfig.Backoff.
	Lasting bool
	// Throttled says that Records count against the throttle's budget.
	Throttled bool
}

// Answer takes the response to the request that is out. The actions are valid until the next call; an error is the answer as a whole
// being refused, with nothing to do but to ask again later.
func (f *Fetcher) Answer(now time.Duration, r *wire.FetchResponseView) ([]FetchAction, wire.ErrorCode) {
	f.out = false
	clear(f.actions)
	f.actions = f.actions[:0]
	switch r.ErrorCode {
	case wire.None:
	case wire.FetchSessionIDNotFound:
		f.restartSession(0)
		return nil, wire.None
	case wire.InvalidFetchSessionEpoch, wire.FetchSessionTopicIDError:
		f.restartSession(f.sessionID)
		return nil, wire.None
	default:
		f.restartSession(f.sessionID)
		return nil, r.ErrorCode
	}
	for i := range r.Topics {
		t := &r.Topics[i]
		for j := range t.Partitions {
			p := f.known[fetchKey{t.ID, t.Partitions[j].Index}]
			switch {
			case p == nil || !p.inSession:
			case p.touched >= f.serial:
				p.lapsed = true
				f.change(p)
			default:
				p.touched = f.serial
				f.answer(now, p, &t.Partitions[j])
			}
		}
	}
	f.nextEpoch(r.SessionID)
	return f.actions, wire.None
}

// nextEpoch goes on with the session that the leader has made or kept, if any.
func (f *Fetcher) nextEpoch(id int32) {
	switch {
	case id == 0:
		f.restartSession(0)
	case f.sessionEpoch == math.MaxInt32:
		f.sessionID, f.sessionEpoch = id, 1
	default:
		f.sessionID, f.sessionEpoch = id, f.sessionEpoch+1
	}
}

// answer makes the action of one partition.
func (f *Fetcher) answer(now time.Duration, p *fetchedPartition, r *wire.FetchPartitionView) {
	a := FetchAction{Ref: p.Ref, Code: r.ErrorCode, Records: r.Records, Leader: r.CurrentLeader, Throttled: p.Throttled, Fetched: Fetched{
		Epoch: p.told.epoch, Position: p.told.position, HighWatermark: r.HighWatermark, LogStart: r.LogStartOffset, Diverging: r.DivergingEpoch,
	}}
	switch {
	case r.ErrorCode == wire.OffsetOutOfRange && r.DivergingEpoch.Set:
		a.Kind, a.LeaderEnd, a.Diverging = FetchOutOfRange, r.DivergingEpoch.EndOffset, wire.EpochEndOffset{}
	case r.ErrorCode != wire.None:
		a.Kind, a.Lasting = FetchFailed, f.failed(p, now)
	case r.DivergingEpoch.Set:
		a.Kind = FetchDiverged
	case len(r.Records) > 0:
		a.Kind, p.leaderEnd = FetchRecords, r.HighWatermark
	default:
		a.Kind, p.leaderEnd = FetchNews, r.HighWatermark
	}
	if a.Kind != FetchFailed {
		p.failures = 0
	}
	if a.Kind == FetchRecords || a.Kind == FetchDiverged || a.Kind == FetchOutOfRange {
		p.state = fetchSettling
		f.settling++
		f.change(p)
	}
	f.actions = append(f.actions, a)
}
