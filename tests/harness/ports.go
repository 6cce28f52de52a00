package harness

import (
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
)

// Ports below net.ipv4.ip_local_port_range (32768 by default): a node that is down keeps its address free.
const portMin, portMax = 20000, 32000

var ports = struct {
	sync.Mutex
	taken map[int]bool
}{taken: map[int]bool{}}

// FreePort returns a loopback port that nothing listens on and that this process has not handed out before.
// It is even and the port above it is free too: Apache Kafka's controller takes that one.
func FreePort(tb testing.TB) int {
	tb.Helper()
	ports.Lock()
	defer ports.Unlock()
	for range 1000 {
		port := portMin + 2*rand.IntN((portMax-portMin)/2)
		if ports.taken[port] || !bindable(port) || !bindable(port+1) {
			continue
		}
		ports.taken[port] = true
		return port
	}
	tb.Fatalf("no free port in %d-%d", portMin, portMax)
	return 0
}

func bindable(port int) bool {
	listener, err := net.Listen("tcp", loopback(port))
	if err != nil {
		return false
	}
	return listener.Close() == nil
}

func loopback(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }
