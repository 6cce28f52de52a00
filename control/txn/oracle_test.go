package txn

import (
	"context"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"encoding/binary"
	"io"
	"net"
)

// oracle is a real Kafka.
type oracle struct {
	t    *testing.T
	conn net.Conn
	corr int32
}

func newOracle(t *testing.T, address string) *oracle {
	conn, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(context.Background(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	o := &oracle{t: t, conn: conn}
	topics := kmsg.NewPtrCreateTopicsRequest()
	topics.Version, topics.TimeoutMillis = 5, 5000
	for _, name := range []string{"rmt-a", "rmt-b"} {
		topic := kmsg.NewCreateTopicsRequestTopic()
		topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, 2, 1
		topics.Topics = append(topics.Topics, topic)
	}
	o.ask(topics)
	for _, kind := range []int8{0, 1} { // the coordinators' topics are made when they are looked for
		find := kmsg.NewPtrFindCoordinatorRequest()
		find.Version, find.CoordinatorType, find.CoordinatorKeys = 4, kind, []string{"x"}
		o.ask(find)
	}
	time.Sleep(time.Second)
	return o
}

func (o *oracle) ask(req kmsg.Request) kmsg.Response {
	o.t.Helper()
	o.corr++
	frame := kmsg.NewRequestFormatter(kmsg.FormatterClientID("rmt")).AppendRequest(nil, req, o.corr)
	if _, err := o.conn.Write(frame); err != nil {
		o.t.Fatal(err)
	}
	var size [4]byte
	if _, err := io.ReadFull(o.conn, size[:]); err != nil {
		o.t.Fatal(err)
	}
	body := make([]byte, binary.BigEndian.Uint32(size[:]))
	if _, err := io.ReadFull(o.conn, body); err != nil {
		o.t.Fatal(err)
	}
	body = body[4:]
	if req.IsFlexible() {
		body = body[1:]
	}
	resp := req.ResponseKind()
	if err := resp.ReadFrom(body); err != nil {
		o.t.Fatal(err)
	}
	return resp
}

func (o *oracle) settle(id string) {
	for range 200 {
		req := kmsg.NewPtrDescribeTransactionsRequest()
		req.TransactionalIDs = []string{id}
		state := o.ask(req).(*kmsg.DescribeTransactionsResponse).TransactionStates[0].State
		if state != PrepareCommit.String() && state != PrepareAbort.String() {
			time.Sleep(20 * time.Millisecond) // the state is told before the next request may change it
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	o.t.Fatalf("%s does not settle", id)
}
