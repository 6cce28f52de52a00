package load

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/tests/harness"
)

// administrators change topics of their own, each at any node, one operation after the other: what they are answered must have one
// order (I13). No operation is repeated, for it may have had its effect.
const (
	administrators = 2
	adminTopics    = 3
	adminEvery     = 150 * time.Millisecond
	adminProperty  = "max.message.bytes"
	adminPartsMax  = 8
)

// admin is one administrator.
type admin struct {
	*Load
	number  uint32
	random  *rand.Rand
	clients []*kgo.Client // one a node
}

func (l *Load) administer(ctx context.Context, number uint32, seed uint64) {
	a := admin{Load: l, number: number, random: rand.New(rand.NewPCG(seed, uint64(number)))}
	for _, node := range l.nodes {
		client, err := kgo.NewClient(append(node.Seeds(), kgo.RequestTimeoutOverhead(time.Second))...)
		if err != nil {
			panic("BUG: " + err.Error())
		}
		defer client.Close()
		a.clients = append(a.clients, client)
	}
	for ctx.Err() == nil {
		a.operate(ctx)
		pause(ctx, adminEvery)
	}
}

func (l *Load) adminTopic(i int) string { return fmt.Sprintf("%s-admin-%d", l.Topic, i) }

// operate is one operation on one topic at one node.
func (a *admin) operate(ctx context.Context) {
	e := Event{Op: "admin", Proc: a.number, Key: a.adminTopic(a.random.IntN(adminTopics)), Kind: "create"}
	var request kmsg.Request
	switch a.random.IntN(6) {
	case 0, 1:
		request = a.create(&e)
	case 2:
		request = a.delete(&e)
	case 3, 4:
		request = a.grow(&e)
	case 5:
		request = a.alter(&e)
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer stop()
	e.T0 = Now()
	answer, err := a.clients[a.random.IntN(len(a.clients))].SeedBrokers()[0].Request(ctx, request)
	e.T1, e.Res = Now(), "info"
	if err == nil {
		e.Res = adminOutcome(answer)
	}
	a.History.Add(e)
}

func (a *admin) partitions(e *Event) int32 {
	n := 1 + a.random.Int32N(adminPartsMax)
	e.Value = fmt.Sprint(n)
	return n
}

func (a *admin) create(e *Event) kmsg.Request {
	e.Kind = "create"
	request := kmsg.NewPtrCreateTopicsRequest()
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = e.Key, a.partitions(e), a.Options.Replicas
	request.Topics, request.TimeoutMillis = append(request.Topics, topic), 5000
	return request
}

func (a *admin) delete(e *Event) kmsg.Request {
	e.Kind = "delete"
	request := kmsg.NewPtrDeleteTopicsRequest()
	topic := kmsg.NewDeleteTopicsRequestTopic()
	topic.Topic = kmsg.StringPtr(e.Key)
	request.Topics, request.TopicNames, request.TimeoutMillis = append(request.Topics, topic), []string{e.Key}, 5000
	return request
}

func (a *admin) grow(e *Event) kmsg.Request {
	e.Kind = "grow"
	request := kmsg.NewPtrCreatePartitionsRequest()
	topic := kmsg.NewCreatePartitionsRequestTopic()
	topic.Topic, topic.Count = e.Key, a.partitions(e)
	request.Topics, request.TimeoutMillis = append(request.Topics, topic), 5000
	return request
}

func (a *admin) alter(e *Event) kmsg.Request {
	e.Kind, e.Value = "alter", fmt.Sprint(1_000_000+a.random.IntN(1000))
	request := kmsg.NewPtrIncrementalAlterConfigsRequest()
	resource := kmsg.NewIncrementalAlterConfigsRequestResource()
	resource.ResourceType, resource.ResourceName = kmsg.ConfigResourceTypeTopic, e.Key
	config := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
	config.Name, config.Value = adminProperty, kmsg.StringPtr(e.Value)
	resource.Configs = append(resource.Configs, config)
	request.Resources = append(request.Resources, resource)
	return request
}

// adminOutcome is what ringcheck calls an answer; one that tells of no state is unknown.
func adminOutcome(answer kmsg.Response) string {
	var code int16
	switch r := answer.(type) {
	case *kmsg.CreateTopicsResponse:
		code = r.Topics[0].ErrorCode
	case *kmsg.DeleteTopicsResponse:
		code = r.Topics[0].ErrorCode
	case *kmsg.CreatePartitionsResponse:
		code = r.Topics[0].ErrorCode
	case *kmsg.IncrementalAlterConfigsResponse:
		code = r.Resources[0].ErrorCode
	}
	switch code {
	case 0:
		return "ok"
	case kerr.TopicAlreadyExists.Code:
		return "exists"
	case kerr.UnknownTopicOrPartition.Code:
		return "absent"
	case kerr.InvalidPartitions.Code:
		return "refused"
	}
	return "info"
}

// readAdmin notes what each node says of the administrators' topics in the end, when all nodes have heard of everything.
func (l *Load) readAdmin() {
	l.tb.Helper()
	harness.Eventually(l.tb, "all nodes say the same of the administrators' topics", func(context.Context) error {
		for t := range adminTopics {
			topic := l.adminTopic(t)
			first := adminState(l, l.nodes[0], topic)
			for _, node := range l.nodes[1:] {
				if state := adminState(l, node, topic); state != first {
					return fmt.Errorf("%s is %s at %s and %s at %s", topic, first, l.nodes[0].Address, state, node.Address)
				}
			}
		}
		return nil
	})
	for i, node := range l.nodes {
		for t := range adminTopics {
			topic := l.adminTopic(t)
			e := Event{Op: "admin", Proc: administrators + uint32(i), Kind: "read", Key: topic, Res: "ok", T0: Now(), Value: adminState(l, node, topic)}
			e.T1 = Now()
			l.History.Add(e)
		}
	}
}

// adminState is a topic's as ringcheck has it.
func adminState(l *Load, node *harness.Node, topic string) string {
	l.tb.Helper()
	partitions := countPartitions(l, node, topic)
	if partitions == 0 {
		return "absent"
	}
	return fmt.Sprintf("%d/%s", partitions, readProperty(l, node, topic))
}

func countPartitions(l *Load, node *harness.Node, topic string) (count int) {
	l.tb.Helper()
	harness.Eventually(l.tb, "metadata of "+topic, func(ctx context.Context) error {
		metadata, err := Metadata(ctx, node)
		if err != nil {
			return err
		}
		count = 0
		for _, t := range metadata.Topics {
			if *t.Topic == topic {
				count = len(t.Partitions)
			}
		}
		return nil
	})
	return count
}

// readProperty gives adminProperty as it was set, "" if it never was.
func readProperty(l *Load, node *harness.Node, topic string) string {
	l.tb.Helper()
	request := kmsg.NewPtrDescribeConfigsRequest()
	resource := kmsg.NewDescribeConfigsRequestResource()
	resource.ResourceType, resource.ResourceName, resource.ConfigNames = kmsg.ConfigResourceTypeTopic, topic, []string{adminProperty}
	request.Resources = append(request.Resources, resource)
	for _, c := range harness.Ask[*kmsg.DescribeConfigsResponse](l.tb, node, request).Resources[0].Configs {
		if c.Name == adminProperty && c.Source == kmsg.ConfigSourceDynamicTopicConfig {
			return *c.Value
		}
	}
	return ""
}
