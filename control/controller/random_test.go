package controller

import (
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/wire"
)

// world is a cluster that a Controller decides for: nodes that crash, lose what was not on disk or all, come back, shut down, lead, and let
// followers join and leave. It knows who has all that was acknowledged, and so what an election loses. Its nodes know the image at once.
type world struct {
	*rand.Rand
	t     *testing.T
	seed  uint64
	c     *Controller
	m     *image.Image
	now   time.Duration
	nodes []*node
	ids   int
	// full is who has all that was acknowledged in a partition since the last unclean election.
	full      map[partitionKey]map[wire.NodeID]bool
	acks      int
	given     int // replicas that were given up
	elections int // unclean
	history   uint64
}

type partitionKey struct {
	topic wire.TopicID
	index wire.PartitionIndex
}

type node struct {
	id          wire.NodeID
	durable     bool
	up          bool // its process runs
	clean       bool // its last run ended in order
	stopping    bool
	epoch       wire.BrokerEpoch // of this run; none: not registered
	incarnation int
	disk        int // its directories' identity
}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{Rand: rand.New(rand.NewPCG(seed, 9)), t: t, seed: seed, full: make(map[partitionKey]map[wire.NodeID]bool)}
	m, err := new(image.Image).With(image.ClusterRecord{ClusterID: clusterID, NodeID: wire.NoNode})
	if err != nil {
		t.Fatal(err)
	}
	w.m, w.c = m, New(testConfig(w.Rand))
	w.c.BecomeController(m, 0)
	for i := range 5 {
		w.nodes = append(w.nodes, &node{id: wire.NodeID(i), durable: w.IntN(2) == 0, epoch: wire.NoBrokerEpoch, clean: true, disk: i + 1})
	}
	return w
}

func (w *world) fatalf(format string, args ...any) {
	w.t.Helper()
	w.t.Fatalf("seed %d, version %d: %s\n%s", w.seed, w.m.Version(), fmt.Sprintf(format, args...), showImage(w.m))
}

// apply makes records the next image, and sees what they do to what was acknowledged. asked is the ISR that a leader asked for.
func (w *world) apply(records []image.Record, asked []wire.NodeID) {
	w.t.Helper()
	before := w.m
	m, err := before.With(records...)
	if err != nil {
		w.fatalf("%v", err)
	}
	w.m = m
	for _, r := range records {
		hash := fnv.New64a()
		fmt.Fprintf(hash, "%x %s", w.history, showRecord(m, r))
		w.history = hash.Sum64()
	}
	checkImage(w.t, before, m, asked)
	states := make(map[partitionKey]*image.PartitionState) // a batch may change one partition more than once
	for _, r := range records {
		if p, ok := r.(image.PartitionRecord); ok {
			key := partitionKey{p.Topic, p.Partition}
			if states[key] == nil && before.ByID(p.Topic) != nil {
				states[key] = before.ByID(p.Topic).State(p.Partition)
			}
			w.follow(key, states[key], &p.State)
			states[key] = &p.State
		}
	}
	fresh := newIndex()
	fresh.follow(m)
	w.c.index.follow(m)
	for _, counts := range []map[wire.NodeID]int{w.c.index.leads, w.c.index.replicas, fresh.leads, fresh.replicas} {
		maps.DeleteFunc(counts, func(_ wire.NodeID, n int) bool { return n == 0 })
	}
	maps.DeleteFunc(w.c.index.holds, func(_ wire.NodeID, t topicCounts) bool { return len(t) == 0 })
	fresh.configsChanged = w.c.index.configsChanged
	if !reflect.DeepEqual(fresh, w.c.index) {
		w.fatalf("index %+v, want %+v", w.c.index, fresh)
	}
	if w.t.Failed() {
		w.fatalf("an invariant is broken")
	}
}

// follow sees one partition change: an unclean election begins a new truth.
func (w *world) follow(key partitionKey, old, new *image.PartitionState) {
	if old == nil || new.Leader == wire.NoNode {
		return
	}
	if new.Recovering && (!old.Recovering || new.Leader != old.Leader) && !(old.Recovering && (old.InSync(new.Leader) || slices.Contains(old.ELR, new.Leader))) {
		w.elections++
		w.full[key] = map[wire.NodeID]bool{new.Leader: true}
	}
}

