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
	return withConn(ctx, address, func(c *RawConn) error {
		topic := kmsg.NewCreateTopicsRequestTopic()
		topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, int32(partitions), 1
		for key, value := range properties {
			property := kmsg.NewCreateTopicsRequestTopicConfig()
			property.Name, property.Value = key, kmsg.StringPtr(value)
			topic.Configs = append(topic.Configs, property)
		}
		req := kmsg.NewPtrCreateTopicsRequest()
		req.Version, req.TimeoutMillis, req.Topics = 5, 30_000, append(req.Topics, topic)
		answer, err := c.Do(req)
		if err != nil {
			return err
		}
		for _, t := range answer.(*kmsg.CreateTopicsResponse).Topics {
			if err := kerr.ErrorForCode(t.ErrorCode); err != nil {
				return fmt.Errorf("bench: create topic %s: %w", name, err)
			}
		}
		return awaitPartitions(ctx, c, name, partitions)
	})
}

// DeleteTopic removes a topic.
func DeleteTopic(ctx context.Context, address, name string) error {
	return withConn(ctx, address, func(c *RawConn) error {
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
	})
}

// Ready tells whether a client can work with the node: it names a broker and, if topic is not empty, each of the topic's
// partitions tells its end.
func Ready(ctx context.Context, address, topic string, partitions int) bool {
	ready := false
	err := withConn(ctx, address, func(c *RawConn) (err error) {
		if ready, err = brokersKnown(c); ready && topic != "" {
			ready, err = partitionsServed(c, topic, partitions)
		}
		return err
	})
	return err == nil && ready
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
		served, err := partitionsServed(c, name, partitions)
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

// partitionsServed asks each partition for its end. Metadata would not do: Kafka names leaders there before they lead.
func partitionsServed(c *RawConn, name string, partitions int) (bool, error) {
	topic := kmsg.NewListOffsetsRequestTopic()
	topic.Topic = name
	for i := range partitions {
		part := kmsg.NewListOffsetsRequestTopicPartition()
		part.Partition, part.Timestamp = int32(i), -1
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
	return served == partitions, nil
}

// brokersKnown asks for the brokers and no topic.
func brokersKnown(c *RawConn) (bool, error) {
	req := kmsg.NewPtrMetadataRequest()
	req.Version, req.Topics = 7, []kmsg.MetadataRequestTopic{}
	answer, err := c.Do(req)
	if err != nil {
		return false, err
	}
	return len(answer.(*kmsg.MetadataResponse).Brokers) > 0, nil
}
