package node

import (
	"errors"
	"log/slog"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/ringmill/ringmill/control/controller"
	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/control/quorum"
	"github.com/ringmill/ringmill/wire"
)

// controllerService is the controller while this node leads the metadata quorum; the quorum's goroutine owns it. Each request
// runs on the working image, which is the newest image with all that was decided since, and leaves records. Those of a turn are
// proposed as one entry; whoever asked is answered when that has been applied, or told NOT_CONTROLLER if this node leads no more.
//
//	request ─▶ working image ─▶ records ─▶ batch ─▶ propose ─▶ flying ─▶ applied ─▶ answer
type controllerService struct {
	quorum *quorumService
	// logic decides; it is made anew with each reign. nil while another node is the controller.
	logic *controller.Controller
	term  uint64
	// working is the image that requests run on.
	working *image.Image
	// batch are records that are not proposed yet, on top of base; waiting are those who asked for them.
	batch   []image.Record
	base    *image.Image
	waiting []func(wire.ErrorCode)
	// flying are the proposals that are not applied yet, oldest first; changes those who wait for a change of members.
	flying  []proposal
	changes map[uint64]func(wire.ErrorCode)
	// asking want to know whether this node is still the controller; confirming are the questions that are not answered yet, oldest first.
	asking     []func(wire.ErrorCode)
	confirming []confirmation
	// numbered is the last number that was given to a proposal, a change or a question, confirmed the greatest of those by which a majority
	// has said since that this node was the controller. The goroutine writes them, others read them.
	numbered, confirmed atomic.Uint64
	nextTick            time.Time
}

// proposal is a batch on its way through the quorum.
type proposal struct {
	number  uint64
	image   *image.Image // that it leads to
	waiting []func(wire.ErrorCode)
}

const (
	// controllerTick is how often the controller looks at what time does: brokers that are silent, leaders to move.
	controllerTick = 250 * time.Millisecond
	// batchRecordsMax is how many records an entry takes, beyond those of its first request: they come to some 200 bytes each, and
	// an entry may have quorum.EntryBytesMax.
	batchRecordsMax = 10_000
)

func (c *controllerService) init(s *quorumService) {
	c.quorum, c.changes = s, make(map[uint64]func(wire.ErrorCode))
}

// configure has the controller go by the node's configuration as it is now.
func (c *controllerService) configure() {
	if c.logic != nil {
		c.logic.Configure(c.quorum.node.controllerConfig())
	}
}

// now is the controller's clock.
func (c *controllerService) now() time.Duration { return time.Since(c.quorum.node.started) }

// follow begins or ends this node's reign.
func (c *controllerService) follow(fx quorum.Effects) {
	if c.logic != nil && (!fx.IsLeader || fx.Term != c.term) {
		c.end()
	}
	if c.logic == nil && fx.LeaderReady {
		c.begin(fx.Term)
	}
}

// begin makes this node the controller: it has applied all that the controllers before it have decided.
func (c *controllerService) begin(term uint64) {
	c.term, c.working = term, c.quorum.image
	c.logic = controller.New(c.quorum.node.controllerConfig())
	c.logic.BecomeController(c.working, c.now())
	c.add(c.logic.AlterConfigs(c.working, c.commonMinISR()...), func(wire.ErrorCode) {})
	slog.Info("this node is the controller", "term", term)
	for _, m := range c.quorum.q.Members() { // the controller before may be among them
		if c.quorum.gone[m.RaftID()] {
			c.lost(m.NodeID)
		}
	}
}

// commonMinISR are the records that have all nodes go by one min.insync.replicas, whatever their files say: by this node's where the
// cluster has none yet. See checkMinISR in node/api for why.
func (c *controllerService) commonMinISR() (records []image.Record) {
	const key = "min.insync.replicas"
	of := func(node string, value *string) {
		records = append(records, image.ConfigRecord{Resource: image.Resource{Type: image.BrokerResource, Name: node}, Key: key, Value: value})
	}
	if _, set := c.working.BrokerConfigs("")[key]; !set {
		value := strconv.Itoa(c.quorum.node.staticConfig().MinInSyncReplicas())
		of("", &value)
	}
	for b := range c.working.Brokers() {
		node := strconv.Itoa(int(b.ID))
		if _, set := c.working.BrokerConfigs(node)[key]; set {
			of(node, nil)
		}
	}
	return records
}

// end refuses what is under way. What was proposed may be committed all the same, as with Apache Kafka; clients try again.
func (c *controllerService) end() {
	if c.logic == nil {
		return
	}
	slog.Info("this node is the controller no more", "term", c.term)
	refused := c.waiting
	for _, p := range c.flying {
		refused = append(refused, p.waiting...)
	}
	for _, then := range c.changes {
		refused = append(refused, then)
	}
	refused = append(refused, c.asking...)
	for _, q := range c.confirming {
		refused = append(refused, q.waiting...)
	}
	c.asking, c.confirming = nil, nil
	c.logic, c.working, c.batch, c.base, c.waiting, c.flying = nil, nil, nil, nil, nil, nil
	clear(c.changes)
	for _, then := range refused {
		then(wire.NotController)
	}
}

