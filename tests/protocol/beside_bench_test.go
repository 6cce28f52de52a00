package protocol

import (
	"encoding/binary"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/tests/harness"
)

// besidePace is how often each of besideConns connections does what it does: 1,000 events a second in all.
const (
	besidePace  = 4 * time.Millisecond
	besideConns = 4
)

// BenchmarkBesideHostile is what one producer waits for an answer (acks=all, a record at a time) while others send what no client
// sends; asking honestly for metadata as often is the measure, since what shares a core with a node always costs something.
func BenchmarkBesideHostile(b *testing.B) {
	for _, row := range []struct {
		name   string
		others func(address string)
	}{
		{"alone", nil},
		{"honest", askMetadata},
		{"noise", sendNoise},
		{"hang-ups", hangUp},
	} {
		b.Run(row.name, func(b *testing.B) {
			node := harness.Start(b, harness.Options{})
			topic := node.CreateTopic(b, "beside", 1)
			client := node.Client(b, kgo.DefaultProduceTopic(topic), kgo.ProducerLinger(0))
			stop := make(chan struct{})
			var others sync.WaitGroup
			for range besideConns {
				if row.others != nil {
					others.Go(func() { paced(stop, func() { row.others(node.Address) }) })
				}
			}
			var waits []time.Duration
			for b.Loop() {
				began := time.Now()
				if err := client.ProduceSync(b.Context(), kgo.StringRecord("a record of one hundred bytes or so")).FirstErr(); err != nil {
					b.Fatal(err)
				}
				waits = append(waits, time.Since(began))
				time.Sleep(time.Millisecond)
			}
			close(stop)
			others.Wait()
			slices.Sort(waits)
			b.ReportMetric(float64(waits[len(waits)/2].Microseconds()), "p50-µs")
			b.ReportMetric(float64(waits[len(waits)*99/100].Microseconds()), "p99-µs")
		})
	}
}

func paced(stop chan struct{}, f func()) {
	tick := time.NewTicker(besidePace)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
			f()
		}
	}
}

// askMetadata connects, asks, reads the answer and goes.
func askMetadata(address string) {
	converse(address, encoded(5, kmsg.NewPtrMetadataRequest()), true)
}

// sendNoise sends a frame of random bytes, with a length that holds and an API key that exists more often than not.
func sendNoise(address string) {
	noise := make([]byte, 1024)
	for i := range noise {
		noise[i] = byte(rand.Uint32())
	}
	binary.BigEndian.PutUint32(noise, uint32(len(noise)-4))
	binary.BigEndian.PutUint32(noise[4:], rand.Uint32N(93)<<16|rand.Uint32N(10))
	converse(address, noise, true)
}

// hangUp announces a request of 90 MiB, sends its beginning and goes.
func hangUp(address string) {
	converse(address, append(binary.BigEndian.AppendUint32(nil, 90<<20), 0, 0, 0, 9, 0, 0, 0, 1, 0xff, 0xff), false)
}

// converse sends bytes on a connection of their own; what the other side makes of them is its affair.
func converse(address string, bytes []byte, read bool) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return // a node that is gone fails the producer
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Second))
	if _, err := conn.Write(bytes); err == nil && read {
		_, _ = conn.Read(make([]byte, 4096))
	}
}
