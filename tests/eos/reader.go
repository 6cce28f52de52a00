package eos

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// everything is all partitions of both topics, from their starts.
func (c *client) everything() map[string]map[int32]kgo.Offset {
	all := map[string]map[int32]kgo.Offset{}
	for _, topic := range []string{c.in, c.out} {
		all[topic] = map[int32]kgo.Offset{}
		for partition := range c.partitions {
			all[topic][partition] = kgo.NewOffset().At(0)
		}
	}
	return all
}

// read notes what a reader with isolation read_committed is given, until ctx ends.
func (c *client) read(ctx context.Context) {
	kafka, err := kgo.NewClient(append(c.options(), kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.ConsumePartitions(c.everything()),
		kgo.FetchMaxWait(100*time.Millisecond))...)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	defer kafka.Close()
	for ctx.Err() == nil {
		kafka.PollFetches(ctx).EachPartition(func(p kgo.FetchTopicPartition) {
			if p.Err != nil || len(p.Records) == 0 {
				return
			}
			c.history.add(event{Op: "read", Proc: c.number, Topic: p.Topic, Part: p.Partition,
				Stable: &p.LastStableOffset, High: &p.HighWatermark, Recs: decodeAll(p.Records)})
		})
	}
}
