package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Bounds of an outage: how long one request may take, how long all of it, and how many acknowledgements show that it is over.
const (
	probeTimeout   = 5 * time.Second
	outageMax      = 2 * time.Minute
	outageSettled  = 20
	outageWarmUp   = 50
	probeRetryWait = time.Millisecond
)

// ErrNoLeader says that nobody acknowledged a record within outageMax.
var ErrNoLeader = errors.New("bench: nobody leads the partition")

// Outage sends one record after the other to partition 0 of a topic, each to who leads it then, and calls end, with the leader's id, to end
// that node. It returns the longest time between two acknowledgements from the call on until another node has acknowledged some. No client
// library is between, so nobody's backoff is measured: who leads is asked again every millisecond.
func Outage(ctx context.Context, addresses []string, topic string, end func(leader int32) error) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, outageMax)
	defer cancel()
	p := probe{addresses: addresses, load: Workload{Topic: topic, Partitions: 1, RecordBytes: 100, BatchRecords: 1, Acks: -1, Producers: 1, InFlight: 1}}
	defer p.leave()
	for range outageWarmUp {
		if err := p.acknowledged(ctx); err != nil {
			return 0, err
		}
	}
	ended, first := make(chan error, 1), p.leader
	last, longest := Now(), time.Duration(0)
	go func() { ended <- end(first) }()
	for settled := 0; settled < outageSettled; {
		if err := p.acknowledged(ctx); err != nil {
			return 0, err
		}
		now := Now()
		longest, last = max(longest, now.Sub(last)), now
		if p.leader != first {
			settled++
		}
	}
	return longest, <-ended
}

// probe is one producer without a library.
type probe struct {
	addresses []string
	load      Workload
	asked     int // of addresses, the last
	leader    int32
	conn      *rawProducer // to the leader; nil while nobody is known to lead
}

// acknowledged returns when the leader, whoever it is, has acknowledged one more record.
func (p *probe) acknowledged(ctx context.Context) error {
	for {
		err := p.try(ctx)
		if err == nil {
			return nil
		}
		p.leave()
		if ctx.Err() != nil {
			return fmt.Errorf("%w: %w", ErrNoLeader, err)
		}
		time.Sleep(probeRetryWait)
	}
}

func (p *probe) try(ctx context.Context) error {
	if p.conn == nil {
		if err := p.find(ctx); err != nil {
			return err
		}
	}
	if err := p.conn.conn.socket.SetDeadline(time.Now().Add(probeTimeout)); err != nil {
		return err
	}
	if err := p.conn.send(Now()); err != nil {
		return err
	}
	return p.conn.await()
}

// find asks the next node who leads, and connects.
func (p *probe) find(ctx context.Context) error {
	p.asked = (p.asked + 1) % len(p.addresses)
	var address string
	err := withConn(ctx, p.addresses[p.asked], func(c *RawConn) (err error) {
		if err := c.socket.SetDeadline(time.Now().Add(probeTimeout)); err != nil {
			return err
		}
		p.leader, address, err = leaderOf(c, p.load.Topic)
		return err
	})
	if err != nil {
		return err
	}
	p.conn, err = p.load.dialProducer(ctx, address, 0)
	return err
}

func (p *probe) leave() {
	if p.conn != nil {
		p.conn.conn.Close()
		p.conn = nil
	}
}

// leaderOf is the leader of a topic's partition 0 with its address.
func leaderOf(c *RawConn, topic string) (id int32, address string, err error) {
	answer, err := Metadata(c, topic)
	if err != nil {
		return 0, "", err
	}
	node := leadersIn(answer)[0]
	if node == nil {
		return 0, "", ErrNoLeader
	}
	return node.NodeID, addressOf(node), nil
}

// Metadata asks a node for the brokers and for what it knows of the topics, if any. Errors are the network's or a topic's (*kerr.Error);
// those of partitions are in the answer.
func Metadata(c *RawConn, topics ...string) (*kmsg.MetadataResponse, error) {
	req := kmsg.NewPtrMetadataRequest()
	req.Version, req.Topics = 7, []kmsg.MetadataRequestTopic{}
	for _, topic := range topics {
		asked := kmsg.NewMetadataRequestTopic()
		asked.Topic = kmsg.StringPtr(topic)
		req.Topics = append(req.Topics, asked)
	}
	answer, err := c.Do(req)
	if err != nil {
		return nil, err
	}
	got := answer.(*kmsg.MetadataResponse)
	for _, t := range got.Topics {
		if err := kerr.ErrorForCode(t.ErrorCode); err != nil {
			return nil, err
		}
	}
	if len(got.Topics) != len(topics) {
		return nil, fmt.Errorf("bench: asked for %d topics, told of %d", len(topics), len(got.Topics))
	}
	return got, nil
}
