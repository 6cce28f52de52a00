package protocol

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/tests/harness"
)

// hostileNode is a node of its own: what these tests do must not be felt by the others, and its memory is read.
func hostileNode(t *testing.T) *harness.Node {
	t.Helper()
	return harness.Start(t, harness.Options{})
}

// stillServes proves that others are served: a topic made, a record in, the record out.
func stillServes(t *testing.T, node *harness.Node) {
	t.Helper()
	topic := node.CreateTopic(t, "honest", 1)
	node.Produce(t, topic, []string{"honest"})
	if got := node.Consume(t, topic, 1); string(got[0].Value) != "honest" {
		t.Errorf("read %q", got[0].Value)
	}
}

// residentKB is the process's resident memory in KiB (proc(5), VmRSS).
func residentKB(t *testing.T, pid int) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, err := strconv.Atoi(strings.Fields(rest)[0])
			if err != nil {
				t.Fatal(err)
			}
			return kb
		}
	}
	t.Fatal("no VmRSS")
	return 0
}

// Frames that no client sends end their own connection and nothing else.
func TestHostileFrames(t *testing.T) {
	t.Parallel()
	node := hostileNode(t)
	huge := binary.BigEndian.AppendUint32(nil, math.MaxInt32)
	random := make([]byte, 4096)
	for i := range random {
		random[i] = byte(rand.Uint32())
	}
	binary.BigEndian.PutUint32(random, uint32(len(random)-4)) // a length that holds, over noise
	copy(random[4:], []byte{0x7f, 0x7f})                      // a key that no protocol has
	for _, row := range []struct {
		name  string
		bytes []byte
	}{
		{"2 GiB length", huge},
		{"2 GiB length and a Produce header", append(append([]byte{}, huge...), 0, 0, 0, 9, 0, 0, 0, 1, 0xff, 0xff)},
		{"negative length", []byte{0xff, 0xff, 0xff, 0xff}},
		{"most negative length", []byte{0x80, 0, 0, 0}},
		{"length 0", []byte{0, 0, 0, 0}},
		{"length below a header", []byte{0, 0, 0, 3, 0, 3, 0}},
		{"noise", random},
		{"HTTP", []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n")},
		{"TLS hello", []byte{0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3}},
		{"Metadata that claims 2^31-1 topics", frame(3, 1, binary.BigEndian.AppendUint32(nil, math.MaxInt32))},
		{"Produce whose topic name is longer than the frame", frame(0, 3, []byte{0xff, 0xff, 0, 1, 0, 0, 0, 10, 0, 0, 0, 1, 0x7f, 0xff, 'x'})},
		{"Fetch that ends in its middle", frame(1, 4, []byte{0xff, 0xff, 0xff, 0xff, 0, 0})},
		{"client id longer than the frame", []byte{0, 0, 0, 12, 0, 3, 0, 1, 0, 0, 0, 1, 0x7f, 0xff, 'x', 'y'}},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := dial(t, node)
			c.write(row.bytes)
			c.closed()
		})
	}
	stillServes(t, node)
}

// frame is a request with a null client id and a non-flexible header.
func frame(key, version uint16, body []byte) []byte {
	out := binary.BigEndian.AppendUint32(nil, uint32(10+len(body)))
	out = binary.BigEndian.AppendUint16(out, key)
	out = binary.BigEndian.AppendUint16(out, version)
	out = append(out, 0, 0, 0, 1, 0xff, 0xff)
	return append(out, body...)
}

// Requests that stop half-way hold their connection and no more; a length without its bytes allocates nothing.
func TestHostileHalfRequests(t *testing.T) {
	t.Parallel()
	if harness.ChosenPeer() != harness.Ringmill {
		t.Skip("Apache Kafka allocates what is announced: 200 times 90 MiB end its heap")
	}
	node := hostileNode(t)
	stillServes(t, node)
	before := residentKB(t, node.Pid())
	for range 200 {
		c := dial(t, node)
		c.write(binary.BigEndian.AppendUint32(nil, 90<<20)) // within socket.request.max.bytes
		c.write([]byte{0, 0, 0, 9, 0, 0, 0, 1})
	}
	stillServes(t, node)
	if grown := residentKB(t, node.Pid()) - before; grown > 200<<10 {
		t.Errorf("200 announced requests of 90 MiB cost %d MiB", grown>>10)
	}
}

// A request that dribbles in byte by byte is a request like another.
func TestHostileDribble(t *testing.T) {
	t.Parallel()
	c := dial(t, hostileNode(t))
	req := metadataRequest()
	req.SetVersion(8)
	c.correlation++
	for _, b := range format.AppendRequest(nil, req, c.correlation) {
		c.write([]byte{b})
	}
	c.receive(c.correlation, req.ResponseKind())
}

