package controller

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/elect"
	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/wire"
)

// The kinds of elections that a client may ask for (KIP-460).
const (
	electPreferred int8 = 0
	electUnclean   int8 = 1
)

// ElectLeaders answers an ElectLeaders (43). No topics (null) means all partitions, of which those that need no election are left out.
func (c *Controller) ElectLeaders(m *image.Image, req *kmsg.ElectLeadersRequest) ([]image.Record, *kmsg.ElectLeadersResponse) {
	resp := kmsg.NewPtrElectLeadersResponse()
	resp.Version = req.Version
	kind := req.ElectionType
	if req.Version < 1 {
		kind = electPreferred
	}
	if kind != electPreferred && kind != electUnclean {
		return nil, refusedElection(resp, req)
	}
	e := election{step: c.begin(m), kind: kind, taken: make(map[*image.PartitionState]bool)}
	if req.Topics == nil {
		for t := range m.Topics() {
			resp.Topics = append(resp.Topics, e.all(t))
		}
	}
	for i := range req.Topics {
		t := &req.Topics[i]
		out := kmsg.NewElectLeadersResponseTopic()
		out.Topic = t.Topic
		for _, index := range t.Partitions {
			out.Partitions = append(out.Partitions, electionResult(index, e.elect(t.Topic, wire.PartitionIndex(index))))
		}
		resp.Topics = append(resp.Topics, out)
	}
	e.add(e.made...)
	return e.records, resp
}

func refusedElection(resp *kmsg.ElectLeadersResponse, req *kmsg.ElectLeadersRequest) *kmsg.ElectLeadersResponse {
	why := Refusal{wire.InvalidRequest, fmt.Sprintf("Unknown election type %d", req.ElectionType)}
	resp.ErrorCode = int16(why.Code)
	for i := range req.Topics {
		out := kmsg.NewElectLeadersResponseTopic()
		out.Topic = req.Topics[i].Topic
		for _, index := range req.Topics[i].Partitions {
			out.Partitions = append(out.Partitions, electionResult(index, why))
		}
		resp.Topics = append(resp.Topics, out)
	}
	return resp
}

// election is one ElectLeaders being answered.
type election struct {
	*step
	kind  int8
	made  []image.Record
	taken map[*image.PartitionState]bool // a request may name a partition twice
}

func (e *election) all(t *image.Topic) kmsg.ElectLeadersResponseTopic {
	out := kmsg.NewElectLeadersResponseTopic()
	out.Topic = t.Name
	for index := range t.States() {
		if why := e.elect(t.Name, index); why.Code != wire.ElectionNotNeeded {
			out.Partitions = append(out.Partitions, electionResult(int32(index), why))
		}
	}
	return out
}

func electionResult(index int32, why Refusal) kmsg.ElectLeadersResponseTopicPartition {
	p := kmsg.NewElectLeadersResponseTopicPartition()
	p.Partition, p.ErrorCode = index, int16(why.Code)
	if why.Message != "" {
		p.ErrorMessage = &why.Message
	}
	return p
}

func (e *election) elect(topic string, index wire.PartitionIndex) Refusal {
	t := e.m.ByName(topic)
	if t == nil {
		return Refusal{wire.UnknownTopicOrPartition, "No such topic as " + topic}
	}
	p := partition{t, index, t.State(index)}
	if p.state == nil {
		return Refusal{wire.UnknownTopicOrPartition, fmt.Sprintf("No such partition as %s-%d", topic, index)}
	}
	preferred := e.kind == electPreferred
	if preferred && p.state.Leader == p.state.Replicas[0] || !preferred && p.state.Leader != wire.NoNode || e.taken[p.state] {
		return Refusal{wire.ElectionNotNeeded, "Leader election not needed for topic partition."}
	}
	change := e.change(p)
	if change.Election = elect.Preferred; !preferred {
		change.Election = elect.Unclean
	}
	after, changed := change.State()
	switch {
	case changed:
		e.made, e.taken[p.state] = append(e.made, p.record(after)), true
		return Refusal{}
	case preferred:
		return Refusal{wire.PreferredLeaderNotAvailable, "The preferred leader was not available."}
	}
	return Refusal{wire.EligibleLeadersNotAvailable, "Eligible topic partition leaders are not available."}
}
