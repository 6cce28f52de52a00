package node

import (
	"encoding/binary"

	"github.com/ringmill/ringmill/wire"
)

// respond answers with what the gather found, within the request's byte limits.
func (f *fetchRequest) respond() {
	f.cut()
	out := &f.conn.loop.fetchOut
	out.Reset()
	out.SessionID = f.session.responseID()
	var last *fetchPart
	hint := f.conn.leaderHint()
	for i := range f.parts {
		p := &f.parts[i]
		if f.incremental && !f.session.news(i, p) {
			continue
		}
		if last == nil || !last.sameTopic(p) {
			out.AddTopic(p.name, p.id)
		}
		last = p
		answer := p.response()
		if p.code == wire.NotLeaderOrFollower || p.code == wire.FencedLeaderEpoch {
			answer.CurrentLeader, out.NodeEndpoints = hint.of(p.topic.id, p.ask.Index, out.NodeEndpoints)
		}
		out.AddPartition(answer)
	}
	if !f.charge(f.encode(out)) {
		f.throttled(out)
		return
	}
	if f.pending.throttleMS > 0 {
		f.encode(out) // again, with the wait
	}
	f.session.tell(f.parts)
	f.chargeThrottled()
	f.send()
}

// cut shares the request's byte limit among the parts in their order. The first batch of the first part that has one
// goes out whole, however small the limits are (KIP-74).
func (f *fetchRequest) cut() {
	left := int64(max(f.maxBytes, 0))
	nothingYet := true
	for i := range f.parts {
		p := &f.parts[i]
		if p.file == nil {
			continue
		}
		limit := min(int64(max(p.ask.MaxBytes, 0)), left)
		if nothingYet {
			limit = max(limit, int64(p.first))
		}
		p.length = min(p.length, limit)
		if p.length == 0 {
			p.file.release()
			p.file = nil
			continue
		}
		nothingYet = false
		left = max(left-p.length, 0)
	}
}

func (p *fetchPart) response() wire.FetchPartitionResponse {
	r := wire.FetchPartitionResponse{
		Index: p.ask.Index, ErrorCode: p.code, HighWatermark: p.highWatermark, LastStableOffset: p.lastStable,
		LogStartOffset: p.logStart, Aborted: p.aborted, PreferredReadReplica: p.preferred, DivergingEpoch: p.diverging,
	}
	if p.file != nil {
		r.RecordsLength = int32(p.length)
	}
	return r
}

// sameTopic says whether two parts stand under one topic in an answer.
func (p *fetchPart) sameTopic(q *fetchPart) bool {
	return p.id == q.id && string(p.name) == string(q.name)
}

// answer encodes and sends out.
func (f *fetchRequest) answer(out *wire.FetchResponse) {
	f.encode(out)
	f.send()
}

// encode makes out the pending answer's bytes, and gives the length of the whole response with its records.
func (f *fetchRequest) encode(out *wire.FetchResponse) (bytes int) {
	l, r := f.conn.loop, f.pending
	out.ThrottleMS = r.throttleMS
	dst := append(r.answer[:0], 0, 0, 0, 0)
	dst = wire.AppendResponseHeader(dst, r.key, r.version, r.corr)
	dst, l.fetchPieces = out.AppendTo(dst, f.version, l.fetchPieces[:0])
	bytes = int(wire.SizeWithRecords(len(dst)-4, l.fetchPieces))
	binary.BigEndian.PutUint32(dst, uint32(bytes))
	r.answer = dst
	return bytes
}

// send completes the request with what was encoded; the ranges of the parts become the pending answer's.
func (f *fetchRequest) send() {
	l, r := f.conn.loop, f.pending
	r.ranges = f.takeRanges(r.ranges[:0], l.fetchPieces)
	f.pending = nil
	f.conn.letGo(f.held)
	f.held = 0
	l.fetches.release(f)
	l.complete(r)
}

// takeRanges pairs the encoder's pieces with the parts' file ranges: both are in the order of the answer.
func (f *fetchRequest) takeRanges(ranges []fileRange, pieces []wire.FetchPiece) []fileRange {
	next := 0
	for i := range f.parts {
		p := &f.parts[i]
		if p.file == nil {
			continue
		}
		ranges = append(ranges, fileRange{at: pieces[next].HeaderEnd, file: p.file, offset: p.position, length: p.length, hot: p.hot})
		next++
	}
	if f.session != nil {
		f.session.rotate()
		f.parts = f.session.parts
	}
	for i := range f.parts {
		f.parts[i].file = nil
	}
	if next != len(pieces) {
		panic("BUG: fetch answer promises ranges that no part has")
	}
	return ranges
}