// Many requests in one write, and one request over two writes, are answered in order.
func TestHostilePipelining(t *testing.T) {
	t.Parallel()
	c := dial(t, hostileNode(t))
	req := metadataRequest()
	req.SetVersion(8)
	var all []byte
	const requests = 100
	for i := range int32(requests) {
		all = append(all, format.AppendRequest(nil, req, i)...)
	}
	c.write(all[:len(all)-3])
	c.write(all[len(all)-3:])
	for i := range int32(requests) {
		c.receive(i, req.ResponseKind())
	}
}

// 10,000 idle connections cost memory that is bounded, and nobody else their service.
func TestHostileIdleConnections(t *testing.T) {
	if testing.Short() {
		t.Skip("10,000 connections are not short")
	}
	const connections = 10000
	raiseFileLimit(t, 2*connections)
	node := hostileNode(t)
	stillServes(t, node)
	before := residentKB(t, node.Pid())
	idle := make([]net.Conn, 0, connections)
	defer func() {
		for _, c := range idle {
			c.Close()
		}
	}()
	for len(idle) < connections {
		c, err := net.DialTimeout("tcp", node.Address, patience)
		if err != nil {
			t.Fatalf("connection %d: %v", len(idle), err)
		}
		idle = append(idle, c)
	}
	stillServes(t, node)
	each := (residentKB(t, node.Pid()) - before) * 1024 / connections
	t.Logf("an idle connection costs %d bytes resident", each)
	if !node.IsKafka() && each > 32<<10 {
		t.Errorf("an idle connection costs %d bytes", each)
	}
}

func raiseFileLimit(t *testing.T, files uint64) {
	t.Helper()
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if limit.Cur >= files {
		return
	}
	if limit.Cur = files; limit.Max < files {
		limit.Max = files
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Skipf("needs %d descriptors: %v", files, err)
	}
}

// Consumers that ask and never read: their answers are bounded, and readers beside them get theirs.
func TestHostileNeverReads(t *testing.T) {
	t.Parallel()
	node := hostileNode(t)
	topic := node.CreateTopic(t, "never-read", 1)
	big := make([]string, 64)
	for i := range big {
		big[i] = strings.Repeat("x", 500_000)
	}
	node.Produce(t, topic, big, kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.MaxBufferedBytes(64<<20))
	before := residentKB(t, node.Pid())
	for range 20 {
		c := dial(t, node)
		req := fetchRequest(topic, 0, 0)
		req.Topics[0].Partitions[0].PartitionMaxBytes = 30 << 20
		for range 20 { // 20 answers of 30 MiB are asked for on each connection and none is taken
			req.SetVersion(fetchVersion)
			c.send(req)
		}
	}
	stillServes(t, node)
	if got := len(node.Consume(t, topic, 64)); got < 64 {
		t.Errorf("a reader got %d of 64 records", got)
	}
	if node.IsKafka() {
		return // a Java heap's resident size says nothing here
	}
	if grown := residentKB(t, node.Pid()) - before; grown > 400<<10 {
		t.Errorf("20 consumers that never read cost %d MiB", grown>>10)
	}
}

// Clients that vanish in the middle of everything leave nothing that hurts.
func TestHostileHangUps(t *testing.T) {
	t.Parallel()
	node := hostileNode(t)
	topic := node.CreateTopic(t, "hang-up", 1)
	wait := fetchRequest(topic, 0, 0)
	wait.MaxWaitMillis, wait.MinBytes = 1000, 1
	wait.SetVersion(fetchVersion)
	produce := produceRequest(topic, 0, newBatch(record("v")).bytes())
	produce.SetVersion(produceVersion)
	var group sync.WaitGroup
	for i := range 300 {
		group.Go(func() {
			c, err := net.DialTimeout("tcp", node.Address, patience)
			if err != nil {
				t.Error(err)
				return
			}
			var req kmsg.Request = wait
			if i%2 == 0 {
				req = produce
			}
			raw := format.AppendRequest(nil, req, 1)
			c.Write(raw[:len(raw)-i%3]) // every third is whole
			if i%5 == 0 {
				c.(*net.TCPConn).SetLinger(0) // a reset instead of an end
			}
			c.Close()
		})
	}
	group.Wait()
	stillServes(t, node)
	time.Sleep(1100 * time.Millisecond) // past the waits of those who left
	stillServes(t, node)
}
