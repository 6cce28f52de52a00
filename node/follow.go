package node

import (
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/control/share"
	"github.com/ringmill/ringmill/replicate"
	"github.com/ringmill/ringmill/wire"
)

// follower has what this node does follow the Images of the quorum: one goroutine takes the newest, makes what differs true of
// partitions, configurations, quotas and coordinators, and only then publishes the Image to clients. Whoever is told that a
// topic exists finds its partitions on this node.
type follower struct {
	node *Node
	mu   sync.Mutex
	// newest is the quorum's, waiting those who wait for a version to be published; mu guards both.
	newest  *image.Image
	waiting []followWait
	wake    chan struct{}
	// began says that the goroutine runs; stopped is closed when it has ended, or will never run.
	began   bool
	stopped chan struct{}
	// unmade are partitions whose logs could not be made, by topic; the goroutine's.
	unmade map[wire.TopicID][]wire.PartitionIndex
}

// followWait is somebody who waits until the image of a version is published.
type followWait struct {
	version uint64
	done    chan struct{}
}

func newFollower(n *Node) *follower {
	return &follower{node: n, wake: make(chan struct{}, 1), stopped: make(chan struct{})}
}

// publish gives the follower the quorum's newest image; on the quorum's goroutine.
func (f *follower) publish(m *image.Image) {
	f.mu.Lock()
	changed := f.newest != m
	f.newest = m
	f.mu.Unlock()
	if changed {
		select {
		case f.wake <- struct{}{}:
		default:
		}
	}
}

// latest is the quorum's newest image; nil before the first.
func (f *follower) latest() *image.Image {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.newest
}

// begin starts the goroutine: the node does what m says, and m is published.
func (f *follower) begin(m *image.Image) {
	f.began = true
	go f.run(m)
}

func (f *follower) run(at *image.Image) {
	defer close(f.stopped)
	remake := time.NewTicker(noRoomPause)
	defer remake.Stop()
	for {
		if m := f.latest(); m != at {
			f.node.follow(at, m)
			at = m
			f.published(m.Version())
		}
		select {
		case <-f.wake:
		case <-remake.C:
			f.remake(at)
		case <-f.node.quit:
			return
		}
	}
}

// remake tries again to make the logs that could not be made, as m says of their partitions now.
func (f *follower) remake(m *image.Image) {
	if len(f.unmade) == 0 {
		return
	}
	n := f.node
	n.metaMu.Lock()
	defer n.metaMu.Unlock()
	told := newFollowed(n, m)
	unmade := f.unmade
	f.unmade = nil
	for id, which := range unmade {
		if old, topic := n.topics.identified(id), m.ByID(id); old != nil && topic != nil {
			t := *old
			t.parts = slices.Clone(old.parts)
			told.place(&t, topic, which)
			n.topics.put(&t)
		}
	}
	told.runTurns()
	told.tell(image.Delta{})
}

// published lets those go on who wait for a version.
func (f *follower) published(version uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.waiting = slices.DeleteFunc(f.waiting, func(w followWait) bool {
		if w.version <= version {
			close(w.done)
		}
		return w.version <= version
	})
}

// await waits until the image of a version is published here; false if that took longer than patience.
func (f *follower) await(version uint64, patience time.Duration) bool {
	w := followWait{version, make(chan struct{})}
	f.mu.Lock()
	if f.node.Image().Version() >= version {
		f.mu.Unlock()
		return true
	}
	f.waiting = append(f.waiting, w)
	f.mu.Unlock()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-w.done:
		return true
	case <-timer.C:
	case <-f.node.quit:
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.waiting = slices.DeleteFunc(f.waiting, func(other followWait) bool { return other.done == w.done })
	return false
}