// serving gives the node that leads p, if it is there and knows that it does.
func (w *world) serving(s *image.PartitionState) *node {
	if s.Leader == wire.NoNode {
		return nil
	}
	n := w.nodes[s.Leader]
	if b := w.m.Broker(n.id); !n.up || b == nil || b.Fenced || b.Epoch != n.epoch {
		return nil
	}
	return n
}

// produce acknowledges something, if the in-sync set is large enough and all of it is there.
func (w *world) produce(p partition) {
	leader := w.serving(p.state)
	if leader == nil || len(p.state.ISR) < min(w.c.config.MinISR(w.m, p.topic), len(p.state.Replicas)) {
		return
	}
	key := partitionKey{p.topic.ID, p.index}
	if w.full[key] != nil && !w.full[key][leader.id] {
		w.fatalf("%s-%d: leader %d lacks what was acknowledged: %v have it", p.topic.Name, p.index, leader.id, w.full[key])
	}
	next := make(map[wire.NodeID]bool)
	for _, id := range p.state.ISR {
		n := w.nodes[id]
		if b := w.m.Broker(id); !n.up || b.Epoch != n.epoch {
			return
		}
		next[id] = true
	}
	w.full[key] = next
	w.acks++
}

// alter lets p's leader have a follower join or leave, or end its recovery.
func (w *world) alter(p partition) {
	leader := w.serving(p.state)
	if leader == nil {
		return
	}
	isr := slices.Clone(p.state.ISR)
	other := p.state.Replicas[w.IntN(len(p.state.Replicas))]
	joins := !slices.Contains(isr, other)
	switch {
	case p.state.Recovering:
	case joins:
		if !w.nodes[other].up || w.m.Broker(other) == nil || w.nodes[other].epoch != w.m.Broker(other).Epoch {
			return
		}
		isr = append(isr, other)
	case other != leader.id && w.IntN(2) == 0:
		isr = wire.WithoutNodes(isr, other)
	}
	req := kmsg.NewPtrAlterPartitionRequest()
	req.Version, req.BrokerID, req.BrokerEpoch = 3, int32(leader.id), int64(leader.epoch)
	part := kmsg.NewAlterPartitionRequestTopicPartition()
	part.Partition, part.LeaderEpoch, part.PartitionEpoch = int32(p.index), int32(p.state.LeaderEpoch), int32(p.state.PartitionEpoch)
	for _, id := range isr {
		part.NewEpochISR = append(part.NewEpochISR, kmsg.AlterPartitionRequestTopicPartitionNewEpochISR{BrokerID: int32(id), BrokerEpoch: int64(w.nodes[id].epoch)})
	}
	req.Topics = []kmsg.AlterPartitionRequestTopic{{TopicID: p.topic.ID, Partitions: []kmsg.AlterPartitionRequestTopicPartition{part}}}
	key := partitionKey{p.topic.ID, p.index}
	records, resp := w.c.AlterPartition(w.m, req)
	if len(records) > 0 && joins && w.full[key][leader.id] {
		w.full[key][other] = true // it fetched all before it was let in
	}
	if code := wire.ErrorCode(resp.Topics[0].Partitions[0].ErrorCode); code != wire.None && code != wire.NewLeaderElected && code != wire.IneligibleReplica {
		w.fatalf("%s-%d by %d to %v: %s", p.topic.Name, p.index, leader.id, isr, code)
	}
	w.apply(records, isr)
}

// crash ends a node without order. What is not durable may be gone, all of it if it is wiped.
func (w *world) crash(n *node, wiped bool) {
	n.up, n.clean, n.stopping, n.epoch = false, false, false, wire.NoBrokerEpoch
	if wiped {
		w.ids++
		n.disk = 1000 + w.ids
	}
	if wiped || !n.durable && w.IntN(2) == 0 {
		for _, full := range w.full {
			delete(full, n.id)
		}
	}
}

