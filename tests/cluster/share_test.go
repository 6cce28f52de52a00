package cluster

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/tests/harness"
)

// TestShareGroupOfManyNodes: Kafka's share consumer reads partitions that all nodes lead, whose states the share coordinators of all
// nodes keep: each record once, and what comes later when it comes.
func TestShareGroupOfManyNodes(t *testing.T) {
	t.Parallel()
	c := harness.StartCluster(t, 3, nil)
	topic, group := createTopic(t, c.Nodes[0], 6, 3), harness.Name("share")
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	earliest := "earliest"
	req.Resources = []kmsg.IncrementalAlterConfigsRequestResource{{
		ResourceType: kmsg.ConfigResourceTypeGroupConfig, ResourceName: group,
		Configs: []kmsg.IncrementalAlterConfigsRequestResourceConfig{{Name: "share.auto.offset.reset", Value: &earliest}},
	}}
	if res := harness.Ask[*kmsg.IncrementalAlterConfigsResponse](t, c.Nodes[0], req); res.Resources[0].ErrorCode != 0 {
		t.Fatalf("configuration of group %s: %+v", group, res)
	}
	producer := c.Client(t, kgo.DefaultProduceTopic(topic), kgo.RecordPartitioner(kgo.RoundRobinPartitioner()))
	for _, prefix := range []string{"a", "b"} {
		want := harness.Numbered(prefix, 300)
		for _, v := range want {
			producer.Produce(context.Background(), kgo.StringRecord(v), func(_ *kgo.Record, err error) {
				if err != nil {
					t.Error(err)
				}
			})
		}
		if err := producer.Flush(harness.Context(t)); err != nil {
			t.Fatal(err)
		}
		out, said, err := harness.Command{Timeout: harness.Patience, Argv: harness.Java(t, "org.apache.kafka.tools.consumer.ConsoleShareConsumer",
			"--bootstrap-server", strings.Join(c.Addresses(), ","), "--topic", topic, "--group", group, "--max-messages", "300", "--timeout-ms", "60000")}.Try()
		got := strings.Fields(out)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%d records were read, %d different ones, want %d: %v %s", len(got), len(slices.Compact(got)), len(want), err, said)
		}
	}
}
