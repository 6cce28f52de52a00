package node

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/ringmill/ringmill/wire"
)

// fetchSessions are the incremental fetch sessions (KIP-227) of one loop's connections; see sessionHomes for clients
// that come back on another loop's.
type fetchSessions struct {
	byID map[int32]*fetchSession
	max  int
}

// fetchSession remembers what a client asks for and what it was last told.
type fetchSession struct {
	id, epoch int32
	byTopicID bool
	parts     []fetchPart
	told      []fetchTold
	used      time.Duration
	// busy says that a connection's request is reading parts.
	busy bool
	// follower says that a replica's node has it: it makes room for nobody, and counts for none of those who want some. It ends when
	// that node comes with another registration; by is who it is of.
	follower bool
	by       fetcherOf
}

// fetchTold is what the client knows of a partition.
type fetchTold struct {
	highWatermark, logStart wire.Offset
}

// sessionEvictAge is how long a session must have been unused to make room for another, so that a client that opens
// one with each fetch cannot push out those in use (Kafka's min.incremental.fetch.session.eviction.ms).
const sessionEvictAge = 120 * time.Second

// responseID is the session id of a response: 0 without a session.
func (s *fetchSession) responseID() int32 {
	if s == nil {
		return 0
	}
	return s.id
}

// open resolves the request's partitions, those of its session included, into f.parts.
func (fs *fetchSessions) open(l *Loop, f *fetchRequest, in *wire.FetchRequest) wire.ErrorCode {
	f.session, f.incremental, f.parts = nil, false, f.parts[:0]
	switch {
	case in.SessionEpoch > 0 && in.SessionID != 0:
		return fs.resume(l, f, in)
	case in.SessionID != 0:
		fs.drop(l, in.SessionID) // epoch -1 or 0 with an id: the client gives its session up
	}
	for i := range in.Topics {
		f.parts = l.node.appendFetchParts(f.parts, &in.Topics[i], f.version)
	}
	f.parts = uniqueFetchParts(f.parts)
	if in.SessionEpoch == 0 && f.version >= 7 {
		f.session = fs.make(l, f)
	}
	return wire.None
}

// sessionPartsMax bounds the partitions that a loop's sessions remember, 300 bytes each. A client beyond it is served
// without a session.
const sessionPartsMax = 100_000

// parts counts the partitions of all sessions of consumers.
func (fs *fetchSessions) parts() (n int) {
	for _, s := range fs.byID {
		if !s.follower {
			n += len(s.parts)
		}
	}
	return n
}

// make opens a session over the request's partitions, or none if there is no room.
func (fs *fetchSessions) make(l *Loop, f *fetchRequest) *fetchSession {
	follower := f.by.follower()
	if len(f.parts) == 0 || !follower && (!fs.room(l) || fs.parts()+len(f.parts) > sessionPartsMax) {
		return nil
	}
	if follower {
		fs.dropEarlier(l, &f.by)
	}
	s := &fetchSession{epoch: 1, follower: follower, by: f.by, byTopicID: f.version >= 13, parts: f.parts, used: l.mono, busy: true}
	for s.id == 0 || l.node.sessions.of(s.id) != nil {
		s.id = rand.Int32N(math.MaxInt32)
	}
	s.told = make([]fetchTold, len(s.parts))
	fs.byID[s.id] = s
	l.node.sessions.set(s.id, l)
	return s
}

// dropEarlier forgets the sessions that a follower's node had under an earlier registration.
func (fs *fetchSessions) dropEarlier(l *Loop, by *fetcherOf) {
	for id, s := range fs.byID {
		if s.follower && !s.busy && s.by.replica == by.replica && s.by.epoch < by.epoch {
			fs.drop(l, id)
		}
	}
}

// drop forgets a session.
func (fs *fetchSessions) drop(l *Loop, id int32) {
	delete(fs.byID, id)
	l.node.sessions.forget(id, l)
}

