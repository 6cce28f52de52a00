package cluster

import (
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/tools/simulate/world"
	"github.com/ringmill/ringmill/wire"
)

// member is a member of a group, of the consumer protocol (KIP-848) or the classic one, on a client's process: it keeps its session, and reads
// what it is given from where the group has committed.
type member struct {
	cluster  *Cluster
	group    *groupLedger
	process  *world.Process
	id       string // of the consumer protocol: clients make it
	joinedAs string // of the classic protocol: the coordinator makes it
	route    route  // of the coordinator
	epoch    int32  // or generation; 0: it has to join
	asking   bool   // a heartbeat, or what stands for it, is under way
	holds    []*holding
	busy     *holding                  // what it works on
	late     *kmsg.OffsetCommitRequest // the last commit of a partition, which may come again when that has been given up
}

// holding is a partition that a member has been given.
type holding struct {
	partition int
	position  wire.Offset // of the next fetch; wire.NoOffset: the committed offset is to be asked for
	revoked   bool        // it is to be given up, once the member does not work on it
	route     route
}

func (g *groupLedger) newMember(process *world.Process) *member {
	g.members++
	m := &member{cluster: g.cluster, group: g, process: process, id: fmt.Sprintf("%s member %d", g.name, g.members), route: noRoute}
	turn := m.heartbeat
	if g.classic {
		turn = m.turnClassic
	}
	process.Every(groupIdle, world.Between(g.cluster.world.Coordinators, 0, groupIdle), turn)
	return m
}

// ask sends a request to the group's coordinator, wherever that is.
func (m *member) ask(req kmsg.Request, answered func(kmsg.Response), lost func()) {
	m.askFor(clientPatience, req, answered, lost)
}

func (m *member) askFor(patience time.Duration, req kmsg.Request, answered func(kmsg.Response), lost func()) {
	c := m.cluster
	c.findLeader(m.process, m.group.place, m.route, func(found route) {
		m.route = found
		node := c.node(found.leader)
		c.ask(m.process, node, fmt.Sprintf("%T", req), patience, func(reply func(func())) {
			node.later(func() {
				node.groups.handle(m.group.place, req, func(resp kmsg.Response) { reply(func() { answered(resp) }) })
			})
		}, lost)
	})
}

// heartbeat joins, says that the member lives and what it holds, and takes what it is given.
func (m *member) heartbeat() {
	if m.asking {
		return
	}
	m.asking = true
	m.release()
	req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	req.Version, req.Group, req.MemberID, req.MemberEpoch = 1, m.group.name, m.id, m.epoch
	req.RebalanceTimeoutMillis, req.SubscribedTopicNames = groupRebalanceMS, []string{topicName}
	req.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	if m.epoch > 0 && len(m.holds) > 0 {
		topic := kmsg.NewConsumerGroupHeartbeatRequestTopic()
		topic.TopicID = topicIDs[topicName]
		for _, h := range m.holds {
			topic.Partitions = append(topic.Partitions, int32(h.partition))
		}
		req.Topics = append(req.Topics, topic)
	}
	m.ask(req, func(resp kmsg.Response) {
		m.asking = false
		m.beaten(resp.(*kmsg.ConsumerGroupHeartbeatResponse))
	}, func() { m.asking = false })
}

// beaten takes the answer to a heartbeat.
func (m *member) beaten(r *kmsg.ConsumerGroupHeartbeatResponse) {
	switch code := wire.ErrorCode(r.ErrorCode); code {
	case wire.None:
	case wire.UnknownMemberID, wire.FencedMemberEpoch:
		m.cluster.world.Tracef("%s: %v: it joins anew", m.id, code)
		m.epoch, m.holds = 0, nil
		return
	default:
		return
	}
	m.epoch = r.MemberEpoch
	m.commitLate()
	if r.Assignment == nil {
		return
	}
	var given []int
	for _, t := range r.Assignment.Topics {
		for _, p := range t.Partitions {
			given = append(given, int(p))
		}
	}
	m.cluster.world.Tracef("%s: epoch %d, %v", m.id, m.epoch, given)
	for _, h := range m.holds {
		h.revoked = !slices.Contains(given, h.partition)
	}
	for _, p := range given {
		m.group.own(m, p)
		if !slices.ContainsFunc(m.holds, func(h *holding) bool { return h.partition == p }) {
			m.holds = append(m.holds, &holding{partition: p, position: wire.NoOffset, route: noRoute})
		}
	}
}

// commitLate has a commit come again, much later, once the member has given up the partition and gone on to another epoch.
func (m *member) commitLate() {
	c, req := m.cluster, m.late
	if req == nil || m.epoch <= req.Generation || slices.ContainsFunc(m.holds, func(h *holding) bool { return int32(h.partition) == req.Topics[0].Partitions[0].Partition }) {
		return
	}
	m.late = nil
	if !world.Chance(c.world.Coordinators, c.opt.Coordinators.Late) {
		return
	}
	c.world.After(world.Between(c.world.Coordinators, 0, time.Second), func() {
		if node := c.leaderByBelief(m.group.place); node != nil && node.process.Running() {
			c.network.Send(m.process, node.process, "late OffsetCommit", func() {
				node.later(func() {
					node.groups.handle(m.group.place, req, func(resp kmsg.Response) {
						c.world.Tracef("%s: late commit: %v", m.id, wire.ErrorCode(resp.(*kmsg.OffsetCommitResponse).Topics[0].Partitions[0].ErrorCode))
					})
				})
			})
		}
	})
}