// ask has the controller decide something; on any goroutine. f runs on the quorum's goroutine, with the working image, and gives
// the records of its decision; then is called when they have been applied, or with the reason why they are not. A decision
// without records is answered after those that were made before it; who tells it to others confirms it first (confirm.go).
func (s *quorumService) ask(f func(c *controller.Controller, m *image.Image, now time.Duration) []image.Record, then func(wire.ErrorCode)) {
	s.inbox.put(func() {
		c := &s.controller
		if c.logic == nil {
			then(wire.NotController)
			return
		}
		c.add(f(c.logic, c.working, c.now()), then)
	})
}

// add takes a decision into the batch.
func (c *controllerService) add(records []image.Record, then func(wire.ErrorCode)) {
	if len(records) == 0 {
		switch {
		case len(c.waiting) > 0 || len(c.batch) > 0:
			c.waiting = append(c.waiting, then)
		case len(c.flying) > 0:
			last := &c.flying[len(c.flying)-1]
			last.waiting = append(last.waiting, then)
		default:
			then(wire.None)
		}
		return
	}
	if len(c.batch)+len(records) > batchRecordsMax {
		c.propose()
	}
	next, err := c.working.With(records...)
	if err != nil { // what the controller decides fits the image that it decides on
		slog.Error("BUG: a decision of the controller does not fit", "error", err)
		then(wire.UnknownServerError)
		return
	}
	if len(c.batch) == 0 {
		c.base = c.working
	}
	c.batch, c.working = append(c.batch, records...), next
	c.waiting = append(c.waiting, then)
}

// propose hands the batch to the quorum.
func (c *controllerService) propose() {
	if c.logic == nil || len(c.batch) == 0 {
		return
	}
	p := proposal{number: c.numbered.Add(1), image: c.working, waiting: c.waiting}
	data := image.AppendRecords(nil, c.base.Version(), c.batch)
	c.batch, c.base, c.waiting = nil, nil, nil
	err := c.quorum.q.Propose(p.number, data)
	if err == nil {
		c.flying = append(c.flying, p)
		return
	}
	code := wire.NotController
	if errors.Is(err, quorum.ErrTooLarge) {
		code = wire.PolicyViolation
	}
	c.quorum.node.log.throttled("a decision of the controller is dropped", "error", err)
	c.working = c.newest()
	c.logic.Rebase(c.working)
	for _, then := range p.waiting {
		then(code)
	}
}

// newest is the image with all that was proposed.
func (c *controllerService) newest() *image.Image {
	if n := len(c.flying); n > 0 {
		return c.flying[n-1].image
	}
	return c.quorum.image
}

// own gives the image that an entry of this reign leads to; nil for any other entry.
func (c *controllerService) own(e *quorum.Entry) *image.Image {
	if len(c.flying) == 0 || e.Origin != c.quorum.q.RaftID() || e.Term != c.term {
		return nil
	}
	for i := range c.flying {
		if c.flying[i].number == e.Proposal {
			return c.flying[i].image
		}
	}
	return nil
}

// applied answers those whose proposals have been applied.
func (c *controllerService) applied() {
	for len(c.flying) > 0 && c.flying[0].image.Version() <= c.quorum.image.Version() {
		done := c.flying[0]
		c.flying = c.flying[1:]
		c.affirmed(done.number)
		for _, then := range done.waiting {
			then(wire.None)
		}
	}
}

// changed answers who asked for a change of the quorum's members.
func (c *controllerService) changed(e *quorum.Entry) {
	slog.Info("metadata quorum changed", "change", e.Change.Kind.String(), "member", e.Change.Member.ReplicaKey.String())
	if e.Origin != c.quorum.q.RaftID() {
		return
	}
	if then := c.changes[e.Proposal]; then != nil {
		delete(c.changes, e.Proposal)
		then(wire.None)
	}
}

// lost has the controller fence a node whose process is gone.
func (c *controllerService) lost(id wire.NodeID) {
	if c.logic != nil {
		c.add(c.logic.Lost(c.working, id), func(wire.ErrorCode) {})
	}
}

// tick has the controller look at what time does.
func (c *controllerService) tick() {
	if c.logic == nil || time.Now().Before(c.nextTick) {
		return
	}
	c.nextTick = time.Now().Add(controllerTick)
	c.followEndpoints()
	c.keepVoters()
	if records := c.logic.Tick(c.working, c.now()); len(records) > 0 {
		c.add(records, func(wire.ErrorCode) {})
	}
}
