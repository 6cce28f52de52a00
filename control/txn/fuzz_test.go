package txn

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

// FuzzRequests plays requests, time, outcomes of appends and markers, and restarts that the input spells. After each step every
// invariant is looked at for every transactional id; each request is answered once, and at the end all are and every
// transaction is over.
func FuzzRequests(f *testing.F) {
	f.Add([]byte("initaddendinitaddend"))
	f.Add([]byte{0, 0, 0, 3, 0, 10, 1, 3, 0, 1, 0, 1, 2, 10, 4, 3, 0, 1, 1, 10, 12, 12, 10, 14, 40})
	f.Add([]byte{9, 22, 5, 40, 2, 'a', 0, 0, 0, 200, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 0})
	f.Fuzz(func(t *testing.T, input []byte) { play(t, input) })
}

// TestRandomRequests is FuzzRequests over inputs from fixed seeds.
func TestRandomRequests(t *testing.T) {
	for seed := range uint64(400) {
		source := rand.New(rand.NewPCG(seed, 0))
		input := make([]byte, 1200)
		for i := range input {
			input[i] = byte(source.Uint32())
		}
		play(t, input)
	}
}

// timeoutMaxMS is Apache Kafka's transaction.max.timeout.ms; a node refuses what is above it.
const timeoutMaxMS = 900_000

// player spells steps out of bytes.
type player struct {
	*machine
	t         *testing.T
	input     []byte
	open      map[Handle]kmsg.Request // asked and not answered
	owners    []owner                 // that answers have told of
	idsAtHand bool                    // whether there are producer ids to give
}

type owner struct {
	id    int64
	epoch int16
}

func play(t *testing.T, input []byte) {
	p := &player{machine: newMachine(), t: t, input: input, open: map[Handle]kmsg.Request{}, idsAtHand: true}
	p.cfg.MaxIDs, p.cfg.MemoryBytes, p.cfg.IDExpirationMS, p.cfg.ExpirationIntervalMS = 5, 4096, 60_000, 20_000
	give := p.cfg.NewProducerID
	p.cfg.NewProducerID = func() (wire.ProducerID, bool) {
		if !p.idsAtHand {
			return wire.NoProducerID, false
		}
		return give()
	}
	worn := owner{7, int16(epochMax) - 1} // its epochs are all but used up
	old := metadata{
		producerID: wire.ProducerID(worn.id), previousProducerID: wire.ProducerID(worn.id), nextProducerID: wire.NoProducerID,
		epoch: wire.ProducerEpoch(worn.epoch), lastEpoch: wire.NoProducerEpoch, timeoutMS: 1000, start: wire.NoTimestamp, lastUpdate: p.wall,
	}
	p.log, p.owners = []wire.Record{old.record("a")}, []owner{worn}
	p.restart()
	p.holdAppends, p.holdMarkers = true, true
	for len(p.input) > 0 {
		p.step()
		p.judge()
	}
	p.finish()
}

func (p *player) next(n int) int {
	if len(p.input) == 0 {
		return 0
	}
	b := p.input[0]
	p.input = p.input[1:]
	return int(b) % n
}

func (p *player) step() {
	switch n := p.next(16); n {
	case 10, 11:
		p.landOne(p.outcome())
	case 12, 13:
		p.markOne(p.outcome())
	case 14:
		p.pass(int64(p.next(256)) * 100)
	case 15:
		switch p.next(8) {
		case 0:
			p.restart()
			clear(p.open) // whoever waited hears nothing and comes back
		case 1:
			p.idsAtHand = !p.idsAtHand
		}
	case 9:
		if req := p.decoded(); req != nil {
			p.send(req)
		}
	default:
		p.send(p.request(n))
	}
}

// outcome is a success three times of four.
func (p *player) outcome() wire.ErrorCode {
	failures := []wire.ErrorCode{wire.NotEnoughReplicas, wire.KafkaStorageError, wire.MessageTooLarge, wire.UnknownTopicOrPartition}
	if n := p.next(16); n < len(failures) {
		return failures[n]
	}
	return wire.None
}