// room makes room for one session, if there is any to be had.
func (fs *fetchSessions) room(l *Loop) bool {
	var oldest *fetchSession
	consumers := 0
	for _, s := range fs.byID {
		if s.follower {
			continue
		}
		consumers++
		if !s.busy && (oldest == nil || s.used < oldest.used) {
			oldest = s
		}
	}
	if consumers < fs.max {
		return true
	}
	if oldest == nil || l.mono-oldest.used < sessionEvictAge {
		return false
	}
	fs.drop(l, oldest.id)
	return true
}

// resume takes up a session's next request.
func (fs *fetchSessions) resume(l *Loop, f *fetchRequest, in *wire.FetchRequest) wire.ErrorCode {
	s := fs.byID[in.SessionID]
	switch {
	case s == nil:
		return wire.FetchSessionIDNotFound
	case s.busy || s.epoch != in.SessionEpoch:
		return wire.InvalidFetchSessionEpoch
	case s.byTopicID != (f.version >= 13):
		return wire.FetchSessionTopicIDError
	}
	before := len(s.parts)
	s.update(l.node, f.version, in)
	if len(s.parts) > before && !s.follower && fs.parts() > sessionPartsMax {
		fs.drop(l, s.id) // the client begins anew, and may do without
		return wire.FetchSessionIDNotFound
	}
	s.used, s.busy = l.mono, true
	if s.epoch++; s.epoch < 0 {
		s.epoch = 1
	}
	f.session, f.parts, f.incremental = s, s.parts, true
	return wire.None
}

// update applies a request's changes to the session.
func (s *fetchSession) update(n *Node, v wire.APIVersion, in *wire.FetchRequest) {
	if len(in.Forgotten) > 0 {
		s.forget(in.Forgotten)
	}
	var changed []fetchPart
	for i := range in.Topics {
		changed = n.appendFetchParts(changed, &in.Topics[i], v)
	}
	for i := range s.parts {
		n.resolveFetchPart(&s.parts[i], s.byTopicID)
	}
	var index map[fetchKey]int
	if len(changed)*len(s.parts) > fetchFindMax {
		index = s.index()
	}
	for i := range changed {
		s.put(&changed[i], index)
	}
}

// fetchFindMax is up to how many comparisons a request's partitions are looked for without an index.
const fetchFindMax = 256

// put adds a partition or replaces what was asked of it before. index may be nil.
func (s *fetchSession) put(p *fetchPart, index map[fetchKey]int) {
	at := -1
	if index == nil {
		at = slices.IndexFunc(s.parts, p.samePartition)
	} else if i, known := index[s.key(p)]; known {
		at = i
	}
	if at >= 0 {
		s.parts[at] = *p
		if p.ask.LogStartOffset >= 0 { // a replica that names it again has not taken what it was told
			s.told[at] = fetchTold{wire.NoOffset, wire.NoOffset}
		}
		return
	}
	if index != nil {
		index[s.key(p)] = len(s.parts)
	}
	s.parts = append(s.parts, *p)
	s.told = append(s.told, fetchTold{wire.NoOffset, wire.NoOffset})
}

func (p *fetchPart) samePartition(q fetchPart) bool {
	return q.ask.Index == p.ask.Index && q.id == p.id && string(q.name) == string(p.name)
}

func (s *fetchSession) index() map[fetchKey]int {
	index := make(map[fetchKey]int, len(s.parts))
	for i := range s.parts {
		index[s.key(&s.parts[i])] = i
	}
	return index
}

// fetchKey names a partition in a session, by its topic's name or its id.
type fetchKey struct {
	name  string
	id    wire.TopicID
	index wire.PartitionIndex
}

func (s *fetchSession) key(p *fetchPart) fetchKey {
	if s.byTopicID {
		return fetchKey{id: p.id, index: p.ask.Index}
	}
	return fetchKey{name: string(p.name), index: p.ask.Index}
}

func (s *fetchSession) forget(topics []wire.ForgottenTopic) {
	gone := make(map[fetchKey]bool)
	for i := range topics {
		t := &topics[i]
		for _, index := range t.Partitions {
			gone[s.key(&fetchPart{name: t.Name, id: t.ID, ask: wire.FetchPartition{Index: index}})] = true
		}
	}
	kept := 0
	for i := range s.parts {
		if gone[s.key(&s.parts[i])] {
			continue
		}
		s.parts[kept], s.told[kept] = s.parts[i], s.told[i]
		kept++
	}
	clear(s.parts[kept:])
	s.parts, s.told = s.parts[:kept], s.told[:kept]
}

