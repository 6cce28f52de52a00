package group

import (
	"fmt"
	"slices"

	"github.com/ringmill/ringmill/wire"
)

// checkConsumer judges what can be judged without a walk over the members.
func (g *group) checkConsumer() {
	cg := g.consumer
	switch {
	case len(g.members)+len(g.pending) > 0 || g.timer.armed():
		g.consumerBroken("M2", "there is something left of the classic protocol")
	case cg.targetEpoch > cg.epoch:
		g.consumerBroken("M3", "targets of an epoch that is still to come")
	case g.state != Dead && g.state != cg.state():
		g.consumerBroken("M4", "it should be "+cg.state().String())
	case cg.classicMembers > len(cg.members):
		g.consumerBroken("M5", "more classic members than members")
	}
}

func (g *group) consumerBroken(name, what string) {
	cg := g.consumer
	panic(fmt.Sprintf("BUG: invariant %s: consumer group %q (%s, epoch %d, target epoch %d, %d members): %s",
		name, g.id, g.state, cg.epoch, cg.targetEpoch, len(cg.members), what))
}

// checkConsumerMembers counts everything again, and gives the bytes that members and regular expressions take.
func (g *group) checkConsumerMembers(active bool) (bytes int64) {
	again, owned := newConsumerGroup(), 0
	targets := map[topicPartition]string{}
	for _, m := range g.consumer.sortedMembers() {
		g.checkConsumerMember(m, active)
		again.insert(m) // panics with M1 if a partition has two owners
		owned += m.assigned.Count() + m.revoking.Count()
		bytes += m.size()
		g.checkTargets(targets, m)
	}
	if owned != len(g.consumer.owners) || !sameOwners(again, g.consumer) {
		g.consumerBroken("M1", "owners that own nothing")
	}
	if !sameCounts(again, g.consumer) {
		g.consumerBroken("M5", "members counted wrongly")
	}
	for regex, r := range g.consumer.regexes {
		bytes += r.size()
		if r.members == 0 || again.regexes[regex] == nil || again.regexes[regex].members != r.members {
			g.consumerBroken("M5", "subscribers of "+regex+" counted wrongly")
		}
	}
	return bytes
}

func (g *group) checkConsumerMember(m *consumerMember, active bool) {
	switch {
	case m.countedBytes != m.size():
		g.consumerBroken("C1", "the bytes of "+m.id+" are counted wrongly")
	case m.epoch > g.consumer.epoch:
		g.consumerBroken("M3", m.id+" is of an epoch that is still to come")
	case m.state == memberUnrevoked && len(m.revoking) == 0 && m.epoch != memberLeftForAWhile:
		g.consumerBroken("M6", m.id+" has nothing to revoke")
	case active && !m.session.armed():
		g.consumerBroken("M7", m.id+" can neither be heard of nor expire")
	case m.isReconciledTo(g.consumer.targetEpoch) && m.hasTarget && !m.assigned.Equal(m.target):
		g.consumerBroken("M8", m.id+" is stable without its target")
	}
}

func (g *group) checkTargets(targets map[topicPartition]string, m *consumerMember) {
	m.target.Filter(func(topic wire.TopicID, p int32) bool {
		at := topicPartition{topic, p}
		if targets[at] != "" {
			g.consumerBroken("M1", "a partition is the target of "+targets[at]+" and "+m.id)
		}
		targets[at] = m.id
		return false
	})
}

func sameOwners(a, b *consumerGroup) bool {
	for at, m := range a.owners {
		if b.owners[at] != m {
			return false
		}
	}
	return len(a.owners) == len(b.owners)
}

func sameCounts(a, b *consumerGroup) bool {
	return slices.Equal(countsOf(a.names), countsOf(b.names)) && slices.Equal(countsOf(a.assignors), countsOf(b.assignors)) &&
		slices.Equal(countsOf(a.classicProtocols), countsOf(b.classicProtocols)) && a.classicMembers == b.classicMembers &&
		fmt.Sprint(a.stableAt) == fmt.Sprint(b.stableAt) && len(a.static) == len(b.static)
}

func countsOf(counts map[string]int) (out []string) {
	for _, k := range sortedKeys(counts) {
		out = append(out, fmt.Sprintf("%s=%d", k, counts[k]))
	}
	return out
}
