package node

import (
	"encoding/binary"
	"io"
	"math/rand/v2"
	"net"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// FuzzConnInput sends bytes in pieces over a connection: whatever they are, the node stays up and serves others. Where
// the bytes are well-formed requests they are answered, so a mutation of one reaches deep.
func FuzzConnInput(f *testing.F) {
	for _, req := range []kmsg.Request{
		produce(1, toProduce{"a", 0, batch("x")}, toProduce{"a", 1, batch("y", "z")}), produce(-1, toProduce{"a", 0, batch("x")}),
		produce(0, toProduce{"a", 9, batch("x")}), fetch(toFetch{"a", 0, 0}, toFetch{"a", 1, 0}), inSession(fetch(toFetch{"a", 0, 0}), 0, 0),
		inSession(fetch(), 1, 1), waiting(fetch(toFetch{"a", 0, 1 << 40}), 1, time.Millisecond),
		kmsg.NewPtrMetadataRequest(), kmsg.NewPtrApiVersionsRequest(), kmsg.NewPtrListOffsetsRequest(), kmsg.NewPtrInitProducerIDRequest(),
		kmsg.NewPtrJoinGroupRequest(), kmsg.NewPtrOffsetFetchRequest(), kmsg.NewPtrDescribeConfigsRequest(), kmsg.NewPtrCreateTopicsRequest(),
	} {
		b := formatter.AppendRequest(nil, req, 1)
		f.Add(b, uint64(1))
		f.Add(append(b, b...), uint64(2))
		f.Add(b[4:], uint64(3))
		if len(b) > 20 {
			f.Add(b[:len(b)-3], uint64(4))
		}
	}
	f.Add(binary.BigEndian.AppendUint32(nil, 1<<31-1), uint64(5))
	tn := startNode(f, nodeOptions{shape: shape{"epoll", 2}, set: []string{"group.min.session.timeout.ms=1"}})
	tn.createTopic("a", 2)
	f.Fuzz(func(t *testing.T, stream []byte, seed uint64) {
		tn.t = t
		defer func() { tn.t = f }()
		c := tn.dial()
		done := make(chan struct{})
		go func() {
			_, _ = io.Copy(io.Discard, c.conn)
			close(done)
		}()
		sendInPieces(c.conn, stream, rand.New(rand.NewPCG(seed, seed)))
		_ = c.conn.(*net.TCPConn).CloseWrite()
		tn.dial().alive()
		_ = c.conn.Close()
		<-done
	})
}

// sendInPieces writes stream cut where rng says, its frame's length mended if it has one, so that mutations get past it.
func sendInPieces(w io.Writer, stream []byte, rng *rand.Rand) {
	stream = append([]byte(nil), stream...)
	if len(stream) >= 4 && rng.IntN(4) > 0 {
		binary.BigEndian.PutUint32(stream, uint32(len(stream)-4))
	}
	for len(stream) > 0 {
		n := 1 + rng.IntN(len(stream))
		if _, err := w.Write(stream[:n]); err != nil {
			return
		}
		stream = stream[n:]
	}
}