// news says whether the client must be told of part i.
func (s *fetchSession) news(i int, p *fetchPart) bool {
	told := &s.told[i]
	return p.file != nil || p.code != wire.None || p.diverging.Set || p.preferred != wire.NoNode ||
		told.highWatermark != p.highWatermark || told.logStart != p.logStart
}

// tell notes what the client is told; there need be no session.
func (s *fetchSession) tell(parts []fetchPart) {
	if s == nil {
		return
	}
	for i := range parts {
		s.told[i] = fetchTold{parts[i].highWatermark, parts[i].logStart}
	}
}

// rotate moves the parts that had data to the end, so that a byte limit does not starve those behind them.
func (s *fetchSession) rotate() {
	first := slices.IndexFunc(s.parts, func(p fetchPart) bool { return p.file != nil })
	if first < 0 || len(s.parts) == 1 {
		return
	}
	parts := make([]fetchPart, 0, len(s.parts))
	told := make([]fetchTold, 0, len(s.told))
	for _, withData := range []bool{false, true} {
		for i := range s.parts {
			if (s.parts[i].file != nil) == withData {
				parts, told = append(parts, s.parts[i]), append(told, s.told[i])
			}
		}
	}
	s.parts, s.told = parts, told
}

// release ends a request's use of its session.
func (fs *fetchSessions) release(f *fetchRequest) {
	if f.session != nil {
		f.session.busy = false
		f.session, f.parts = nil, nil
	}
	if cap(f.parts) > fetchPartsKeep {
		f.parts = nil
		if len(f.noted) > 2*fetchPartsKeep {
			f.forgetNoted()
		}
	}
}

// fetchPartsKeep is how many partitions of Fetches without a session a connection keeps room for, 14 KiB.
const fetchPartsKeep = 64

// appendFetchParts resolves one topic of a request.
func (n *Node) appendFetchParts(parts []fetchPart, t *wire.FetchTopic, v wire.APIVersion) []fetchPart {
	for _, ask := range t.Partitions {
		p := fetchPart{name: t.Name, id: t.ID, ask: ask}
		n.resolveFetchPart(&p, v >= 13)
		if p.topic == nil && t.Name != nil {
			p.name = append([]byte(nil), t.Name...) // the request's bytes do not outlive its decoding
		}
		parts = append(parts, p)
	}
	return parts
}

// resolveFetchPart finds the partition that p names. For one that is not there the code says so; the partition's
// owner decides the code of one that is.
func (n *Node) resolveFetchPart(p *fetchPart, byID bool) {
	missing := wire.UnknownTopicOrPartition
	if byID {
		p.topic, missing = n.topics.identified(p.id), wire.UnknownTopicID
	} else {
		p.topic = n.topics.named(p.name)
	}
	p.part, p.preferred = nil, wire.NoNode
	p.fail(missing)
	p.aborted = noneAborted // Kafka says null only where it has looked into a log
	if p.topic == nil {
		return
	}
	if !byID {
		p.name = p.topic.nameBytes
	}
	if p.part = p.topic.part(p.ask.Index); p.part == nil {
		_, p.code = p.topic.leaderOf(p.ask.Index)
	}
}

// fetchPartKey is what makes two parts of a request the same.
type fetchPartKey struct {
	name  string
	id    wire.TopicID
	index wire.PartitionIndex
}

// uniqueFetchParts leaves each partition once, at its first place and as it was asked for last, as Kafka's map does: one that
// is named 100,000 times would be planned as often at every wake.
func uniqueFetchParts(parts []fetchPart) []fetchPart {
	if len(parts) < 2 {
		return parts
	}
	places := make(map[fetchPartKey]int, len(parts))
	unique := parts[:0]
	for i := range parts {
		key := fetchPartKey{string(parts[i].name), parts[i].id, parts[i].ask.Index}
		if at, again := places[key]; again {
			unique[at] = parts[i]
			continue
		}
		places[key] = len(unique)
		unique = append(unique, parts[i])
	}
	clear(parts[len(unique):])
	return unique
}
