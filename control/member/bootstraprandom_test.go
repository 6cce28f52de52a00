package member

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// chaos draws what happens to a world.
type chaos struct {
	*world
	rng    *rand.Rand
	crashy bool
}

func (c *chaos) chance(percent int) bool { return c.rng.IntN(100) < percent }

func (c *chaos) crash() bool { return c.crashy && c.chance(3) }

func (c *chaos) pick() *node { return c.nodes[c.rng.IntN(len(c.nodes))] }

// step lets one thing happen.
func (c *chaos) step(expect int) {
	c.now += time.Duration(c.rng.IntN(400)) * time.Millisecond
	n := c.pick()
	switch k := c.rng.IntN(100); {
	case k < 45:
		c.transmit()
	case n.dead && k < 95:
	case k < 60 && n.up():
		c.run(n, n.b.Tick(c.now), c.crash)
	case k < 80 && n.up():
		c.see(n, c.somebody(n), c.crash)
	case k < 84 && n.up():
		c.stop(n)
	case k < 92 && !n.up():
		c.start(n, c.crash)
	case k < 95 && n.up():
		c.settleOrFail(n)
	case k < 96:
		if id := 1 + c.rng.IntN(9); c.live(id) == nil {
			c.add(id, expect)
		}
	case k < 97:
		c.lose(n)
	}
}

// somebody is what a node may see: some of those that are up, and its picture of others from before.
func (c *chaos) somebody(n *node) []Info {
	var seen []Info
	for _, m := range c.nodes {
		if m.up() && c.chance(80) {
			seen = append(seen, m.info())
		}
	}
	for _, old := range n.seen {
		if c.chance(20) {
			seen = append(seen, old)
		}
	}
	return seen
}

// transmit delivers, loses or doubles a packet, in any order.
func (c *chaos) transmit() {
	if len(c.air) == 0 {
		return
	}
	i := c.rng.IntN(len(c.air))
	p := c.air[i]
	if !c.chance(20) {
		c.air = slices.Delete(c.air, i, i+1)
	}
	if !c.chance(10) {
		c.deliver(p, c.crash)
	}
	if len(c.air) > 50 {
		c.air = slices.Delete(c.air, 0, 10)
	}
}

func (c *chaos) settleOrFail(n *node) {
	if n.joins != "" && c.chance(30) {
		n.joins = ""
		n.b.JoinFailed()
		return
	}
	c.settle(n)
}

// lose takes a node and its disk for good, if it is no candidate that others are held by: those would wait for ever, which
// is what TestTranscripts/lost-candidate is about. It comes back as another.
func (c *chaos) lose(n *node) {
	if n.disk != nil {
		if s := c.state(n); s.phase != fresh && s.proposal.candidate().same(s.self) {
			return
		}
	}
	for _, m := range c.nodes {
		if m.disk == nil || m == n {
			continue
		}
		if s := c.state(m); s.phase == promised && s.proposal.candidate().same(n.voter()) {
			return
		}
	}
	c.stop(n)
	n.dead = true
}

// heal has everybody up, seeing each other, with nothing lost, until all belong to a cluster or a long time has gone.
func (c *chaos) heal(expect int) {
	c.crashy = false
	for range 1200 {
		c.now += 100 * time.Millisecond
		c.air = slices.DeleteFunc(c.air, func(p packet) bool { return p.from.dead || p.to.dead })
		for air := c.air; len(air) > 0; air = c.air {
			c.air = nil
			for _, p := range air {
				c.deliver(p, never)
			}
		}
		var all []Info
		for _, n := range c.nodes {
			if !n.dead {
				all = append(all, n.info())
			}
		}
		left := 0
		for _, n := range c.nodes {
			switch {
			case n.dead:
				continue
			case !n.up():
				c.start(n, never)
			}
			c.settle(n)
			c.see(n, all, never)
			if n.quorum == "" {
				left++
			}
		}
		if left == 0 {
			return
		}
	}
	fresh, clusters := 0, 0
	for _, n := range c.nodes {
		if !n.dead && n.quorum == "" {
			fresh++
		} else if !n.dead {
			clusters++
		}
	}
	if fresh >= expect || clusters > 0 {
		for _, n := range c.nodes {
			if n.up() {
				c.t.Logf("node %d: quorum %q: %s", n.id, n.quorum, n.b.Status())
			}
		}
		c.t.Fatalf("seed %d: nobody decides any more", c.seed)
	}
}

// TestRandomBootstraps plays fresh nodes that lose messages, crash at any point, lose disks, come late and see different
// things. world's checks hold throughout: two decisions are the same or have no voter in common, a node promises to nothing
// that what it sees speaks against, no voter joins another cluster. In the end all belong to a cluster.
func TestRandomBootstraps(t *testing.T) {
	seeds := 1000
	if testing.Short() {
		seeds = 300
	}
	var together, apart, joined int
	for seed := range uint64(seeds) {
		c := &chaos{world: newWorld(t, seed), rng: rand.New(rand.NewPCG(seed, 1)), crashy: seed%4 != 0}
		expect := 2 + c.rng.IntN(4)
		for id := 1; id <= expect+c.rng.IntN(4); id++ {
			c.add(id, expect)
		}
		for range 50 + c.rng.IntN(400) {
			c.step(expect)
		}
		c.heal(expect)
		switch len(c.decisions) {
		case 0:
		case 1:
			together++
		default:
			apart++
		}
		for _, n := range c.nodes {
			if n.quorum != "" && c.state(n).phase == fresh {
				joined++
			}
		}
	}
	t.Logf("%d seeds with one cluster, %d with several, %d learners", together, apart, joined)
	if together == 0 || apart == 0 || joined == 0 {
		t.Error("the seeds do not come to everything that there is")
	}
}
