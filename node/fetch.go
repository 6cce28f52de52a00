package node

import (
	"time"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/replicate"
	"github.com/ringmill/ringmill/wire"
)

// fetchRequest is a connection's Fetch under way; a connection has one at most, so it is part of the Conn and reused.
//
//	gather: each owner plans its partitions' ranges ──▶ enough bytes, an error or no time left: answer
//	   ▲                                              └▶ else wait: every partition notes the request
//	   └────────── a high watermark moved, or the deadline ◀┘
//
// The fields are the connection's loop's, except that while a gather is out each owner writes the parts of its own
// partitions, and nobody else touches parts.
type fetchRequest struct {
	conn    *Conn
	pending *pending
	version wire.APIVersion
	by      fetcherOf
	session *fetchSession
	// incremental answers leave out what has not changed; committed ones what no transaction has decided.
	incremental        bool
	committed          bool
	minBytes, maxBytes int
	// parts are the session's if there is one, and gone with it when the request is answered: another connection's
	// request may use them next.
	parts []fetchPart
	// shares are the gather's messages, one an owner.
	shares []fetchShare
	out    int
	// generation numbers the waits: a wake of an earlier one is stale. It is read by owners in FetchWaiters' copies only.
	generation uint32
	waiting    bool
	// again says that it has waited, so that what a follower's says of its log has been noted.
	again     bool
	final     bool
	abandoned bool
	// held is what the parts are charged with.
	held     int
	deadline timer
	expires  time.Duration
	// noted are the partitions that may hold this request as a waiter; nil if it never waited.
	noted map[*partition]struct{}
}

// fetchPart is one partition of a Fetch: what was asked, and what its owner found.
type fetchPart struct {
	topic *topic
	name  []byte // as asked, for a topic that is unknown here
	id    wire.TopicID
	part  *partition
	ask   wire.FetchPartition

	code                                wire.ErrorCode
	highWatermark, lastStable, logStart wire.Offset
	// bound is up to where it may read.
	bound wire.Offset
	// aborted are the transactions that a reader of committed records leaves out; nil if it reads all.
	aborted   []wire.AbortedTransaction
	diverging wire.EpochEndOffset
	// preferred is the replica in the consumer's rack to read from instead, wire.NoNode if it is to read here (KIP-392).
	preferred wire.NodeID
	// file, position and length are the range, first the size of its first batch; file is a reference or nil.
	file             *segmentFile
	position, length int64
	first            int32
	hot              bool
	// throttled says that it counts against leader.replication.throttled.rate.
	throttled bool
}

func (f *fetchRequest) init(c *Conn) {
	f.conn = c
	f.shares = make([]fetchShare, len(c.loop.node.loops))
	f.deadline.fire = func(*Loop) { f.expired() }
}

// isolationReadCommitted is the isolation level of readers that see what transactions have committed (KIP-98).
const isolationReadCommitted = 1

// fetchWaitMax bounds a long poll.
const fetchWaitMax = 24 * time.Hour

// fetchBodyMax bounds a Fetch's body: 100,000 partitions take 33 bytes each, and what a connection keeps of them in memory
// is some ten times that.
const fetchBodyMax = 4 << 20

// serveFetch takes up a Fetch.
func (l *Loop) serveFetch(c *Conn, h wire.RequestHeader, body []byte) {
	in := &l.fetchIn
	if err := in.Read(body, h.Version); err != nil {
		c.refuse("malformed Fetch", "version", int16(h.Version), "error", err)
		return
	}
	if len(body) > fetchBodyMax {
		c.refuse("Fetch is too long", "bytes", len(body), "max", fetchBodyMax)
		return
	}
	if in.ReplicaID >= 0 && !c.proven() {
		c.refuseUnproven(h)
		return
	}
	c.serial = true
	f := &c.fetch
	f.pending, f.version = c.begin(h), h.Version
	if f.by, f.again = l.node.fetcher(in, h.Version), false; f.by.follower() {
		f.pending.times.row = fetchFollowerRow
	}
	f.minBytes, f.maxBytes = int(in.MinBytes), int(in.MaxBytes)
	if !f.by.follower() {
		f.maxBytes = l.node.quotas.fetchMax(quotaClient(&c.client), min(f.maxBytes, l.node.Config().FetchBytesMax))
	}
	f.minBytes = min(f.minBytes, max(f.maxBytes, 0))
	f.expires = l.mono + min(time.Duration(max(in.MaxWaitMS, 0))*time.Millisecond, fetchWaitMax)
	f.final = in.MaxWaitMS <= 0 || in.MinBytes <= 0
	f.committed = in.IsolationLevel == isolationReadCommitted
	if !l.fetchSession(f, h, body, in.SessionID) {
		l.openFetch(f, in)
	}
}

