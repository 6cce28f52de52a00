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
	client     api.Client
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
	answers map[share.TopicIDPartition]*shareAnswer // parts
	// borrowed is what of the service's reads it has, until its answer is made; its goroutine's.
	borrowed int
	// gone is closed when nobody waits for the answer any more; nil if that is not told.
	gone <-chan struct{}
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
	return n.shareFetch(client, req, nil)
}

// shareFetch is ShareFetch that waits for nothing once gone is closed.
func (n *Node) shareFetch(client api.Client, req *kmsg.ShareFetchRequest, gone <-chan struct{}) *kmsg.ShareFetchResponse {
	s := n.shares
	f, asked, code := s.newFetch(client, req)
	if code != wire.None {
		return shareFetchRefusal(code)
	}
	f.gone = gone
	acks := fetchAcknowledgements(req)
	if !s.inbox.do(func() { code = s.begin(f, asked) }) {
		return shareFetchRefusal(wire.NotLeaderOrFollower)
	}
	if code == wire.ShareSessionLimitReached { // or the client would ask again at once
		f.sleep()
	}
	if code != wire.None {
		return shareFetchRefusal(code)
	}
	outcome := s.acknowledge(f.client, f.key.Group, f.member, acks)
	if f.session != nil {
		defer f.giveBack()
		f.fetch(asked.Epoch)
	}
	acknowledged := outcome.wait(n.quit)
	resp := shareFetchRefusal(wire.None)
	resp.AcquisitionLockTimeoutMillis = int32(f.lockMS)
	s.inbox.do(func() {
		f.answer(resp, acknowledged)
		s.fetched(f)
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
		service: s, key: key, member: key.Member.String(), client: client, committed: cfg.ShareIsolationLevel == "read_committed", lockMS: int64(cfg.ShareRecordLockDurationMS),
		maxRecords: int64(req.MaxRecords), batchSize: int64(req.BatchSize),
		maxBytes: min(int(req.MaxBytes), s.node.Config().FetchBytesMax, shareAnswerBytesMax),
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

// fetch gathers records until there are some or the time is over.
func (f *shareFetch) fetch(epoch int32) {
	s := f.service
	var reads []*shareRead
	if !s.inbox.do(func() { f.resolve(epoch) }) || !f.wanted() || f.maxRecords <= 0 {
		return
	}
	for {
		over := !time.Now().Before(f.expires)
		final, done, again := false, false, false
		if !s.inbox.do(func() {
			f.final = f.final || over
			reads = f.gather()
			final = f.final
		}) {
			return
		}
		if len(reads) > 0 {
			f.borrow()
			f.read(reads)
			if !s.inbox.do(func() { done, again = f.acquire(reads); final = f.final }) {
				return
			}
		}
		if done || final && !again {
			return
		}
		f.giveBack()
		reads = nil // who waits holds nothing of a log
		if !again && !f.sleep() {
			return
		}
	}
}

// borrow waits until there is room for what the fetch reads.
func (f *shareFetch) borrow() {
	f.borrowed = max(f.maxBytes, shareReadChunk)
	f.service.reads.acquire(f.borrowed)
}

func (f *shareFetch) giveBack() {
	f.service.reads.release(f.borrowed)
	f.borrowed = 0
}

// sleep waits until there is something to look at or the time is over; false if the node stops or the client is gone.
func (f *shareFetch) sleep() bool {
	left := time.NewTimer(time.Until(f.expires))
	defer left.Stop()
	select {
	case <-f.wake:
		return true
	case <-left.C:
		return f.service.inbox.do(f.finish)
	case <-f.service.node.draining:
		return f.service.inbox.do(f.finish)
	case <-f.gone:
		f.service.inbox.do(f.abandon)
		return false
	case <-f.service.node.quit:
		return false
	}
}

// finish ends the wait: what there is now is the answer.
func (f *shareFetch) finish() {
	f.final = true
	f.leave()
	select { // it was woken just now: what that was for is looked at once more
	case <-f.wake:
	default:
	}
}

// abandon leaves the lines that the fetch waits in. If it was woken just now, what that was for is for those behind it.
func (f *shareFetch) abandon() {
	f.leave()
	select {
	case <-f.wake:
	default:
		return
	}
	for _, a := range f.parts {
		key := share.Key{Group: f.key.Group, Topic: a.Topic, Partition: a.Partition}
		if sp := f.service.parts[key]; sp != nil {
			f.service.wake(sp)
		}
	}
}

// resolve lists the session's partitions.
func (f *shareFetch) resolve(epoch int32) {
	f.answers = make(map[share.TopicIDPartition]*shareAnswer)
	for _, tp := range f.session.Partitions(epoch) {
		part, code := f.service.node.readablePartition(f.client, tp)
		f.parts = append(f.parts, &shareAnswer{TopicIDPartition: tp, part: part, code: code})
		f.answers[tp] = f.parts[len(f.parts)-1]
	}
}

// sharePartition finds a partition by its topic's id.
func (n *Node) sharePartition(tp share.TopicIDPartition) (*partition, wire.ErrorCode) {
	m := n.Image().ByID(tp.Topic)
	if m == nil {
		return nil, wire.UnknownTopicID
	}
	if t := n.topics.named([]byte(m.Name)); t != nil && t.id == tp.Topic {
		return t.leaderOf(tp.Partition)
	}
	return nil, wire.UnknownTopicOrPartition
}

// readablePartition is sharePartition for a client that needs to be allowed to read the topic.
func (n *Node) readablePartition(client api.Client, tp share.TopicIDPartition) (*partition, wire.ErrorCode) {
	if m := n.Image().ByID(tp.Topic); m != nil && !n.mayReadTopic(client, m.Name) {
		return nil, wire.TopicAuthorizationFailed
	}
	return n.sharePartition(tp)
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
	a := f.answerOf(key)
	a.part, a.code = nil, code
	f.final = true
}
