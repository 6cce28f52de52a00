package node

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/share"
	"github.com/ringmill/ringmill/node/api"
	"github.com/ringmill/ringmill/wire"
)

// shareFetch is a ShareFetch under way. Its goroutine is the request's; what it shares with the service is the service
// goroutine's: everything that is not fixed, but for the reads that it does itself.
type shareFetch struct {
	service    *shareService
	key        share.SessionKey
	member     string
	committed  bool
	lockMS     int64
	maxRecords int64
	batchSize  int64
	minBytes   int
	maxBytes   int
	expires    time.Time
	// final says that the time is over: what there is now is the answer.
	final bool

	session *share.Session // nil if nothing is fetched
	parts   []*shareAnswer
	// wake tells a fetch that waits to go on; lines are the share partitions that it waits for.
	wake  chan struct{}
	lines []*sharePart
}

// shareAnswer is what a member is told of one partition.
type shareAnswer struct {
	share.TopicIDPartition
	part *partition // nil if there is none

	code     wire.ErrorCode
	records  []byte
	acquired []share.AcquiredRange
}

// ShareFetch takes a member's acknowledgements and gives it records (KIP-932). It waits for records as long as it is told.
func (n *Node) ShareFetch(client api.Client, req *kmsg.ShareFetchRequest) *kmsg.ShareFetchResponse {
	s := n.shares
	f, asked, code := s.newFetch(client, req)
	if code != wire.None {
		return shareFetchRefusal(code)
	}
	acks := fetchAcknowledgements(req)
	if !s.do(func() { f.session, code = s.sessions.Fetch(asked) }) {
		return shareFetchRefusal(wire.NotLeaderOrFollower)
	}
	if code == wire.ShareSessionLimitReached { // or the client would ask again at once
		f.sleep()
	}
	if code != wire.None {
		return shareFetchRefusal(code)
	}
	outcome := s.acknowledge(f.key.Group, f.member, acks)
	if f.session != nil {
		f.fetch(asked.Epoch)
	}
	acknowledged := outcome.wait(n.quit)
	resp := shareFetchRefusal(wire.None)
	resp.AcquisitionLockTimeoutMillis = int32(f.lockMS)
	s.do(func() {
		f.answer(resp, acknowledged)
		if asked.Epoch == share.FinalEpoch {
			s.end(f.key)
		}
	})
	resp.ThrottleMillis = n.chargeShareFetch(client, resp)
	return resp
}

// chargeShareFetch charges a member with the records that it gets. They are acquired for it: it gets them, and waits afterwards.
func (n *Node) chargeShareFetch(client api.Client, resp *kmsg.ShareFetchResponse) int32 {
	bytes := 0
	for i := range resp.Topics {
		for j := range resp.Topics[i].Partitions {
			bytes += len(resp.Topics[i].Partitions[j].Records)
		}
	}
	ms := n.quotas.record(quotaFetch, quotaClient(&client), float64(bytes))
	if ms > 0 {
		n.metrics.throttled(quotaFetch, ms)
	}
	return ms
}

// shareFetchRefusal is an answer without partitions.
func shareFetchRefusal(code wire.ErrorCode) *kmsg.ShareFetchResponse {
	resp := kmsg.NewPtrShareFetchResponse()
	resp.ErrorCode = int16(code)
	return resp
}

// newFetch reads a request. A member id that is no UUID is refused.
func (s *shareService) newFetch(client api.Client, req *kmsg.ShareFetchRequest) (*shareFetch, *share.SessionFetch, wire.ErrorCode) {
	key, code := sessionKeyOf(req.GroupID, req.MemberID)
	if code != wire.None {
		return nil, nil, code
	}
	cfg := s.node.shareConfig(key.Group)
	f := &shareFetch{
		service: s, key: key, member: key.Member.String(), committed: cfg.ShareIsolationLevel == "read_committed", lockMS: int64(cfg.ShareRecordLockDurationMS),
		maxRecords: int64(req.MaxRecords), batchSize: int64(req.BatchSize),
		maxBytes: min(int(req.MaxBytes), s.node.config().FetchBytesMax, shareAnswerBytesMax),
		expires:  time.Now().Add(min(time.Duration(max(req.MaxWaitMillis, 0))*time.Millisecond, fetchWaitMax)),
		wake:     make(chan struct{}, 1),
	}
	f.maxBytes = s.node.quotas.fetchMax(quotaClient(&client), f.maxBytes)
	f.minBytes = min(int(req.MinBytes), f.maxBytes)
	asked := &share.SessionFetch{Key: key, Epoch: req.ShareSessionEpoch, Connection: client.Connection}
	for _, t := range req.Topics {
		for _, p := range t.Partitions {
			asked.Asked = append(asked.Asked, share.TopicIDPartition{Topic: t.TopicID, Partition: wire.PartitionIndex(p.Partition)})
			asked.Acknowledges = asked.Acknowledges || len(p.AcknowledgementBatches) > 0
		}
	}
	for _, t := range req.ForgottenTopicsData {
		for _, p := range t.Partitions {
			asked.Forget = append(asked.Forget, share.TopicIDPartition{Topic: t.TopicID, Partition: wire.PartitionIndex(p)})
		}
	}
	return f, asked, wire.None
}

