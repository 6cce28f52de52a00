package group

import (
	"slices"

	"github.com/ringmill/ringmill/control/group/assignor"
	"github.com/ringmill/ringmill/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A share group's partitions have a state each, where reading begins and what is delivered to whom, which share
// coordinators keep. The group has it made before a partition is assigned for the first time, and deletes it.

// shareTopics says how far the state of a group's partitions is: the record with key 15.
type shareTopics struct {
	initializing assignor.Assignment
	initialized  assignor.Assignment // what may be assigned; a partition whose offset is altered is in both
	deleting     []wire.TopicID      // in order
	names        map[wire.TopicID]string
	askedMS      map[wire.TopicID]int64 // of initializing: when it was last asked for; absent after a restart
	written      bool                   // there is a record
}

// initializeRetryMS is how long an initialization may take before it is asked for again: twice the default of
// offsets.commit.timeout.ms, as in Kafka.
const initializeRetryMS = 10_000

// begin notes that partitions are being initialized.
func (t *shareTopics) begin(partitions assignor.Assignment, nowMS int64) {
	t.initializing, t.written = t.initializing.Union(partitions), true
	for _, of := range partitions {
		t.askedMS[of.Topic] = nowMS
		t.deleting = slices.DeleteFunc(t.deleting, func(id wire.TopicID) bool { return id == of.Topic })
	}
}

// done notes that partitions are initialized, as far as that is still wanted.
func (t *shareTopics) done(partitions assignor.Assignment) {
	t.initialized = t.initialized.Union(partitions.Intersect(t.initializing))
	t.initializing = t.initializing.Minus(partitions)
}

// forget leaves a topic out of everything.
func (t *shareTopics) forget(topic wire.TopicID) {
	other := func(of wire.TopicID, _ int32) bool { return of != topic }
	t.initializing, t.initialized = t.initializing.Filter(other), t.initialized.Filter(other)
	t.deleting = slices.DeleteFunc(t.deleting, func(id wire.TopicID) bool { return id == topic })
	delete(t.names, topic)
	delete(t.askedMS, topic)
}

// deleted notes that a topic's states are gone. What began to be initialized meanwhile stays.
func (t *shareTopics) deleted(topic wire.TopicID) {
	t.deleting = slices.DeleteFunc(t.deleting, func(id wire.TopicID) bool { return id == topic })
	if t.initializing.Of(topic) == nil && t.initialized.Of(topic) == nil {
		t.forget(topic)
	}
}

// startDeleting moves a topic from what is initialized, or is being initialized, to what is being deleted.
func (t *shareTopics) startDeleting(topic wire.TopicID) {
	name := t.names[topic]
	t.forget(topic)
	t.names[topic] = name
	t.deleting = append(t.deleting, topic)
	slices.SortFunc(t.deleting, assignor.CompareTopics)
}

// isInitializing reports whether the partition was asked for, not too long ago.
func (t *shareTopics) isInitializing(topic wire.TopicID, partition int32, nowMS int64) bool {
	asked, ok := t.askedMS[topic]
	return ok && nowMS-asked < initializeRetryMS && t.initializing.Has(topic, partition)
}

// initializeShares asks for the state of partitions that the group reads and that have none; nil if there are none.
func (c *Coordinator) initializeShares(g *group) shareCall {
	topics := &g.share.topics
	var wanted assignor.Assignment
	for _, id := range c.topicIDs(sortedKeys(g.share.names)) {
		t := c.topics.image.ByID(id)
		of := assignor.TopicPartitions{Topic: id}
		for p := range t.Partitions {
			if !topics.initialized.Has(id, p) && !topics.isInitializing(id, p, c.nowMS) {
				of.Partitions = append(of.Partitions, p)
			}
		}
		if len(of.Partitions) > 0 {
			wanted = append(wanted, of)
			topics.names[id] = t.Name
		}
	}
	if wanted == nil {
		return nil
	}
	topics.begin(wanted, c.nowMS)
	g.touch(recordShareState, "")
	return &shareInitialization{group: g, req: initializeRequest(g, wanted, func(wire.TopicID, int32) int64 { return shareOffsetUnset })}
}

// shareOffsetUnset is the start offset of a partition that is to begin where share.auto.offset.reset says.
const shareOffsetUnset = -1

func initializeRequest(g *group, partitions assignor.Assignment, offset func(wire.TopicID, int32) int64) *kmsg.InitializeShareGroupStateRequest {
	req := kmsg.NewPtrInitializeShareGroupStateRequest()
	req.GroupID = g.id
	for _, of := range partitions {
		t := kmsg.NewInitializeShareGroupStateRequestTopic()
		t.TopicID = of.Topic
		for _, p := range of.Partitions {
			t.Partitions = append(t.Partitions, kmsg.InitializeShareGroupStateRequestTopicPartition{
				Partition: p, StateEpoch: g.share.epoch, StartOffset: offset(of.Topic, p),
			})
		}
		req.Topics = append(req.Topics, t)
	}
	return req
}

// shareInitialization is the call that makes partitions' states.
type shareInitialization struct {
	group *group
	req   *kmsg.InitializeShareGroupStateRequest
}

func (s *shareInitialization) request() (string, kmsg.Request) { return s.req.GroupID, s.req }

// answered takes note of what is initialized. What is not is asked for again by the next heartbeat.
func (s *shareInitialization) answered(c *Coordinator, resp kmsg.Response) {
	g := s.group
	if c.groups[g.id] != g || g.state == Dead {
		return
	}
	var asked, made []assignor.TopicPartitions
	for _, t := range resp.(*kmsg.InitializeShareGroupStateResponse).Topics {
		for _, p := range t.Partitions {
			one := assignor.TopicPartitions{Topic: t.TopicID, Partitions: []int32{p.Partition}}
			asked = append(asked, one)
			if p.ErrorCode == int16(wire.None) {
				made = append(made, one)
			}
		}
	}
	topics := &g.share.topics
	topics.done(assignor.Normal(made))
	topics.initializing = topics.initializing.Minus(assignor.Normal(asked))
	g.share.uncovered = true
	g.touch(recordShareState, "")
	c.settle(g)
}

// forgetGoneTopics takes topics that are no more out of a share group. Their states the share coordinators delete by
// themselves.
func (c *Coordinator) forgetGoneTopics(g *group) {
	for topic := range g.share.topics.names {
		if c.topics.image.ByID(topic) == nil {
			g.share.topics.forget(topic)
			g.touch(recordShareState, "")
		}
	}
}
