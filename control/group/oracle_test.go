package group

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/ringmill/ringmill/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestOracle runs the measured transcripts against a real Kafka, so that they can be taken again for a newer one: set
// RINGMILL_TEST_KAFKA to the address of a broker with group.initial.rebalance.delay.ms=0, and -rewrite to take them.
func TestOracle(t *testing.T) {
	address := os.Getenv("RINGMILL_TEST_KAFKA")
	if address == "" {
		t.Skip("needs a real Kafka: RINGMILL_TEST_KAFKA is not set")
	}
	datadriven.Walk(t, "testdata/measured", func(t *testing.T, path string) {
		o := &oracle{t: t, address: address, ids: map[string]wire.TopicID{}}
		o.createTopics("rmg-t1", "rmg-t2")
		o.awaitCoordinators()
		s := newScript(o, fmt.Sprintf("rmg-%d-", time.Now().UnixNano()))
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			out, ok := s.run(d)
			if !ok {
				d.Fatalf(t, "unknown command %s", d.Cmd)
			}
			return out
		})
	})
}

// oracle sends each request on a connection of its own.
type oracle struct {
	t       *testing.T
	address string
	mu      sync.Mutex
	answers []answer
	pending int
	ids     map[string]wire.TopicID // of topics that the transcript made
}

func (o *oracle) send(name, client string, req kmsg.Request) {
	conn, err := net.Dial("tcp", o.address)
	if err != nil {
		o.t.Fatal(err)
	}
	o.t.Cleanup(func() { conn.Close() })
	o.mu.Lock()
	o.pending++
	o.mu.Unlock()
	go func() {
		resp, err := exchange(conn, client, req)
		o.mu.Lock()
		defer o.mu.Unlock()
		o.pending--
		if err == nil {
			o.answers = append(o.answers, answer{name, resp})
		}
	}()
}

func exchange(conn net.Conn, client string, req kmsg.Request) (kmsg.Response, error) {
	f := kmsg.NewRequestFormatter(kmsg.FormatterClientID(client))
	if _, err := conn.Write(f.AppendRequest(nil, req, 7)); err != nil {
		return nil, err
	}
	var size [4]byte
	if _, err := io.ReadFull(conn, size[:]); err != nil {
		return nil, err
	}
	body := make([]byte, binary.BigEndian.Uint32(size[:]))
	if _, err := io.ReadFull(conn, body); err != nil {
		return nil, err
	}
	resp := req.ResponseKind()
	resp.SetVersion(req.GetVersion())
	body = body[4:]
	if resp.IsFlexible() {
		body = body[1:] // no tagged fields in the header
	}
	return resp, resp.ReadFrom(body)
}

// settle waits until nothing is under way, or what is has not been answered for a while.
func (o *oracle) settle() []answer {
	for range 30 {
		time.Sleep(20 * time.Millisecond)
		o.mu.Lock()
		idle := o.pending == 0
		o.mu.Unlock()
		if idle {
			break
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	out := slices.Clone(o.answers)
	o.answers = nil
	return out
}

func (o *oracle) advance(ms int64) { time.Sleep(time.Duration(ms) * time.Millisecond) }

func (o *oracle) createTopics(names ...string) {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Version, req.TimeoutMillis = 5, 10_000
	for _, name := range names {
		topic := kmsg.NewCreateTopicsRequestTopic()
		topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, 3, 1
		req.Topics = append(req.Topics, topic)
	}
	o.ask(req)
}

// awaitCoordinators has __consumer_offsets made, where it is not there yet, and waits until its coordinators answer.
func (o *oracle) awaitCoordinators() {
	for range 300 {
		find := kmsg.NewPtrFindCoordinatorRequest()
		find.Version, find.CoordinatorKey = 3, "any"
		list := kmsg.NewPtrListGroupsRequest()
		if o.ask(find).(*kmsg.FindCoordinatorResponse).ErrorCode == 0 && o.ask(list).(*kmsg.ListGroupsResponse).ErrorCode == 0 {
			return
		}
		o.advance(100)
	}
	o.t.Fatal("the broker's group coordinators do not come up")
}

// setTopic makes a topic, or grows it, and waits until the broker's coordinators have heard of it.
func (o *oracle) setTopic(name string, partitions int32) {
	if _, there := o.ids[name]; there {
		req := kmsg.NewPtrCreatePartitionsRequest()
		req.Version, req.TimeoutMillis = 3, 10_000
		req.Topics = []kmsg.CreatePartitionsRequestTopic{{Topic: name, Count: partitions}}
		o.ask(req)
	} else {
		req := kmsg.NewPtrCreateTopicsRequest()
		req.Version, req.TimeoutMillis = 7, 10_000
		topic := kmsg.NewCreateTopicsRequestTopic()
		topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, partitions, 1
		req.Topics = append(req.Topics, topic)
		o.ids[name] = o.ask(req).(*kmsg.CreateTopicsResponse).Topics[0].TopicID
	}
	o.advance(300)
}

func (o *oracle) dropTopic(name string) {
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.Version, req.TimeoutMillis, req.TopicNames = 5, 10_000, []string{name}
	o.ask(req)
	delete(o.ids, name)
	o.advance(300)
}

// setGroupConfig takes what a group has of its own away first.
func (o *oracle) setGroupConfig(id string, cfg *GroupConfig) {
	values := map[string]*string{
		"consumer.session.timeout.ms": nil, "consumer.heartbeat.interval.ms": nil,
		"share.session.timeout.ms": nil, "share.heartbeat.interval.ms": nil,
	}
	if cfg != nil {
		values["consumer.session.timeout.ms"] = kmsg.StringPtr(strconv.Itoa(int(cfg.ConsumerSessionTimeoutMS)))
		values["consumer.heartbeat.interval.ms"] = kmsg.StringPtr(strconv.Itoa(int(cfg.ConsumerHeartbeatIntervalMS)))
		values["share.session.timeout.ms"] = kmsg.StringPtr(strconv.Itoa(int(cfg.ShareSessionTimeoutMS)))
		values["share.heartbeat.interval.ms"] = kmsg.StringPtr(strconv.Itoa(int(cfg.ShareHeartbeatIntervalMS)))
	}
	resource := kmsg.NewIncrementalAlterConfigsRequestResource()
	resource.ResourceType, resource.ResourceName = kmsg.ConfigResourceTypeGroupConfig, id
	for _, key := range sortedKeys(values) {
		c := kmsg.IncrementalAlterConfigsRequestResourceConfig{Name: key, Value: values[key]}
		if c.Value == nil {
			c.Op = kmsg.IncrementalAlterConfigOpDelete
		}
		resource.Configs = append(resource.Configs, c)
	}
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	req.Version, req.Resources = 1, append(req.Resources, resource)
	if r := o.ask(req).(*kmsg.IncrementalAlterConfigsResponse).Resources[0]; r.ErrorCode != 0 {
		o.t.Fatal(*r.ErrorMessage)
	}
	o.advance(300)
}

func (o *oracle) topicID(name string) wire.TopicID { return o.ids[name] }

func (o *oracle) ask(req kmsg.Request) kmsg.Response {
	conn, err := net.Dial("tcp", o.address)
	if err != nil {
		o.t.Fatal(err)
	}
	defer conn.Close()
	resp, err := exchange(conn, "oracle", req)
	if err != nil {
		o.t.Fatal(err)
	}
	return resp
}