// sessionKeyOf names a member's session.
func sessionKeyOf(group, member *string) (key share.SessionKey, code wire.ErrorCode) {
	if group == nil || member == nil {
		return key, wire.UnknownServerError
	}
	id, ok := wire.ParseTopicID(*member)
	if !ok {
		return key, wire.UnknownServerError
	}
	return share.SessionKey{Group: *group, Member: id}, wire.None
}

// fetch gathers records until there are some or the time is over.
func (f *shareFetch) fetch(epoch int32) {
	s := f.service
	var reads []*shareRead
	if !s.do(func() { f.resolve(epoch) }) || !f.wanted() || f.maxRecords <= 0 {
		return
	}
	for done := false; !done; {
		over := !time.Now().Before(f.expires)
		if !s.do(func() {
			f.final = f.final || over
			reads = f.gather()
		}) {
			return
		}
		again := false
		if len(reads) > 0 {
			s.reads.acquire(max(f.maxBytes, 0))
			f.read(reads)
			running := s.do(func() { done, again = f.acquire(reads) })
			s.reads.release(max(f.maxBytes, 0))
			if !running {
				return
			}
		}
		if done = done || f.final && !again; !done && !again && !f.sleep() {
			return
		}
	}
}

// sleep waits until there is something to look at or the time is over; false if the node stops.
func (f *shareFetch) sleep() bool {
	left := time.NewTimer(time.Until(f.expires))
	defer left.Stop()
	select {
	case <-f.wake:
		return true
	case <-left.C:
		return f.service.do(func() {
			f.final = true
			f.leave()
			select { // it was woken just now: what that was for is looked at once more
			case <-f.wake:
			default:
			}
		})
	case <-f.service.node.quit:
		return false
	}
}

// resolve lists the session's partitions.
func (f *shareFetch) resolve(epoch int32) {
	for _, tp := range f.session.Partitions(epoch) {
		part, code := f.service.node.sharePartition(tp)
		f.parts = append(f.parts, &shareAnswer{TopicIDPartition: tp, part: part, code: code})
	}
}

// sharePartition finds a partition by its topic's id.
func (n *Node) sharePartition(tp share.TopicIDPartition) (*partition, wire.ErrorCode) {
	m := n.Image().ByID(tp.Topic)
	if m == nil {
		return nil, wire.UnknownTopicID
	}
	if t := n.topics.named([]byte(m.Name)); t != nil && t.id == tp.Topic && tp.Partition >= 0 {
		if p := t.part(tp.Partition); p != nil {
			return p, wire.None
		}
	}
	return nil, wire.UnknownTopicOrPartition
}

// wanted says that there is a partition to read.
func (f *shareFetch) wanted() bool {
	for _, a := range f.parts {
		if a.part != nil {
			return true
		}
	}
	return false
}

// fail answers the partition of a share partition that cannot be had.
func (f *shareFetch) fail(key share.Key, code wire.ErrorCode) {
	for _, a := range f.parts {
		if a.Topic == key.Topic && a.Partition == key.Partition {
			a.part, a.code = nil, code
		}
	}
	f.final = true
}

// gather says what is to be read. If that is nothing it waits for all its partitions.
func (f *shareFetch) gather() (reads []*shareRead) {
	s := f.service
	for _, a := range f.parts {
		if a.part == nil {
			continue
		}
		if a.part.gone.Load() {
			if a.code = wire.UnknownTopicOrPartition; a.part.dir().offline.Load() {
				a.code = wire.KafkaStorageError
			}
			a.part = nil
			continue
		}
		sp := s.partOf(share.Key{Group: f.key.Group, Topic: a.Topic, Partition: a.Partition}, a.part)
		if sp.machine == nil {
			continue
		}
		logStart, highWatermark, lastStable := partitionView{a.part}.Offsets()
		s.apply(sp, sp.machine.LogStartMoved(s.node.nowMS(), logStart))
		bound := highWatermark
		if f.committed {
			bound = lastStable
		}
		if sp.held > 0 && s.held > shareHeldMax { // the member asks again
			continue
		}
		from, ok := sp.machine.BeginFetch()
		switch {
		case !ok:
		case from >= bound:
			sp.machine.EndFetch()
			s.watch(sp, highWatermark)
		default:
			reads = append(reads, &shareRead{part: sp, from: from, committed: f.committed})
		}
	}
	if len(reads) == 0 && !f.final {
		f.join(false)
	}
	return reads
}

