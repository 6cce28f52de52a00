package node

import (
	"math/bits"
	"time"

	"github.com/ringmill/ringmill/wire"
)

// stage is one leg of a request's way through the node. Apart from received and throttled they follow each other without gaps, so that a
// request's stages add up to its total; docs/metrics.md says of each what it is.
type stage uint8

const (
	stageReceived stage = iota
	stageQueued
	stageHandled
	stageMailbox
	stagePurgatory
	stageAppended
	stageSynced
	stageReplicated
	stageThrottled
	stageSent
	stageTotal
	stagesMax
)

// stageNames are the values of the label, which are a contract.
var stageNames = [stagesMax]string{"received", "queued", "handled", "mailbox", "purgatory", "appended", "synced", "replicated", "throttled", "sent", "total"}

// stageSet is a set of stages, a bit each.
type stageSet uint16

func setOf(stages ...stage) (set stageSet) {
	for _, s := range stages {
		set |= 1 << s
	}
	return set
}

// stageRow is a kind of request as the histograms tell them apart: its API key, or that of followers' Fetches, which wait for other
// things than consumers'. Requests of ringmill's own between nodes have none.
type stageRow int16

const (
	noStageRow       stageRow = -1
	fetchFollowerRow          = stageRow(wire.APIKeysMax)
	stageRowsMax              = wire.APIKeysMax + 1
)

func stageRowOf(k wire.APIKey) stageRow {
	if k < 0 || int(k) >= wire.APIKeysMax {
		return noStageRow
	}
	return stageRow(k)
}

// name is the value of the label api.
func (r stageRow) name() string {
	if r == fetchFollowerRow {
		return "FetchFollower"
	}
	return wire.APIKey(r).String()
}

// stages are those that a kind of request can pass.
func (r stageRow) stages() stageSet {
	all := setOf(stageReceived, stageQueued, stageHandled, stageThrottled, stageSent, stageTotal)
	switch r {
	case stageRow(wire.KeyProduce):
		return all | setOf(stageMailbox, stagePurgatory, stageAppended, stageSynced, stageReplicated)
	case stageRow(wire.KeyFetch), fetchFollowerRow:
		return all | setOf(stageMailbox, stagePurgatory)
	}
	return all
}

// handled says that a goroutine answers such requests, so that the time which that takes is always told.
func (r stageRow) handled() bool {
	return r != stageRow(wire.KeyProduce) && r != stageRow(wire.KeyFetch) && r != fetchFollowerRow
}

// requestTimes are the stamps of a request under way, by the loops' monotonic clock.
type requestTimes struct {
	row stageRow
	// passed are the stages that it has been in, spent how long.
	passed stageSet
	// arrived is when its last byte was there, reached up to when its time is told by stages.
	arrived, reached time.Duration
	spent            [stagesMax]time.Duration
}

// took notes that the request was in s from where the stage before ended until at. Another loop's clock was read at another moment of its
// turn: what would be less than nothing is nothing, and the next stage begins where this one did.
func (t *requestTimes) took(s stage, at time.Duration) {
	t.passed |= 1 << s
	if at > t.reached {
		t.spent[s] += at - t.reached
		t.reached = at
	}
}

// stageTimes are a loop's histograms. They are plain integers of the loop's thread, which copies them when they are asked for.
type stageTimes struct {
	// rows are made when the first request of a kind is answered.
	rows [stageRowsMax]*[stagesMax]stageHistogram
	// syncRounds are the rounds of syncs, each of which many Produces may share.
	syncRounds stageHistogram
}

func newStageTimes() *stageTimes {
	t := &stageTimes{}
	t.row(stageRow(wire.KeyProduce))
	t.row(stageRow(wire.KeyFetch))
	return t
}

func (t *stageTimes) row(r stageRow) *[stagesMax]stageHistogram {
	if t.rows[r] == nil {
		t.rows[r] = new([stagesMax]stageHistogram)
	}
	return t.rows[r]
}

// answered records what a request has passed until its answer was ready.
func (t *stageTimes) answered(r *requestTimes) {
	row := t.row(r.row)
	for left := uint(r.passed); left != 0; left &= left - 1 {
		s := bits.TrailingZeros(left)
		row[s].observe(r.spent[s])
	}
}

// sent records that the answers of so many requests have been handed over to the socket.
func (t *stageTimes) sent(m *sentMark, at time.Duration) {
	row := t.row(m.row)
	for range m.answers {
		row[stageSent].observe(max(at-m.ready, 0))
		row[stageTotal].observe(max(at-m.arrived, 0))
	}
}

// add adds other's to t's.
func (t *stageTimes) add(other *stageTimes) {
	for r, from := range other.rows {
		if from == nil {
			continue
		}
		to := t.row(stageRow(r))
		for s := range from {
			to[s].add(&from[s])
		}
	}
	t.syncRounds.add(&other.syncRounds)
}

// stageBounds are the upper bounds of the buckets, inclusive: some 1.6 apart to 1 s, then some 2 apart.
var stageBounds = [...]time.Duration{
	1 * time.Microsecond, 1500, 2500, 4 * time.Microsecond, 6 * time.Microsecond,
	10 * time.Microsecond, 15 * time.Microsecond, 25 * time.Microsecond, 40 * time.Microsecond, 60 * time.Microsecond,
	100 * time.Microsecond, 150 * time.Microsecond, 250 * time.Microsecond, 400 * time.Microsecond, 600 * time.Microsecond,
	1 * time.Millisecond, 1500 * time.Microsecond, 2500 * time.Microsecond, 4 * time.Millisecond, 6 * time.Millisecond,
	10 * time.Millisecond, 15 * time.Millisecond, 25 * time.Millisecond, 40 * time.Millisecond, 60 * time.Millisecond,
	100 * time.Millisecond, 150 * time.Millisecond, 250 * time.Millisecond, 400 * time.Millisecond, 600 * time.Millisecond,
	1 * time.Second, 2500 * time.Millisecond, 5 * time.Second, 10 * time.Second,
}

// firstBuckets is, by the length of a duration in bits, the first bucket that may hold it: two more are looked at, at most.
var firstBuckets = func() (first [64]uint8) {
	for length := range first {
		shortest := time.Duration(1) << max(length-1, 0)
		for int(first[length]) < len(stageBounds) && stageBounds[first[length]] < shortest {
			first[length]++
		}
	}
	return first
}()

// stageHistogram counts durations.
type stageHistogram struct {
	buckets [len(stageBounds) + 1]uint64
	sum     time.Duration
}

// observe counts d, which is not negative.
func (h *stageHistogram) observe(d time.Duration) {
	i := int(firstBuckets[bits.Len64(uint64(d))&63])
	for i < len(stageBounds) && d > stageBounds[i] {
		i++
	}
	h.buckets[i]++
	h.sum += d
}

func (h *stageHistogram) add(other *stageHistogram) {
	for i, n := range other.buckets {
		h.buckets[i] += n
	}
	h.sum += other.sum
}
