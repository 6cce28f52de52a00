package node

import (
	"errors"
	"fmt"
	"sync"

	"github.com/ringmill/ringmill/control/share"
	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/wire"
)

// shareReadBytesMax bounds what all ShareFetches hold of logs until their answers are made, shareAnswerBytesMax one of them; but
// for one batch each, the first of its answer. shareReadChunk is what is read at a time, and the least that one counts for.
const (
	shareReadBytesMax   = 64 << 20
	shareAnswerBytesMax = 8 << 20
	shareReadChunk      = 128 << 10
)

// shareRead is a wish to read a partition's log, and what was found.
type shareRead struct {
	part      *sharePart
	from      wire.Offset
	committed bool // what no transaction has decided, or one has aborted, is not for the group
	maxBytes  int
	// maxRecords is how many records are enough; whole says that the first batch counts however long it is.
	maxRecords int64
	whole      bool

	batches []share.FetchedBatch
	// records are the batches' bytes, sizes how long each is.
	records []byte
	sizes   []int
	// fs is where the log's files lie; seen the high watermark that was read up to.
	fs   segment.FS
	seen wire.Offset
	code wire.ErrorCode
}

// run reads the log. It blocks on the disk.
func (r *shareRead) run(n *Node) {
	for from := r.from; from != wire.NoOffset; {
		next, err := r.readSegment(n, from)
		if err != nil {
			n.log.throttled("a share partition's log cannot be read", "partition", r.part.part.name(), "error", err)
			r.code = wire.KafkaStorageError
			return
		}
		from = next
	}
}

// readSegment reads from the segment that holds an offset. It gives the offset to go on at where that has nothing more, else
// NoOffset.
func (r *shareRead) readSegment(n *Node, from wire.Offset) (next wire.Offset, err error) {
	p := r.part.part
	var plan segment.FetchPlan
	var aborted segment.AbortedPlan
	release := p.holdNames(func() { plan, aborted = r.plan(from) })
	defer release()
	switch {
	case r.code != wire.None || plan.Status == segment.FetchEmpty || plan.Status == segment.FetchOutOfRange || plan.Segment == nil:
		return wire.NoOffset, nil
	case plan.Status == segment.FetchNeedIndex:
		return from, r.loadIndex(plan)
	}
	file, err := r.fs.OpenFile(plan.Segment.LogName(), segment.ReadOnly, 0)
	if err != nil {
		return wire.NoOffset, err
	}
	defer file.Close()
	at, err := plan.Locate(file)
	if errors.Is(err, segment.ErrNoBatch) {
		return plan.Segment.NextOffset(), nil
	}
	if err != nil {
		return wire.NoOffset, err
	}
	if err := r.readRange(file, int64(at.Start), int64(at.End)); err != nil || !r.committed {
		return wire.NoOffset, err
	}
	list, err := aborted.Run(r.fs)
	if err == nil {
		r.markAborted(list)
	}
	return wire.NoOffset, err
}

// plan runs on the partition's loop.
func (r *shareRead) plan(from wire.Offset) (plan segment.FetchPlan, aborted segment.AbortedPlan) {
	p := r.part.part
	if p.stopped != wire.None {
		r.code = p.stopped
		return plan, aborted
	}
	r.fs, r.seen = p.dir().fs, p.replica.HighWatermark()
	bound := r.seen
	if r.committed {
		bound = p.replica.LastStableOffset()
	}
	if from >= bound {
		return plan, aborted
	}
	if plan = p.log().PlanFetch(from, bound); plan.Status == segment.FetchReady {
		aborted = p.log().PlanAborted(from, min(bound, plan.Segment.NextOffset()))
	}
	return plan, aborted
}

// loadIndex reads a sealed segment's index into memory; the names of files are held.
func (r *shareRead) loadIndex(plan segment.FetchPlan) error {
	p := r.part.part
	index, err := plan.LoadIndex(r.fs)
	if err != nil {
		return err
	}
	p.loop.on(func(l *Loop) {
		if p.stopped == wire.None && p.has(plan.Segment) {
			p.log().IndexLoaded(index)
			l.indexes.add(p, plan.Segment, index.Size())
		}
	})
	return nil
}