// follow makes true what differs between two images, then publishes the newer one.
func (n *Node) follow(old, m *image.Image) {
	n.metaMu.Lock()
	defer n.metaMu.Unlock()
	d := image.Diff(old, m)
	brokers := slices.ContainsFunc(d.Resources, func(r image.Resource) bool { return r.Type == image.BrokerResource })
	if brokers {
		if err := n.applyDynamicConfig(m); err != nil {
			slog.Error("a changed configuration cannot be used", "error", err)
		}
		n.cluster.quorum.inbox.put(n.cluster.quorum.controller.configure)
	}
	told := newFollowed(n, m)
	for _, t := range d.Removed {
		told.removeTopic(t)
	}
	for _, t := range d.Created {
		told.createTopic(t)
	}
	for _, c := range d.Changed {
		told.changeTopic(c)
	}
	if brokers { // topics inherit what they do not override
		for t := range m.Topics() {
			told.reconfigure(t)
		}
	}
	told.runTurns()
	if len(d.Quotas) > 0 {
		n.followQuotas(d, m)
	}
	n.publish(m)
	n.tellIneligible(d)
	told.tell(d)
	if slices.ContainsFunc(d.Brokers, beginsToStop) {
		n.cluster.broker.nudge()
	}
}

// beginsToStop says whether a node has begun to stop: it may go when the controller knows that all others have followed the metadata
// that moves its leaders away, which they say with a heartbeat.
func beginsToStop(c image.BrokerChange) bool {
	return c.New != nil && c.New.ShuttingDown && (c.Old == nil || !c.Old.ShuttingDown)
}

// tellIneligible tells leaders of replicas whose nodes are gone, fenced, shut down or registered anew, and so do not join an ISR for now.
func (n *Node) tellIneligible(d image.Delta) {
	var gone []wire.NodeID
	for _, c := range d.Brokers {
		if c.Old != nil && (c.New == nil || c.New.Fenced || c.New.ShuttingDown || c.New.Epoch != c.Old.Epoch) {
			gone = append(gone, c.Old.ID)
		}
	}
	if len(gone) == 0 {
		return
	}
	for _, l := range n.loops {
		l.on(func(l *Loop) {
			l.parts.all(func(p *partition) {
				for _, id := range gone {
					if p.replica.Ineligible(id, &l.eff) {
						l.apply(p)
					}
				}
			})
		})
	}
}

// followed are the changes of one image that the coordinators are told of once it is published.
type followed struct {
	node    *Node
	image   *image.Image
	changed bool // topics or their partitions
	created bool
	removed []*image.Topic
	// led and resigned are the partitions of internal topics whose leadership this node has got or lost.
	led, resigned []wire.TopicPartition
	// lost are all partitions that this node leads no more, or under another epoch.
	lost map[share.TopicIDPartition]bool
	// turns are partitions that are here and are to lead or follow otherwise than they do.
	turns []turn
}

func newFollowed(n *Node, m *image.Image) *followed {
	return &followed{node: n, image: m, lost: make(map[share.TopicIDPartition]bool)}
}

// turn is one partition's new state.
type turn struct {
	topic *topic
	part  *partition
	state *image.PartitionState
	// before and after are the partition's leadership around the turn; its loop sets them.
	before, after leadership
}

// leadership is whether a replica leads its partition, and under which epoch.
type leadership struct {
	leads bool
	epoch wire.LeaderEpoch
}

// leadership is for the partition's loop.
func (p *partition) leadership() leadership {
	return leadership{p.leads.Load(), p.replica.LeaderEpoch()}
}

// turnsAtOnce is how many partitions of a loop change their state in one turn of it: some 10 µs each.
const turnsAtOnce = 256

func (f *followed) createTopic(t *image.Topic) {
	n := f.node
	f.changed, f.created = true, true
	made, err := n.newTopic(t)
	if err != nil {
		slog.Error("a topic's configuration cannot be used", "topic", t.Name, "error", err)
		return
	}
	f.place(made, t, indexes(0, len(made.parts)))
	n.topics.put(made)
}

func (f *followed) removeTopic(t *image.Topic) {
	n := f.node
	f.changed, f.removed = true, append(f.removed, t)
	old := n.topics.identified(t.ID)
	if old == nil {
		return
	}
	n.topics.remove(old)
	for _, i := range old.led() {
		f.resign(old, i)
	}
	n.removePartitions(old, old.parts)
}

