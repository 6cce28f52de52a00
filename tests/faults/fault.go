package faults

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// Fault is one kind of what can happen to a cluster: a row of the table in doc.go.
type Fault struct {
	Name    string
	network bool // needs namespaces
	clocks  bool // needs clocks that can be set
	nodes   int  // needs so many
	// inject does it, holds it as long as it takes to bite, and tells what was done and whether it bit. Whatever is left of it is healed after.
	inject func(*Campaign) (what string, bit bool)
}

// Faults are all kinds.
var Faults = slices.Concat(kills, pauses, partitions, weathers, storms, clocks)

// Named is the fault of a name.
func Named(tb testing.TB, name string) Fault {
	tb.Helper()
	for _, f := range Faults {
		if f.Name == name {
			return f
		}
	}
	tb.Fatalf("no fault is called %q: see doc.go", name)
	return Fault{}
}

// Can tells whether this cluster, where it is, can have a fault.
func (c *Campaign) Can(f Fault) bool {
	return c.shape.Nodes >= f.nodes && (c.network != nil || !f.network) && (c.shape.Clocks || !f.clocks)
}

// Draw is a fault of any kind: first whether processes end, the network is cut, or anything else happens; then which of those.
func (c *Campaign) Draw() Fault {
	groups := [][]Fault{kills, kills, partitions, slices.Concat(pauses, weathers, storms, clocks)}
	for {
		group := groups[c.random.IntN(len(groups))]
		f := group[c.random.IntN(len(group))]
		if c.Can(f) {
			return f
		}
	}
}

func (c *Campaign) count(what string, n int) { c.counts[what] += n }

// kill ends nodes with kill -9, at once, and lets them be gone for a while.
func (c *Campaign) kill(ids ...int32) {
	c.tb.Helper()
	for _, id := range ids {
		c.node(id).Kill(c.tb)
	}
	c.count("kills", len(ids))
	time.Sleep(time.Duration(c.random.IntN(500)) * time.Millisecond)
}

func all(n int) (ids []int32) {
	for i := range n {
		ids = append(ids, int32(i+1))
	}
	return ids
}

var kills = []Fault{
	{Name: "kill one", inject: func(c *Campaign) (string, bool) {
		id := c.any()
		c.kill(id)
		return fmt.Sprintf("kill -9 of node %d", id), true
	}},
	{Name: "kill the leader", inject: func(c *Campaign) (string, bool) {
		id := c.leader()
		c.kill(id)
		return fmt.Sprintf("kill -9 of node %d, a leader", id), c.until(c.others(id), gone(id))
	}},
	{Name: "kill the controller", inject: func(c *Campaign) (string, bool) {
		id := c.now().controller
		c.kill(id)
		return fmt.Sprintf("kill -9 of node %d, the controller", id), c.until(c.others(id), gone(id))
	}},
	{Name: "kill a majority", inject: func(c *Campaign) (string, bool) {
		ids := all(len(c.cluster.Nodes))
		c.random.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
		ids = ids[:len(ids)/2+1]
		c.kill(ids...)
		return fmt.Sprintf("kill -9 of nodes %d", ids), true
	}},
	{Name: "kill all", inject: func(c *Campaign) (string, bool) {
		c.kill(all(len(c.cluster.Nodes))...)
		return "kill -9 of all nodes", true
	}},
	{Name: "kill again", inject: func(c *Campaign) (string, bool) {
		id := c.leader()
		c.kill(id)
		c.node(id).Begin(c.tb) // and once more while it starts
		time.Sleep(time.Duration(c.random.IntN(400)) * time.Millisecond)
		c.kill(id)
		return fmt.Sprintf("kill -9 of node %d, a leader, and once more as it starts", id), true
	}},
	{Name: "restart one by one", inject: func(c *Campaign) (string, bool) {
		for _, n := range c.cluster.Nodes {
			n.Stop(c.tb)
			n.Restart(c.tb)
			c.load.AwaitWhole()
		}
		c.count("clean restarts", len(c.cluster.Nodes))
		return "clean restart of one node after the other", true
	}},
}

// pause stops a node until the others do without it, and lets it go on: it must not acknowledge what is not its to acknowledge.
func (c *Campaign) pause(id int32, who string) (string, bool) {
	c.tb.Helper()
	c.node(id).Pause(c.tb)
	c.count("pauses", 1)
	bit := c.until(c.others(id), gone(id))
	c.node(id).Resume(c.tb)
	return fmt.Sprintf("SIGSTOP of node %d, %s, until it was replaced", id, who), bit
}

var pauses = []Fault{
	{Name: "pause one", inject: func(c *Campaign) (string, bool) { return c.pause(c.any(), "any") }},
	{Name: "pause the leader", inject: func(c *Campaign) (string, bool) { return c.pause(c.leader(), "a leader") }},
	{Name: "pause the controller", inject: func(c *Campaign) (string, bool) { return c.pause(c.now().controller, "the controller") }},
}
