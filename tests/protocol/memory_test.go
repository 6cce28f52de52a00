package protocol

import (
	"fmt"
	"net"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/tests/harness"
)

// promised reads the bounds that a node prints at its start, in MiB.
func promised(t *testing.T, node *harness.Node) (clients, answers int) {
	t.Helper()
	found := regexp.MustCompile(`memory    up to (\d+) MiB for clients, \d+ MiB of it for requests, (\d+) MiB for answers`).FindStringSubmatch(node.Log())
	if found == nil {
		t.Fatalf("the node does not say what it may hold:\n%s", node.Log())
	}
	clients, _ = strconv.Atoi(found[1]) // digits
	answers, _ = strconv.Atoi(found[2])
	return clients, answers
}

// attackers ask again and again, each on a connection of its own that it never reads from, until the node takes no more.
func attackers(t *testing.T, node *harness.Node, count int, request []byte) {
	t.Helper()
	for range count {
		conn, err := net.Dial("tcp", node.Address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		_ = conn.(*net.TCPConn).SetReadBuffer(4096)
		for range 8 {
			_ = conn.SetWriteDeadline(time.Now().Add(10 * time.Millisecond))
			if _, err := conn.Write(request); err != nil {
				break // it is not read from any more, or was disconnected
			}
		}
	}
}

// TestUnreadAnswersStayInBounds: answers that nobody reads, some 700 MB if all were kept, take what the node says that they may
// take at its start, doubled by a collector that has not looked yet, and others are served.
func TestUnreadAnswersStayInBounds(t *testing.T) {
	node := hostileNode(t)
	if node.IsKafka() {
		t.Skip("Apache Kafka states no such bound")
	}
	ask := kmsg.NewPtrDescribeConfigsRequest()
	ask.Version, ask.IncludeDocumentation, ask.IncludeSynonyms = 4, true, true
	admin := kadm.NewClient(node.Client(t))
	var topics []string
	for i := range 400 {
		topics = append(topics, fmt.Sprint("unread-", i))
		resource := kmsg.NewDescribeConfigsRequestResource()
		resource.ResourceType, resource.ResourceName = kmsg.ConfigResourceTypeTopic, topics[i]
		ask.Resources = append(ask.Resources, resource)
	}
	if _, err := admin.CreateTopics(harness.Context(t), 1, 1, nil, topics...); err != nil {
		t.Fatal(err)
	}
	size := len(describeAll(t, node, ask))
	_, answers := promised(t, node)
	before := residentKB(t, node.Pid()) >> 10
	count := 700 << 20 / size
	attackers(t, node, count, kmsg.NewRequestFormatter().AppendRequest(nil, ask, 1))
	stillServes(t, node)
	most := before + 2*answers + inTheMaking*size>>20
	if after := residentKB(t, node.Pid()) >> 10; after > most {
		t.Errorf("%d MiB resident under %d answers of %d bytes that nobody reads, %d before; want at most %d", after, count, size, before, most)
	} else {
		t.Logf("%d MiB resident, %d before, %d answers of %d bytes were asked for", after, before, 8*count, size)
	}
	if got := len(describeAll(t, node, ask)); got != size {
		t.Errorf("a client that reads got %d bytes, want %d", got, size)
	}
}

// inTheMaking is how many answers the node makes at once, times what each takes until it is bytes.
const inTheMaking = 4 * 20

func describeAll(t *testing.T, node *harness.Node, req *kmsg.DescribeConfigsRequest) []byte {
	t.Helper()
	return ask[*kmsg.DescribeConfigsResponse](dial(t, node), 4, req).AppendTo(nil)
}
