package protocol

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/tests/harness"
)

// scene is what one exchange at one version is played on. Names that it hands out are unlike every other's, and stand as
// words in its answer.
type scene struct {
	t       *testing.T
	node    *harness.Node
	conn    *conn
	version int16
	names   map[string]string
	shared  *string // the sweep's topic that only is read; made by who needs it first
}

// name is a new one, shown as <kind>.
func (s *scene) name(kind string) string {
	name := harness.Name(kind)
	s.names[name] = "<" + kind + ">"
	return name
}

// sceneTime is the timestamp of the first record of a scene's topic; the others follow by a millisecond.
const sceneTime = 1_700_000_000_000

// records is a topic as that of topic, which the whole sweep reads and none of it changes.
func (s *scene) records() string {
	s.t.Helper()
	if *s.shared == "" {
		*s.shared = s.topic()
	}
	s.names[*s.shared] = "<topic>"
	return *s.shared
}

// topic is new and has two partitions and, in partition 0, one batch of three records.
func (s *scene) topic(configs ...string) string {
	s.t.Helper()
	topic := s.node.CreateTopic(s.t, "topic", 2, append(configs, "retention.ms=-1")...) // its records are old
	s.names[topic] = "<topic>"
	s.conn.mustProduce(topic, newBatch(keyed("a", "1"), keyed("b", "2"), keyed("c", "3")).timestamps(sceneTime, sceneTime+1, sceneTime+2))
	return topic
}

// group has a coordinator that knows nothing of it.
func (s *scene) group() string {
	s.t.Helper()
	group := s.name("group")
	s.conn.findCoordinator(group)
	return group
}

// member is alone in a new stable group.
type member struct {
	group, id  string
	generation int32
}

func (s *scene) member() member {
	s.t.Helper()
	group := s.group()
	id, generation := s.conn.joinAlone(group, 4, nil)
	return member{group, id, generation}
}

// producer has a transactional id and, if it has a topic, a transaction that is open in its partition 0.
type producer struct {
	transactional string
	id            int64
	epoch         int16
	topic         string
}

func (s *scene) producer() producer {
	s.t.Helper()
	p := producer{transactional: s.name("transaction")}
	harness.Await(s.t, "a transaction coordinator", func() bool {
		res := ask[*kmsg.InitProducerIDResponse](s.conn, 4, p.init())
		p.id, p.epoch = res.ProducerID, res.ProducerEpoch
		return res.ErrorCode == 0
	})
	return p
}

func (p *producer) init() *kmsg.InitProducerIDRequest {
	req := initProducerIDRequest()
	req.TransactionalID, req.TransactionTimeoutMillis = &p.transactional, 60000
	return req
}

// openTransaction has written one record of it.
func (s *scene) openTransaction() producer {
	s.t.Helper()
	p := s.producer()
	p.topic = s.topic()
	add := kmsg.NewPtrAddPartitionsToTxnRequest()
	add.TransactionalID, add.ProducerID, add.ProducerEpoch = p.transactional, p.id, p.epoch
	add.Topics = []kmsg.AddPartitionsToTxnRequestTopic{{Topic: p.topic, Partitions: []int32{0}}}
	res := ask[*kmsg.AddPartitionsToTxnResponse](s.conn, 3, add)
	wantCode(s.t, "AddPartitionsToTxn", res.Topics[0].Partitions[0].ErrorCode, nil)
	b := newBatch(record("in a transaction")).producer(p.id, p.epoch, 0)
	b.Attributes |= 0x10
	req := produceRequest(p.topic, 0, b.bytes())
	req.TransactionID = &p.transactional
	stored := ask[*kmsg.ProduceResponse](s.conn, 9, req)
	wantCode(s.t, "Produce", stored.Topics[0].Partitions[0].ErrorCode, nil)
	return p
}

func (s *scene) endTransaction(p producer, commit bool) {
	s.t.Helper()
	req := &kmsg.EndTxnRequest{TransactionalID: p.transactional, ProducerID: p.id, ProducerEpoch: p.epoch, Commit: commit}
	wantCode(s.t, "EndTxn", ask[*kmsg.EndTxnResponse](s.conn, 3, req).ErrorCode, nil)
	harness.Await(s.t, "the transaction's end", func() bool {
		res := ask[*kmsg.DescribeTransactionsResponse](s.conn, 0, &kmsg.DescribeTransactionsRequest{TransactionalIDs: []string{p.transactional}})
		return strings.HasPrefix(res.TransactionStates[0].State, "Complete")
	})
}
