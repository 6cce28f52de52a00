package harness

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Cluster is several nodes of one kind that form one cluster: node i of Nodes has the id i+1.
type Cluster struct {
	Peer  Peer
	Nodes []*Node

	properties map[string]string
	seeds      []string // ringmill's gossip addresses
	kafka      []string // what every node of Apache Kafka is told: kafka-up.sh
}

// clusterDefaults keep the internal topics small, and let nodes with the harness's ports gossip.
var clusterDefaults = map[string]string{
	"ringmill.loops":                               "1",
	"ringmill.journal.bytes":                       "4194304",
	"transaction.state.log.num.partitions":         "6",
	"share.coordinator.state.topic.num.partitions": "6",
	"broker.rack":                                  "",
}

// StartCluster starts n fresh ringmill nodes that begin a cluster, for the length of the test, and waits until all are ready. properties
// are every node's, over the defaults; {id} in a value is the node's.
func StartCluster(tb testing.TB, n int, properties map[string]string) *Cluster {
	tb.Helper()
	return StartClusterAt(tb, make([]Place, n), properties)
}

// StartClusterAt is StartCluster with a node at each of some places.
func StartClusterAt(tb testing.TB, places []Place, properties map[string]string) *Cluster {
	tb.Helper()
	if _, err := builtBinary(); err != nil {
		tb.Fatal(err)
	}
	c := &Cluster{Peer: Ringmill, properties: maps.Clone(clusterDefaults)}
	maps.Copy(c.properties, properties)
	c.properties["ringmill.bootstrap.expect"] = fmt.Sprint(len(places))
	for _, place := range places {
		c.seeds = append(c.seeds, place.at(FreePort(tb)))
	}
	for i, place := range places {
		c.Nodes = append(c.Nodes, c.layout(tb, i+1, c.seeds[i], place, nil))
	}
	c.Restart(tb)
	return c
}

// StartClusterOf starts a cluster that begins with a ringmill node that has run alone, with node.id 1, and does not run any more.
func StartClusterOf(tb testing.TB, alone *Node, properties map[string]string) *Cluster {
	tb.Helper()
	c := LayoutClusterOf(tb, alone, properties)
	c.Restart(tb)
	return c
}

// LayoutClusterOf is StartClusterOf where nothing is started yet.
func LayoutClusterOf(tb testing.TB, alone *Node, properties map[string]string) *Cluster {
	tb.Helper()
	c := &Cluster{Peer: Ringmill, properties: maps.Clone(clusterDefaults), seeds: []string{Place{}.at(FreePort(tb))}}
	maps.Copy(c.properties, properties)
	begin := map[string]string{"ringmill.data.dir": alone.DataDir(), "seeds": "", "ringmill.bootstrap.alone": "begin"}
	c.Nodes = []*Node{c.layout(tb, 1, c.seeds[0], Place{}, begin)}
	return c
}

// StartKafkaCluster is StartCluster with Apache Kafka, whose voters can be changed.
func StartKafkaCluster(tb testing.TB, n int, properties map[string]string) *Cluster {
	tb.Helper()
	Jars(tb)
	id := make([]byte, 16)
	binary.BigEndian.PutUint64(id, rand.Uint64()>>1) // an id that begins with a dash would be an option to Kafka's tools
	ports := make([]string, n)
	for i := range ports {
		ports[i] = fmt.Sprint(FreePort(tb))
	}
	c := &Cluster{Peer: Kafka, properties: properties, kafka: []string{
		fmt.Sprint("NODES=", n), "DYNAMIC=1", "PORTS=" + strings.Join(ports, " "), "CLUSTER_ID=" + base64.RawURLEncoding.EncodeToString(id),
	}}
	for i, port := range ports {
		c.Nodes = append(c.Nodes, c.layoutKafka(tb, i+1, port, nil))
	}
	c.Restart(tb)
	return c
}

// StartChosenCluster is StartCluster with the servers of the run's choice.
func StartChosenCluster(tb testing.TB, n int, properties map[string]string) *Cluster {
	tb.Helper()
	switch ChosenPeer() {
	case Kafka:
		return StartKafkaCluster(tb, n, properties)
	case External:
		tb.Skip("needs a cluster of its own; RINGMILL_TEST_PEER names a node that runs already")
	}
	return StartCluster(tb, n, properties)
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
	if c.Peer == Kafka {
		return c.layoutKafka(tb, id, fmt.Sprint(FreePort(tb)), properties)
	}
	return c.LayoutAt(tb, id, Place{}, properties)
}

