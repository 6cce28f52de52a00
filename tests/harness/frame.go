package harness

import (
	"encoding/binary"
	"net"
	"testing"
	"time"
)

// SendFrame sends one request, given without its length, over a connection of its own, and waits until the server has answered or closed
// the connection, at most for patience: some requests have no answer.
func SendFrame(tb testing.TB, address, frame string, patience time.Duration) {
	tb.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		tb.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	if _, err := conn.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(frame))), frame...)); err != nil {
		tb.Fatal(err)
	}
	_, _ = conn.Read(make([]byte, 1)) // an answer, an end, or neither in time
}
