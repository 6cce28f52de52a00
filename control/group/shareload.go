package group

import (
	"github.com/ringmill/ringmill/control/group/assignor"
	"github.com/ringmill/ringmill/wire"
)

// loadedShare is what the log has said of a share group so far. It becomes a shareGroup when all of it is read.
type loadedShare struct {
	known        bool // there is a record of the group itself
	epoch        int32
	metadataHash uint64
	targetEpoch  int32
	members      map[string]*loadedSharer
	topics       *shareTopics
}

// loadedSharer is what the log has said of one member. Without metadata it is none.
type loadedSharer struct {
	metadata *shareMetadata
	current  *shareCurrent
	target   *assignor.Assignment
}

// loadShare takes a record of a share group.
func (c *Coordinator) loadShare(kind recordKind, rec wire.Record) error {
	id, of, err := readConsumerKey(kind, rec.Key)
	if err != nil {
		return err
	}
	if rec.Value == nil {
		if g := c.groups[id]; g != nil && g.loadedShare != nil {
			g.loadedShare.forget(kind, of)
			c.dropIfNoShare(g)
		}
		return nil
	}
	if err := checkValueVersion(int16(kind), rec.Value, 0); err != nil {
		return err
	}
	r := &flexibleReader{rest: rec.Value[2:]}
	take := readShareValue(kind, of, r)
	if r.failed {
		return &RecordError{KeyVersion: int16(kind), Reason: "the value is damaged"}
	}
	g := c.loadedShareGroup(id)
	if g == nil {
		return &RecordError{KeyVersion: int16(kind), Reason: "the group is not a share group"}
	}
	take(g.loadedShare)
	return nil
}

// readShareValue reads a value, and gives what it does to the group if it is sound.
func readShareValue(kind recordKind, of string, r *flexibleReader) func(*loadedShare) {
	switch kind {
	case recordShareGroup:
		epoch, hash := r.int32(), uint64(r.int64())
		r.tags(nil)
		return func(l *loadedShare) { l.known, l.epoch, l.metadataHash = true, epoch, hash }
	case recordShareTargetEpoch:
		epoch := r.int32()
		r.tags(nil)
		return func(l *loadedShare) { l.targetEpoch = epoch }
	case recordShareMember:
		md := readShareMetadata(r)
		return func(l *loadedShare) { l.member(of).metadata = &md }
	case recordShareTarget:
		target := r.assignment()
		r.tags(nil)
		return func(l *loadedShare) { l.member(of).target = &target }
	case recordShareCurrent:
		current := readShareCurrent(r)
		return func(l *loadedShare) { l.member(of).current = &current }
	}
	topics := readShareTopics(r)
	return func(l *loadedShare) { l.topics = &topics }
}

func (l *loadedShare) member(id string) *loadedSharer {
	m := l.members[id]
	if m == nil {
		m = &loadedSharer{}
		l.members[id] = m
	}
	return m
}

// loadedShareGroup is the group as a share group; nil if it is another. A group never changes its protocol to or from this.
func (c *Coordinator) loadedShareGroup(id string) *group {
	g := c.groups[id]
	if g == nil {
		g = newGroup(id, wire.NoTimestamp)
		g.durable, g.loadedShare = true, &loadedShare{members: map[string]*loadedSharer{}}
		c.groups[id] = g
	}
	if g.loadedShare == nil {
		return nil
	}
	return g
}

// forget takes a tombstone.
func (l *loadedShare) forget(kind recordKind, of string) {
	switch kind {
	case recordShareGroup:
		l.known, l.epoch, l.metadataHash = false, 0, 0
	case recordShareTargetEpoch:
		l.targetEpoch = 0
	case recordShareState:
		l.topics = nil
	}
	m := l.members[of]
	if m == nil || !kind.namesMore() {
		return
	}
	switch kind {
	case recordShareMember:
		m.metadata = nil
	case recordShareTarget:
		m.target = nil
	case recordShareCurrent:
		m.current = nil
	}
	if *m == (loadedSharer{}) {
		delete(l.members, of)
	}
}

// dropIfNoShare forgets a group of which tombstones left nothing.
func (c *Coordinator) dropIfNoShare(g *group) {
	if l := g.loadedShare; !l.known && len(l.members) == 0 && l.topics == nil {
		c.dropGroup(g, wire.GroupIDNotFound)
	}
}

// finishLoadingShare makes the share group of what the log said. Sessions start afresh. Whether a state that was asked for
// was made is not known: the next heartbeat asks again, which does no harm.
func (c *Coordinator) finishLoadingShare(g *group) {
	l, sg := g.loadedShare, newShareGroup()
	g.loadedShare = nil
	g.share, g.protocolType = sg, shareType
	sg.epoch, sg.metadataHash, sg.uncovered = max(l.epoch, 0), l.metadataHash, true
	if l.topics != nil {
		sg.topics = *l.topics
	}
	for _, id := range sortedKeys(l.members) {
		if from := l.members[id]; from.metadata != nil {
			c.insertLoadedSharer(g, id, from)
		}
	}
	sg.targetEpoch = min(max(l.targetEpoch, 0), sg.epoch)
	for _, m := range sg.members { // an append that failed before one that did not
		switch {
		case m.epoch > sg.targetEpoch:
			sg.stale = true
		case m.epoch == sg.targetEpoch && !m.assigned.Equal(m.target):
			m.target, sg.stale = m.assigned, true
		}
	}
	c.forgetGoneTopics(g)
	c.settle(g)
}

func (c *Coordinator) insertLoadedSharer(g *group, id string, l *loadedSharer) {
	m := newShareMember(id, g)
	m.shareMetadata = *l.metadata
	if l.current != nil {
		m.shareCurrent = *l.current
	}
	if l.target != nil {
		m.target, m.hasTarget = *l.target, true
	}
	g.share.epoch = max(g.share.epoch, m.epoch)
	g.share.members[id] = m
	g.share.count(m, 1)
	c.recountShare(m)
	c.timers.arm(&m.session, c.after(int64(c.configOf(g.id).ShareSessionTimeoutMS)))
}
