package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/wire"
)

var deleteTopicsRow = row{key: wire.KeyDeleteTopics, min: 1, max: 6, handle: on(deleteTopics)}

const (
	// deleteTopicsByIDFrom is the first version that can name topics by id (KIP-516).
	deleteTopicsByIDFrom = 6
	// topicDeletionDisabledFrom is the first version whose clients know TOPIC_DELETION_DISABLED.
	topicDeletionDisabledFrom = 3
)

func deleteTopics(b Broker, r *Request, req *kmsg.DeleteTopicsRequest) *kmsg.DeleteTopicsResponse {
	resp := kmsg.NewPtrDeleteTopicsResponse()
	asked := deletionsAsked(req)
	d := newTopicDeletion(b, r, asked)
	for i := range asked {
		if t := &asked[i]; d.take(t) {
			resp.Topics = append(resp.Topics, d.delete(t))
		}
	}
	return resp
}

// deletionsAsked gives the topics in the words of version 6.
func deletionsAsked(req *kmsg.DeleteTopicsRequest) []kmsg.DeleteTopicsRequestTopic {
	if req.Version >= deleteTopicsByIDFrom {
		return req.Topics
	}
	asked := make([]kmsg.DeleteTopicsRequestTopic, len(req.TopicNames))
	for i := range req.TopicNames {
		asked[i].Topic = &req.TopicNames[i]
	}
	return asked
}

// topicDeletion is one DeleteTopics being answered.
type topicDeletion struct {
	broker   Broker
	request  *Request
	disabled wire.ErrorCode // the answer to all, if topics cannot be deleted; else None
	names    map[string]int // how often a name is asked for
	ids      map[wire.TopicID]int
}

func newTopicDeletion(b Broker, r *Request, asked []kmsg.DeleteTopicsRequestTopic) *topicDeletion {
	d := &topicDeletion{broker: b, request: r, names: make(map[string]int), ids: make(map[wire.TopicID]int)}
	if !b.Config().DeleteTopics {
		d.disabled = wire.TopicDeletionDisabled
		if r.Header.Version < topicDeletionDisabledFrom {
			d.disabled = wire.InvalidRequest
		}
	}
	for i := range asked {
		if asked[i].Topic != nil {
			d.names[*asked[i].Topic]++
		} else {
			d.ids[asked[i].TopicID]++
		}
	}
	return d
}

// take reports whether t has not been answered yet: what is asked for several times is answered once.
func (d *topicDeletion) take(t *kmsg.DeleteTopicsRequestTopic) bool {
	if t.Topic != nil {
		return takeOnce(d.names, *t.Topic)
	}
	return takeOnce(d.ids, wire.TopicID(t.TopicID))
}

func (d *topicDeletion) delete(t *kmsg.DeleteTopicsRequestTopic) kmsg.DeleteTopicsResponseTopic {
	out := kmsg.NewDeleteTopicsResponseTopic()
	out.Topic, out.TopicID = t.Topic, t.TopicID
	topic, why := d.find(t)
	if topic != nil {
		out.Topic = &topic.Name
	}
	if why.code == wire.None {
		out.TopicID = topic.ID
		why = d.deleteTopic(topic)
	}
	out.ErrorCode, out.ErrorMessage = int16(why.code), why.text()
	return out
}

// mayDelete reports whether the client may delete a topic, or may at least know of it (ControllerApis.deleteTopics).
func (d *topicDeletion) mayDelete(name string) (delete, describe bool) {
	if d.request.allowsInCluster(d.broker, deleteInCluster) {
		return true, true
	}
	return d.request.may(d.broker, deleteTopicNeed, name), d.request.allows(d.broker, describeTopic, name)
}

// find gives the topic that t names. One that is refused is given where the client may know its name.
func (d *topicDeletion) find(t *kmsg.DeleteTopicsRequestTopic) (*image.Topic, refusal) {
	named, identified := t.Topic != nil, t.TopicID != [16]byte{}
	switch {
	case d.disabled != wire.None:
		return nil, refusal{code: d.disabled}
	case named && identified:
		return nil, refuse(wire.InvalidRequest, "You may not specify both topic name and topic id.")
	case !named && !identified:
		return nil, refuse(wire.InvalidRequest, "Neither topic name nor id were specified.")
	case named:
		return d.findNamed(*t.Topic)
	}
	return d.findIdentified(t.TopicID)
}

func (d *topicDeletion) findNamed(name string) (*image.Topic, refusal) {
	topic := d.broker.Image().ByName(name)
	delete, describe := d.mayDelete(name)
	switch {
	case d.names[name] != 1:
		return nil, refuse(wire.InvalidRequest, "Duplicate topic name.")
	case !describe:
		return nil, unauthorizedTopic
	case topic == nil:
		return nil, refuse(wire.UnknownTopicOrPartition, "This server does not host this topic-partition.")
	case d.ids[topic.ID] != 0:
		return nil, refuse(wire.InvalidRequest, "The provided topic name maps to an ID that was already supplied.")
	case !delete:
		return nil, unauthorizedTopic
	}
	return topic, refusal{}
}

func (d *topicDeletion) findIdentified(id wire.TopicID) (*image.Topic, refusal) {
	topic := d.broker.Image().ByID(id)
	switch {
	case d.ids[id] != 1:
		return nil, refuse(wire.InvalidRequest, "Duplicate topic id.")
	case topic == nil:
		return nil, refuse(wire.UnknownTopicID, "This server does not host this topic ID.")
	}
	switch delete, describe := d.mayDelete(topic.Name); {
	case !delete && describe:
		return topic, unauthorizedTopic
	case !delete:
		return nil, unauthorizedTopic
	case d.names[topic.Name] != 0:
		return nil, refuse(wire.InvalidRequest, "The provided topic name maps to an ID that was already supplied.")
	}
	return topic, refusal{}
}

// deleteTopic keeps the topics that hold this node's own state; Apache Kafka deletes them too, with all groups.
func (d *topicDeletion) deleteTopic(t *image.Topic) refusal {
	if t.Internal {
		return refuse(wire.InvalidRequest, "%s holds the node's own state and cannot be deleted.", t.Name)
	}
	if why := d.request.chargeMutations(d.broker, t.Partitions, deleteTopicsStrictFrom); why.code != wire.None {
		return why
	}
	return refusal{code: d.broker.DeleteTopic(t.Name, t.ID)}
}
