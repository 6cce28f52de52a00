package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/bench"
)

// clusterNodes is how many nodes a cluster has here; node i of them has the id i+1.
const clusterNodes = 3

// clusterWait bounds every wait for a cluster: Kafka's 30,000 replicas take a minute to be recovered.
const clusterWait = 10 * time.Minute

// cluster is three servers that are one.
type cluster struct {
	name  string
	nodes []*server
	// policy gives the topic properties of a durability.
	policy map[durability]map[string]string
}

// newClusters lays out both, with the settings that they ship with but for addresses, directories, and replication.
func newClusters(dir string, o options) (ringmill, kafka *cluster, err error) {
	ports, err := freePorts(4 * clusterNodes)
	if err != nil {
		return nil, nil, err
	}
	return newRingmillCluster(dir, o.ringmill, ports[clusterNodes:]), newKafkaCluster(dir, o.kafka, ports[:clusterNodes]), nil
}

func newRingmillCluster(dir, binary string, ports []int) *cluster {
	c := &cluster{name: "ringmill", policy: durabilities}
	for i := range clusterNodes {
		listen, http, gossip := ports[i], ports[clusterNodes+i], ports[2*clusterNodes+i]
		node := &server{
			name: fmt.Sprintf("ringmill %d", i+1), id: int32(i + 1), address: loopback(listen), log: filepath.Join(dir, fmt.Sprintf("ringmill-%d.log", i+1)),
			argv: []string{binary, "serve", "--listen", loopback(listen), "--data", filepath.Join(dir, fmt.Sprintf("ringmill-%d", i+1)),
				"--set", "node.id=" + strconv.Itoa(i+1), "--set", "ringmill.bootstrap.expect=" + strconv.Itoa(clusterNodes),
				"--set", "ringmill.http.listen=" + loopback(http), "--set", "ringmill.gossip.listen=" + loopback(gossip),
				"--set", "min.insync.replicas=2", "--set", "log.segment.delete.delay.ms=0"},
		}
		for j := range clusterNodes {
			node.argv = append(node.argv, "--join", loopback(ports[2*clusterNodes+j]))
		}
		c.nodes = append(c.nodes, node)
	}
	return c
}

func newKafkaCluster(dir, script string, ports []int) *cluster {
	c := &cluster{name: "kafka", policy: kafkaDurabilities}
	listeners := strings.Trim(fmt.Sprint(ports), "[]")
	for i, port := range ports {
		c.nodes = append(c.nodes, &server{
			name: fmt.Sprintf("kafka %d", i+1), id: int32(i + 1), address: loopback(port), log: filepath.Join(dir, fmt.Sprintf("kafka-%d.log", i+1)),
			argv: []string{script},
			env: []string{"PORTS=" + listeners, "NODES=" + strconv.Itoa(clusterNodes), "NODE=" + strconv.Itoa(i+1), "FOREGROUND=1",
				"NAME=" + fmt.Sprintf("kafka-%d", i+1), "CLUSTER_ID=compare-compare-compAA", "HEAP=1g", "KAFKA_DATA=" + dir,
				"EXTRA=num.network.threads=3 num.io.threads=8 min.insync.replicas=2 log.segment.delete.delay.ms=0"},
		})
	}
	return c
}

// start runs all nodes and returns when each knows of all.
func (c *cluster) start(ctx context.Context) error {
	for _, n := range c.nodes {
		if err := n.launch(); err != nil {
			return err
		}
	}
	return c.await(ctx, "its nodes know each other", func(at *bench.RawConn) (bool, error) {
		answer, err := bench.Metadata(at)
		return err == nil && len(answer.Brokers) == clusterNodes, err
	})
}

func (c *cluster) stop(sig syscall.Signal) {
	for _, n := range c.nodes {
		if n.cmd != nil {
			_ = n.cmd.Process.Signal(sig) // it may have ended by itself
		}
	}
	for _, n := range c.nodes {
		n.stop(sig)
	}
}

func (c *cluster) addresses() (all []string) {
	for _, n := range c.nodes {
		all = append(all, n.address)
	}
	return all
}

func (c *cluster) pids() (all []int) {
	for _, n := range c.nodes {
		all = append(all, n.pid())
	}
	return all
}

