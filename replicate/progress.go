package replicate

import (
	"time"

	"github.com/ringmill/ringmill/wire"
)

// progress is what a leader knows of one other replica.
//
//	         fetches, with offset ≥ high watermark                  answered, or in the metadata
//	         and ≥ start of the epoch, eligible
//	behind ─────────────────────────────────────────▶ proposed ─────────────────────────────────▶ in sync
//	   ▲                                                                                             │
//	   └──── refused ◀── proposed                     answered, or in the metadata ◀── proposed ◀────┘
//	                                                                     not caught up for LagMax
type progress struct {
	id wire.NodeID
	// logEnd is its next fetch offset, at most what the leader had written then: it keeps all below. wire.NoOffset until it has fetched
	// in this epoch.
	logEnd, logStart wire.Offset
	// brokerEpoch is that of its last fetch; wire.NoBrokerEpoch until then.
	brokerEpoch wire.BrokerEpoch
	// registered is the newest epoch that a fetch named and its broker was registered under: an earlier run of it fetches no more. What a
	// fetch names alone is anybody's word, and one that is too great would keep the replica out.
	registered wire.BrokerEpoch
	// caughtUp is when it last had all that the leader had, never if it never has in this epoch. fetched is the time of its last
	// fetch, and fetchedEnd the leader's end at that time: who has that at the next fetch was caught up at this one.
	caughtUp, fetched time.Duration
	fetchedEnd        wire.Offset
	// eligible says that it may be in the ISR: its broker is registered under brokerEpoch, neither fenced nor shutting down.
	eligible bool
	// inSync is the committed ISR's word, proposed that of the proposal in flight; the maximal ISR has who is in one of them.
	inSync, proposed bool
}

// never is a time before all others.
const never time.Duration = -1 << 62

func newProgress(id wire.NodeID) progress {
	return progress{id: id, logEnd: wire.NoOffset, logStart: wire.NoOffset, brokerEpoch: wire.NoBrokerEpoch, registered: wire.NoBrokerEpoch,
		caughtUp: never, fetched: never, fetchedEnd: wire.NoOffset}
}

// fetch notes a fetch at at of a replica that has all below its offset, when the leader's end is end. What it has beyond that, it has of
// an earlier leader, as this one has planned: it counts when it is written here, since otherwise it may yet be taken back and be another
// record's place.
func (f *progress) fetch(at time.Duration, pos *ReplicaPosition, end wire.Offset) {
	switch {
	case pos.Offset >= end:
		f.caughtUp = max(f.caughtUp, at)
	case f.fetchedEnd >= 0 && pos.Offset >= f.fetchedEnd:
		f.caughtUp = max(f.caughtUp, f.fetched)
	}
	f.logEnd, f.logStart, f.brokerEpoch, f.eligible = min(pos.Offset, end), pos.LogStart, pos.BrokerEpoch, pos.Eligible
	f.fetched, f.fetchedEnd = at, end
	if f.eligible {
		f.registered = max(f.registered, f.brokerEpoch)
	}
}

// lags says whether it has not been caught up for longer than max, when the leader's end is end.
func (f *progress) lags(now, max time.Duration, end wire.Offset) bool {
	return f.logEnd != end && now-f.caughtUp > max
}

// leaveISR: what made it eligible may be over, until it says so with its next fetch.
func (f *progress) leaveISR() { f.inSync, f.eligible = false, false }
