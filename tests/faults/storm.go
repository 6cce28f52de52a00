package faults

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// admin asks the cluster something that may fail: a storm does not wait for what it asks for.
func (c *Campaign) admin(ask func(context.Context, *kadm.Client) error) bool {
	c.tb.Helper()
	client, err := kgo.NewClient(append(c.node(c.any()).Seeds(), kgo.RetryTimeout(2*time.Second))...)
	if err != nil {
		c.tb.Fatal(err)
	}
	defer client.Close()
	ctx, stop := context.WithTimeout(context.Background(), 3*time.Second)
	defer stop()
	return ask(ctx, kadm.NewClient(client)) == nil
}

// reassign gives a partition of the load other replicas, or the same in another order.
func (c *Campaign) reassign() bool {
	c.tb.Helper()
	ids := all(len(c.cluster.Nodes))
	c.random.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	var request kadm.AlterPartitionAssignmentsReq
	request.Assign(c.load.Topic, c.random.Int32N(c.load.Options.Partitions), ids[:c.load.Options.Replicas])
	return c.admin(func(ctx context.Context, admin *kadm.Client) error {
		answer, err := admin.AlterPartitionAssignments(ctx, request)
		if err == nil {
			err = answer.Error()
		}
		return err
	})
}

// elect makes the first replica of each partition of the load its leader.
func (c *Campaign) elect() bool {
	c.tb.Helper()
	partitions := map[int32]struct{}{}
	for p := range c.load.Options.Partitions {
		partitions[p] = struct{}{}
	}
	return c.admin(func(ctx context.Context, admin *kadm.Client) error {
		_, err := admin.ElectLeaders(ctx, kadm.ElectPreferredReplica, kadm.TopicsSet{c.load.Topic: partitions})
		return err
	})
}

// epochs add up all leader epochs: leaders that come and go make the sum grow.
func (v view) epochs() (sum int32) {
	for _, p := range v.partitions {
		sum += p.LeaderEpoch
	}
	return sum
}

// storm moves replicas and leaders about for some seconds. It bites if it was let, and leaders changed.
func (c *Campaign) storm(meanwhile func()) bool {
	c.tb.Helper()
	before, asked := c.now().epochs(), 0
	for end := time.Now().Add(time.Duration(3+c.random.IntN(4)) * time.Second); time.Now().Before(end); {
		if c.reassign() {
			asked++
		}
		time.Sleep(time.Duration(c.random.IntN(200)) * time.Millisecond)
		c.elect()
		if meanwhile != nil && c.random.IntN(4) == 0 {
			meanwhile()
			meanwhile = nil
		}
	}
	c.count("reassignments", asked)
	return asked > 0 && c.until(c.cluster.Nodes, func(v view) bool { return v.epochs() > before })
}

var storms = []Fault{
	{Name: "reassignment storm", inject: func(c *Campaign) (string, bool) {
		return "replicas and leaders are moved about", c.storm(nil)
	}},
	{Name: "kill in a storm", inject: func(c *Campaign) (string, bool) {
		id := c.any()
		bit := c.storm(func() {
			c.kill(id)
			c.node(id).Begin(c.tb)
		})
		return fmt.Sprintf("replicas and leaders are moved about, and kill -9 of node %d meanwhile", id), bit
	}},
}
