package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// CreateTopic makes a topic of one replica with the given properties and returns when every partition has a leader.
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
		return awaitLeaders(ctx, c, name, partitions)
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

// Ready tells whether the node answers a Metadata request with a broker and, if topic is not empty, a leader for each of
// its partitions: the moment from which a client can work.
func Ready(ctx context.Context, address, topic string, partitions int) bool {
	ready := false
	err := withConn(ctx, address, func(c *RawConn) (err error) {
		ready, err = leadersKnown(c, topic, partitions)
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

func awaitLeaders(ctx context.Context, c *RawConn, name string, partitions int) error {
	for {
		known, err := leadersKnown(c, name, partitions)
		if err != nil || known {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func leadersKnown(c *RawConn, name string, partitions int) (bool, error) {
	req := kmsg.NewPtrMetadataRequest()
	req.Version, req.Topics = 7, []kmsg.MetadataRequestTopic{}
	if name != "" {
		topic := kmsg.NewMetadataRequestTopic()
		topic.Topic = kmsg.StringPtr(name)
		req.Topics = append(req.Topics, topic)
	}
	answer, err := c.Do(req)
	if err != nil {
		return false, err
	}
	metadata := answer.(*kmsg.MetadataResponse)
	if name == "" {
		return len(metadata.Brokers) > 0, nil
	}
	led := 0
	for _, t := range metadata.Topics {
		for _, p := range t.Partitions {
			if p.ErrorCode == 0 && p.Leader >= 0 {
				led++
			}
		}
	}
	return led == partitions, nil
}
