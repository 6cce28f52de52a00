package harness

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
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
	deadline := time.Now().Add(patience)
	_ = conn.SetDeadline(deadline)
	if _, err := conn.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(frame))), frame...)); err != nil {
		tb.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, 1)); err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, os.ErrDeadlineExceeded) && time.Now().After(deadline.Add(patience)) {
		tb.Fatal(err)
	}
}
