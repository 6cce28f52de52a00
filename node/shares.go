package node

import (
	"math"
	"slices"
	"time"

	"github.com/ringmill/ringmill/control/share"
	"github.com/ringmill/ringmill/replicate"
	"github.com/ringmill/ringmill/wire"
)

// shareService runs the share partitions: one goroutine owns them and the share sessions. What may take long is done
// elsewhere: requests read the log in their own goroutines (sharefetch.go), states are read and written by the share
// coordinator (sharestate.go).
//
//	ShareFetch ─▶ session ─▶ acknowledgements ─▶ gather ─▶ read the log ─▶ acquire ─▶ answer
//	                                               ▲  └▶ nothing: wait ┐      └▶ nothing: wait
//	       high watermark, lock, release, load ────┴───────────────────┘
type shareService struct {
	node     *Node
	inbox    serviceInbox
	sessions *share.Sessions
	parts    map[share.Key]*sharePart
	// groups are the partitions of each group.
	groups map[string]map[share.Key]*sharePart
	// waiting are acknowledgements and releases under way; what is called must not block.
	waiting waitingCalls[share.Handle, share.Done]
	// fetching are the fetches under way of each session: one, unless the member has several connections.
	fetching map[*share.Session][]*shareFetch
	// loading counts the states that are being read, unread are the share partitions whose turn has not come.
	loading int
	unread  []*sharePart
	// dueMS is when some share partition has something to do, or before.
	dueMS int64
	// held and inFlight are what the share partitions hold, see share.Effects; beyond shareHeldMax those that hold something
	// acquire no more.
	held, inFlight int64
	// reads bounds what the requests read from logs at once.
	reads   *byteBudget
	metrics shareMetrics
}

// sharePart is a share partition with what the node needs to run it.
type sharePart struct {
	key  share.Key
	part *partition
	// machine is nil until the state is read; dropped says that the service has given it up.
	machine    *share.Partition
	dropped    bool
	nextTickMS int64
	// held and inFlight are what it counts for in the service's.
	held, inFlight int64
	// waiters are the fetches that wait for it, oldest first: one is woken at a time.
	waiters []*shareFetch
	// patient are fetches that wait for more bytes than there are.
	patient []*shareFetch
	// watch is what its partition's loop tells by when the high watermark moves; nil if nobody asked.
	watch *shareWatch
}

// shareHeldMax bounds the runs of all share partitions together: 112 MiB. 500 share partitions may have all the records in
// flight that group.share.partition.max.record.locks lets them by default.
const shareHeldMax = 1_000_000

// sharePartitionsMax bounds the partitions of all share sessions together: each takes some 100 bytes.
const sharePartitionsMax = 1_000_000

func newShareService(n *Node) *shareService {
	return &shareService{
		node: n, inbox: newServiceInbox(), sessions: share.NewSessions(n.Config().ShareSessionsMax, sharePartitionsMax),
		parts: make(map[share.Key]*sharePart), groups: make(map[string]map[share.Key]*sharePart),
		waiting: newWaitingCalls[share.Handle, share.Done](), fetching: make(map[*share.Session][]*shareFetch), dueMS: math.MaxInt64, reads: newByteBudget(shareReadBytesMax),
	}
}

// run is the goroutine; it ends when the node stops.
func (s *shareService) run() {
	s.inbox.run(s.node.quit, func() time.Duration {
		defer s.metrics.publish(s)
		return s.tick()
	})
}

// tick runs the timers that are due and says how long until the next.
func (s *shareService) tick() time.Duration {
	now := s.node.nowMS()
	if s.dueMS <= now {
		s.dueMS = math.MaxInt64
		for _, sp := range s.parts {
			if sp.machine != nil && sp.nextTickMS <= now {
				s.apply(sp, sp.machine.Tick(now))
			}
			s.dueMS = min(s.dueMS, sp.nextTickMS)
		}
	}
	return tickIn(s.dueMS - now)
}

// partOf finds a share partition, or makes one and has its state read.
func (s *shareService) partOf(key share.Key, p *partition) *sharePart {
	sp := s.parts[key]
	if sp != nil && sp.part == p {
		return sp
	}
	if sp != nil { // the log is another one
		s.drop(sp)
	}
	sp = &sharePart{key: key, part: p, nextTickMS: math.MaxInt64}
	s.parts[key] = sp
	if s.groups[key.Group] == nil {
		s.groups[key.Group] = make(map[share.Key]*sharePart)
	}
	s.groups[key.Group][key] = sp
	s.startLoad(sp)
	return sp
}

// drop gives a share partition up: the next fetch reads its state again. Who waits is answered or woken.
func (s *shareService) drop(sp *sharePart) {
	if sp.dropped {
		return
	}
	sp.dropped, sp.nextTickMS = true, math.MaxInt64
	s.count(sp, 0, 0)
	s.unwatch(sp)
	delete(s.parts, sp.key)
	delete(s.groups[sp.key.Group], sp.key)
	if len(s.groups[sp.key.Group]) == 0 {
		delete(s.groups, sp.key.Group)
	}
	if sp.machine != nil {
		for _, d := range sp.machine.Abandon() {
			s.done(d)
		}
	}
	for len(sp.waiters) > 0 {
		s.wake(sp)
	}
	for len(sp.patient) > 0 {
		sp.patient[0].rouse()
	}
}

