package cluster

import (
	"errors"
	"slices"
	"time"

	"github.com/ringmill/ringmill/control/controller"
	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/control/quorum"
)

// controllerService does what a node does around the controller: on the quorum's leader it works on an image that has what it
// proposed already, proposes the records of each request, and answers once they are applied.
type controllerService struct {
	node    *Node
	leading bool
	term    uint64
	working *image.Image
	decider *controller.Controller
	next    uint64 // number of the newest proposal or question of this term
	last    uint64 // the newest proposal that is not applied; 0: none
	waiting []waitingRequest
	asking  []waitingRequest // for the quorum to confirm that this node was the controller when they came
}

// waitingRequest is answered when its proposal is applied.
type waitingRequest struct {
	proposal uint64 // 0: it has none
	question uint64 // of those in asking
	answer   func()
	refused  func()
}

// decide runs a request against the working image and proposes what it decides. answer runs when that is in the log; if it decided
// nothing, when what it saw is, and the quorum has confirmed that this node was still the controller then. refused runs instead if this node is
// no controller, or is none any more before that.
func (s *controllerService) decide(request func(m *image.Image) []image.Record, answer, refused func()) {
	if !s.leading {
		refused()
		return
	}
	records := request(s.working)
	switch {
	case len(records) == 0:
		s.confirm(answer, refused)
	case s.propose(records):
		s.waiting = append(s.waiting, waitingRequest{proposal: s.last, answer: answer, refused: refused})
	default:
		s.decider.Rebase(s.working)
		refused()
	}
}

// confirm asks the quorum whether this node is still the controller.
func (s *controllerService) confirm(answer, refused func()) {
	s.next++
	if err := s.node.quorum.confirm(s.next); err != nil {
		refused()
		return
	}
	s.asking = append(s.asking, waitingRequest{proposal: s.last, question: s.next, answer: answer, refused: refused})
}

// confirmed says that the quorum has answered all questions up to a number.
func (s *controllerService) confirmed(number uint64) {
	for len(s.asking) > 0 && s.asking[0].question <= number {
		w := s.asking[0]
		s.asking = s.asking[1:]
		if s.last == 0 || len(s.waiting) == 0 || s.waiting[0].proposal > w.proposal {
			w.answer()
			continue
		}
		at := slices.IndexFunc(s.waiting, func(o waitingRequest) bool { return o.proposal > w.proposal })
		if at < 0 {
			at = len(s.waiting)
		}
		s.waiting = slices.Insert(s.waiting, at, w)
	}
}

// tick lets the controller look at what time does.
func (s *controllerService) tick() {
	if !s.leading {
		return
	}
	if records := s.decider.Tick(s.working, s.node.now()); len(records) > 0 {
		if s.propose(records) {
			return
		}
		s.decider.Rebase(s.working)
	}
}

// propose hands records to the quorum; false if it takes none now.
func (s *controllerService) propose(records []image.Record) bool {
	n := s.node
	working, err := s.working.With(records...)
	if err != nil {
		n.cluster.world.Fail("R3", "%s: the controller decided what its own image refuses: %v", n.process.Name(), err)
		return false
	}
	s.next++
	err = n.quorum.propose(s.next, image.AppendRecords(nil, s.working.Version(), records))
	switch {
	case errors.Is(err, quorum.ErrNotLeader), errors.Is(err, quorum.ErrNotReady), errors.Is(err, quorum.ErrBusy):
		return false
	case err != nil:
		n.failed(err)
		return false
	}
	s.working, s.last = working, s.next
	return true
}

// lead says whether this node is the controller, and of which term. A new one begins with what is applied. Whether what an earlier one
// proposed is in the log nobody knows.
func (s *controllerService) lead(leading bool, term uint64) {
	if s.leading == leading && (s.term == term || !leading) {
		return
	}
	s.leading, s.term, s.last = leading, term, 0
	if leading {
		s.working, s.next = s.node.image, term<<32 // a number is never used again, whoever lives
		s.decider.BecomeController(s.working, s.node.now())
	}
	refused := append(s.waiting, s.asking...)
	s.waiting, s.asking = nil, nil
	for _, w := range refused {
		w.refused()
	}
}

// applied says that an own proposal is in the log and in the node's image.
func (s *controllerService) applied(key proposalKey) {
	if !s.leading || key.origin != s.node.raftID() {
		return
	}
	for len(s.waiting) > 0 && s.waiting[0].proposal <= key.proposal {
		w := s.waiting[0]
		s.waiting = s.waiting[1:]
		w.answer()
	}
	if s.last == key.proposal {
		s.last = 0
	}
}

// startControl makes the controller, which decides once its node leads the quorum.
func (n *Node) startControl() {
	c := n.cluster
	n.control = &controllerService{node: n, decider: controller.New(controller.Config{
		SessionTimeout:  c.opt.SessionTimeout,
		MinISR:          func(*image.Image, *image.Topic) int { return c.opt.MinISR },
		UncleanElection: func(*image.Image, *image.Topic) bool { return false },
		NumPartitions:   int32(c.opt.Partitions), DefaultReplicationFactor: int16(c.opt.Replication),
		LeaderRebalance: c.opt.LeaderRebalance, UncleanCheck: time.Minute,
		Random: c.world.Protocol,
	})}
	n.every(c.opt.SessionTimeout/10, func() { n.control.tick() })
}