// resumeFetch goes on with a Fetch whose session has come from another loop.
func (l *Loop) resumeFetch(f *fetchRequest, h wire.RequestHeader, body []byte) {
	in := &l.fetchIn
	f.pending.times.took(stageMailbox, l.instant)
	if err := in.Read(body, h.Version); err != nil {
		panic("BUG: a Fetch that was decoded once cannot be decoded again: " + err.Error())
	}
	l.openFetch(f, in)
}

// openFetch resolves what a Fetch asks for and begins to gather it.
func (l *Loop) openFetch(f *fetchRequest, in *wire.FetchRequest) {
	if code := l.fetches.open(l, f, in); code != wire.None {
		f.refuse(code)
		return
	}
	if l.node.Authorizer() != nil {
		f.authorize()
	}
	if f.holdParts() {
		f.gather()
	}
}

// authorize refuses the partitions that the client may not read; a follower's needs to act for the cluster. What a session has is
// judged anew with each request of it, whoever sends it.
func (f *fetchRequest) authorize() {
	all := f.by.follower() && f.conn.mayActForCluster()
	if f.by.follower() && !all {
		logDenied(f.conn.loop.node, &f.conn.client, wire.KeyFetch, image.ACLOperationClusterAction, image.ACLResourceCluster, image.ACLClusterName)
	}
	for i := range f.parts {
		p := &f.parts[i]
		if all || p.name == nil && p.topic == nil || !f.by.follower() && f.conn.mayReadTopic(p.name, p.topic) {
			continue // a topic that no id leads to has nothing to be read
		}
		p.part = nil
		p.fail(wire.TopicAuthorizationFailed)
		p.aborted = noneAborted
	}
}

// refuse answers the whole request with an error.
func (f *fetchRequest) refuse(code wire.ErrorCode) {
	l := f.conn.loop
	if !f.by.follower() {
		f.conn.chargeTime(f.pending)
	}
	out := &l.fetchOut
	out.Reset()
	out.ErrorCode = code
	f.answer(out)
}

// gather asks every owner for its partitions' ranges.
func (f *fetchRequest) gather() {
	l := f.conn.loop
	f.out = 1
	for i, owner := range l.node.loops {
		share := &f.shares[i]
		if !f.involves(owner) {
			continue
		}
		f.out++
		*share = fetchShare{request: f, owner: owner, from: wire.NoOffset, posted: l.instant}
		if owner == l {
			share.plan()
		} else {
			l.post(owner, share)
		}
	}
	f.gathered(nil)
}

// involves says whether a part belongs to owner; parts without a partition are answered with the error they have.
func (f *fetchRequest) involves(owner *Loop) bool {
	for i := range f.parts {
		if p := f.parts[i].part; p != nil && p.loop == owner {
			return true
		}
	}
	return false
}

// gathered counts one share; with the last it decides between an answer and a wait. It is nil once all are out.
func (f *fetchRequest) gathered(share *fetchShare) {
	if f.out--; f.out > 0 {
		return
	}
	f.gatherTook(share)
	switch {
	case f.abandoned:
		f.dropFiles()
		f.conn.loop.fetches.release(f)
	case f.final || f.satisfied():
		f.respond()
	case f.conn.loop.mono >= f.expires:
		f.respond()
	default:
		f.wait()
	}
}

// satisfied says whether there is enough to answer: min bytes, or anything that a client must see at once.
func (f *fetchRequest) satisfied() bool {
	bytes := 0
	for i := range f.parts {
		p := &f.parts[i]
		if p.code != wire.None || p.diverging.Set || p.preferred != wire.NoNode {
			return true
		}
		bytes += int(min(p.length, int64(max(p.ask.MaxBytes, p.first))))
	}
	return bytes >= f.minBytes || len(f.parts) == 0
}

// notedKeep is how many partitions a connection may have noted beyond twice those of its request.
const notedKeep = 64

// wait notes the request at every partition and arms the deadline.
func (f *fetchRequest) wait() {
	l := f.conn.loop
	f.dropFiles()
	if len(f.noted) > 2*len(f.parts)+notedKeep { // what it waited for has changed: deleted topics, other subscriptions
		f.forgetNoted()
	}
	f.waiting, f.again = true, true
	f.generation++
	l.timers.set(&f.deadline, f.expires)
	w := replicate.FetchWaiter{Ref: f, Generation: f.generation}
	var remote []*fetchNote
	for i := range f.parts {
		p := &f.parts[i]
		if p.part == nil {
			continue
		}
		f.note(p.part)
		if p.part.loop != l {
			remote = f.addNote(remote, w, p)
		} else if f.waiting && !p.part.waitFor(w, &f.by, p.seen(&f.by)) {
			f.woken(w.Generation)
			return
		}
	}
	for _, n := range remote {
		l.post(n.owner, n)
	}
}