// called is the member's id in requests.
func (m *member) called() string {
	if m.group.classic {
		return m.joinedAs
	}
	return m.id
}

// release gives up what was revoked, but for what it works on.
func (m *member) release() {
	m.holds = slices.DeleteFunc(m.holds, func(h *holding) bool { return h.revoked && h != m.busy })
}

// pick chooses a partition to work on; nil if there is none.
func (m *member) pick() *holding {
	if m.busy != nil {
		panic("BUG: a member works on two partitions")
	}
	m.release()
	if len(m.holds) == 0 {
		return nil
	}
	m.busy = m.holds[m.cluster.world.Coordinators.IntN(len(m.holds))]
	return m.busy
}

// still says that the member has not lost a holding.
func (m *member) still(h *holding) bool { return slices.Contains(m.holds, h) }

// poll picks a partition and fetches from it: got gets the records of clients without transactions, and where they end; or nothing does.
func (m *member) poll(got func(h *holding, values []value, end wire.Offset), nothing func()) {
	h := m.pick()
	if h == nil {
		nothing()
		return
	}
	idle := func() {
		m.busy = nil
		nothing()
	}
	if h.position == wire.NoOffset {
		m.fetchOffset(h, idle)
		return
	}
	c := m.cluster
	c.findLeader(m.process, h.partition, h.route, func(found route) {
		h.route = found
		node := c.node(found.leader)
		c.ask(m.process, node, "member's fetch", clientPatience, func(reply func(func())) {
			f := node.fetchCommitted(h.partition, h.position, h.route.epoch)
			reply(func() {
				var values []value
				end, err := committedRecords(f, h.position, func(_ wire.Offset, v value) {
					if v.producer() < looseProducers {
						values = append(values, v)
					}
				})
				if err != nil {
					c.ledgers[h.partition].fail("I5", "%s got damaged batches at offset %d: %v", m.id, h.position, err)
				}
				if f.code != wire.None || end <= h.position || !m.still(h) {
					idle()
					return
				}
				got(h, values, end)
			})
		}, idle)
	})
}

// fetchOffset asks where the group has got to in a partition.
func (m *member) fetchOffset(h *holding, then func()) {
	g := m.group
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Version, req.RequireStable = 9, true
	asked := kmsg.NewOffsetFetchRequestGroup()
	asked.Group = g.name
	if !g.classic {
		asked.MemberID, asked.MemberEpoch = &m.id, m.epoch
	}
	topic := kmsg.NewOffsetFetchRequestGroupTopic()
	topic.Topic, topic.Partitions = topicName, []int32{int32(h.partition)}
	asked.Topics = append(asked.Topics, topic)
	req.Groups = append(req.Groups, asked)
	least := g.least[h.partition]
	m.ask(req, func(resp kmsg.Response) {
		got := resp.(*kmsg.OffsetFetchResponse).Groups[0]
		if got.ErrorCode == 0 {
			if p := got.Topics[0].Partitions[0]; p.ErrorCode == 0 {
				h.position = g.told(m, h.partition, wire.Offset(p.Offset), least)
			}
		}
		then()
	}, then)
}

// commitRequest is the offset of one partition, in a plain commit.
func (m *member) commitRequest(h *holding, end wire.Offset) *kmsg.OffsetCommitRequest {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Version, req.Group, req.MemberID, req.Generation = 9, m.group.name, m.called(), m.epoch
	topic, part := kmsg.NewOffsetCommitRequestTopic(), kmsg.NewOffsetCommitRequestTopicPartition()
	topic.Topic, part.Partition, part.Offset = topicName, int32(h.partition), int64(end)
	topic.Partitions = append(topic.Partitions, part)
	req.Topics = append(req.Topics, topic)
	return req
}

// groupReader is a client that reads as a member of a group and commits what it has read. One that does not know what became of a commit begins
// anew as another member: the commit could come late.
type groupReader struct {
	group   *groupLedger
	process *world.Process
	member  *member
}

func (g *groupLedger) newReader(number int) {
	c := g.cluster
	r := &groupReader{group: g, process: c.world.NewProcess(fmt.Sprintf("%s reader %d", g.name, number), c.clientPlace())}
	r.begin()
}

func (r *groupReader) begin() {
	r.process.Start()
	r.member = r.group.newMember(r.process)
	r.work()
}

// dies ends the client in the middle of what it does; it comes back a little later.
func (r *groupReader) dies() {
	c := r.group.cluster
	r.process.End()
	c.world.After(world.Between(c.world.Coordinators, 0, time.Second), r.begin)
}