// apply does what a share partition asks for.
func (s *shareService) apply(sp *sharePart, fx share.Effects) {
	sp.nextTickMS = fx.NextTickMS
	s.dueMS = min(s.dueMS, fx.NextTickMS)
	s.count(sp, fx.Held, fx.InFlight)
	for _, d := range fx.Done {
		s.done(d)
	}
	switch {
	case fx.Fenced:
		s.drop(sp)
		return
	case fx.Write != nil:
		s.write(sp, fx.Write)
	}
	if fx.Woken {
		s.wake(sp)
	}
}

// count counts what a share partition holds now in place of what it held.
func (s *shareService) count(sp *sharePart, held, inFlight int64) {
	s.held += held - sp.held
	s.inFlight += inFlight - sp.inFlight
	sp.held, sp.inFlight = held, inFlight
}

func (s *shareService) done(d share.Done) {
	if then := s.waiting.take(d.Handle); then != nil {
		then(d)
	}
}

// write sends a change of a state to the share coordinator; the answer comes back to the inbox.
func (s *shareService) write(sp *sharePart, w *share.StateWrite) {
	op := share.Operation{
		Kind: share.Write, Key: sp.key, StateEpoch: w.StateEpoch, LeaderEpoch: w.LeaderEpoch, StartOffset: w.StartOffset, Batches: w.Batches,
	}
	s.node.shareLog.submit(op, func(r share.Result) {
		s.inbox.put(func() {
			if sp.dropped {
				return
			}
			if r.Code != wire.None {
				s.node.log.throttled("a share partition's state cannot be written", "share partition", sp.key.String(), "error", r.Code, "message", r.Message)
			}
			s.apply(sp, sp.machine.Written(s.node.nowMS(), r.Code, r.Message))
		})
	})
}

// wake lets the fetch go on that has waited longest for a share partition. What it leaves the next is woken for when it is
// done.
func (s *shareService) wake(sp *sharePart) {
	if len(sp.waiters) > 0 {
		sp.waiters[0].rouse()
	}
}

// rouse lets a fetch that waits go on.
func (f *shareFetch) rouse() {
	f.leave()
	f.wake <- struct{}{}
}

// watch has the partition's loop tell when the high watermark moves beyond seen.
func (s *shareService) watch(sp *sharePart, seen wire.Offset) {
	if sp.watch != nil || sp.dropped {
		return
	}
	sp.watch = &shareWatch{service: s, part: sp, seen: seen}
	go sp.part.loop.send(sp.watch) // it waits while the mailbox is full
}

// unwatch ends the wait of a share partition that is given up: a partition that is not written to would keep all that ever were.
func (s *shareService) unwatch(sp *sharePart) {
	if w := sp.watch; w != nil {
		sp.watch = nil
		go sp.part.loop.send(messageFunc(func(*Loop) { w.end() }))
	}
}

// shareWatch is a share partition's wait for its partition's high watermark.
type shareWatch struct {
	service *shareService
	part    *sharePart
	seen    wire.Offset
	// ended is the loop's: the end may come before the beginning.
	ended bool
}

func (w *shareWatch) end() {
	w.ended = true
	w.part.part.replica.CancelFetch(w)
}

// handle runs on the partition's loop.
func (w *shareWatch) handle(*Loop) {
	if w.ended {
		return
	}
	p := w.part.part
	if p.stopped != wire.None || !p.replica.WaitFetch(replicate.FetchWaiter{Ref: w}, w.seen) {
		w.moved()
	}
}

// moved runs on the partition's loop.
func (w *shareWatch) moved() {
	w.service.inbox.put(func() {
		w.part.watch = nil
		for len(w.part.patient) > 0 {
			w.part.patient[0].rouse()
		}
		w.service.wake(w.part)
	})
}

// topicDeleted gives up the share partitions of a deleted topic.
func (s *shareService) topicDeleted(id wire.TopicID) {
	s.inbox.put(func() {
		for key, sp := range s.parts {
			if key.Topic == id {
				s.drop(sp)
			}
		}
	})
}

// resigned gives up the share partitions of partitions that this node leads no more, or under another epoch: whoever leads them reads
// their states, and what members have acquired is delivered again.
func (s *shareService) resigned(lost map[share.TopicIDPartition]bool) {
	s.inbox.put(func() {
		for key, sp := range s.parts {
			if lost[share.TopicIDPartition{Topic: key.Topic, Partition: key.Partition}] {
				s.drop(sp)
			}
		}
	})
}

// leave takes a fetch out of every line that it waits in.
func (f *shareFetch) leave() {
	mine := func(other *shareFetch) bool { return other == f }
	for _, sp := range f.lines {
		sp.waiters, sp.patient = slices.DeleteFunc(sp.waiters, mine), slices.DeleteFunc(sp.patient, mine)
	}
	f.lines = nil
}
