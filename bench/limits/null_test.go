package limits

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ringmill/ringmill/bench"
)

// Both clients work with a server that does nothing, which leaves nothing behind.
func TestNull(t *testing.T) {
	for _, client := range []bench.ClientKind{bench.ClientRaw, bench.ClientFranz} {
		n, err := StartNull(3)
		if err != nil {
			t.Fatal(err)
		}
		trial := bench.Trial{Addresses: []string{n.Address()}, Topic: "any", Partitions: 3, ReplicationFactor: 1, Client: client, Producers: 2, RecordBytes: 100,
			MaxInFlight: 5, Acks: -1, Rate: 300, Duration: 200 * time.Millisecond, Patience: 30 * time.Second}
		outcome, err := trial.Run(t.Context())
		if err != nil || outcome.Produced.Records != 60 || outcome.Produced.Errors != 0 {
			t.Errorf("%s: %+v, %v", client, outcome, err)
		}
		n.Close()
		if _, err := trial.Nodes(t.Context()); err == nil {
			t.Error("it still listens")
		}
	}
}

// What it does not know ends the connection, and nothing else.
func TestNullRefuses(t *testing.T) {
	n := &Null{partitions: 1}
	for name, frame := range map[string]string{
		"a key that is not known":  "\x00\x01\x00\x0c\x00\x00\x00\x01\xff\xff\x00",
		"a version too high":       "\x00\x00\x00\x0d\x00\x00\x00\x01\xff\xff\x00",
		"a client id that is cut":  "\x00\x12\x00\x00\x00\x00\x00\x01\x00\x09a",
		"tags in the header":       "\x00\x03\x00\x0c\x00\x00\x00\x01\xff\xff\x01",
		"a body that is cut short": "\x00\x00\x00\x0c\x00\x00\x00\x01\xff\xff\x00\x00",
	} {
		if answer, err := n.answer(nil, []byte(frame)); err == nil {
			t.Errorf("%s: answered with %x", name, answer)
		}
	}
	if _, err := readFrame(strings.NewReader("GET / HTTP/1.1\r\n\r\n"), nil); err == nil {
		t.Error("took what is no request")
	}
}

// Several at once add up, and what a sync costs lies between what was measured.
func TestNode(t *testing.T) {
	told := 0
	n, err := Node(t.Context(), Options{Dir: t.TempDir(), Each: 30 * time.Millisecond, Progress: func(Limit) { told++ }}, 2, 2)
	if err != nil || told != 5 || len(n.All()) != 5 {
		t.Fatalf("%+v, %d told: %v", n, told, err)
	}
	for _, l := range n.All() {
		if l.OperationsPerSecond <= 0 || l.BytesPerSecond < 1000*l.OperationsPerSecond || !strings.Contains(l.Name, ", 2 ") {
			t.Errorf("%+v", l)
		}
	}
	if _, err := Node(t.Context(), Options{Dir: "/nowhere", Each: time.Millisecond}, 2, 1); err == nil {
		t.Error("a directory that is not there")
	}
}

func TestSyncsPerSecond(t *testing.T) {
	n := NodeLimits{Syncs: []Limit{{OperationsPerSecond: 4000}, {OperationsPerSecond: 2000}, {OperationsPerSecond: 400}}}
	for bytes, want := range map[float64]float64{100: 4000, 4 << 10: 4000, 34 << 10: 1 / 0.000375, 64 << 10: 2000, 1 << 20: 400, 2 << 20: 200} {
		if got := n.SyncsPerSecond(bytes); math.Abs(got-want) > 1e-6*want {
			t.Errorf("%.0f bytes: %v syncs/s, want %v", bytes, got, want)
		}
	}
}

// nullProcess, set to a number of partitions, makes this binary a Null in a process of its own, so that a client's CPU time is its own.
const nullProcess = "RINGMILL_TEST_NULL_PARTITIONS"

func TestMain(m *testing.M) {
	partitions, err := strconv.Atoi(os.Getenv(nullProcess))
	if err != nil {
		os.Exit(m.Run())
	}
	n, err := StartNull(partitions)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(n.Address())
	_, _ = io.Copy(io.Discard, os.Stdin) // until who started it has gone
	n.Close()
}

// startNullProcess starts one, which ends with the test, and returns its address.
func startNullProcess(tb testing.TB, partitions int) string {
	tb.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", nullProcess, partitions))
	out, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			tb.Error(err)
		}
	})
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		tb.Fatal(err)
	}
	return strings.TrimSpace(address)
}

// What a record of 100 bytes costs the raw client and franz-go's producer, in turn, to a server that does nothing in a process of its own. Both send as
// much as they can: the raw client as bench run does, with its histograms, in batches of 64 KiB; franz-go with its defaults, but without compression,
// from one goroutine that makes nothing but the record, and counts nothing.
func BenchmarkClientCPU(b *testing.B) {
	address := startNullProcess(b, 6)
	var raw, franz bench.Sample
	for i := 0; b.Loop(); i++ {
		raw, franz = append(raw, rawCPU(b, address)), append(franz, franzCPU(b, address))
		b.Logf("run %d: raw %.1f ns, franz-go %.1f ns of CPU a record", i, raw[i], franz[i])
	}
	b.ReportMetric(raw.Median(), "raw-ns/record")
	b.ReportMetric(franz.Median(), "franz-ns/record")
	b.ReportMetric(raw.Ratios(franz).Median(), "raw/franz")
	b.ReportMetric(0, "ns/op")
}

// cpuRecordBytes and cpuPartitions are of both.
const (
	cpuRecordBytes = 100
	cpuPartitions  = 6
)

// rawCPU is the raw client's CPU time in nanoseconds for a record.
func rawCPU(b *testing.B, address string) float64 {
	t := bench.Trial{Addresses: []string{address}, Topic: "any", Partitions: cpuPartitions, ReplicationFactor: 1, Producers: 1, RecordBytes: cpuRecordBytes,
		MaxInFlight: 5, Acks: -1, WarmUp: 300 * time.Millisecond, Duration: 2 * time.Second, Patience: time.Minute}
	o, err := t.Run(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	return float64(o.ClientCPU.Nanoseconds()) / float64(o.Produced.Records)
}

// franzCPU is franz-go's.
func franzCPU(b *testing.B, address string) float64 {
	client, err := kgo.NewClient(kgo.SeedBrokers(address), kgo.DefaultProduceTopic("any"), kgo.ProducerBatchCompression(kgo.NoCompression()))
	if err != nil {
		b.Fatal(err)
	}
	defer client.Close()
	value, failed := make([]byte, cpuRecordBytes), make(chan error, 1)
	send := func(records int) {
		for range records {
			client.Produce(b.Context(), &kgo.Record{Value: value}, func(_ *kgo.Record, err error) {
				if err != nil {
					select {
					case failed <- err:
					default:
					}
				}
			})
		}
		if err := client.Flush(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	const records = 1 << 20
	send(records / 8)
	before := bench.UsedCPU()
	send(records)
	used := bench.UsedCPU() - before
	select {
	case err := <-failed:
		b.Fatal(err)
	default:
	}
	return float64(used.Nanoseconds()) / records
}
