package bench_test

import (
	"context"
	"errors"
	"net"
	"testing"

	"github.com/ringmill/ringmill/bench"
)

// A server of another protocol is told as one.
func TestAnotherProtocol(t *testing.T) {
	for name, c := range map[string]struct {
		says string
		want bool
	}{
		"HTTP":             {"HTTP/1.1 400 Bad Request\r\n\r\n", true},
		"eight zeroes":     {"\x00\x00\x00\x00\x00\x00\x00\x00", true},
		"a size of 2 GB":   {"\x7f\xff\xff\xff\x00\x00\x00\x01", true},
		"an empty answer":  {"\x00\x00\x00\x04\x00\x00\x00\x01", false},
		"nothing":          {"", false},
		"half of its head": {"\x00\x00\x00\x10", false},
	} {
		trial := bench.Trial{Addresses: []string{"node:9092"}, Dial: func(context.Context, string, string) (net.Conn, error) {
			mine, theirs := net.Pipe()
			go func() {
				_, _ = theirs.Read(make([]byte, 1<<10))
				_, _ = theirs.Write([]byte(c.says))
				_ = theirs.Close()
			}()
			return mine, nil
		}}
		if _, err := trial.Nodes(t.Context()); err == nil || errors.Is(err, bench.ErrNotKafka) != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}
