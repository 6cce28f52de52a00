package faults

import (
	"fmt"
	"slices"
	"time"

	"github.com/ringmill/ringmill/tests/harness"
)

// Directions of what is cut between two sides.
const (
	bothWays = iota
	outOnly  // the first side is not heard
	inOnly   // the first side does not hear
)

// linksBetween two sides, in a direction.
func linksBetween(side, other []int, direction int) (links []Link) {
	for _, a := range side {
		for _, b := range other {
			if direction != inOnly {
				links = append(links, Link{a, b})
			}
			if direction != outOnly {
				links = append(links, Link{b, a})
			}
		}
	}
	return links
}

// peers are all hosts but one; with the clients among them or not.
func (c *Campaign) peers(id int32, withClients bool) (hosts []int) {
	for i := range c.cluster.Nodes {
		if i+1 != int(id) {
			hosts = append(hosts, i+1)
		}
	}
	if withClients {
		hosts = append(hosts, clients)
	}
	return hosts
}

// cut partitions the network until the effect is seen, and heals it.
func (c *Campaign) cut(links []Link, seenBy []*harness.Node, effect func(view) bool) bool {
	c.tb.Helper()
	before := c.network.Dropped(c.tb)
	c.network.Cut(c.tb, links...)
	c.count("partitions", 1)
	bit := c.until(seenBy, effect)
	dropped := c.network.Dropped(c.tb) - before
	c.network.Heal(c.tb)
	return bit && dropped > 0
}

// isolate cuts one node off from the others until they do without it.
func (c *Campaign) isolate(id int32, who string, withClients bool, direction int) (string, bool) {
	c.tb.Helper()
	what := fmt.Sprintf("node %d, %s, is cut off from the others", id, who)
	if withClients {
		what += " and from clients"
	}
	what += [...]string{"", ", which do not hear it", ", which it does not hear"}[direction]
	return what, c.cut(linksBetween([]int{int(id)}, c.peers(id, withClients), direction), c.others(id), gone(id))
}

// silence is a cut for a while, which need not lead to anything but dropped packets.
func (c *Campaign) silence(links []Link, length time.Duration) bool {
	c.tb.Helper()
	until := time.Now().Add(length)
	return c.cut(links, c.cluster.Nodes, func(view) bool { return time.Now().After(until) })
}

var partitions = []Fault{
	{Name: "cut the leader from followers", network: true, inject: func(c *Campaign) (string, bool) {
		return c.isolate(c.leader(), "a leader", false, bothWays)
	}},
	{Name: "cut the controller off", network: true, inject: func(c *Campaign) (string, bool) {
		return c.isolate(c.now().controller, "the controller", false, bothWays)
	}},
	{Name: "cut one off", network: true, inject: func(c *Campaign) (string, bool) {
		return c.isolate(c.any(), "any", true, bothWays)
	}},
	{Name: "one is not heard", network: true, inject: func(c *Campaign) (string, bool) {
		return c.isolate(c.leader(), "a leader", c.random.IntN(2) == 0, outOnly)
	}},
	{Name: "one does not hear", network: true, inject: func(c *Campaign) (string, bool) {
		return c.isolate(c.leader(), "a leader", c.random.IntN(2) == 0, inOnly)
	}},
	{Name: "cut a pair", network: true, inject: func(c *Campaign) (string, bool) {
		id := c.leader()
		peers := c.peers(id, false)
		other := peers[c.random.IntN(len(peers))]
		return fmt.Sprintf("node %d, a leader, and node %d are cut off from each other", id, other),
			c.silence(linksBetween([]int{int(id)}, []int{other}, bothWays), time.Duration(4+c.random.IntN(3))*time.Second)
	}},
	{Name: "clients see a half", network: true, inject: func(c *Campaign) (string, bool) {
		hosts := c.peers(c.leader(), false)
		hidden := hosts[:max(1, len(hosts)/2)]
		if c.random.IntN(2) == 0 {
			hidden = []int{int(c.leader())}
		}
		return fmt.Sprintf("clients are cut off from nodes %d", hidden),
			c.silence(linksBetween([]int{clients}, hidden, bothWays), time.Duration(2+c.random.IntN(4))*time.Second)
	}},
	{Name: "ring of majorities", network: true, nodes: 5, inject: func(c *Campaign) (string, bool) {
		var links []Link
		n := len(c.cluster.Nodes)
		for i := range n { // each hears its two neighbours alone, so each has another majority
			links = append(links, linksBetween([]int{i + 1}, []int{(i+2)%n + 1}, bothWays)...)
		}
		return "each node is cut off from all but its two neighbours", c.silence(links, time.Duration(5+c.random.IntN(4))*time.Second)
	}},
	{Name: "halves", network: true, nodes: 5, inject: func(c *Campaign) (string, bool) {
		ids := c.random.Perm(len(c.cluster.Nodes))
		for i := range ids {
			ids[i]++
		}
		minority, majority := ids[:2], ids[2:]
		slices.Sort(minority)
		return fmt.Sprintf("nodes %d are cut off from the others", minority),
			c.silence(linksBetween(minority, majority, bothWays), time.Duration(5+c.random.IntN(4))*time.Second)
	}},
	{Name: "flapping", network: true, inject: func(c *Campaign) (string, bool) {
		id := c.leader()
		before := c.network.Dropped(c.tb)
		for end := time.Now().Add(5 * time.Second); time.Now().Before(end); {
			c.network.Cut(c.tb, linksBetween([]int{int(id)}, c.peers(id, false), c.random.IntN(3))...)
			time.Sleep(time.Duration(100+c.random.IntN(400)) * time.Millisecond)
			c.network.Heal(c.tb)
			time.Sleep(time.Duration(100+c.random.IntN(400)) * time.Millisecond)
		}
		c.count("partitions", 1)
		return fmt.Sprintf("the network of node %d, a leader, comes and goes", id), c.network.Dropped(c.tb) > before
	}},
}
