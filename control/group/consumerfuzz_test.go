package group

import (
	"testing"

	"github.com/ringmill/ringmill/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// FuzzConsumerRequests plays heartbeats of the consumer protocol among all that FuzzRequests plays, with topics that come,
// grow and go: groups change their protocol back and forth, appends fail, the coordinator restarts. Everything is counted
// again after each step.
func FuzzConsumerRequests(f *testing.F) {
	f.Add([]byte("beatjoinbeatsyncbeat"))
	f.Add([]byte{1, 0, 1, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 13, 1, 1, 1, 1, 1, 1, 1, 0, 15, 0})
	f.Fuzz(func(t *testing.T, input []byte) { playConsumers(t, input) })
}

// TestRandomConsumerRequests is FuzzConsumerRequests over inputs from fixed seeds.
func TestRandomConsumerRequests(t *testing.T) {
	for seed := range uint64(400) {
		playConsumers(t, randomInput(seed, 2, 1200))
	}
}

func playConsumers(t *testing.T, input []byte) {
	cfg := fuzzConfig()
	cfg.ConsumerMaxSize, cfg.MemoryBytes = 5, 64<<10
	p := &player{machine: newMachine(cfg), input: input}
	p.setTopic("t1", 3)
	p.hold = true
	for len(p.input) > 0 {
		switch p.next(8) {
		case 0, 1, 2:
			p.step()
		case 3:
			p.changeTopic()
		default:
			p.send("x", "c", p.beat())
			p.settleBeats()
		}
		p.c.checkAll()
	}
	p.finish(t)
}

func (p *player) settleBeats() {
	for _, a := range p.settle() {
		if beat, ok := a.resp.(*kmsg.ConsumerGroupHeartbeatResponse); ok && beat.MemberID != nil && *beat.MemberID != "" {
			p.ids = append(p.ids, *beat.MemberID)
		}
	}
}

func (p *player) changeTopic() {
	name := []string{"t1", "t2", "t3"}[p.next(3)]
	switch t := p.topics.ByName(name); {
	case t == nil:
		p.setTopic(name, int32(p.next(4)+1))
	case p.next(4) == 0:
		p.dropTopic(name)
	case t.Partitions < 8:
		p.setTopic(name, t.Partitions+1)
	}
}

func (p *player) beat() kmsg.Request {
	if p.next(16) == 0 {
		r := kmsg.NewPtrConsumerGroupDescribeRequest()
		r.Groups = []string{p.group(), p.group()}
		return r
	}
	r := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	r.Version = int16(p.next(2))
	r.Group, r.MemberID, r.InstanceID = p.group(), p.member(), p.instance()
	if p.next(3) == 0 {
		r.MemberID = []string{"a", "b", "d"}[p.next(3)]
	}
	r.MemberEpoch = p.epochFor(r)
	r.RebalanceTimeoutMillis = []int32{-1, 3_000, 0, 60_000}[p.next(4)]
	if r.MemberEpoch == 0 {
		r.RebalanceTimeoutMillis, r.SubscribedTopicNames = 4_000, []string{}
		r.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	} else if p.next(2) == 0 {
		r.Topics = p.ownedTopics()
	}
	switch p.next(4) {
	case 0:
		r.SubscribedTopicNames = [][]string{{"t1"}, {"t2", "t1", "t1"}, {"t3", "nowhere"}, {}}[p.next(4)]
	case 1:
		r.SubscribedTopicRegex = kmsg.StringPtr([]string{"t.", "t[12]", "", "("}[p.next(4)])
	}
	if p.next(4) == 0 {
		r.ServerAssignor = kmsg.StringPtr([]string{"range", "uniform", "none"}[p.next(3)])
	}
	return r
}

// epochFor is most often the one that the member has.
func (p *player) epochFor(r *kmsg.ConsumerGroupHeartbeatRequest) int32 {
	g := p.c.groups[r.Group]
	switch n := p.next(8); {
	case n == 0:
		return memberLeaves
	case n == 1:
		return memberLeftForAWhile
	case n == 2 || g == nil || g.consumer == nil || g.consumer.members[r.MemberID] == nil:
		return memberJoins
	case n == 3:
		return g.consumer.members[r.MemberID].previousEpoch
	case n == 4:
		return int32(p.next(5))
	default:
		return g.consumer.members[r.MemberID].epoch
	}
}

func (p *player) ownedTopics() []kmsg.ConsumerGroupHeartbeatRequestTopic {
	owned := []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	for range p.next(3) {
		t := kmsg.NewConsumerGroupHeartbeatRequestTopic()
		t.TopicID, t.Partitions = p.topicID([]string{"t1", "t2"}[p.next(2)]), []int32{int32(p.next(4))}
		owned = append(owned, t)
	}
	return owned
}

// FuzzConsumerValues: each reader of values takes any bytes, reads no more than there is, and what it has read is written
// and read as the same again.
func FuzzConsumerValues(f *testing.F) {
	for _, c := range consumerGolden {
		key, value := mustUnhex(c.key), mustUnhex(c.value)
		f.Add(key, value)
	}
	f.Fuzz(func(t *testing.T, key, value []byte) {
		m := newMachine(measuredConfig())
		m.setTopic("t1", 3)
		m.log = []wire.Record{{Key: key, Value: value}}
		if m.restart() != nil {
			return
		}
		m.c.checkAll()
		before := len(m.log)
		if err := m.restart(); err != nil { // with what it wrote to mend the log
			t.Fatalf("%d records: %v", before, err)
		}
		m.c.checkAll()
		m.advance(10_000_000)
		m.c.checkAll()
	})
}
