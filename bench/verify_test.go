package bench

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
)

// A node that goes away while a producer asks for its id is asked again: that nodes go away is what is verified.
func TestVerifyOutlivesConnectionsThatEnd(t *testing.T) {
	const enough = 5
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var dialed atomic.Int32
	w := &verifyWriter{verifying: &verifying{Verification: &Verification{
		Addresses: []string{"node:9092"}, TransactionRecords: 1,
		Dial: func(context.Context, string, string) (net.Conn, error) {
			if dialed.Add(1) == enough {
				cancel()
			}
			client, node := net.Pipe()
			go func() { // it hears the question, and is gone
				_, _ = node.Read(make([]byte, 1))
				_ = node.Close()
			}()
			return client, nil
		},
	}}}
	if err := w.connect(ctx); err == nil || dialed.Load() < enough {
		t.Errorf("it gives up after %d connections: %v", dialed.Load(), err)
	}
}
