package faults

import (
	"fmt"
	"time"
)

// everywhere are all hosts and the clients.
func (c *Campaign) everywhere() []int { return c.peers(clients, true) }

// blow holds weather for a while, and whatever happens in it. It bites if packets went through it.
func (c *Campaign) blow(weather Weather, hosts []int, meanwhile func()) bool {
	c.tb.Helper()
	before := c.network.Passed()
	c.network.Bad(c.tb, weather, hosts...)
	c.count("weathers", 1)
	if meanwhile != nil {
		meanwhile()
	}
	time.Sleep(time.Duration(3+c.random.IntN(4)) * time.Second)
	c.network.fair(c.tb)
	return c.network.Passed() > before
}

// drawn is weather of any kind.
func (c *Campaign) drawn() Weather {
	return Weather{
		Delay:     time.Duration(c.random.IntN(60)) * time.Millisecond,
		Jitter:    time.Duration(c.random.IntN(100)) * time.Millisecond,
		Loss:      c.random.IntN(20),
		Duplicate: c.random.IntN(20),
	}
}

var weathers = []Fault{
	{Name: "delay and jitter", network: true, inject: func(c *Campaign) (string, bool) {
		weather := Weather{Delay: time.Duration(20+c.random.IntN(80)) * time.Millisecond, Jitter: time.Duration(50+c.random.IntN(150)) * time.Millisecond}
		return fmt.Sprintf("all packets are late by %v and up to %v more", weather.Delay, weather.Jitter), c.blow(weather, c.everywhere(), nil)
	}},
	{Name: "loss and duplication", network: true, inject: func(c *Campaign) (string, bool) {
		weather := Weather{Loss: 5 + c.random.IntN(15), Duplicate: 5 + c.random.IntN(20), Jitter: 5 * time.Millisecond}
		return fmt.Sprintf("%d %% of all packets are lost, %d %% are there twice", weather.Loss, weather.Duplicate), c.blow(weather, c.everywhere(), nil)
	}},
	{Name: "one is far away", network: true, inject: func(c *Campaign) (string, bool) {
		weather, id := c.drawn(), c.any()
		return fmt.Sprintf("what node %d sends goes through %+v", id, weather), c.blow(weather, []int{int(id)}, nil)
	}},
	{Name: "a slow link", network: true, inject: func(c *Campaign) (string, bool) {
		id, before := c.leader(), c.network.Passed()
		c.network.Bad(c.tb, Weather{Rate: 125_000}, int(id)) // 1 Mbit/s: replicas and clients want more of a leader
		c.count("weathers", 1)
		bit := c.until(c.cluster.Nodes, func(v view) bool {
			for _, p := range v.partitions {
				if len(p.ISR) < len(p.Replicas) {
					return true
				}
			}
			return false
		})
		c.network.fair(c.tb)
		return fmt.Sprintf("node %d, a leader, sends 1 Mbit/s at most", id), bit && c.network.Passed() > before
	}},
	{Name: "kill in bad weather", network: true, inject: func(c *Campaign) (string, bool) {
		weather, id := c.drawn(), c.leader()
		bit := c.blow(weather, c.everywhere(), func() {
			time.Sleep(time.Second)
			c.kill(id)
			c.node(id).Begin(c.tb)
		})
		return fmt.Sprintf("kill -9 of node %d, a leader, and all packets go through %+v", id, weather), bit
	}},
	{Name: "kill while cut", network: true, inject: func(c *Campaign) (string, bool) {
		id := c.leader()
		hosts := c.peers(id, false)
		other := int32(hosts[c.random.IntN(len(hosts))])
		before := c.network.Dropped(c.tb)
		c.network.Cut(c.tb, linksBetween([]int{int(id)}, c.peers(id, c.random.IntN(2) == 0), bothWays)...)
		c.count("partitions", 1)
		time.Sleep(time.Duration(c.random.IntN(4000)) * time.Millisecond)
		c.kill(other)
		c.node(other).Begin(c.tb)
		time.Sleep(time.Duration(c.random.IntN(4000)) * time.Millisecond)
		bit := c.network.Dropped(c.tb) > before
		c.network.Heal(c.tb)
		return fmt.Sprintf("node %d, a leader, is cut off, and kill -9 of node %d meanwhile", id, other), bit
	}},
}