// await waits until is holds at every node that runs. Errors are as good as no: nodes come and go here.
func (c *cluster) await(ctx context.Context, what string, is func(*bench.RawConn) (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, clusterWait)
	defer cancel()
	for _, n := range c.nodes {
		for n.cmd != nil {
			holds, err := n.ask(ctx, is)
			if holds && err == nil {
				break
			}
			if ctx.Err() != nil {
				return fmt.Errorf("%s never came to where %s (last: %w); its output is in %s", n.name, what, err, n.log)
			}
			time.Sleep(2 * time.Millisecond)
		}
	}
	return nil
}

// ask runs a question on a connection of its own.
func (s *server) ask(ctx context.Context, question func(*bench.RawConn) (bool, error)) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	conn, err := bench.DialRaw(ctx, s.address)
	if err != nil {
		return false, err
	}
	defer conn.Close()
	return question(conn)
}

// awaitInSync waits until every node knows that all replicas of the topic's partitions are in sync.
func (c *cluster) awaitInSync(ctx context.Context, topic string) error {
	return c.await(ctx, "all replicas of "+topic+" are in sync", func(at *bench.RawConn) (bool, error) {
		answer, err := bench.Metadata(at, topic)
		if err != nil {
			return false, err
		}
		return !slices.ContainsFunc(answer.Topics[0].Partitions, func(p kmsg.MetadataResponseTopicPartition) bool {
			return p.Leader < 0 || len(p.ISR) != len(p.Replicas)
		}), nil
	})
}

// create makes a topic whose replicas are on all nodes, and waits until all are in sync and served by who is to lead them.
func (c *cluster) create(ctx context.Context, topic string, partitions int, leads func(partition int) int32, properties map[string]string) error {
	replicas := make([][]int32, partitions)
	led := make([][]int32, clusterNodes)
	for i := range replicas {
		for n := range int32(clusterNodes) {
			replicas[i] = append(replicas[i], (leads(i)-1+n)%clusterNodes+1)
		}
		led[leads(i)-1] = append(led[leads(i)-1], int32(i))
	}
	if err := bench.CreateAssignedTopic(ctx, c.nodes[0].address, topic, replicas, properties); err != nil {
		return err
	}
	if err := c.awaitInSync(ctx, topic); err != nil {
		return err
	}
	for i, node := range c.nodes {
		for !bench.Serves(ctx, node.address, topic, led[i]) {
			if err := pause(ctx, 2*time.Millisecond); err != nil {
				return fmt.Errorf("%s does not serve %s: %w", node.name, topic, err)
			}
		}
	}
	return nil
}

// firstLeads makes node 1 the leader of all partitions, each leads in turn.
func firstLeads(int) int32          { return 1 }
func eachLeads(partition int) int32 { return int32(partition%clusterNodes) + 1 }

// measureClusters runs what is asked for of clusters of three.
func measureClusters(ctx context.Context, o options, t *table, progress io.Writer) error {
	for _, m := range []struct {
		title   string
		measure func(ctx context.Context, o options, title string, pair []*cluster, t *table, progress io.Writer) error
	}{
		{"cluster: the leader is killed", measureKills},
		{"cluster: the leader is stopped", measureStops},
		{"cluster: replication factor 3", measureReplicated},
		{"cluster: a follower comes back with 1 GB behind", measureRejoin},
		{fmt.Sprintf("cluster: the controller of %d partitions is killed", o.partitions), measureControllerKills},
	} {
		if !o.only.MatchString(m.title) {
			continue
		}
		if err := measureCluster(ctx, o, m.title, t, progress, m.measure); err != nil {
			return fmt.Errorf("%s: %w", m.title, err)
		}
	}
	return nil
}

// measureCluster gives a measurement two fresh clusters that both run.
func measureCluster(ctx context.Context, o options, title string, t *table, progress io.Writer,
	measure func(context.Context, options, string, []*cluster, *table, io.Writer) error) error {
	dir, err := os.MkdirTemp(o.dir, "cluster-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	ringmill, kafka, err := newClusters(dir, o)
	if err != nil {
		return err
	}
	pair := []*cluster{ringmill, kafka}
	for _, c := range pair {
		defer c.stop(syscall.SIGKILL)
		if err := c.start(ctx); err != nil {
			return err
		}
	}
	fmt.Fprintf(progress, "%s: both clusters run\n", title)
	return measure(ctx, o, title, pair, t, progress)
}