func (r *groupReader) later() {
	c := r.group.cluster
	r.process.After(world.Between(c.world.Coordinators, 5*time.Millisecond, 60*time.Millisecond), r.work)
}

func (r *groupReader) work() {
	c, m := r.group.cluster, r.member
	if !c.calm && world.Chance(c.world.Coordinators, c.opt.Coordinators.Deaths/5) {
		r.dies()
		return
	}
	m.poll(func(h *holding, _ []value, end wire.Offset) {
		r.group.deliver(h.partition, end)
		req := m.commitRequest(h, end)
		r.group.ask(h.partition, end)
		m.ask(req, func(resp kmsg.Response) {
			m.busy = nil
			code := wire.ErrorCode(resp.(*kmsg.OffsetCommitResponse).Topics[0].Partitions[0].ErrorCode)
			c.world.Tracef("%s: commit of partition %d up to %d: %v", m.id, h.partition, end, code)
			switch {
			case code == wire.None:
				r.group.acknowledged(h.partition, end)
				h.position, m.late = end, req
			case mayHaveBeenWritten(code) || code == wire.NotCoordinator || code == wire.CoordinatorNotAvailable:
				r.dies()
				return
			default:
				h.position = wire.NoOffset
			}
			r.later()
		}, r.dies)
	}, r.later)
}

// groupLedger is what a group's clients know of it: the offsets that were to be committed, were committed and were told.
type groupLedger struct {
	cluster   *Cluster
	name      string
	place     int           // of the coordinator's partition
	members   int           // so far
	delivered []wire.Offset // by partition: below it everything has been given to some member
	asked     []map[wire.Offset]bool
	least     []wire.Offset // what was acknowledged or told: no less is told to who asks after that
	owners    map[ownership]string
	loops     bool             // its members commit in transactions, with what they have made of what they read
	classic   bool             // they speak the classic protocol
	numbers   map[string]int64 // of the ids of its members
}

// ownership is a partition in a member's epoch.
type ownership struct {
	partition int
	epoch     int32
}

func (c *Cluster) newGroupLedger(name string, loops, classic bool) *groupLedger {
	g := &groupLedger{
		cluster: c, name: name, place: c.coordinatorPlace(image.ConsumerOffsetsTopic, name), loops: loops, classic: classic, numbers: map[string]int64{},
		delivered: make([]wire.Offset, c.opt.Partitions), least: make([]wire.Offset, c.opt.Partitions), owners: map[ownership]string{},
	}
	for range c.opt.Partitions {
		g.asked = append(g.asked, map[wire.Offset]bool{})
	}
	return g
}

func (g *groupLedger) fail(invariant, format string, args ...any) {
	g.cluster.world.Fail(invariant, "group %q: %s", g.name, fmt.Sprintf(format, args...))
}

// own notes that a member was told to have a partition (I9: nobody else in the same epoch).
func (g *groupLedger) own(m *member, partition int) {
	at := ownership{partition, m.epoch}
	if other, owned := g.owners[at]; owned && other != m.id {
		g.fail("I9", "%s and %s both have partition %d in epoch %d", other, m.id, partition, m.epoch)
	}
	g.owners[at] = m.id
}

func (g *groupLedger) deliver(partition int, end wire.Offset) {
	g.delivered[partition] = max(g.delivered[partition], end)
}

func (g *groupLedger) ask(partition int, off wire.Offset) { g.asked[partition][off] = true }

// acknowledged notes that a commit was.
func (g *groupLedger) acknowledged(partition int, off wire.Offset) {
	g.least[partition] = max(g.least[partition], off)
}

// told judges a committed offset that a member got (I9): it does not go back, it was to be committed, and all below it was delivered.
// It gives where to read on.
func (g *groupLedger) told(m *member, partition int, off, least wire.Offset) wire.Offset {
	g.cluster.world.Tracef("%s: partition %d is committed up to %d", m.id, partition, off)
	at := max(off, 0)
	switch {
	case at < least:
		g.fail("I9", "%s was told that partition %d is committed up to %d, %d was before", m.id, partition, off, least)
	case off >= 0 && !g.asked[partition][off]:
		g.fail("I9", "%s was told that partition %d is committed up to %d, which nobody has asked for", m.id, partition, off)
	case at > g.delivered[partition]:
		g.fail("I9", "%s was told that partition %d is committed up to %d, delivered is %d", m.id, partition, off, g.delivered[partition])
	}
	g.least[partition] = max(g.least[partition], at)
	return at
}

// lacks says what the group has not read; "" if nothing.
func (g *groupLedger) lacks() string {
	for i := range g.cluster.opt.Partitions {
		last := wire.NoOffset
		for off, e := range g.cluster.ledgers[i].committed {
			if e.value != 0 && e.value.producer() < looseProducers {
				last = wire.Offset(off)
			}
		}
		if g.least[i] <= last {
			return fmt.Sprintf("group %q has committed partition %d up to %d, the last record is at %d", g.name, i, g.least[i], last)
		}
	}
	return ""
}
