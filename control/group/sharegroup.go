package group

import (
	"github.com/ringmill/ringmill/control/group/assignor"
	"github.com/ringmill/ringmill/wire"
)

// shareType is how ListGroups names share groups; it is their protocol type too.
const shareType = "share"

// shareGroup is the membership of a share group (KIP-932). Its members share partitions: each gets records of its own, which
// the leaders of the partitions see to. Here is decided who reads which.
type shareGroup struct {
	epoch        int32  // rises when members, subscriptions, topics or initialized partitions change
	targetEpoch  int32  // the epoch that the members' targets were computed for
	metadataHash uint64 // of the topics that the group read when epoch last rose
	checked      bool   // metadataHash was compared with the topics of version checkedAt
	checkedAt    uint64
	uncovered    bool // partitions were initialized, or lost a member, since a heartbeat looked whether the targets have them
	stale        bool // records of the targets were lost: the next heartbeat has to compute them again

	members map[string]*shareMember
	names   map[string]int // topic -> members that subscribe to it
	topics  shareTopics
}

func newShareGroup() *shareGroup {
	return &shareGroup{
		members: map[string]*shareMember{}, names: map[string]int{},
		topics: shareTopics{names: map[wire.TopicID]string{}, askedMS: map[wire.TopicID]int64{}},
	}
}

// state is where the group stands, in the words of ListGroups.
func (sg *shareGroup) state() State {
	if len(sg.members) == 0 {
		return Empty
	}
	return Stable
}

func (sg *shareGroup) sortedMembers() []*shareMember {
	out := make([]*shareMember, 0, len(sg.members))
	for _, id := range sortedKeys(sg.members) {
		out = append(out, sg.members[id])
	}
	return out
}

// count adds delta to what is counted of the topics that a member reads.
func (sg *shareGroup) count(m *shareMember, delta int) {
	for _, name := range m.topics {
		addTo(sg.names, name, delta)
	}
}

// shareMember is one member of a shareGroup. It makes its id itself.
type shareMember struct {
	id string
	shareMetadata
	shareCurrent
	target    assignor.Assignment // what it shall read, by the group's targetEpoch
	hasTarget bool                // it has a record for that

	session      timer
	countedBytes int64 // its part of Coordinator.memoryBytes
}

// shareMetadata is what a member says of itself: the record with key 10.
type shareMetadata struct {
	rackID *string
	client Client
	topics []string // in order, each once
}

// shareCurrent is where a member stands: the record with key 14. A member goes to its target in one step, as nobody has to
// give anything up first.
type shareCurrent struct {
	epoch         int32
	previousEpoch int32 // accepted too, as the answer with the new one may have been lost
	assigned      assignor.Assignment
}

func newShareMember(id string, g *group) *shareMember {
	m := &shareMember{id: id, shareCurrent: shareCurrent{previousEpoch: -1}}
	m.session = timer{position: -1, kind: timerShareSession, group: g, share: m}
	return m
}

// size is what the member takes, in bytes, for Config.MemoryBytes. It costs no more than a consumer group's.
func (m *shareMember) size() int64 {
	n := int64(consumerMemberOverheadBytes+len(m.id)+len(m.client.ID)+len(m.client.Host)) + textBytes(m.rackID)
	for _, name := range m.topics {
		n += int64(16 + len(name))
	}
	return n + partitionOverheadBytes*int64(m.assigned.Count())
}

// All changes of a share group's members go through the methods below, which keep the counts, the memory, and the list of
// records that have to be written.

func (c *Coordinator) insertShareMember(g *group, m *shareMember) {
	g.share.members[m.id] = m
	g.share.count(m, 1)
	c.recountShare(m)
	g.touch(recordShareMember, m.id)
}

// deleteShareMember takes m out with all that belongs to it. The order of its tombstones is what Kafka insists on when it
// reads them.
func (c *Coordinator) deleteShareMember(g *group, m *shareMember) {
	c.forgetShareMember(g, m)
	g.touch(recordShareCurrent, m.id)
	g.touch(recordShareTarget, m.id)
	g.touch(recordShareMember, m.id)
}

// forgetShareMember takes m out of memory alone.
func (c *Coordinator) forgetShareMember(g *group, m *shareMember) {
	c.timers.disarm(&m.session)
	g.share.count(m, -1)
	delete(g.share.members, m.id)
	c.memoryBytes -= m.countedBytes
	m.countedBytes = 0
}

func (c *Coordinator) setShareMetadata(g *group, m *shareMember, md shareMetadata) {
	g.share.count(m, -1)
	m.shareMetadata = md
	g.share.count(m, 1)
	c.recountShare(m)
	g.touch(recordShareMember, m.id)
}

func (c *Coordinator) recountShare(m *shareMember) {
	size := m.size()
	c.memoryBytes += size - m.countedBytes
	m.countedBytes = size
}

// bumpShareEpoch begins a new epoch: the targets have to be computed again.
func (c *Coordinator) bumpShareEpoch(g *group) {
	g.share.epoch++
	g.share.metadataHash = c.topics.hashAll(sortedKeys(g.share.names))
	g.touch(recordShareGroup, "")
}

// dropShare forgets the members, as when the group is deleted or the shard given up.
func (c *Coordinator) dropShare(g *group) {
	for _, m := range g.share.sortedMembers() {
		c.forgetShareMember(g, m)
	}
}
