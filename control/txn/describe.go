package txn

import (
	"regexp"
	"slices"

	"github.com/ringmill/ringmill/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// describe answers for the transactional ids that the request names.
func (c *Coordinator) describe(req *kmsg.DescribeTransactionsRequest) *kmsg.DescribeTransactionsResponse {
	resp := kmsg.NewPtrDescribeTransactionsResponse()
	resp.Version = req.Version
	for _, id := range req.TransactionalIDs {
		resp.TransactionStates = append(resp.TransactionStates, c.describeOne(id))
	}
	return resp
}

func (c *Coordinator) describeOne(id string) kmsg.DescribeTransactionsResponseTransactionState {
	s := kmsg.NewDescribeTransactionsResponseTransactionState()
	s.TransactionalID = id
	t := c.lookup(id)
	switch {
	case id == "":
		s.ErrorCode = int16(wire.InvalidRequest)
		return s
	case t == nil:
		s.ErrorCode = int16(wire.TransactionalIDNotFound)
		return s
	}
	s.State, s.TimeoutMillis, s.StartTimestamp = t.state.String(), t.timeoutMS, int64(t.start)
	s.ProducerID, s.ProducerEpoch = int64(t.producerID), int16(t.epoch)
	for _, p := range t.partitions {
		if n := len(s.Topics); n == 0 || s.Topics[n-1].Topic != p.Topic {
			topic := kmsg.NewDescribeTransactionsResponseTransactionStateTopic()
			topic.Topic = p.Topic
			s.Topics = append(s.Topics, topic)
		}
		topic := &s.Topics[len(s.Topics)-1]
		topic.Partitions = append(topic.Partitions, int32(p.Partition))
	}
	return s
}

// list answers with the shard's transactional ids that pass the request's filters.
func (c *Coordinator) list(req *kmsg.ListTransactionsRequest) *kmsg.ListTransactionsResponse {
	resp := kmsg.NewPtrListTransactionsResponse()
	resp.Version = req.Version
	filter, code := newListFilter(req)
	if resp.ErrorCode = int16(code); code != wire.None {
		return resp
	}
	resp.UnknownStateFilters = filter.unknown
	var found []*transaction
	for _, t := range c.ids {
		if filter.passes(t, c.wall) {
			found = append(found, t)
		}
	}
	for _, t := range sorted(found) {
		s := kmsg.NewListTransactionsResponseTransactionState()
		s.TransactionalID, s.ProducerID, s.TransactionState = t.id, int64(t.producerID), t.state.String()
		resp.TransactionStates = append(resp.TransactionStates, s)
	}
	return resp
}

// listFilter is what ListTransactions asks for.
type listFilter struct {
	byState    bool
	states     []State
	unknown    []string
	producers  []int64
	durationMS int64 // below 0: any
	pattern    *regexp.Regexp
}

func newListFilter(req *kmsg.ListTransactionsRequest) (listFilter, wire.ErrorCode) {
	f := listFilter{byState: len(req.StateFilters) > 0, producers: req.ProducerIDFilters, durationMS: -1}
	for _, name := range req.StateFilters {
		if i := slices.Index(stateNames[:], name); i >= 0 {
			f.states = append(f.states, State(i))
		} else if name == "PrepareEpochFence" { // a state of Kafka's that it never rests in
			f.states = append(f.states, Dead)
		} else {
			f.unknown = append(f.unknown, name)
		}
	}
	if req.Version >= 1 {
		f.durationMS = req.DurationFilterMillis
	}
	if req.Version >= 2 && req.TransactionalIDPattern != nil && *req.TransactionalIDPattern != "" {
		pattern, err := regexp.Compile(`\A(?:` + *req.TransactionalIDPattern + `)\z`)
		if err != nil {
			return f, wire.InvalidRegularExpression
		}
		f.pattern = pattern
	}
	return f, wire.None
}

func (f *listFilter) passes(t *transaction, now wire.Timestamp) bool {
	switch {
	case f.byState && !slices.Contains(f.states, t.state),
		len(f.producers) > 0 && !slices.Contains(f.producers, int64(t.producerID)),
		f.durationMS >= 0 && int64(now-t.start) <= f.durationMS, // one that was never begun is old, as in Kafka
		f.pattern != nil && !f.pattern.MatchString(t.id):
		return false
	}
	return true
}
