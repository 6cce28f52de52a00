package node

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

// TestExactlyOnceOverKills: producers commit and abort at random while the node is killed again and again. What a producer
// knows to be committed is there once, what it knows to be aborted is not, in every partition in the order of its producer.
func TestExactlyOnceOverKills(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) { exactlyOnce(t, seed) })
	}
}

func exactlyOnce(t *testing.T, seed uint64) {
	s := shapes[seed%uint64(len(shapes))]
	tn := startNode(t, nodeOptions{shape: s})
	tn.createTopic("a", 2, "segment.bytes=1048576")
	w := &eosWorld{t: t}
	w.node.Store(tn)
	var wg sync.WaitGroup
	producers := make([]*eosProducer, 4)
	for i := range producers {
		p := &eosProducer{w: w, name: fmt.Sprint("p", i), rnd: rand.New(rand.NewPCG(seed, uint64(i))), implicit: i%2 == 0}
		producers[i] = p
		wg.Go(p.run)
	}
	rnd := rand.New(rand.NewPCG(seed, 99))
	for range 3 {
		await(t, "some transactions", func() bool { return w.done.Load() >= 10 })
		w.done.Store(0)
		time.Sleep(time.Duration(rnd.IntN(5)) * time.Millisecond) // any point of a transaction
		tn.kill()
		tn = tn.restart()
		w.node.Store(tn)
	}
	w.stop.Store(true)
	wg.Wait()
	reader := tn.dial()
	for part := range int32(2) {
		var want []string
		for _, p := range producers {
			want = append(want, p.committed[part]...)
		}
		var got []string
		await(t, "all transactions are decided", func() bool {
			var stable int64
			got, stable = reader.readCommitted("a", part)
			_, end, _ := partitionView{tn.partition("a", wire.PartitionIndex(part))}.Offsets()
			return stable == int64(end)
		})
		for _, p := range producers {
			mine := slices.DeleteFunc(slices.Clone(got), func(v string) bool { return !strings.HasPrefix(v, p.name+"-") })
			if !slices.Equal(mine, p.committed[part]) {
				t.Errorf("%s in partition %d: %d records, want %d\n%v\n%v", p.name, part, len(mine), len(p.committed[part]), mine, p.committed[part])
			}
		}
		if len(got) != len(want) {
			t.Errorf("partition %d has %d committed records, want %d", part, len(got), len(want))
		}
	}
}

// eosWorld is what the producers share.
type eosWorld struct {
	t    *testing.T
	node atomic.Pointer[testNode]
	done atomic.Int64
	stop atomic.Bool
}

// eosProducer runs one transaction after the other; its connection goes with each node that is killed.
type eosProducer struct {
	w         *eosWorld
	name      string
	rnd       *rand.Rand
	implicit  bool
	conn      *rawConn
	producer  int64
	epoch     int16
	next      [2]int32
	value     int
	committed [2][]string
}

// errUnknown: the node went while it was asked; what became of the request is not known.
var errUnknown = errors.New("the node is gone")

func (p *eosProducer) run() {
	for !p.w.stop.Load() {
		p.reconnect()
		if p.init() != nil {
			continue
		}
		for !p.w.stop.Load() && p.transaction() == nil {
			p.w.done.Add(1)
		}
	}
	p.reconnect()
	for p.init() != nil { // aborts what is open
		p.reconnect()
	}
	p.conn.close()
}

func (p *eosProducer) reconnect() {
	if p.conn != nil {
		p.conn.close()
	}
	p.conn = dialRaw(p.w.node.Load().addr())
}

// retry asks until the answer is neither "come back" nor lost; ask gives the code.
func (p *eosProducer) retry(ask func() (wire.ErrorCode, error)) (wire.ErrorCode, error) {
	for {
		code, err := ask()
		switch code {
		case wire.ConcurrentTransactions, wire.CoordinatorLoadInProgress, wire.CoordinatorNotAvailable, wire.NotEnoughReplicas, wire.NotCoordinator:
			if err == nil {
				time.Sleep(time.Millisecond)
				continue
			}
		}
		if code == wire.KafkaStorageError { // what is under way in a node that is killed
			return code, errUnknown
		}
		return code, err
	}
}

