package faults

import (
	"fmt"
	"time"

	"github.com/ringmill/ringmill/tests/harness"
)

// wrongMost is how far a clock is off at most: an hour, as one that takes the summer time of its place for the time of the world.
const wrongMost = time.Hour

// setClocks has the wall clocks of some nodes be off from now on, where nodes have clocks of their own.
func (c *Campaign) setClocks(off time.Duration, nodes ...*harness.Node) {
	for _, node := range nodes {
		if clock := node.Place().Clock; clock != nil {
			clock.Set(off)
		}
	}
}

// reads is how often nodes have read a clock that was off.
func (c *Campaign) reads(nodes ...*harness.Node) (sum int64) {
	for _, node := range nodes {
		sum += node.Place().Clock.Reads()
	}
	return sum
}

// served is how many records are acknowledged while clocks are off.
const served = 5 * between

// wrong has a node, a leader, run with a wall clock that is off, and be killed and started so, while it is the controller or not, as it comes.
func (c *Campaign) wrong(off time.Duration, killed bool) (string, bool) {
	c.tb.Helper()
	id := c.leader()
	node := c.node(id)
	before := c.reads(node)
	c.setClocks(off, node)
	c.count("wrong clocks", 1)
	c.load.AwaitProgress(served)
	what := fmt.Sprintf("the clock of node %d, a leader, is %v off", id, off)
	if killed {
		c.kill(id)
		node.Restart(c.tb)
		what += ", and it is killed and starts so"
	}
	c.elect() // it leads again what it should
	c.load.AwaitProgress(served)
	return what, c.reads(node) > before
}

var clocks = []Fault{
	{Name: "a clock an hour ahead", clocks: true, inject: func(c *Campaign) (string, bool) { return c.wrong(wrongMost, false) }},
	{Name: "a clock an hour behind", clocks: true, inject: func(c *Campaign) (string, bool) { return c.wrong(-wrongMost, false) }},
	{Name: "kill with a clock ahead", clocks: true, inject: func(c *Campaign) (string, bool) { return c.wrong(wrongMost, true) }},
	{Name: "kill with a clock behind", clocks: true, inject: func(c *Campaign) (string, bool) { return c.wrong(-wrongMost, true) }},
	{Name: "clocks jump", clocks: true, inject: func(c *Campaign) (string, bool) {
		nodes := c.cluster.Nodes
		before := c.reads(nodes...)
		for end := time.Now().Add(5 * time.Second); time.Now().Before(end); {
			c.setClocks(time.Duration(c.random.Int64N(int64(2*wrongMost)))-wrongMost, nodes[c.random.IntN(len(nodes))])
			time.Sleep(time.Duration(c.random.IntN(200)) * time.Millisecond)
		}
		c.count("wrong clocks", len(nodes))
		c.load.AwaitProgress(between)
		return "all clocks jump about, within an hour", c.reads(nodes...) > before
	}},
}
