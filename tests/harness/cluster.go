package harness

import (
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
)

// Cluster is several ringmill nodes that form one cluster: node i of Nodes has the id i+1.
type Cluster struct {
	Nodes []*Node

	properties map[string]string
	seeds      []string
}

// clusterDefaults keep the internal topics small, and let nodes with the harness's ports gossip.
var clusterDefaults = map[string]string{
	"ringmill.loops":                               "1",
	"ringmill.journal.bytes":                       "4194304",
	"transaction.state.log.num.partitions":         "6",
	"share.coordinator.state.topic.num.partitions": "6",
	"broker.rack":                                  "",
}

// StartCluster starts n fresh nodes that begin a cluster, for the length of the test, and waits until all are ready. properties
// are every node's, over the defaults.
func StartCluster(tb testing.TB, n int, properties map[string]string) *Cluster {
	tb.Helper()
	if _, err := builtBinary(); err != nil {
		tb.Fatal(err)
	}
	c := &Cluster{properties: maps.Clone(clusterDefaults)}
	maps.Copy(c.properties, properties)
	c.properties["ringmill.bootstrap.expect"] = fmt.Sprint(n)
	for range n {
		c.seeds = append(c.seeds, loopback(FreePort(tb)))
	}
	for i := range n {
		c.Nodes = append(c.Nodes, c.layout(tb, i+1, c.seeds[i], nil))
	}
	c.Restart(tb)
	return c
}

// Add starts one more node, which joins, and waits until it is ready.
func (c *Cluster) Add(tb testing.TB, properties map[string]string) *Node {
	tb.Helper()
	node := c.Layout(tb, len(c.Nodes)+1, properties)
	if err := node.start(); err != nil {
		tb.Fatal(err)
	}
	c.Nodes = append(c.Nodes, node)
	return node
}

// Layout is one more node, with an id, that is not started yet and is none of Nodes.
func (c *Cluster) Layout(tb testing.TB, id int, properties map[string]string) *Node {
	tb.Helper()
	return c.layout(tb, id, loopback(FreePort(tb)), properties)
}

// layout fixes a node's names and ports, and what ends it.
func (c *Cluster) layout(tb testing.TB, id int, gossip string, properties map[string]string) *Node {
	tb.Helper()
	all := maps.Clone(c.properties)
	maps.Copy(all, map[string]string{
		"node.id": fmt.Sprint(id), "seeds": strings.Join(c.seeds, ","), "ringmill.gossip.listen": gossip,
	})
	maps.Copy(all, properties)
	node := layout(tb, Ringmill, Options{Dir: tb.TempDir(), Properties: all, Data: all["ringmill.data.dir"]})
	delete(all, "ringmill.data.dir")
	endWith(tb, node)
	return node
}

// Addresses are those of all nodes, as a client is given them.
func (c *Cluster) Addresses() (all []string) {
	for _, n := range c.Nodes {
		all = append(all, n.Address)
	}
	return all
}

// Restart starts all nodes together that were stopped or killed, and waits until they are ready.
func (c *Cluster) Restart(tb testing.TB) {
	tb.Helper()
	var starts sync.WaitGroup
	errs := make([]error, len(c.Nodes))
	for i, node := range c.Nodes {
		if !node.Alive() {
			starts.Go(func() { errs[i] = node.start() })
		}
	}
	starts.Wait()
	for _, err := range errs {
		if err != nil {
			tb.Fatal(err)
		}
	}
}
