package api

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/wire"
)

func byName(name string) kmsg.DeleteTopicsRequestTopic {
	return kmsg.DeleteTopicsRequestTopic{Topic: &name}
}

func byID(id wire.TopicID) kmsg.DeleteTopicsRequestTopic {
	return kmsg.DeleteTopicsRequestTopic{TopicID: id}
}

func deleteRequest(topics ...kmsg.DeleteTopicsRequestTopic) *kmsg.DeleteTopicsRequest {
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.Topics = topics
	for _, t := range topics {
		if t.Topic != nil {
			req.TopicNames = append(req.TopicNames, *t.Topic)
		}
	}
	return req
}

func TestDeleteTopicsAnswers(t *testing.T) {
	b := newFakeBroker(t)
	id := b.withTopic(t, "v", 1)
	b.withTopic(t, image.ConsumerOffsetsTopic, 1)
	both := byName("v")
	both.TopicID = wire.TopicID{3}
	for _, c := range []struct {
		name    string
		topics  []kmsg.DeleteTopicsRequestTopic
		code    wire.ErrorCode
		message string
	}{
		{"unknown name", []kmsg.DeleteTopicsRequestTopic{byName("none")}, 3, "This server does not host this topic-partition."},
		{"bad name", []kmsg.DeleteTopicsRequestTopic{byName("a b")}, 3, "This server does not host this topic-partition."},
		{"unknown id", []kmsg.DeleteTopicsRequestTopic{byID(wire.TopicID{9})}, 100, "This server does not host this topic ID."},
		{"neither", []kmsg.DeleteTopicsRequestTopic{byID(wire.TopicID{})}, 42, "Neither topic name nor id were specified."},
		{"both", []kmsg.DeleteTopicsRequestTopic{both}, 42, "You may not specify both topic name and topic id."},
		{"name twice", []kmsg.DeleteTopicsRequestTopic{byName("none"), byName("none")}, 42, "Duplicate topic name."},
		{"id twice", []kmsg.DeleteTopicsRequestTopic{byID(id), byID(id)}, 42, "Duplicate topic id."},
		{"by name and by id", []kmsg.DeleteTopicsRequestTopic{byName("v"), byID(id)}, 42, "The provided topic name maps to an ID that was already supplied."},
		{"the node's own", []kmsg.DeleteTopicsRequestTopic{byName(image.ConsumerOffsetsTopic)}, 42, "__consumer_offsets holds the node's own state and cannot be deleted."},
		{"by id", []kmsg.DeleteTopicsRequestTopic{byID(id)}, 0, "<null>"},
	} {
		got := ask[*kmsg.DeleteTopicsResponse](t, b, 6, deleteRequest(c.topics...)).Topics[0]
		if wire.ErrorCode(got.ErrorCode) != c.code || text(got.ErrorMessage) != c.message {
			t.Errorf("%s: got %d %q", c.name, got.ErrorCode, text(got.ErrorMessage))
		}
	}
	if b.image.ByName("v") != nil {
		t.Error("v is still there")
	}
	if b.image.ByName(image.ConsumerOffsetsTopic) == nil {
		t.Error("the offsets are gone")
	}
}

func TestDeleteTopicsByNameInEveryVersion(t *testing.T) {
	for v := int16(1); v <= 6; v++ {
		b := newFakeBroker(t)
		b.withTopic(t, "v", 1)
		got := ask[*kmsg.DeleteTopicsResponse](t, b, v, deleteRequest(byName("v"))).Topics
		if len(got) != 1 || text(got[0].Topic) != "v" || got[0].ErrorCode != 0 || b.image.ByName("v") != nil {
			t.Errorf("version %d: %+v", v, got)
		}
	}
}

func TestDeleteTopicsDisabled(t *testing.T) {
	b := newFakeBroker(t, "delete.topic.enable=false")
	b.withTopic(t, "v", 1)
	for v, code := range map[int16]wire.ErrorCode{2: wire.InvalidRequest, 3: wire.TopicDeletionDisabled, 6: wire.TopicDeletionDisabled} {
		if got := ask[*kmsg.DeleteTopicsResponse](t, b, v, deleteRequest(byName("v"))).Topics[0]; wire.ErrorCode(got.ErrorCode) != code {
			t.Errorf("version %d: %d", v, got.ErrorCode)
		}
	}
}

