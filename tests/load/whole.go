package load

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/tests/harness"
)

// AwaitWhole returns when every node says that every partition of every topic has a leader and all its replicas in sync.
func AwaitWhole(tb testing.TB, nodes []*harness.Node) {
	tb.Helper()
	for _, node := range nodes {
		harness.Eventually(tb, node.Address+" calls the cluster whole", func(ctx context.Context) error {
			metadata, err := Metadata(ctx, node)
			if err != nil {
				return err
			}
			return whole(metadata, len(nodes))
		})
	}
}

// Metadata is what one node says of all topics. A node that does not answer within seconds is an error.
func Metadata(ctx context.Context, node *harness.Node) (*kmsg.MetadataResponse, error) {
	client, err := kgo.NewClient(append(node.Seeds(), kgo.RequestRetries(0))...)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	ctx, stop := context.WithTimeout(ctx, 3*time.Second)
	defer stop()
	request := kmsg.NewPtrMetadataRequest()
	request.Topics = nil // all
	answer, err := client.SeedBrokers()[0].Request(ctx, request)
	if err != nil {
		return nil, err
	}
	return answer.(*kmsg.MetadataResponse), nil
}

func whole(metadata *kmsg.MetadataResponse, nodes int) error {
	if len(metadata.Brokers) != nodes {
		return fmt.Errorf("%d nodes of %d are in service", len(metadata.Brokers), nodes)
	}
	if metadata.ControllerID < 0 {
		return fmt.Errorf("no controller")
	}
	for _, topic := range metadata.Topics {
		for _, p := range topic.Partitions {
			if p.Leader < 0 || len(p.ISR) != len(p.Replicas) {
				return fmt.Errorf("%s-%d: leader %d, in sync %v of %v", *topic.Topic, p.Partition, p.Leader, p.ISR, p.Replicas)
			}
		}
	}
	return nil
}
