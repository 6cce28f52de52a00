package node

import (
	"cmp"
	"slices"
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/replicate"
	"github.com/ringmill/ringmill/wire"
)

// isrProposer asks the controller for the in-sync replicas that the leaders on this node propose (AlterPartition, KIP-497): all that has
// come up meanwhile in one request, one request at a time.
//
//	loops ── proposals ──▶ AlterPartition ──▶ controller
//	   ▲                                          │
//	   └────────── answers, by partition ─────────┘
type isrProposer struct {
	node *Node
	mu   sync.Mutex
	// waiting are proposals that no request has yet; mu guards them. A partition has one out at most.
	waiting []replicate.ISRProposal
	wake    chan struct{}
	stopped chan struct{}
}

func newISRProposer(n *Node) *isrProposer {
	return &isrProposer{node: n, wake: make(chan struct{}, 1), stopped: make(chan struct{})}
}

// propose takes up a proposal, from any goroutine.
func (s *isrProposer) propose(q replicate.ISRProposal) {
	s.mu.Lock()
	s.waiting = append(s.waiting, q)
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *isrProposer) take() []replicate.ISRProposal {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.waiting
	s.waiting = nil
	return all
}

// run is the goroutine; it ends when the node stops.
func (s *isrProposer) run() {
	defer close(s.stopped)
	for {
		select {
		case <-s.wake:
		case <-s.node.quit:
			return
		}
		all := s.take()
		if len(all) == 0 {
			continue
		}
		answers, err := s.ask(all)
		if err != nil {
			s.node.log.throttled("in-sync replicas cannot be proposed", "partitions", len(all), "error", err)
			s.node.sleep(brokerRetry)
			answers = nil // each is proposed again as it was: whether the controller has carried it out is not known
		}
		for _, q := range all {
			answer, answered := answers[q.Ref.(*partition)]
			if !answered {
				answer = replicate.ISRAnswer{Code: wire.UnknownServerError}
			}
			s.answer(q, answer)
		}
	}
}

// answer gives a proposal back to the partition's loop.
func (s *isrProposer) answer(q replicate.ISRProposal, a replicate.ISRAnswer) {
	p := q.Ref.(*partition)
	p.loop.send(messageFunc(func(l *Loop) {
		if p.stopped == wire.None {
			before := len(p.replica.InSyncReplicas(nil))
			p.replica.ISRAnswered(l.mono, q, a, &l.eff)
			l.metrics.node.isrChanged(before, len(p.replica.InSyncReplicas(nil)))
			l.apply(p)
		}
	}))
}

// alterPartitionVersion is the newest that is sent: with broker epochs, and topic ids (KIP-903).
const alterPartitionVersion = 3

// ask sends one request for all and gives the answers by partition.
func (s *isrProposer) ask(all []replicate.ISRProposal) (map[*partition]replicate.ISRAnswer, error) {
	slices.SortStableFunc(all, func(a, b replicate.ISRProposal) int {
		p, q := a.Ref.(*partition), b.Ref.(*partition)
		return cmp.Or(slices.Compare(p.id[:], q.id[:]), cmp.Compare(p.index, q.index))
	})
	resp, err := s.node.cluster.askController(s.request(all))
	if err != nil {
		return nil, err
	}
	r := resp.(*kmsg.AlterPartitionResponse)
	if r.ErrorCode != 0 {
		return nil, kafkaError(r.ErrorCode)
	}
	type key struct {
		topic wire.TopicID
		index wire.PartitionIndex
	}
	told := make(map[key]replicate.ISRAnswer)
	for i := range r.Topics {
		for j := range r.Topics[i].Partitions {
			a := &r.Topics[i].Partitions[j]
			told[key{r.Topics[i].TopidID, wire.PartitionIndex(a.Partition)}] = isrAnswer(a)
		}
	}
	answers := make(map[*partition]replicate.ISRAnswer, len(all))
	for _, q := range all {
		p := q.Ref.(*partition)
		if a, answered := told[key{p.id, p.index}]; answered {
			answers[p] = a
		}
	}
	return answers, nil
}

func (s *isrProposer) request(all []replicate.ISRProposal) *kmsg.AlterPartitionRequest {
	req := kmsg.NewPtrAlterPartitionRequest()
	req.Version = alterPartitionVersion
	req.BrokerID, req.BrokerEpoch = int32(s.node.Config().NodeID), int64(s.node.brokerEpoch())
	for i := range all {
		p := all[i].Ref.(*partition)
		if n := len(req.Topics); n == 0 || req.Topics[n-1].TopicID != p.id {
			t := kmsg.NewAlterPartitionRequestTopic()
			t.TopicID = p.id
			req.Topics = append(req.Topics, t)
		}
		t := &req.Topics[len(req.Topics)-1]
		t.Partitions = append(t.Partitions, isrRequest(p, &all[i]))
	}
	return req
}

func isrRequest(p *partition, q *replicate.ISRProposal) kmsg.AlterPartitionRequestTopicPartition {
	part := kmsg.NewAlterPartitionRequestTopicPartition()
	part.Partition, part.LeaderEpoch, part.PartitionEpoch = int32(p.index), int32(q.Epoch), int32(q.PartitionEpoch)
	for _, m := range q.ISR {
		member := kmsg.NewAlterPartitionRequestTopicPartitionNewEpochISR()
		member.BrokerID, member.BrokerEpoch = int32(m.ID), int64(m.BrokerEpoch)
		part.NewEpochISR = append(part.NewEpochISR, member)
	}
	return part
}

func isrAnswer(a *kmsg.AlterPartitionResponseTopicPartition) replicate.ISRAnswer {
	answer := replicate.ISRAnswer{
		Code: wire.ErrorCode(a.ErrorCode), Epoch: wire.LeaderEpoch(a.LeaderEpoch), PartitionEpoch: wire.PartitionEpoch(a.PartitionEpoch),
	}
	for _, id := range a.ISR {
		answer.ISR = append(answer.ISR, wire.NodeID(id))
	}
	return answer
}

// shrinkISRs has the leaders look whether their followers keep up, every half of replica.lag.time.max.ms as Kafka does.
func (n *Node) shrinkISRs() {
	n.eachPartition(func(l *Loop, p *partition) {
		if p.replica.Replicated() {
			p.replica.Tick(l.mono, &l.eff)
			l.apply(p)
		}
	})
}

// brokerEpoch is that of this node's registration.
func (n *Node) brokerEpoch() wire.BrokerEpoch {
	if n.cluster == nil || n.cluster.broker == nil {
		return wire.NoBrokerEpoch
	}
	return wire.BrokerEpoch(n.cluster.broker.epoch.Load())
}
