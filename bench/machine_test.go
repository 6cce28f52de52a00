package bench

import (
	"net"
	"os"
	"testing"
	"time"
)

// Who listens at an address is found, at each of its names; who does not is not.
func TestListenerPID(t *testing.T) {
	for _, at := range []string{"127.0.0.1:0", ":0"} {
		l, err := net.Listen("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		_, port, _ := net.SplitHostPort(l.Addr().String())
		for _, host := range []string{"127.0.0.1", "localhost"} {
			if pid := ListenerPID(net.JoinHostPort(host, port)); pid != os.Getpid() {
				t.Errorf("%s:%s (%s): process %d, want %d", host, port, at, pid, os.Getpid())
			}
		}
		l.Close()
		if pid := ListenerPID("127.0.0.1:" + port); pid == os.Getpid() {
			t.Error("nobody listens there")
		}
	}
	for _, address := range []string{"127.0.0.1", "127.0.0.1:http", "192.0.2.1:9092"} {
		if pid := ListenerPID(address); pid != 0 || address == "192.0.2.1:9092" && IsLocal(address) {
			t.Errorf("%s: process %d", address, pid)
		}
	}
}

func TestListenerIn(t *testing.T) {
	const rest = " 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1 0 100 0 0 10 0"
	for line, want := range map[string]string{
		"   0: 0100007F:2384" + rest:                                         "127.0.0.1:9092",
		"   1: 00000000000000000000000001000000:2384" + rest:                 "[::1]:9092",
		"   2: 0000000000000000FFFF00000100007F:2384" + rest:                 "127.0.0.1:9092",
		"   3: 0100007F:2384 0100007F:1000 01 00000000:00000000 00:0 0 0 0":  "invalid AddrPort",
		"  sl  local_address rem_address   st tx_queue rx_queue tr tm->when": "invalid AddrPort",
	} {
		if _, at := listenerIn(line); at.String() != want {
			t.Errorf("%q: %v, want %s", line, at, want)
		}
	}
}

func TestMachineCPU(t *testing.T) {
	busy, all, err := machineCPU([]byte("cpu  100 1 10 500 20 2 3 4 50 0"))
	if err != nil || busy != 1200*time.Millisecond || all != 6400*time.Millisecond {
		t.Errorf("busy %v of %v, %v", busy, all, err)
	}
	for _, line := range []string{"", "cpu0 1 2 3 4 5 6 7 8", "cpu 1 2 3 x 5 6 7 8"} {
		if _, _, err := machineCPU([]byte(line)); err == nil {
			t.Errorf("read %q", line)
		}
	}
	if busy, all, err := MachineCPU(); err != nil || busy <= 0 || all <= busy {
		t.Errorf("busy %v of %v, %v", busy, all, err)
	}
	if threads, err := ThreadsCPU(os.Getpid()); err != nil || len(threads) < 2 {
		t.Errorf("%v, %v", threads, err)
	}
	if _, err := WrittenBytes(os.Getpid()); err != nil {
		t.Error(err)
	}
}
