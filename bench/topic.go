package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// CreateTopic makes a topic of one replica with the given properties and returns when every partition is served.
func CreateTopic(ctx context.Context, address, name string, partitions int, properties map[string]string) error {
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, int32(partitions), 1
	return withConn(ctx, address, func(c *RawConn) error {
		if err := createTopic(c, topic, properties, createTimeout); err != nil {
			return err
		}
		return awaitPartitions(ctx, c, name, partitions)
	})
}

// CreateAssignedTopic makes a topic whose partition i has replicas[i], of which the first is to lead. It does not wait for them.
func CreateAssignedTopic(ctx context.Context, address, name string, replicas [][]int32, properties map[string]string) error {
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, -1, -1
	for i, nodes := range replicas {
		assigned := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
		assigned.Partition, assigned.Replicas = int32(i), nodes
		topic.ReplicaAssignment = append(topic.ReplicaAssignment, assigned)
	}
	return withConn(ctx, address, func(c *RawConn) error { return createTopic(c, topic, properties, createTimeout) })
}

// createTimeout is how long a node may take to make a topic, unless a run has less patience: one that it has not made by then it does not make any more.
const createTimeout = 10 * time.Second

func createTopic(c *RawConn, topic kmsg.CreateTopicsRequestTopic, properties map[string]string, timeout time.Duration) error {
	for key, value := range properties {
		property := kmsg.NewCreateTopicsRequestTopicConfig()
		property.Name, property.Value = key, kmsg.StringPtr(value)
		topic.Configs = append(topic.Configs, property)
	}
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Version, req.TimeoutMillis, req.Topics = 5, int32(timeout.Milliseconds()), append(req.Topics, topic)
	answer, err := c.Do(req)
	if err != nil {
		return err
	}
	for _, t := range answer.(*kmsg.CreateTopicsResponse).Topics {
		if err := kerr.ErrorForCode(t.ErrorCode); err != nil {
			return fmt.Errorf("bench: create topic %s: %w", topic.Topic, err)
		}
	}
	return nil
}

// DeleteTopic removes a topic.
func DeleteTopic(ctx context.Context, address, name string) error {
	return withConn(ctx, address, func(c *RawConn) error { return deleteTopic(c, name) })
}

func deleteTopic(c *RawConn, name string) error {
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.Version, req.TimeoutMillis, req.TopicNames = 4, 30_000, []string{name}
	answer, err := c.Do(req)
	if err != nil {
		return err
	}
	for _, t := range answer.(*kmsg.DeleteTopicsResponse).Topics {
		if err := kerr.ErrorForCode(t.ErrorCode); err != nil {
			return fmt.Errorf("bench: delete topic %s: %w", name, err)
		}
	}
	return nil
}

// Ready tells whether a client can work with the node: it names a broker and, if topic is not empty, each of the topic's
// partitions tells its end.
func Ready(ctx context.Context, address, topic string, partitions int) bool {
	ready := false
	err := withConn(ctx, address, func(c *RawConn) (err error) {
		if ready, err = brokersKnown(c); ready && topic != "" {
			ready, err = partitionsServed(c, topic, firstPartitions(partitions))
		}
		return err
	})
	return err == nil && ready
}

// Serves tells whether a node of a cluster leads all of these partitions and gives their ends.
func Serves(ctx context.Context, address, topic string, partitions []int32) bool {
	served := false
	err := withConn(ctx, address, func(c *RawConn) (err error) {
		served, err = partitionsServed(c, topic, partitions)
		return err
	})
	return err == nil && served
}

func withConn(ctx context.Context, address string, use func(*RawConn) error) error {
	c, err := DialRaw(ctx, address)
	if err != nil {
		return err
	}
	defer c.Close()
	return use(c)
}

func awaitPartitions(ctx context.Context, c *RawConn, name string, partitions int) error {
	for {
		served, err := partitionsServed(c, name, firstPartitions(partitions))
		if err != nil || served {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// firstPartitions are the numbers from 0 on.
func firstPartitions(n int) []int32 {
	all := make([]int32, n)
	for i := range all {
		all[i] = int32(i)
	}
	return all
}

// partitionsServed asks each partition for its end. Metadata would not do: Kafka names leaders there before they lead.
func partitionsServed(c *RawConn, name string, partitions []int32) (bool, error) {
	topic := kmsg.NewListOffsetsRequestTopic()
	topic.Topic = name
	for _, i := range partitions {
		part := kmsg.NewListOffsetsRequestTopicPartition()
		part.Partition, part.Timestamp = i, -1
		topic.Partitions = append(topic.Partitions, part)
	}
	req := kmsg.NewPtrListOffsetsRequest()
	req.Version, req.Topics = 4, append(req.Topics, topic)
	answer, err := c.Do(req)
	if err != nil {
		return false, err
	}
	served := 0
	for _, t := range answer.(*kmsg.ListOffsetsResponse).Topics {
		for _, p := range t.Partitions {
			if p.ErrorCode == 0 && p.Offset >= 0 {
				served++
			}
		}
	}
	return served == len(partitions), nil
}

// brokersKnown asks for the brokers and no topic.
func brokersKnown(c *RawConn) (bool, error) {
	answer, err := Metadata(c)
	return err == nil && len(answer.Brokers) > 0, err
}