func (p *eosProducer) init() error {
	find := kmsg.NewPtrFindCoordinatorRequest()
	find.Version, find.CoordinatorType, find.CoordinatorKeys = 4, 1, []string{p.name}
	if _, err := p.conn.call(find); err != nil {
		return err
	}
	req := kmsg.NewPtrInitProducerIDRequest()
	req.Version, req.TransactionalID, req.TransactionTimeoutMillis = 5, &p.name, 60_000
	code, err := p.retry(func() (wire.ErrorCode, error) {
		resp, err := p.conn.call(req)
		if err != nil {
			return 0, err
		}
		r := resp.(*kmsg.InitProducerIDResponse)
		p.producer, p.epoch, p.next = r.ProducerID, r.ProducerEpoch, [2]int32{}
		return wire.ErrorCode(r.ErrorCode), nil
	})
	if err == nil && code != wire.None {
		p.w.t.Errorf("%s: init: %s", p.name, code)
	}
	return err
}

// transaction writes some records and decides. An error is a node that is gone: what was written is aborted by the next
// init, unless the end was asked for, which is asked for again.
func (p *eosProducer) transaction() error {
	var written [2][]string
	for range 1 + p.rnd.IntN(4) {
		part := p.rnd.IntN(2)
		v := fmt.Sprint(p.name, "-", p.value)
		p.value++
		if err := p.write(part, v); err != nil {
			return err
		}
		written[part] = append(written[part], v)
	}
	commit := p.rnd.IntN(3) > 0
	ended, err := p.end(commit)
	for err != nil {
		p.reconnect()
		ended, err = p.end(commit)
	}
	if ended && commit {
		for part := range written {
			p.committed[part] = append(p.committed[part], written[part]...)
		}
	}
	return nil
}

func (p *eosProducer) write(part int, v string) error {
	if !p.implicit {
		add := kmsg.NewPtrAddPartitionsToTxnRequest()
		add.Version, add.TransactionalID, add.ProducerID, add.ProducerEpoch = 3, p.name, p.producer, p.epoch
		add.Topics = []kmsg.AddPartitionsToTxnRequestTopic{{Topic: "a", Partitions: []int32{int32(part)}}}
		code, err := p.retry(func() (wire.ErrorCode, error) {
			resp, err := p.conn.call(add)
			if err != nil {
				return 0, err
			}
			return wire.ErrorCode(resp.(*kmsg.AddPartitionsToTxnResponse).Topics[0].Partitions[0].ErrorCode), nil
		})
		if err == nil && code != wire.None {
			p.w.t.Errorf("%s: add: %s", p.name, code)
		}
		if err != nil {
			return err
		}
	}
	req := produce(-1, toProduce{"a", int32(part), batchOf(wire.BatchHeader{
		Transactional: true, Idempotent: true, ProducerID: wire.ProducerID(p.producer), ProducerEpoch: wire.ProducerEpoch(p.epoch), BaseSequence: wire.Sequence(p.next[part]),
	}, v)})
	if req.Version, req.TransactionID = 11, &p.name; p.implicit {
		req.Version = 12
	}
	code, err := p.retry(func() (wire.ErrorCode, error) {
		resp, err := p.conn.call(req)
		if err != nil {
			return 0, err
		}
		return wire.ErrorCode(produced(resp)[0].ErrorCode), nil
	})
	if err == nil && code != wire.None {
		p.w.t.Errorf("%s: produce: %s", p.name, code)
	}
	p.next[part]++
	return err
}

// end asks for the end; false if the transaction has ended otherwise.
func (p *eosProducer) end(commit bool) (bool, error) {
	req := kmsg.NewPtrEndTxnRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Commit = p.name, p.producer, p.epoch, commit
	if req.Version = 4; p.implicit {
		req.Version = 5
	}
	code, err := p.retry(func() (wire.ErrorCode, error) {
		resp, err := p.conn.call(req)
		if err != nil {
			return 0, err
		}
		r := resp.(*kmsg.EndTxnResponse)
		if r.ErrorCode == 0 && p.implicit {
			p.epoch, p.next = r.ProducerEpoch, [2]int32{}
		}
		return wire.ErrorCode(r.ErrorCode), nil
	})
	if err != nil {
		return false, err
	}
	if code != wire.None {
		p.w.t.Errorf("%s: end (commit %t): %s", p.name, commit, code)
	}
	return code == wire.None, nil
}

// rawConn is a client whose node may go at any time.
type rawConn struct{ c *client }

// dialRaw connects, or gives a connection that is gone.
func dialRaw(address string) *rawConn {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return &rawConn{}
	}
	return &rawConn{&client{conn: conn, r: bufio.NewReader(conn)}}
}

func (r *rawConn) close() {
	if r.c != nil {
		_ = r.c.conn.Close()
	}
}

func (r *rawConn) call(req kmsg.Request) (kmsg.Response, error) {
	if r.c == nil {
		time.Sleep(time.Millisecond)
		return nil, errUnknown
	}
	if _, err := r.c.conn.Write(r.c.frame(req)); err != nil {
		return nil, err
	}
	return r.c.receive()
}