// join puts the fetch at the end of the line of each of its partitions. A patient one has seen what there is, and it was too
// little: it waits for more.
func (f *shareFetch) join(patient bool) {
	for _, a := range f.parts {
		key := share.Key{Group: f.key.Group, Topic: a.Topic, Partition: a.Partition}
		if sp := f.service.parts[key]; a.part != nil && sp != nil {
			if patient {
				sp.patient = append(sp.patient, f)
			} else {
				sp.waiters = append(sp.waiters, f)
			}
			f.lines = append(f.lines, sp)
		}
	}
}

// read reads what was gathered, each partition's even share of the bytes. The first batch of all is read however long it is.
func (f *shareFetch) read(reads []*shareRead) {
	left := f.maxRecords
	whole := true
	for _, r := range reads {
		if left <= 0 {
			return
		}
		r.maxBytes, r.maxRecords, r.whole = f.maxBytes/len(reads), left, whole
		r.run(f.service.node)
		if n := len(r.batches); n > 0 {
			left -= int64(r.batches[n-1].Last - max(r.from, r.batches[0].Base) + 1)
			whole = false
		}
	}
}

// acquire gives the member what was read. done says that it is an answer, again that there may be more to read now.
func (f *shareFetch) acquire(reads []*shareRead) (done, again bool) {
	enough := f.final || f.bytesOf(reads) >= f.minBytes
	left := f.maxRecords
	for _, r := range reads {
		a := f.answerOf(r.part.key)
		switch {
		case r.part.dropped: // by a deletion, or because its state is another's
			again = again || !f.final
			continue
		case r.code != wire.None:
			a.code, done = r.code, true
		case enough && len(r.batches) > 0 && left > 0:
			left -= f.acquirePart(a, r, left)
			done = done || len(a.acquired) > 0
		}
		r.part.machine.EndFetch()
		again = f.service.cover(r, enough) || again
	}
	if done || again {
		return done, again && !done
	}
	if !f.final {
		f.join(!enough)
	}
	return false, false
}

func (f *shareFetch) bytesOf(reads []*shareRead) (bytes int) {
	for _, r := range reads {
		bytes += len(r.records)
	}
	return bytes
}

func (f *shareFetch) answerOf(key share.Key) *shareAnswer {
	for _, a := range f.parts {
		if a.Topic == key.Topic && a.Partition == key.Partition {
			return a
		}
	}
	panic("BUG: a share fetch has read a partition that it was not asked for: " + key.String())
}

// acquirePart acquires records of one partition and says how many.
func (f *shareFetch) acquirePart(a *shareAnswer, r *shareRead, left int64) (taken int64) {
	fx := r.part.machine.Acquire(f.service.node.nowMS(), share.Acquisition{
		Member: f.member, LockMS: f.lockMS, From: r.from, Batches: r.batches, MaxRecords: left, BatchSize: f.batchSize,
	})
	f.service.apply(r.part, fx)
	if len(fx.Acquired) == 0 {
		return 0
	}
	a.acquired, a.records = fx.Acquired, r.slice(fx.Acquired)
	for _, rng := range fx.Acquired {
		taken += int64(rng.Last - rng.First + 1)
	}
	return taken
}

// cover sees to it that whoever waits for a share partition that was read hears of more: at once if there is something to
// read other than what was, else when the high watermark moves. again says that the reader itself may look once more.
func (s *shareService) cover(r *shareRead, enough bool) (again bool) {
	sp := r.part
	if sp.dropped {
		return false
	}
	from, ok := sp.machine.BeginFetch()
	if !ok { // until a lock ends, or an acknowledgement makes room
		return false
	}
	sp.machine.EndFetch()
	_, highWatermark, lastStable := partitionView{sp.part}.Offsets()
	if r.committed {
		highWatermark = min(highWatermark, lastStable)
	}
	more := from < highWatermark && (from != r.from || highWatermark > r.seen)
	if more || !enough { // what was too little for one may do for another
		s.wake(sp)
	}
	if more && enough {
		return true
	}
	s.watch(sp, r.seen)
	return false
}