// lack has a node that runs find damage in a replica. It drops what it has once nobody counts on it.
func (w *world) lack(n *node, p partition) {
	if !n.up || n.epoch == wire.NoBrokerEpoch || !p.state.HasReplica(n.id) {
		return
	}
	req := kmsg.NewPtrBrokerHeartbeatRequest()
	req.BrokerID, req.BrokerEpoch, req.CurrentMetadataOffset = int32(n.id), int64(n.epoch), int64(w.m.Version())-1
	since := p.state.LeaderEpoch
	records, resp := w.c.Heartbeat(w.m, w.now, req, LackingReplica{Topic: p.topic.ID, Partition: p.index, Since: since})
	if resp.ErrorCode != 0 {
		return
	}
	w.apply(records, nil)
	after := w.m.ByID(p.topic.ID).State(p.index)
	if after.LeaderEpoch > since && !after.Counted(n.id) {
		delete(w.full[partitionKey{p.topic.ID, p.index}], n.id)
		w.given++
	}
}

func (w *world) register(n *node) {
	if n.epoch != wire.NoBrokerEpoch {
		return
	}
	n.up = true
	n.incarnation++
	req := kmsg.NewPtrBrokerRegistrationRequest()
	req.Version, req.BrokerID, req.ClusterID, req.IncarnationID = 4, int32(n.id), clusterID, uuid(int(n.id)*10_000+n.incarnation)
	req.LogDirs = [][16]byte{uuid(n.disk)}
	records, resp, _ := w.c.RegisterBroker(w.m, w.now, Registration{Request: req, DirectoryID: uuid(n.disk), CleanShutdown: n.clean, Durable: n.durable})
	if resp.ErrorCode != 0 {
		n.up = false
		if wire.ErrorCode(resp.ErrorCode) != wire.DuplicateBrokerRegistration {
			w.fatalf("%d is refused: %s", n.id, wire.ErrorCode(resp.ErrorCode))
		}
		return
	}
	n.epoch, n.clean = wire.BrokerEpoch(resp.BrokerEpoch), false
	w.apply(records, nil)
}

func (w *world) heartbeat(n *node) {
	if !n.up || n.epoch == wire.NoBrokerEpoch {
		return
	}
	req := kmsg.NewPtrBrokerHeartbeatRequest()
	req.BrokerID, req.BrokerEpoch, req.CurrentMetadataOffset = int32(n.id), int64(n.epoch), int64(w.m.Version())-1-w.Int64N(20)
	req.WantShutdown = n.stopping
	records, resp := w.c.Heartbeat(w.m, w.now, req)
	if resp.ErrorCode != 0 {
		n.epoch = wire.NoBrokerEpoch
		return
	}
	if b := w.m.Broker(n.id); b.Fenced && !resp.IsFenced && req.CurrentMetadataOffset < int64(n.epoch) {
		w.fatalf("C4: %d is unfenced at %d, its registration is %d", n.id, req.CurrentMetadataOffset, n.epoch)
	}
	w.apply(records, nil)
	if resp.ShouldShutdown {
		n.up, n.stopping, n.clean, n.epoch = false, false, true, wire.NoBrokerEpoch
	}
}

func (w *world) partition() (p partition, ok bool) {
	var all []partition
	for t := range w.m.Topics() {
		for i, s := range t.States() {
			all = append(all, partition{t, i, s})
		}
	}
	if len(all) == 0 {
		return p, false
	}
	return all[w.IntN(len(all))], true
}

func (w *world) step() {
	n := w.nodes[w.IntN(len(w.nodes))]
	p, some := w.partition()
	kind := w.IntN(100)
	switch {
	case kind < 20:
		w.heartbeat(n)
	case kind < 28:
		w.register(n)
	case kind < 32:
		w.now += time.Duration(w.IntN(4000)) * time.Millisecond
		for _, other := range w.nodes {
			if w.IntN(4) > 0 {
				w.heartbeat(other)
			}
		}
		w.apply(w.c.Tick(w.m, w.now), nil)
	case kind < 34:
		w.crash(n, w.IntN(5) == 0)
	case kind < 36:
		n.stopping = n.up
	case kind < 38 && some:
		w.lack(n, p)
	case kind < 39 || !some:
		w.change()
	case kind < 65:
		w.produce(p)
	case kind < 90:
		w.alter(p)
	case kind == 90: // a decision that is not kept
		w.c.CreateTopic(w.m, TopicSpec{Name: "validated", ID: uuid(w.ids + 1_000_000), Partitions: 2, ReplicationFactor: 1})
		w.c.CreatePartitions(w.m, p.topic.Name, p.topic.Partitions+1, nil)
		w.c.DeleteTopic(w.m, p.topic.ID)
	case kind < 94:
		value := fmt.Sprint(1 + w.IntN(3))
		w.configure(p.resource(), minISRKey, value)
	default:
		w.administer(n, p)
	}
}

