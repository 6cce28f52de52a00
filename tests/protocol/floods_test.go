package protocol

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/tests/harness"
)

// peakMB is the most that the process had resident so far, in MiB (proc(5), VmHWM).
func peakMB(t *testing.T, pid int) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(status), "VmHWM:")
	kb, err := strconv.Atoi(strings.Fields(rest)[0])
	if !found || err != nil {
		t.Fatalf("no VmHWM in\n%s", status)
	}
	return kb >> 10
}

// flood is one request that many connections send again and again without reading an answer.
type flood struct {
	name               string
	connections, times int
	request            func(connection, time int) []byte
	// most is by how many MiB the process may grow: the bound that holds the flood, twice for what the collector has not taken
	// yet, and the requests under way.
	most int
}

// floodGroups is how many groups the members are of.
const floodGroups = 20

func encoded(version int16, req kmsg.Request) []byte {
	req.SetVersion(version)
	return format.AppendRequest(nil, req, 1)
}

// joinWith is a JoinGroup that waits for others of its group to come, with much to say.
func joinWith(group string, metadata []byte) []byte {
	req := kmsg.NewPtrJoinGroupRequest()
	req.Group, req.ProtocolType, req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = group, "consumer", 300_000, 300_000
	req.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range", Metadata: metadata}}
	return encoded(3, req)
}

// emptyEntries is a Produce of many partitions without a byte of records.
func emptyEntries(topic string, entries int) []byte {
	req := produceRequest(topic, 0, nil)
	req.Topics[0].Partitions = make([]kmsg.ProduceRequestTopicPartition, entries)
	return encoded(produceVersion, req)
}

// waitingFetch is a Fetch without a session of many partitions that have nothing.
func waitingFetch(topic string, partitions int) []byte {
	req := fetchRequest(topic, 0, 0)
	req.MaxWaitMillis, req.MinBytes = 60_000, 1
	req.Topics[0].Partitions = make([]kmsg.FetchRequestTopicPartition, partitions)
	for i := range req.Topics[0].Partitions {
		p := &req.Topics[0].Partitions[i]
		*p = kmsg.NewFetchRequestTopicPartition()
		p.Partition, p.PartitionMaxBytes = int32(i), 1<<20
	}
	return encoded(11, req)
}

// TestFloods: members with large metadata that are never answered, Produces of empty entries and Fetches of many partitions without a
// session make the process grow no further than their bounds, and another client's produces are answered all the while.
func TestFloods(t *testing.T) {
	if harness.ChosenPeer() != harness.Ringmill {
		t.Skip("Apache Kafka states no such bound: what it keeps of these is as large as its heap")
	}
	metadata := make([]byte, 900_000)
	for _, f := range []flood{
		{"members", 900, 1, func(c, _ int) []byte { return joinWith(fmt.Sprint("flood-", c%floodGroups), metadata) }, 2*256 + 256},
		{"empty entries", 40, 6, func(int, int) []byte { return emptyEntries("flood", 60_000) }, 2*128 + 256},
		{"fetches", 40, 6, func(int, int) []byte { return waitingFetch("flood", 30_000) }, 2*128 + 256},
	} {
		t.Run(f.name, func(t *testing.T) {
			node := harness.Start(t, harness.Options{Properties: map[string]string{"group.initial.rebalance.delay.ms": "300000"}})
			honest, topic := dial(t, node), node.CreateTopic(t, "honest", 1)
			node.CreateTopic(t, "flood", 1)
			for group := range floodGroups {
				honest.findCoordinator(fmt.Sprint("flood-", group))
			}
			honest.mustProduce(topic, newBatch(record("before")))
			before, sent := peakMB(t, node.Pid()), 0
			for c := range f.connections {
				sent += f.from(t, node, c)
				if c%10 == 0 {
					honest.mustProduce(topic, newBatch(record("meanwhile")))
				}
			}
			honest.mustProduce(topic, newBatch(record("after")))
			stillServes(t, node)
			grown := peakMB(t, node.Pid()) - before
			t.Logf("%d MiB were sent, the process grew by %d MiB", sent>>20, grown)
			if grown > f.most {
				t.Errorf("the process grew by %d MiB, want at most %d", grown, f.most)
			}
		})
	}
}

// from sends the requests of one connection, until they are not taken any more, and says how many bytes they were.
func (f *flood) from(t *testing.T, node *harness.Node, connection int) (sent int) {
	t.Helper()
	conn, err := net.Dial("tcp", node.Address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	_ = conn.(*net.TCPConn).SetReadBuffer(4096)
	for i := range f.times {
		_ = conn.SetWriteDeadline(time.Now().Add(250 * time.Millisecond))
		n, err := conn.Write(f.request(connection, i))
		sent += n
		if err != nil {
			break // it is not read from any more, or was disconnected
		}
	}
	return sent
}