func (f *followed) changeTopic(c image.TopicChange) {
	n := f.node
	old := n.topics.identified(c.New.ID)
	if old == nil { // its configuration was not to be used
		f.createTopic(c.New)
		return
	}
	t := *old
	if t.parts = slices.Clone(old.parts); int(c.New.Partitions) > len(t.parts) {
		f.changed = true
		t.parts = append(t.parts, make([]*partition, int(c.New.Partitions)-len(t.parts))...)
	}
	var which []wire.PartitionIndex
	for i := range c.Partitions() {
		which = append(which, i)
	}
	f.place(&t, c.New, which)
	n.topics.put(&t)
	if c.ConfigsChanged() {
		f.reconfigure(c.New)
	}
}

func (f *followed) reconfigure(m *image.Topic) {
	t := f.node.topics.identified(m.ID)
	if t == nil {
		return
	}
	if err := f.node.reconfigureTopic(t, m); err != nil {
		slog.Error("a topic's configuration cannot be used", "topic", m.Name, "error", err)
	}
}

// place has partitions be on this node or not, and lead or follow, as their states say.
func (f *followed) place(t *topic, m *image.Topic, which []wire.PartitionIndex) {
	var missing []wire.PartitionIndex
	for _, i := range which {
		state, p := m.State(i), t.parts[i]
		mine := state != nil && state.HasReplica(f.node.Config().NodeID)
		switch {
		case p == nil && mine:
			missing = append(missing, i)
		case p != nil && !mine:
			f.takeAway(t, i)
		case p != nil:
			f.turns = append(f.turns, turn{topic: t, part: p, state: state})
		}
	}
	f.create(t, missing)
}

// create makes the logs of partitions that have got a replica on this node.
func (f *followed) create(t *topic, which []wire.PartitionIndex) {
	if len(which) == 0 {
		return
	}
	if err := f.node.createPartitions(t, which, f.image); err != nil {
		f.node.log.throttled("partitions cannot be made, and are tried again", "topic", t.name, "partitions", len(which), "error", err)
	}
	for _, i := range which {
		switch p := t.parts[i]; {
		case p == nil:
			f.node.cluster.follower.lacks(t.id, i)
		case p.leads.Load():
			f.lead(t, i)
		}
	}
}

// lacks notes a partition whose log could not be made.
func (f *follower) lacks(id wire.TopicID, i wire.PartitionIndex) {
	if f.unmade == nil {
		f.unmade = make(map[wire.TopicID][]wire.PartitionIndex)
	}
	if !slices.Contains(f.unmade[id], i) {
		f.unmade[id] = append(f.unmade[id], i)
	}
}

// takeAway removes a partition that has no replica on this node any more.
func (f *followed) takeAway(t *topic, i wire.PartitionIndex) {
	p := t.parts[i]
	if p.leads.Load() {
		f.resign(t, i)
	}
	t.parts[i] = nil
	f.node.removePartitions(t, []*partition{p})
	f.node.forgetJournaled(p)
}

// runTurns has partitions that are here lead or follow, some at a time: a node may lose or take over thousands at once.
func (f *followed) runTurns() {
	byLoop := make(map[*Loop][]*turn)
	for i := range f.turns {
		u := &f.turns[i]
		byLoop[u.part.loop] = append(byLoop[u.part.loop], u)
	}
	var loops sync.WaitGroup
	for loop, turns := range byLoop {
		loops.Go(func() {
			for some := range slices.Chunk(turns, turnsAtOnce) {
				loop.on(func(l *Loop) {
					for _, u := range some {
						u.before = u.part.leadership()
						l.follow(u.part, u.topic, u.state, f.image.Version())
						u.after = u.part.leadership()
					}
				})
			}
		})
	}
	loops.Wait()
	for i := range f.turns {
		u := &f.turns[i]
		if u.before.leads && u.before != u.after {
			f.resign(u.topic, u.part.index)
		}
		if u.after.leads && u.before != u.after {
			f.lead(u.topic, u.part.index)
		}
	}
}

