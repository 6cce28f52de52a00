package load

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/tests/harness"
)

// watchEvery is how often a node is asked what it leads and up to where it is safe.
const watchEvery = 200 * time.Millisecond

// reign is a partition's leader epoch.
type reign struct{ partition, epoch int32 }

// watcher asks one node again and again who leads, and, where it leads itself, up to which offset records are safe.
type watcher struct {
	*Load
	client *kgo.Client
	id     int32
	seen   map[reign]int32 // leaders that this node has named
}

func (l *Load) watch(ctx context.Context, node *harness.Node, id int32) {
	client, err := kgo.NewClient(append(node.Seeds(), kgo.RequestRetries(0), kgo.RetryTimeout(time.Second))...)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	defer client.Close()
	w := watcher{Load: l, client: client, id: id, seen: map[reign]int32{}}
	for ctx.Err() == nil {
		w.look(ctx)
		pause(ctx, watchEvery)
	}
}

// ask is one request to this node and no other; nil where it does not answer.
func (w *watcher) ask(ctx context.Context, request kmsg.Request) kmsg.Response {
	ctx, stop := context.WithTimeout(ctx, 3*time.Second)
	defer stop()
	answer, err := w.client.SeedBrokers()[0].Request(ctx, request)
	if err != nil {
		return nil
	}
	return answer
}

func (w *watcher) look(ctx context.Context) {
	request := kmsg.NewPtrMetadataRequest()
	topic := kmsg.NewMetadataRequestTopic()
	topic.Topic = kmsg.StringPtr(w.Topic)
	request.Topics = append(request.Topics, topic)
	metadata, ok := w.ask(ctx, request).(*kmsg.MetadataResponse)
	if !ok || len(metadata.Topics) != 1 {
		return
	}
	var led []kmsg.ListOffsetsRequestTopicPartition
	for _, p := range metadata.Topics[0].Partitions {
		if p.Leader < 0 {
			continue
		}
		w.noteLeader(reign{p.Partition, p.LeaderEpoch}, p.Leader)
		if p.Leader == w.id {
			ask := kmsg.NewListOffsetsRequestTopicPartition()
			ask.Partition, ask.CurrentLeaderEpoch, ask.Timestamp = p.Partition, p.LeaderEpoch, -1
			led = append(led, ask)
		}
	}
	if len(led) > 0 {
		w.noteMarks(ctx, led)
	}
}

func (w *watcher) noteLeader(r reign, leader int32) {
	if known, ok := w.seen[r]; ok && known == leader {
		return
	}
	w.seen[r] = leader
	w.History.Add(Event{Op: "leader", T1: Now(), Topic: w.Topic, Part: r.partition, Epoch: r.epoch, Node: leader})
}

// noteMarks asks for the ends of partitions in the epochs in which the node leads them: an answer without an error is one of the
// leader of just that epoch.
func (w *watcher) noteMarks(ctx context.Context, led []kmsg.ListOffsetsRequestTopicPartition) {
	request := kmsg.NewPtrListOffsetsRequest()
	request.ReplicaID = -1
	topic := kmsg.NewListOffsetsRequestTopic()
	topic.Topic, topic.Partitions = w.Topic, led
	request.Topics = append(request.Topics, topic)
	asked := Now()
	answer, ok := w.ask(ctx, request).(*kmsg.ListOffsetsResponse)
	if !ok || len(answer.Topics) != 1 {
		return
	}
	answered := Now()
	for _, p := range answer.Topics[0].Partitions {
		for _, ask := range led {
			if ask.Partition == p.Partition && p.ErrorCode == 0 {
				w.History.Add(Event{Op: "mark", T0: asked, T1: answered, Topic: w.Topic, Part: p.Partition, Node: w.id,
					Epoch: ask.CurrentLeaderEpoch, High: p.Offset})
			}
		}
	}
}