func grow(name string, count int32, assignments ...[]int32) kmsg.CreatePartitionsRequestTopic {
	t := kmsg.NewCreatePartitionsRequestTopic()
	t.Topic, t.Count = name, count
	for _, a := range assignments {
		t.Assignment = append(t.Assignment, kmsg.CreatePartitionsRequestTopicAssignment{Replicas: a})
	}
	return t
}

func growRequest(validateOnly bool, topics ...kmsg.CreatePartitionsRequestTopic) *kmsg.CreatePartitionsRequest {
	req := kmsg.NewPtrCreatePartitionsRequest()
	req.Topics, req.ValidateOnly = topics, validateOnly
	return req
}

func TestCreatePartitionsAnswers(t *testing.T) {
	b := newFakeBroker(t)
	b.withTopic(t, "v", 2)
	b.withTopic(t, image.ConsumerOffsetsTopic, 2)
	for _, c := range []struct {
		name    string
		topic   kmsg.CreatePartitionsRequestTopic
		code    wire.ErrorCode
		message string
	}{
		{"unknown", grow("none", 3), 3, "<null>"},
		{"as many", grow("v", 2), 37, "Topic already has 2 partition(s)."},
		{"fewer", grow("v", 1), 37, "The topic v currently has 2 partition(s); 1 would not be an increase."},
		{"smallest", grow("v", -1<<31), 37, "The topic v currently has 2 partition(s); -2147483648 would not be an increase."},
		{"too many", grow("v", 10_003), 44, "Excessively large number of partitions per request."},
		{"at the bound", grow("v", 10_002), 0, "<null>"},
		{"assigned", grow("v", 4, []int32{1}, []int32{1}), 0, "<null>"},
		{"too few assigned", grow("v", 4, []int32{1}), 39, "Attempted to add 2 additional partition(s), but only 1 assignment(s) were specified."},
		{"assigned elsewhere", grow("v", 3, []int32{2}), 39, "The manual partition assignment includes broker 2, but no such broker is registered."},
		{"assigned nowhere", grow("v", 3, []int32{}), 39, "The manual partition assignment includes an empty replica list."},
		{"assigned twice", grow("v", 3, []int32{1, 1}), 39, "The manual partition assignment includes the broker 1 more than once."},
		{"the node's own", grow(image.ConsumerOffsetsTopic, 3), 42, "The partitions of __consumer_offsets decide where state is kept and cannot be added to."},
	} {
		got := ask[*kmsg.CreatePartitionsResponse](t, b, 3, growRequest(true, c.topic)).Topics[0]
		if wire.ErrorCode(got.ErrorCode) != c.code || text(got.ErrorMessage) != c.message {
			t.Errorf("%s: got %d %q", c.name, got.ErrorCode, text(got.ErrorMessage))
		}
	}
	if n := b.image.ByName("v").Partitions; n != 2 {
		t.Errorf("validateOnly made %d partitions", n)
	}
}

func TestCreatePartitionsGrowsInEveryVersion(t *testing.T) {
	b := newFakeBroker(t)
	b.withTopic(t, "v", 1)
	for v := int16(0); v <= 3; v++ {
		got := ask[*kmsg.CreatePartitionsResponse](t, b, v, growRequest(false, grow("v", int32(v)+2))).Topics[0]
		if n := b.image.ByName("v").Partitions; got.ErrorCode != 0 || n != int32(v)+2 {
			t.Errorf("version %d: error %d, %d partitions", v, got.ErrorCode, n)
		}
	}
	got := ask[*kmsg.CreatePartitionsResponse](t, b, 3, growRequest(false, grow("v", 9), grow("v", 10))).Topics
	if len(got) != 1 || got[0].ErrorCode != 42 || text(got[0].ErrorMessage) != "Duplicate topic name." {
		t.Errorf("named twice: %+v", got)
	}
}