// LayoutAt is Layout of a ringmill node at a place.
func (c *Cluster) LayoutAt(tb testing.TB, id int, place Place, properties map[string]string) *Node {
	tb.Helper()
	return c.layout(tb, id, place.at(FreePort(tb)), place, properties)
}

// layout fixes a node's names and ports, and what ends it.
func (c *Cluster) layout(tb testing.TB, id int, gossip string, place Place, properties map[string]string) *Node {
	tb.Helper()
	all := maps.Clone(c.properties)
	maps.Copy(all, map[string]string{
		"node.id": fmt.Sprint(id), "seeds": strings.Join(c.seeds, ","), "ringmill.gossip.listen": gossip,
	})
	maps.Copy(all, properties)
	setID(all, id)
	node := layout(tb, Ringmill, Options{Dir: tb.TempDir(), Properties: all, Data: cmp.Or(all["ringmill.data.dir"], place.Data), Place: place})
	delete(all, "ringmill.data.dir")
	endWith(tb, node)
	return node
}

// layoutKafka is layout for Apache Kafka: kafka-up.sh writes the rest of its properties.
func (c *Cluster) layoutKafka(tb testing.TB, id int, port string, properties map[string]string) *Node {
	tb.Helper()
	// A broker that no controller has registered within this ends with status 1. Its default, a minute, is too little for three that start
	// together on a machine with other work.
	all := map[string]string{"initial.broker.registration.timeout.ms": fmt.Sprint(Patience.Milliseconds())}
	maps.Copy(all, c.properties)
	maps.Copy(all, properties)
	setID(all, id)
	number, err := strconv.Atoi(port)
	if err != nil {
		tb.Fatal(err)
	}
	// kafka-up.sh counts PORT on from the first node for what PORTS does not name
	env := append(slices.Clone(c.kafka), fmt.Sprint("NODE=", id), fmt.Sprint("PORT=", number-10*(id-1)))
	node := layout(tb, Kafka, Options{Dir: tb.TempDir(), Port: number, Properties: all, Env: env})
	node.LogDir = filepath.Join(node.Dir, "kafka", fmt.Sprint("log", id))
	node.ConfigFile = filepath.Join(node.Dir, "kafka", fmt.Sprintf("node%d.properties", id))
	endWith(tb, node)
	return node
}

// setID puts a node's id where its properties want it.
func setID(properties map[string]string, id int) {
	for name, value := range properties {
		properties[name] = strings.ReplaceAll(value, "{id}", fmt.Sprint(id))
	}
}

// Addresses are those of all nodes, as a client is given them.
func (c *Cluster) Addresses() (all []string) {
	for _, n := range c.Nodes {
		all = append(all, n.Address)
	}
	return all
}

// Client is a franz-go client of all nodes, closed with the test.
func (c *Cluster) Client(tb testing.TB, options ...kgo.Opt) *kgo.Client {
	tb.Helper()
	return c.Nodes[0].Client(tb, append([]kgo.Opt{kgo.SeedBrokers(c.Addresses()...)}, options...)...)
}

// Restart starts all nodes together that were stopped or killed, and waits until they are ready.
func (c *Cluster) Restart(tb testing.TB) {
	tb.Helper()
	c.together(tb, func(n *Node) error {
		if n.Alive() {
			return nil
		}
		return n.start()
	})
}

// Stop stops all nodes together, as Node.Stop does one.
func (c *Cluster) Stop(tb testing.TB) {
	tb.Helper()
	c.together(tb, (*Node).stop)
}

// together does something with each node, all at once, and waits for the end of it.
func (c *Cluster) together(tb testing.TB, do func(*Node) error) {
	tb.Helper()
	var all sync.WaitGroup
	errs := make([]error, len(c.Nodes))
	for i, node := range c.Nodes {
		all.Go(func() { errs[i] = do(node) })
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		tb.Fatal(err)
	}
}