// landOne gives one of the appends under way its outcome.
func (p *player) landOne(code wire.ErrorCode) {
	if len(p.appends) == 0 {
		return
	}
	i := p.next(len(p.appends))
	a := p.appends[i]
	p.appends = slices.Delete(p.appends, i, i+1)
	if code == wire.None {
		p.log = append(p.log, a.Records...)
	}
	p.apply(p.c.Appended(p.nowMS, p.wall, a.ID, code))
}

// markOne gives one of the markers under way its outcome.
func (p *player) markOne(code wire.ErrorCode) {
	if len(p.markers) == 0 {
		return
	}
	k := &p.markers[0]
	partition := k.Partitions[0]
	id := k.ID
	if k.Partitions = k.Partitions[1:]; len(k.Partitions) == 0 {
		p.markers = p.markers[1:]
	}
	p.apply(p.c.Marked(p.nowMS, p.wall, id, partition, code))
}

// send asks what a node would let through to a coordinator; see [Split].
func (p *player) send(req kmsg.Request) {
	parts := []Part{{Request: req}}
	if _, all := req.(*kmsg.ListTransactionsRequest); !all {
		parts = Split(req)
	}
	for _, part := range parts {
		p.open[p.handle+1] = part.Request
		p.begin(part.Request)
	}
}

// decoded is a request whose body the input spells, nil if it is none or one that a node refuses by itself.
func (p *player) decoded() kmsg.Request {
	keys := []kmsg.Key{kmsg.InitProducerID, kmsg.AddPartitionsToTxn, kmsg.AddOffsetsToTxn, kmsg.EndTxn, kmsg.DescribeTransactions, kmsg.ListTransactions}
	req := keys[p.next(len(keys))].Request()
	req.SetVersion(int16(p.next(int(req.MaxVersion()) + 1)))
	body := p.input[:min(p.next(200), len(p.input))]
	p.input = p.input[len(body):]
	if req.ReadFrom(body) != nil {
		return nil
	}
	if init, ok := req.(*kmsg.InitProducerIDRequest); ok && (init.TransactionalID == nil || init.TransactionTimeoutMillis <= 0 || init.TransactionTimeoutMillis > timeoutMaxMS) {
		return nil
	}
	return req
}

func (p *player) id() string {
	return []string{"a", "b", "c", "", strings.Repeat("long", 100), "d", "e", "f"}[p.next(8)]
}

// producer is one that an answer told of, one near it, or any.
func (p *player) producer() (o owner) {
	o = owner{int64(wire.NoProducerID), int16(wire.NoProducerEpoch)}
	if len(p.owners) > 0 {
		o = p.owners[len(p.owners)-1-p.next(min(len(p.owners), 4))]
	}
	switch p.next(16) {
	case 0:
		o.epoch++
	case 1:
		o.epoch--
	case 2:
		o.id++
	case 3:
		return owner{int64(wire.NoProducerID), int16(wire.NoProducerEpoch)}
	case 4:
		return owner{math.MaxInt64, math.MaxInt16}
	case 5:
		return owner{math.MinInt64, math.MinInt16}
	case 6:
		o.epoch = int16(epochMax)
	}
	return o
}

func (p *player) request(n int) kmsg.Request {
	o := p.producer()
	switch n {
	case 0, 1:
		id := p.id()
		return &kmsg.InitProducerIDRequest{
			Version: int16(p.next(6)), TransactionalID: &id, ProducerID: o.id, ProducerEpoch: o.epoch, TransactionTimeoutMillis: 1 + int32(p.next(8))*5000,
		}
	case 2, 3:
		return p.addition(o)
	case 4:
		return &kmsg.AddOffsetsToTxnRequest{Version: int16(p.next(5)), TransactionalID: p.id(), ProducerID: o.id, ProducerEpoch: o.epoch, Group: "g"}
	case 5, 6:
		return &kmsg.EndTxnRequest{Version: int16(p.next(6)), TransactionalID: p.id(), ProducerID: o.id, ProducerEpoch: o.epoch, Commit: p.next(2) == 0}
	case 7:
		return &kmsg.DescribeTransactionsRequest{TransactionalIDs: []string{p.id(), p.id()}}
	}
	pattern := []string{"a.*", "(", "", "[a-"}[p.next(4)]
	return &kmsg.ListTransactionsRequest{
		Version: int16(p.next(3)), StateFilters: []string{"Ongoing", "nonsense"}[:p.next(3)], ProducerIDFilters: []int64{o.id, -1}[:p.next(3)],
		DurationFilterMillis: int64(p.next(3)-1) * math.MaxInt64, TransactionalIDPattern: &pattern,
	}
}

