package replicate

import (
	"cmp"
	"slices"
	"time"

	"github.com/ringmill/ringmill/wire"
)

// FetcherConfig is what a Fetcher asks with.
type FetcherConfig struct {
	// Replica is this node, and BrokerEpoch that of its registration.
	Replica     wire.NodeID
	BrokerEpoch wire.BrokerEpoch
	// WaitMaxMS, MinBytes and MaxBytes are replica.fetch.wait.max.ms, .min.bytes and .response.max.bytes, PartitionMaxBytes is
	// replica.fetch.max.bytes.
	WaitMaxMS, MinBytes, MaxBytes, PartitionMaxBytes int32
	// Backoff is replica.fetch.backoff.ms. BackoffMin is how long a partition rests whose fetch failed once, and twice as long each time
	// it fails again, up to Backoff: a leader that does not know yet that it leads knows a moment later. 0 is Backoff.
	Backoff, BackoffMin time.Duration
}

// unsettledWaitMS bounds the wait of a request that leaves out partitions whose disk is at work: theirs is asked next, and what they
// promise by it is what producers wait for.
const unsettledWaitMS = 5

// Fetcher asks one leader for what the partitions of one loop lack. It is pure: Next gives a request, Answer takes the response to a list
// of what is to be done, and one request is out at a time. What it asks of a partition is what the owner said last (Add, Ready).
//
//	                    Next                 Answer: records, a diverging epoch, out of range
//	Add, Ready ──▶ due ──────▶ asked ────────────────────────────────────────────────────────▶ settling ──Ready──▶ due
//	                ▲            │  └─ Answer: nothing new, or another high watermark ──▶ due
//	                │            ▼  an error
//	                └─ later ─ resting
//
// Requests are of an incremental fetch session (KIP-227): a partition is named when it is new or its position has moved, and forgotten
// while it may not be asked for.
type Fetcher struct {
	cfg FetcherConfig

	sessionID, sessionEpoch int32
	// request is reused; it is out if out says so. serial numbers the requests, from 1 on.
	request wire.FetchRequest
	out     bool
	serial  uint64
	// known finds partitions by name; it is never ranged over. all has them in the order of their names.
	known map[fetchKey]*fetchedPartition
	all   []*fetchedPartition
	// changed are those whose part of the session may not be what it should be, removed ones among them; gone are those that the session
	// has and the fetcher has not.
	changed []*fetchedPartition
	gone    []fetchKey
	// resting are those that back off, and some that did, or are removed; limited those that a throttle may hold back.
	resting, limited []*fetchedPartition
	// settling counts the partitions in that state.
	settling int
	// first rotates requests without a session, so that a limit of bytes does not starve those at the end.
	first   int
	actions []FetchAction
}

// fetchKey names a partition on the wire.
type fetchKey struct {
	topic wire.TopicID
	index wire.PartitionIndex
}

func (k fetchKey) compare(o fetchKey) int {
	return cmp.Or(slices.Compare(k.topic[:], o.topic[:]), cmp.Compare(k.index, o.index))
}

// fetchState is where a partition is between two requests; see Fetcher.
type fetchState uint8

const (
	fetchDue fetchState = iota
	fetchSettling
	fetchResting
)

// FetchTarget is what is to be fetched of one partition.
type FetchTarget struct {
	// Ref marks the partition's actions.
	Ref   any
	Topic wire.TopicID
	Index wire.PartitionIndex
	// Epoch is the one in which the replica follows.
	Epoch wire.LeaderEpoch
	Position
	LogStart wire.Offset
	// Directory is the log directory of the replica; zero if it is not to be told (KIP-858).
	Directory wire.UUID
	// Throttled says that follower.replication.throttled.replicas has it (KIP-73).
	Throttled bool
}

// ask is what the leader is told of a partition.
type ask struct {
	epoch    wire.LeaderEpoch
	position Position
	logStart wire.Offset
}

type fetchedPartition struct {
	FetchTarget
	state fetchState
	// until is when a resting one is due, failures counts how often it failed since it did not.
	until    time.Duration
	failures int
	// changed, limited say that it is in the Fetcher's lists, removed that it is not the Fetcher's any more.
	changed, limited, removed bool
	// held says that the throttle keeps it out.
	held bool
	// leaderEnd is the leader's high watermark as of its last answer: below it the replica is catching up.
	leaderEnd wire.Offset
	// inSession says that the last request covers it, as told says. touched is the serial number of the newest request that was out when
	// what is to be asked for changed, or that was answered: an answer to that one is late.
	inSession bool
	touched   uint64
	told      ask
	// lapsed says that an answer was not taken. The leader, who believes it was, is asked again by name.
	lapsed bool
}

func (f *fetchedPartition) key() fetchKey { return fetchKey{f.Topic, f.Index} }
func (f *fetchedPartition) ask() ask      { return ask{f.Epoch, f.Position, f.LogStart} }

// due says whether the next request is to cover it.
func (f *fetchedPartition) due() bool { return f.state == fetchDue && !f.held }

// rests says whether it is in the list of those that back off for a reason.
func (f *fetchedPartition) rests() bool { return f.state == fetchResting && !f.removed }

// NewFetcher makes a fetcher without partitions.
func NewFetcher(cfg FetcherConfig) *Fetcher {
	f := &Fetcher{cfg: cfg, known: make(map[fetchKey]*fetchedPartition)}
	f.request.Reset()
	return f
}

// Len is the number of partitions.
func (f *Fetcher) Len() int { return len(f.all) }

// Settling is the number of partitions that wait for Ready: an owner that waits until it is 0, with a bound, before it asks Next leaves
// none out.
func (f *Fetcher) Settling() int { return f.settling }

// Out says whether a request is out.
func (f *Fetcher) Out() bool { return f.out }

