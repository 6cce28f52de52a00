package replicate

import (
	"math"
	"slices"
	"time"

	"github.com/ringmill/ringmill/wire"
)

// Next gives the next request, or nil if one is out or nothing is due. budget is how many bytes the throttled partitions may still
// bring (follower.replication.throttled.rate, KIP-73); those that are catching up are left out when there are none, so that the owner
// asks again when there are.
// The request is the fetcher's, and valid until the next call; it is out until Answer or Lost.
func (f *Fetcher) Next(now time.Duration, budget int64) *wire.FetchRequest {
	if f.out {
		return nil
	}
	f.wakeRested(now)
	f.throttle(budget)
	if !slices.ContainsFunc(f.all, (*fetchedPartition).due) {
		return nil
	}
	r := &f.request
	r.Reset()
	r.ReplicaID, r.ReplicaEpoch = f.cfg.Replica, f.cfg.BrokerEpoch
	r.MinBytes, r.MaxBytes, r.MaxWaitMS = f.cfg.MinBytes, f.cfg.MaxBytes, f.wait(now)
	r.SessionID, r.SessionEpoch = f.sessionID, f.sessionEpoch
	if f.sessionEpoch == 0 {
		f.askAll()
	} else {
		f.askChanged()
	}
	f.out = true
	f.serial++
	return r
}

// wait is how long the leader may wait for records: not beyond what another partition has to ask for.
func (f *Fetcher) wait(now time.Duration) int32 {
	wait := f.cfg.WaitMaxMS
	if f.settling > 0 {
		wait = min(wait, unsettledWaitMS)
	}
	if at, ok := f.NextDue(); ok {
		wait = min(wait, int32(min(max(at-now, 0)/time.Millisecond, math.MaxInt32)))
	}
	return wait
}

// askAll names everything that is due: the request begins a session, and ends the one of its id.
func (f *Fetcher) askAll() {
	for _, p := range f.changed {
		p.changed = false
	}
	clear(f.changed)
	f.changed, f.gone = f.changed[:0], f.gone[:0]
	if f.first >= len(f.all) {
		f.first = 0
	}
	var topic *wire.TopicID
	for i := range f.all {
		p := f.all[(f.first+i)%len(f.all)]
		if p.inSession = p.due(); p.inSession {
			topic = f.name(p, topic)
		}
	}
	f.first++
}

// askChanged names what is new, or asked for from elsewhere, and forgets what is gone or not due.
func (f *Fetcher) askChanged() {
	slices.SortFunc(f.changed, func(a, b *fetchedPartition) int { return a.key().compare(b.key()) })
	var topic *wire.TopicID
	for _, p := range f.changed {
		p.changed = false
		switch {
		case p.removed:
		case p.due() && (!p.inSession || p.lapsed || p.told != p.ask()):
			topic = f.name(p, topic)
			p.inSession = true
		case !p.due() && p.inSession:
			p.inSession = false
			f.gone = append(f.gone, p.key())
		}
	}
	clear(f.changed)
	f.changed = f.changed[:0]
	f.forget()
}

// name puts p into the request, after topic if it is of that one.
func (f *Fetcher) name(p *fetchedPartition, topic *wire.TopicID) *wire.TopicID {
	if topic == nil || *topic != p.Topic {
		f.request.AddTopic(nil, p.Topic)
	}
	p.told, p.lapsed = p.ask(), false
	f.request.AddPartition(wire.FetchPartition{
		Index: p.Index, CurrentLeaderEpoch: p.Epoch, FetchOffset: p.Offset, LastFetchedEpoch: p.LastEpoch, LogStartOffset: p.LogStart,
		MaxBytes: f.cfg.PartitionMaxBytes, ReplicaDirectoryID: p.Directory, HighWatermark: math.MaxInt64,
	})
	return &p.Topic
}

// forget names the partitions that leave the session. One that was removed and added again is named as new instead: Kafka forgets last.
func (f *Fetcher) forget() {
	slices.SortFunc(f.gone, fetchKey.compare)
	var topic *wire.TopicID
	for i := range f.gone {
		k := &f.gone[i]
		if p := f.known[*k]; p != nil && p.inSession {
			continue
		}
		if topic == nil || *topic != k.topic {
			f.request.ForgetTopic(nil, k.topic)
			topic = &k.topic
		}
		f.request.ForgetPartition(k.index)
	}
	f.gone = f.gone[:0]
}

// Lost says that the request that was out will not be answered: its connection is gone. The session is begun anew.
func (f *Fetcher) Lost() {
	f.out = false
	f.restartSession(f.sessionID)
}

// restartSession makes the next request a full one. With the id of a session the leader drops that one.
func (f *Fetcher) restartSession(id int32) {
	f.sessionID, f.sessionEpoch = id, 0
	for _, p := range f.all {
		p.inSession = false
	}
	f.gone = f.gone[:0]
}