func (f *followed) lead(t *topic, i wire.PartitionIndex) {
	if t.internal {
		f.led = append(f.led, wire.TopicPartition{Topic: t.name, Partition: i})
	}
}

func (f *followed) resign(t *topic, i wire.PartitionIndex) {
	if t.internal {
		f.resigned = append(f.resigned, wire.TopicPartition{Topic: t.name, Partition: i})
	}
	f.lost[share.TopicIDPartition{Topic: t.id, Partition: i}] = true
}

// tell has the coordinators know what has changed.
func (f *followed) tell(d image.Delta) {
	n := f.node
	if len(f.lost) > 0 {
		n.shares.resigned(f.lost)
	}
	for _, tp := range f.resigned {
		n.coordinatorsOf(tp.Topic).resign(tp.Partition)
	}
	byTopic := make(map[string][]wire.PartitionIndex)
	for _, tp := range f.led {
		byTopic[tp.Topic] = append(byTopic[tp.Topic], tp.Partition)
	}
	for _, name := range []string{image.ConsumerOffsetsTopic, image.TransactionStateTopic, image.ShareGroupStateTopic} {
		t := n.topics.named([]byte(name))
		if led := byTopic[name]; len(led) > 0 && t != nil {
			n.coordinatorsOf(name).lead(t, led)
		}
	}
	if f.changed {
		n.groups.topicsChanged(f.image, f.created)
	}
	for _, t := range f.removed {
		n.groups.topicDeleted(t.Name)
		n.shareLog.topicDeleted(t.ID)
		n.shares.topicDeleted(t.ID)
	}
	for _, r := range d.Resources {
		if r.Type == image.GroupResource {
			n.groups.configChanged(r.Name)
		}
	}
}

// coordinators are those of one kind, whatever they coordinate.
type coordinators interface {
	lead(t *topic, led []wire.PartitionIndex)
	resign(index wire.PartitionIndex)
}

// coordinatorsOf are those that keep their records in an internal topic.
func (n *Node) coordinatorsOf(topic string) coordinators {
	switch topic {
	case image.ConsumerOffsetsTopic:
		return n.groups
	case image.TransactionStateTopic:
		return n.txns
	}
	return n.shareLog
}

// follow has a replica lead or follow as the metadata of a version says.
func (l *Loop) follow(p *partition, t *topic, state *image.PartitionState, version uint64) {
	n := l.node
	meta := replicate.Metadata{
		Version: wire.BrokerEpoch(version), Registered: wire.BrokerEpoch(n.cluster.broker.epoch.Load()),
		Epoch: state.LeaderEpoch, PartitionEpoch: state.PartitionEpoch, Ref: p,
	}
	before := p.leadership()
	switch cfg := n.Config(); {
	case state.Leader == cfg.NodeID && p.replica.Truncating():
		p.toLead = func(l *Loop) {
			l.follow(p, t, state, version)
			if t.internal && p.leads.Load() {
				n.coordinatorsOf(t.name).lead(t, []wire.PartitionIndex{p.index})
			}
		}
		return
	case state.Leader != cfg.NodeID:
		p.toLead = nil
		counted, _ := n.countedOn(state)
		p.replica.Follow(replicate.FollowerState{Metadata: meta, Leader: state.Leader, Counted: counted}, &l.eff)
	case p.replica.Lead(l.mono, replicate.LeaderState{
		Metadata: meta, Self: cfg.NodeID, Replicas: state.Replicas, ISR: state.ISR,
		MinISR: t.config.MinInSyncReplicas, LagMax: time.Duration(cfg.ReplicaLagMS) * time.Millisecond,
	}, &l.eff):
		l.writeEpochs(p)
	}
	p.leads.Store(p.replica.Role() == replicate.Leading)
	if p.leadership() != before {
		p.reignEnds()
	}
	l.noteLacking(p)
	l.apply(p)
	l.fetchFrom(p)
	l.fetchable(p)
}

// leadLater takes up metadata that had to wait for the log to be cut.
func (l *Loop) leadLater(p *partition) {
	if lead := p.toLead; lead != nil && p.stopped == wire.None {
		p.toLead = nil
		lead(l)
	}
}