// Add begins to fetch a partition, or to fetch it anew, in another epoch or from elsewhere. settled says that its position may be asked
// for at once (Partition.MayFetch); otherwise it waits for Ready. An answer to what was asked before is ignored.
func (f *Fetcher) Add(t FetchTarget, settled bool) {
	p := f.known[fetchKey{t.Topic, t.Index}]
	if p == nil {
		p = &fetchedPartition{leaderEnd: wire.NoOffset}
		p.FetchTarget = t
		f.known[p.key()] = p
		i, _ := slices.BinarySearchFunc(f.all, p.key(), func(p *fetchedPartition, k fetchKey) int { return p.key().compare(k) })
		f.all = slices.Insert(f.all, i, p)
	} else {
		if p.state == fetchDue && settled && p.ask() == (ask{t.Epoch, t.Position, t.LogStart}) {
			p.FetchTarget = t // another partition epoch, and nothing else
			f.limit(p)
			return
		}
		f.leaveState(p)
	}
	p.FetchTarget = t
	p.touched, p.state = f.serial, fetchDue
	if !settled {
		p.state = fetchSettling
		f.settling++
	}
	f.limit(p)
	f.change(p)
}

// limit puts p into the list of what a throttle may hold back, or takes it out.
func (f *Fetcher) limit(p *fetchedPartition) {
	if p.Throttled == p.limited {
		return
	}
	if p.limited = p.Throttled; p.limited {
		f.limited = append(f.limited, p)
		return
	}
	f.limited = remove(f.limited, p)
	p.held = false
	f.change(p)
}

// Remove ends the fetching of a partition; its Ref is not seen again.
func (f *Fetcher) Remove(topic wire.TopicID, index wire.PartitionIndex) {
	p := f.known[fetchKey{topic, index}]
	if p == nil {
		return
	}
	f.leaveState(p)
	delete(f.known, p.key())
	i, _ := slices.BinarySearchFunc(f.all, p.key(), func(p *fetchedPartition, k fetchKey) int { return p.key().compare(k) })
	f.all = slices.Delete(f.all, i, i+1)
	p.removed = true
	if p.limited {
		f.limited = remove(f.limited, p)
	}
	if p.inSession {
		f.gone = append(f.gone, p.key())
	}
}

func remove(list []*fetchedPartition, p *fetchedPartition) []*fetchedPartition {
	if i := slices.Index(list, p); i >= 0 {
		return slices.Delete(list, i, i+1)
	}
	return list
}

// leaveState takes p out of what its state counts.
func (f *Fetcher) leaveState(p *fetchedPartition) {
	if p.state == fetchSettling {
		f.settling--
	}
}

// change notes that p's part of the session may have to change.
func (f *Fetcher) change(p *fetchedPartition) {
	if !p.changed {
		p.changed = true
		f.changed = append(f.changed, p)
	}
}

// Ready says that all below a position is kept, so that the partition may be asked for from there: after what an answer brought was
// written, or synced, or the log was cut. A partition that is not known is ignored.
func (f *Fetcher) Ready(topic wire.TopicID, index wire.PartitionIndex, at Position, logStart wire.Offset) {
	p := f.known[fetchKey{topic, index}]
	if p == nil {
		return
	}
	settled := p.state == fetchSettling
	if settled {
		p.state = fetchDue
		f.settling--
	}
	switch {
	case p.Position != at || p.LogStart != logStart:
		p.Position, p.LogStart, p.touched = at, logStart, f.serial
	case settled:
		p.lapsed = true // nothing came of the answer
	}
	f.change(p)
}

// BackOff keeps a partition out of the requests for the time of the back-off: its batches are damaged, or its disk is full.
func (f *Fetcher) BackOff(topic wire.TopicID, index wire.PartitionIndex, now time.Duration) {
	if p := f.known[fetchKey{topic, index}]; p != nil {
		f.rest(p, now+f.cfg.Backoff)
	}
}

// failed has p rest for longer each time. lasting is FetchAction's.
func (f *Fetcher) failed(p *fetchedPartition, now time.Duration) (lasting bool) {
	pause := f.cfg.Backoff
	if f.cfg.BackoffMin > 0 {
		pause = min(pause, f.cfg.BackoffMin<<min(p.failures, failuresMax))
	}
	p.failures++
	f.rest(p, now+pause)
	return p.failures > 1 && pause == f.cfg.Backoff
}

// failuresMax is from where on a pause is not doubled any more, whatever Backoff is.
const failuresMax = 16

func (f *Fetcher) rest(p *fetchedPartition, until time.Duration) {
	f.leaveState(p)
	p.state, p.until = fetchResting, until
	f.resting = append(f.resting, p)
	f.change(p)
}

// wakeRested makes those due whose back-off is over.
func (f *Fetcher) wakeRested(now time.Duration) {
	kept := f.resting[:0]
	for _, p := range f.resting {
		switch {
		case !p.rests():
		case p.until > now:
			kept = append(kept, p)
		default:
			p.state = fetchDue
			f.change(p)
		}
	}
	clear(f.resting[len(kept):])
	f.resting = kept
}

// NextDue is when the first back-off ends; ok is false if there is none. An owner whose Next gave no request asks again then.
func (f *Fetcher) NextDue() (at time.Duration, ok bool) {
	for _, p := range f.resting {
		if p.rests() && (!ok || p.until < at) {
			at, ok = p.until, true
		}
	}
	return at, ok
}

// throttle holds back who is catching up and throttled while the budget is used up.
func (f *Fetcher) throttle(budget int64) {
	for _, p := range f.limited {
		held := budget <= 0 && p.Offset < p.leaderEnd
		if held != p.held {
			p.held = held
			f.change(p)
		}
	}
}