// readRange reads whole batches from a segment, as many as are asked for.
func (r *shareRead) readRange(file segment.File, at, end int64) error {
	want := int64(shareReadChunk)
	for at < end && !r.enough() {
		chunk := make([]byte, min(end-at, want))
		if n, err := file.ReadAt(chunk, at); n < len(chunk) {
			return err
		}
		used, need, err := r.take(chunk)
		if err != nil || need > 0 && !r.fits(need) {
			return err
		}
		at += int64(used)
		if int64(need) > end-at { // as the length says; the plan ends where a batch does
			return fmt.Errorf("node: batch of %d bytes at %d, where %d are left: %w", need, at, end-at, wire.ErrShortBatch)
		}
		want = max(shareReadChunk, int64(need))
	}
	return nil
}

// take takes the whole batches of chunk that are wanted; used is how many bytes that is, need the length of the batch after
// them: one that chunk has in part, or that does not fit.
func (r *shareRead) take(chunk []byte) (used, need int, err error) {
	for rest := chunk; len(rest) > 0 && !r.enough(); {
		batch, tail, err := wire.ReadRecordBatch(rest)
		if errors.Is(err, wire.ErrShortBatch) {
			return used, shortBatchNeed(rest), nil
		}
		if err != nil {
			return used, 0, err
		}
		size := len(rest) - len(tail)
		if !r.fits(size) {
			return used, size, nil
		}
		r.records = append(r.records, rest[:size]...)
		r.sizes = append(r.sizes, size)
		r.batches = append(r.batches, share.FetchedBatch{Base: batch.BaseOffset(), Last: batch.LastOffset()})
		used, rest = used+size, tail
	}
	return used, 0, nil
}

// fits says that a batch of some bytes may be read.
func (r *shareRead) fits(size int) bool {
	return len(r.records)+size <= r.maxBytes || r.whole && len(r.records) == 0
}

func (r *shareRead) enough() bool {
	n := len(r.batches)
	return n > 0 && int64(r.batches[n-1].Last-max(r.from, r.batches[0].Base))+1 >= r.maxRecords
}

// markAborted finds the batches that belong to aborted transactions.
func (r *shareRead) markAborted(list []wire.AbortedTransaction) {
	aborted := make(map[wire.ProducerID]bool)
	rest := r.records
	for i, size := range r.sizes {
		batch := wire.RecordBatch(rest[:size])
		rest = rest[size:]
		for len(list) > 0 && list[0].FirstOffset <= batch.LastOffset() {
			aborted[list[0].ProducerID] = true
			list = list[1:]
		}
		if m, ok := wire.ReadTxnMarker(batch); ok && !m.Commit {
			delete(aborted, batch.ProducerID())
		}
		r.batches[i].Aborted = !batch.IsControl() && batch.IsTransactional() && aborted[batch.ProducerID()]
	}
}

// slice gives the bytes of the batches that hold some of the acquired records.
func (r *shareRead) slice(acquired []share.AcquiredRange) []byte {
	first, last := acquired[0].First, acquired[len(acquired)-1].Last
	start, end := 0, 0
	for i, b := range r.batches {
		switch {
		case b.Last < first:
			start += r.sizes[i]
			end = start
		case b.Base <= last:
			end += r.sizes[i]
		}
	}
	return r.records[start:end]
}

// byteBudget bounds what several goroutines hold in memory. Who asks for more than all of it gets all.
type byteBudget struct {
	mu   sync.Mutex
	less sync.Cond // used has become less
	max  int
	used int
}

func newByteBudget(max int) *byteBudget {
	b := &byteBudget{max: max}
	b.less.L = &b.mu
	return b
}

func (b *byteBudget) acquire(bytes int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.used > 0 && b.used+bytes > b.max {
		b.less.Wait()
	}
	b.used += bytes
}

// add takes more for who has some already, without waiting.
func (b *byteBudget) add(bytes int) {
	b.mu.Lock()
	b.used += bytes
	b.mu.Unlock()
}

func (b *byteBudget) release(bytes int) {
	b.mu.Lock()
	b.used -= bytes
	b.mu.Unlock()
	b.less.Broadcast()
}
