package group

import (
	"fmt"
	"slices"

	"github.com/ringmill/ringmill/control/group/assignor"
)

// checkShare judges what can be judged without a walk over the members.
func (g *group) checkShare() {
	sg := g.share
	switch {
	case len(g.members)+len(g.pending) > 0 || g.consumer != nil || g.timer.armed():
		g.shareBroken("S1", "there is something left of another protocol")
	case sg.targetEpoch > sg.epoch:
		g.shareBroken("S2", "targets of an epoch that is still to come")
	case g.state != Dead && g.state != sg.state():
		g.shareBroken("S3", "it should be "+sg.state().String())
	}
}

func (g *group) shareBroken(name, what string) {
	sg := g.share
	panic(fmt.Sprintf("BUG: invariant %s: share group %q (%s, epoch %d, target epoch %d, %d members): %s",
		name, g.id, g.state, sg.epoch, sg.targetEpoch, len(sg.members), what))
}

// checkShareMembers counts everything again, and gives the bytes that members take.
func (g *group) checkShareMembers(active bool) (bytes int64) {
	names := map[string]int{}
	for _, m := range g.share.sortedMembers() {
		g.checkShareMember(m, active)
		bytes += m.size()
		for _, name := range m.topics {
			names[name]++
		}
	}
	if !slices.Equal(countsOf(names), countsOf(g.share.names)) {
		g.shareBroken("S4", "subscriptions counted wrongly")
	}
	g.checkShareTopics()
	return bytes
}

func (g *group) checkShareMember(m *shareMember, active bool) {
	switch {
	case m.countedBytes != m.size():
		g.shareBroken("C1", "the bytes of "+m.id+" are counted wrongly")
	case m.epoch > g.share.epoch:
		g.shareBroken("S2", m.id+" is of an epoch that is still to come")
	case m.epoch == g.share.targetEpoch && m.hasTarget && !m.assigned.Equal(m.target):
		g.shareBroken("S5", m.id+" is in the targets' epoch without its target")
	case active && !m.session.armed():
		g.shareBroken("S6", m.id+" can neither be heard of nor expire")
	}
}

func (g *group) checkShareTopics() {
	t := &g.share.topics
	for _, of := range slices.Concat(t.initializing, t.initialized) {
		if _, named := t.names[of.Topic]; !named {
			g.shareBroken("S7", "a topic without a name")
		}
		if slices.Contains(t.deleting, of.Topic) {
			g.shareBroken("S7", "a topic is initialized and being deleted")
		}
	}
	if !slices.IsSortedFunc(t.deleting, assignor.CompareTopics) {
		g.shareBroken("S7", "topics to be deleted are out of order")
	}
}