func (p partition) resource() image.Resource {
	return image.Resource{Type: image.TopicResource, Name: p.topic.Name}
}

func (w *world) configure(r image.Resource, key, value string) {
	w.apply(w.c.AlterConfigs(w.m, image.ConfigRecord{Resource: r, Key: key, Value: &value}), nil)
}

// change makes and removes topics, and hands the reign over.
func (w *world) change() {
	w.ids++
	name := fmt.Sprintf("t%d", w.IntN(4))
	switch t := w.m.ByName(name); {
	case t == nil:
		records, _ := w.c.CreateTopic(w.m, TopicSpec{Name: name, ID: uuid(w.ids), Partitions: 1 + w.Int32N(2), ReplicationFactor: int16(1 + w.IntN(4))})
		w.apply(records, nil)
	case w.IntN(8) == 0:
		records, _ := w.c.DeleteTopic(w.m, t.ID)
		w.apply(records, nil)
	case w.IntN(4) == 0:
		records, _ := w.c.CreatePartitions(w.m, name, t.Partitions+1, nil)
		w.apply(records, nil)
	case w.IntN(3) == 0:
		w.c = New(testConfig(w.Rand))
		w.c.BecomeController(w.m, w.now)
	}
}

// administer does what an operator may.
func (w *world) administer(n *node, p partition) {
	switch w.IntN(8) {
	case 0:
		w.configure(p.resource(), "unclean.leader.election.enable", fmt.Sprint(w.IntN(6) == 0))
	case 1, 2, 3, 4:
		w.reassign(p)
	case 5:
		req := kmsg.NewPtrElectLeadersRequest()
		req.Version, req.ElectionType = 2, int8(w.IntN(20)/19)
		records, _ := w.c.ElectLeaders(w.m, req)
		w.apply(records, nil)
	case 6:
		value := []string{"none", drainLeaders, drainReplicas}[w.IntN(3)]
		w.configure(image.Resource{Type: image.BrokerResource, Name: fmt.Sprint(n.id)}, drainKey, value)
	case 7:
		if !n.up && w.IntN(4) == 0 {
			req := kmsg.NewPtrUnregisterBrokerRequest()
			req.BrokerID = int32(n.id)
			records, _ := w.c.UnregisterBroker(w.m, req)
			w.apply(records, nil)
		}
	}
}

func (w *world) reassign(p partition) {
	part := kmsg.NewAlterPartitionAssignmentsRequestTopicPartition()
	part.Partition = int32(p.index)
	if w.IntN(4) > 0 {
		for _, i := range w.Perm(len(w.nodes))[:1+w.IntN(3)] {
			part.Replicas = append(part.Replicas, int32(i))
		}
	}
	req := kmsg.NewPtrAlterPartitionAssignmentsRequest()
	req.Version, req.AllowReplicationFactorChange = 1, true
	req.Topics = []kmsg.AlterPartitionAssignmentsRequestTopic{{Topic: p.topic.Name, Partitions: []kmsg.AlterPartitionAssignmentsRequestTopicPartition{part}}}
	records, _ := w.c.AlterPartitionReassignments(w.m, req)
	w.apply(records, nil)
}

// No election but an unclean one loses what was acknowledged, whatever happens; the invariants of doc.go hold; the index is what the image says;
// and equal histories give equal records.
func TestRandomClusters(t *testing.T) {
	acks, elections, given := 0, 0, 0
	for seed := range uint64(150) {
		w := newWorld(t, seed)
		for range 1500 {
			w.step()
		}
		acks, elections, given = acks+w.acks, elections+w.elections, given+w.given
		if seed%30 == 0 {
			again := newWorld(t, seed)
			for range 1500 {
				again.step()
			}
			if again.history != w.history {
				t.Fatalf("seed %d: another history the second time", seed)
			}
		}
	}
	if acks < 1000 || elections < 10 || given < 100 {
		t.Errorf("%d acknowledgements, %d unclean elections and %d lacking replicas are too few to show anything", acks, elections, given)
	}
	t.Logf("%d acknowledgements, %d unclean elections", acks, elections)
}