func (p *player) addition(o owner) kmsg.Request {
	req := kmsg.NewPtrAddPartitionsToTxnRequest()
	if req.Version = int16(p.next(6)); req.Version < batchedFrom {
		req.TransactionalID, req.ProducerID, req.ProducerEpoch = p.id(), o.id, o.epoch
		req.Topics = []kmsg.AddPartitionsToTxnRequestTopic{{Topic: "t", Partitions: p.partitions()}, {Topic: "u", Partitions: p.partitions()}}
		return req
	}
	for range p.next(3) {
		req.Transactions = append(req.Transactions, kmsg.AddPartitionsToTxnRequestTransaction{
			TransactionalID: p.id(), ProducerID: o.id, ProducerEpoch: o.epoch, VerifyOnly: p.next(4) == 0,
			Topics: []kmsg.AddPartitionsToTxnRequestTransactionTopic{{Topic: "t", Partitions: p.partitions()}},
		})
	}
	return req
}

func (p *player) partitions() []int32 {
	return [][]int32{{0}, {1, 1, 0}, {}, {math.MaxInt32, math.MinInt32}, {2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13}}[p.next(5)]
}

// judge takes the answers and looks at every invariant.
func (p *player) judge() {
	p.t.Helper()
	for h, resp := range p.answers {
		req, asked := p.open[h]
		if !asked {
			p.t.Fatalf("request %d is answered and was not asked, or is answered twice", h)
		}
		delete(p.open, h)
		delete(p.answers, h)
		if resp.Key() != req.Key() || resp.GetVersion() != req.GetVersion() {
			p.t.Fatalf("a request of key %d version %d is answered with key %d version %d", req.Key(), req.GetVersion(), resp.Key(), resp.GetVersion())
		}
		resp.AppendTo(nil)
		switch r := resp.(type) {
		case *kmsg.InitProducerIDResponse:
			p.owners = append(p.owners, owner{r.ProducerID, r.ProducerEpoch})
		case *kmsg.EndTxnResponse:
			if r.Version > implicitFrom && r.ErrorCode == 0 {
				p.owners = append(p.owners, owner{r.ProducerID, r.ProducerEpoch})
			}
		}
	}
	for _, t := range p.c.ids {
		p.c.touched = t
		p.c.check()
	}
	// Partitions are charged a second time while the record of a decision is under way, which no want of room refuses.
	if held := p.held(p.t); held > 2*p.cfg.MemoryBytes || len(p.c.ids) > p.cfg.MaxIDs {
		p.t.Fatalf("%d ids hold %d bytes", len(p.c.ids), held)
	}
}

// finish gives everything its outcome and lets all timers run out: nobody may be left waiting, and no transaction open.
func (p *player) finish() {
	p.idsAtHand, p.holdAppends, p.holdMarkers = true, false, false
	p.apply(Effects{NextTickMS: p.nextTickMS}) // what was held
	for end := p.nowMS + timeoutMaxMS + p.cfg.IDExpirationMS + 2*p.cfg.ExpirationIntervalMS; p.nowMS < end; {
		p.pass(p.cfg.AbortIntervalMS)
		p.judge()
	}
	if len(p.open) > 0 || len(p.c.appends) > 0 || len(p.c.markers) > 0 || len(p.c.unfinished) > 0 || len(p.c.waiting) > 0 {
		p.t.Fatalf("%d requests were not answered, %d appends and %d markers are under way, %d transactions are unfinished, %d waited for",
			len(p.open), len(p.c.appends), len(p.c.markers), len(p.c.unfinished), len(p.c.waiting))
	}
	if len(p.c.ids) > 0 || p.c.held != 0 {
		p.t.Fatalf("%d ids are left, %d bytes charged", len(p.c.ids), p.c.held)
	}
}
