package main

import (
	"context"
	"fmt"
	"io"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/bench"
	"github.com/ringmill/ringmill/control/image"
)

// measureKills times how long nobody acknowledges after kill -9 of the partition's leader, o.kills times on each.
func measureKills(ctx context.Context, o options, title string, pair []*cluster, t *table, progress io.Writer) error {
	return measureEndings(ctx, o, title, pair, t, progress, syscall.SIGKILL)
}

// measureStops is the same of a clean stop.
func measureStops(ctx context.Context, o options, title string, pair []*cluster, t *table, progress io.Writer) error {
	return measureEndings(ctx, o, title, pair, t, progress, syscall.SIGTERM)
}

func measureEndings(ctx context.Context, o options, title string, pair []*cluster, t *table, progress io.Writer, sig syscall.Signal) error {
	const topic = "endings"
	for _, c := range pair {
		if err := c.create(ctx, topic, 1, firstLeads, nil); err != nil {
			return err
		}
	}
	gaps := map[string]bench.Sample{}
	for round := range o.kills {
		for _, c := range turned(pair, round) {
			gap, stopped, err := c.end(ctx, topic, sig)
			if err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			gaps[c.name] = append(gaps[c.name], ms(gap))
			t.note(title, c.name, []figure{{"longest time without an acknowledgement", "ms", ms(gap), false},
				{"until the process has ended", "ms", ms(stopped), false}})
		}
		fmt.Fprintf(progress, "%s: %d of %d\n", title, round+1, o.kills)
	}
	for _, c := range pair {
		t.note(title, c.name, []figure{{"the same, p99", "ms", gaps[c.name].Quantile(0.99), false}})
	}
	return nil
}

// end ends the leader under a producer, and starts it again until all is as before.
func (c *cluster) end(ctx context.Context, topic string, sig syscall.Signal) (gap, stopped time.Duration, err error) {
	var ended *server
	gap, err = bench.Outage(ctx, c.addresses(), topic, func(leader int32) error {
		ended = c.nodes[leader-1]
		began := bench.Now()
		ended.stop(sig)
		stopped = bench.Now().Sub(began)
		return nil
	})
	if err != nil {
		return 0, 0, err
	}
	if err := ended.launch(); err != nil {
		return 0, 0, err
	}
	return gap, stopped, c.awaitInSync(ctx, topic)
}

// controllerTopic is made to see that a controller works.
const controllerTopic = "controller"

// measureControllerKills kills the controller, which leads a third of the partitions too, and times until another makes a topic, and
// until none of the partitions is led by the killed node any more.
func measureControllerKills(ctx context.Context, o options, title string, pair []*cluster, t *table, progress io.Writer) error {
	topics := scaleTopics(o.partitions)
	for _, c := range pair {
		began := bench.Now()
		for topic, n := range topics {
			if err := c.create(ctx, topic, n, eachLeads, nil); err != nil {
				return err
			}
		}
		t.note(title, c.name, []figure{{"making them", "s", bench.Now().Sub(began).Seconds(), false}})
		fmt.Fprintf(progress, "%s has %d partitions\n", c.name, o.partitions)
	}
	for round := range o.pairs {
		for _, c := range turned(pair, round) {
			if err := c.killController(ctx, title, topics, round, t); err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
		}
		fmt.Fprintf(progress, "%s: %d of %d\n", title, round+1, o.pairs)
	}
	return nil
}

func (c *cluster) killController(ctx context.Context, title string, topics map[string]int, round int, t *table) error {
	killed, err := c.controller(ctx)
	if err != nil {
		return err
	}
	c.nodes[killed-1].stop(syscall.SIGKILL)
	began := bench.Now()
	if err := c.createSomehow(ctx, fmt.Sprintf("%s-%d", controllerTopic, round)); err != nil {
		return err
	}
	works := bench.Now().Sub(began)
	for topic := range topics {
		if err := c.await(ctx, "others lead "+topic, func(at *bench.RawConn) (bool, error) { return ledByOthers(at, topic, killed) }); err != nil {
			return err
		}
	}
	led := bench.Now().Sub(began)
	if err := c.nodes[killed-1].launch(); err != nil {
		return err
	}
	for topic := range topics {
		if err := c.awaitInSync(ctx, topic); err != nil {
			return err
		}
	}
	t.note(title, c.name, []figure{
		{"until another makes a topic", "s", works.Seconds(), false},
		{"until every partition has another leader", "s", led.Seconds(), false},
		{"until the killed node is in sync again", "s", bench.Now().Sub(began).Seconds(), false},
	})
	return nil
}

// createSomehow makes a topic at whichever node that runs, as soon as one can.
func (c *cluster) createSomehow(ctx context.Context, topic string) error {
	ctx, cancel := context.WithTimeout(ctx, clusterWait)
	defer cancel()
	for {
		for _, n := range c.nodes {
			if n.cmd == nil {
				continue
			}
			err := bench.CreateAssignedTopic(ctx, n.address, topic, [][]int32{{n.id}}, nil)
			if err == nil || ctx.Err() != nil {
				return err
			}
		}
		time.Sleep(2 * time.Millisecond)
	}
}

func ledByOthers(at *bench.RawConn, topic string, killed int32) (bool, error) {
	answer, err := bench.Metadata(at, topic)
	if err != nil {
		return false, err
	}
	for _, p := range answer.Topics[0].Partitions {
		if p.Leader < 0 || p.Leader == killed {
			return false, nil
		}
	}
	return true, nil
}

// controller is the quorum's leader: who Metadata calls so is any broker with Kafka, since requests are forwarded.
func (c *cluster) controller(ctx context.Context) (id int32, err error) {
	err = c.await(ctx, "the quorum has a leader", func(at *bench.RawConn) (bool, error) {
		topic, partition := kmsg.NewDescribeQuorumRequestTopic(), kmsg.NewDescribeQuorumRequestTopicPartition()
		topic.Topic, topic.Partitions = image.ClusterMetadataTopic, append(topic.Partitions, partition)
		req := kmsg.NewPtrDescribeQuorumRequest()
		req.Topics = append(req.Topics, topic)
		answer, err := at.Do(req)
		if err != nil {
			return false, err
		}
		for _, t := range answer.(*kmsg.DescribeQuorumResponse).Topics {
			for _, p := range t.Partitions {
				id = p.LeaderID
			}
		}
		return id > 0, nil
	})
	return id, err
}