// holdParts charges the parts until the Fetch is answered; those of a session are within sessionPartsMax. It refuses where
// there is no room for many.
func (f *fetchRequest) holdParts() bool {
	if f.session != nil {
		return true
	}
	if len(f.parts) > fetchPartsKeep && f.conn.loop.answers.over() {
		f.conn.refuse("a Fetch of many partitions, and answers that others do not read fill the memory", "partitions", len(f.parts))
		return false
	}
	f.held = len(f.parts) * fetchPartHeld
	f.conn.hold(f.held)
	return true
}

// note remembers that p may hold the request as a waiter.
func (f *fetchRequest) note(p *partition) {
	if f.noted == nil {
		f.noted = make(map[*partition]struct{})
	}
	f.noted[p] = struct{}{}
}

// forgetNoted takes the request back from every partition that may hold it.
func (f *fetchRequest) forgetNoted() {
	l := f.conn.loop
	for p := range f.noted {
		if p.loop == l {
			p.replica.CancelFetch(f)
		} else {
			l.post(p.loop, fetchCancel{p, f})
		}
	}
	f.noted = nil
}

// fetchNote asks another loop to note a waiting fetch at its partitions. It carries copies: the request may be
// answered and reused before it is handled.
type fetchNote struct {
	owner  *Loop
	waiter replicate.FetchWaiter
	by     fetcherOf
	parts  []fetchSeen
}

type fetchSeen struct {
	part *partition
	seen wire.Offset
}

func (f *fetchRequest) addNote(notes []*fetchNote, w replicate.FetchWaiter, p *fetchPart) []*fetchNote {
	for _, n := range notes {
		if n.owner == p.part.loop {
			n.parts = append(n.parts, fetchSeen{p.part, p.seen(&f.by)})
			return notes
		}
	}
	return append(notes, &fetchNote{owner: p.part.loop, waiter: w, by: f.by, parts: []fetchSeen{{p.part, p.seen(&f.by)}}})
}

// handle runs on the partitions' owner.
func (n *fetchNote) handle(l *Loop) {
	for _, s := range n.parts {
		if !s.part.waitFor(n.waiter, &n.by, s.seen) {
			l.wakeFetch(n.waiter.Ref.(*fetchRequest), n.waiter.Generation)
			return
		}
	}
}

// fetchWake carries a wake to the loop of the request's connection.
type fetchWake struct {
	request    *fetchRequest
	generation uint32
}

func (w fetchWake) handle(*Loop) { w.request.woken(w.generation) }

// wakeFetch wakes a waiting fetch from the loop of one of its partitions.
func (l *Loop) wakeFetch(f *fetchRequest, generation uint32) {
	if to := f.conn.loop; to != l {
		l.post(to, fetchWake{f, generation})
		return
	}
	f.woken(generation)
}

// woken ends a wait; what there is now decides.
func (f *fetchRequest) woken(generation uint32) {
	if !f.waiting || generation != f.generation || f.abandoned {
		return
	}
	f.endWait()
	f.gather()
}

func (f *fetchRequest) expired() {
	f.endWait()
	f.final = true
	f.gather()
}

func (f *fetchRequest) endWait() {
	f.pending.times.took(stagePurgatory, f.conn.loop.instant)
	f.waiting = false
	f.generation++
	f.conn.loop.timers.cancel(&f.deadline)
}

// abandon is called when the connection closes; a gather that is out ends on its own.
func (f *fetchRequest) abandon() {
	f.abandoned = true
	if f.waiting {
		f.endWait()
	}
	f.forgetNoted()
	if f.out == 0 {
		f.conn.loop.fetches.release(f)
	}
}

// fetchCancel forgets a waiter at a partition of another loop.
type fetchCancel struct {
	part    *partition
	request *fetchRequest
}

func (c fetchCancel) handle(*Loop) { c.part.replica.CancelFetch(c.request) }

// dropFiles lets go of the ranges of a gather that is not answered.
func (f *fetchRequest) dropFiles() {
	for i := range f.parts {
		if p := &f.parts[i]; p.file != nil {
			p.dropFile()
		}
	}
}
