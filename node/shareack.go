package node

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/share"
	"github.com/ringmill/ringmill/node/api"
	"github.com/ringmill/ringmill/wire"
)

// partAcknowledgements are what a member says of one partition's records.
type partAcknowledgements struct {
	share.TopicIDPartition
	list []share.Acknowledgement
}

// fetchAcknowledgements are those that a ShareFetch carries: none, or one entry for each of its partitions.
func fetchAcknowledgements(req *kmsg.ShareFetchRequest) (all []partAcknowledgements) {
	some := false
	for _, t := range req.Topics {
		for _, p := range t.Partitions {
			part := partAcknowledgements{TopicIDPartition: share.TopicIDPartition{Topic: t.TopicID, Partition: wire.PartitionIndex(p.Partition)}}
			for _, b := range p.AcknowledgementBatches {
				some = true
				part.list = append(part.list, share.Acknowledgement{First: wire.Offset(b.FirstOffset), Last: wire.Offset(b.LastOffset), Types: b.AcknowledgeTypes})
			}
			all = append(all, part)
		}
	}
	if !some {
		return nil
	}
	return all
}

func acknowledgements(req *kmsg.ShareAcknowledgeRequest) (all []partAcknowledgements) {
	for _, t := range req.Topics {
		for _, p := range t.Partitions {
			part := partAcknowledgements{TopicIDPartition: share.TopicIDPartition{Topic: t.TopicID, Partition: wire.PartitionIndex(p.Partition)}}
			for _, b := range p.AcknowledgementBatches {
				part.list = append(part.list, share.Acknowledgement{First: wire.Offset(b.FirstOffset), Last: wire.Offset(b.LastOffset), Types: b.AcknowledgeTypes})
			}
			all = append(all, part)
		}
	}
	return all
}

// partAcknowledged is what became of one partition's acknowledgements.
type partAcknowledged struct {
	share.TopicIDPartition
	code    wire.ErrorCode
	message string // "": the code says it
}

// acknowledging are acknowledgements under way.
type acknowledging struct {
	known   []partAcknowledged
	places  map[share.TopicIDPartition]int // in known
	coming  chan partAcknowledged
	waiting int
}

// wait gives all outcomes, in the order of the request; those that do not come before the node stops have failed.
func (a *acknowledging) wait(quit <-chan struct{}) []partAcknowledged {
	for ; a.waiting > 0; a.waiting-- {
		select {
		case part := <-a.coming:
			a.known[a.places[part.TopicIDPartition]] = part
		case <-quit:
			return a.known
		}
	}
	return a.known
}

func (a *acknowledging) add(part partAcknowledged) {
	a.places[part.TopicIDPartition] = len(a.known)
	a.known = append(a.known, part)
}

// acknowledge hands a member's acknowledgements to the share partitions. As in Kafka a partition that is there twice counts as
// it is there last, and those with nothing to acknowledge are not answered if all are such.
func (s *shareService) acknowledge(client api.Client, group, member string, all []partAcknowledgements) *acknowledging {
	outcome := &acknowledging{coming: make(chan partAcknowledged, len(all)), places: make(map[share.TopicIDPartition]int)}
	wanted := make(map[share.TopicIDPartition][]share.Acknowledgement, len(all))
	var empty []share.TopicIDPartition
	for _, part := range all {
		wanted[part.TopicIDPartition] = part.list
	}
	for _, part := range all {
		tp := part.TopicIDPartition
		list, first := wanted[tp]
		if delete(wanted, tp); !first {
			continue
		}
		code := wire.None
		if _, code = s.node.readablePartition(client, tp); code == wire.None && !share.CheckAcknowledgements(list) {
			code = wire.InvalidRequest
		}
		switch {
		case code != wire.None:
			outcome.add(partAcknowledged{TopicIDPartition: tp, code: code})
		case len(list) == 0:
			empty = append(empty, tp)
		default:
			outcome.waiting++
			outcome.add(partAcknowledged{TopicIDPartition: tp, code: wire.NotLeaderOrFollower})
			s.acknowledgePart(share.Key{Group: group, Topic: tp.Topic, Partition: tp.Partition}, member, list, outcome)
		}
	}
	if outcome.waiting > 0 {
		for _, tp := range empty {
			outcome.add(partAcknowledged{TopicIDPartition: tp})
		}
	}
	return outcome
}

func (s *shareService) acknowledgePart(key share.Key, member string, list []share.Acknowledgement, outcome *acknowledging) {
	part := partAcknowledged{TopicIDPartition: share.TopicIDPartition{Topic: key.Topic, Partition: key.Partition}}
	s.inbox.put(func() {
		sp := s.parts[key]
		if sp == nil || sp.machine == nil {
			part.code = wire.UnknownTopicOrPartition
			outcome.coming <- part
			return
		}
		h := s.waiting.add(func(d share.Done) {
			part.code, part.message = d.Code, d.Message
			outcome.coming <- part
		})
		s.apply(sp, sp.machine.Acknowledge(s.node.nowMS(), h, member, list))
	})
}

// ShareAcknowledge takes a member's acknowledgements (KIP-932), and answers when they are in the log.
func (n *Node) ShareAcknowledge(client api.Client, req *kmsg.ShareAcknowledgeRequest) *kmsg.ShareAcknowledgeResponse {
	s := n.shares
	resp := kmsg.NewPtrShareAcknowledgeResponse()
	key, code := sessionKeyOf(req.GroupID, req.MemberID)
	if code == wire.None && !s.inbox.do(func() { code = s.sessions.Acknowledge(key, req.ShareSessionEpoch) }) {
		code = wire.NotLeaderOrFollower
	}
	if code != wire.None {
		resp.ErrorCode = int16(code)
		return resp
	}
	places := make(topicPlaces)
	for _, part := range s.acknowledge(client, key.Group, key.Member.String(), acknowledgements(req)).wait(n.quit) {
		addAcknowledged(resp, places, part)
	}
	if req.ShareSessionEpoch == share.FinalEpoch {
		s.inbox.do(func() { s.end(key) })
	}
	return resp
}

func addAcknowledged(resp *kmsg.ShareAcknowledgeResponse, places topicPlaces, part partAcknowledged) {
	p := kmsg.NewShareAcknowledgeResponseTopicPartition()
	if p.Partition, p.ErrorCode = int32(part.Partition), int16(part.code); part.message != "" {
		p.ErrorMessage = &part.message
	}
	i := places.of(part.Topic)
	if i == len(resp.Topics) {
		resp.Topics = append(resp.Topics, kmsg.ShareAcknowledgeResponseTopic{TopicID: part.Topic})
	}
	resp.Topics[i].Partitions = append(resp.Topics[i].Partitions, p)
}
