package faults

import (
	"math/rand/v2"
	"net"
	"testing"
	"time"

	"github.com/ringmill/ringmill/tests/harness"
)

// network is one of n hosts; a machine that has none skips the test, and says why.
func network(t *testing.T, n int) *Network {
	t.Helper()
	w, err := NewNetwork(t, n, 1)
	if err != nil {
		t.Skipf("no network namespaces: %v", err)
	}
	return w
}

// echo answers what it is sent, on a host, and tells where.
func echo(t *testing.T, w *Network, host int) string {
	t.Helper()
	address := net.JoinHostPort(address(host), "7")
	harness.StartChild(t, append(append([]string{}, w.Places()[host-1].Enter...), executable(t), echoMark, address)...)
	return address
}

func passes(t *testing.T, w *Network, address string) bool {
	t.Helper()
	conn, err := w.dial(t.Context(), "tcp", address)
	if err != nil {
		return false
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Second))
	if _, err := conn.Write([]byte("x")); err != nil {
		return false
	}
	n, _ := conn.Read(make([]byte, 1))
	return n == 1
}

// TestCutBites: what is cut does not pass, in that direction alone, and all the rest does.
func TestCutBites(t *testing.T) {
	w := network(t, 2)
	one, two := echo(t, w, 1), echo(t, w, 2)
	harness.Await(t, "both hosts answer", func() bool { return passes(t, w, one) && passes(t, w, two) })
	for _, link := range []Link{{clients, 1}, {1, clients}} {
		before := w.Dropped(t)
		w.Cut(t, link)
		if passes(t, w, one) {
			t.Errorf("cut %v lets it pass", link)
		}
		if !passes(t, w, two) {
			t.Errorf("cut %v cuts the other host off", link)
		}
		if w.Dropped(t) == before {
			t.Errorf("cut %v drops nothing", link)
		}
		w.Heal(t)
		harness.Await(t, "the host answers again", func() bool { return passes(t, w, one) })
	}
}

// TestWeather: what goes through weather is as late, as often lost and as often there twice as it says, and connections outlive its coming
// and going.
func TestWeather(t *testing.T) {
	w := network(t, 2)
	one := echo(t, w, 1)
	harness.Await(t, "the host answers", func() bool { return passes(t, w, one) })
	conn, err := w.dial(t.Context(), "tcp", one)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	around := func() time.Duration {
		began := time.Now()
		_ = conn.SetDeadline(began.Add(time.Minute))
		if _, err := conn.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		return time.Since(began)
	}
	const delay = 60 * time.Millisecond
	w.Bad(t, Weather{Delay: delay}, 1)
	if took := around(); took < delay {
		t.Errorf("around in %v with a delay of %v", took, delay)
	}
	w.Bad(t, Weather{Delay: delay}, clients)
	if took := around(); took < 2*delay {
		t.Errorf("around in %v with a delay of %v both ways", took, delay)
	}
	w.Bad(t, Weather{Loss: 30, Duplicate: 30, Jitter: 20 * time.Millisecond}, 1, clients)
	for range 10 {
		around()
	}
	if w.sky.harmed.Load() == 0 {
		t.Error("no packet was lost")
	}
	w.Heal(t)
	harness.Await(t, "packets go past weather that is over, once those under way are through", func() bool {
		passed := w.Passed()
		around()
		return w.Passed() == passed
	})
}

// TestFate: a sender with a rate waits for its turn, and what would wait too long is lost.
func TestFate(t *testing.T) {
	s := &sky{random: rand.New(rand.NewPCG(1, 1)), weather: map[int]Weather{1: {Rate: 100_000}, 2: {Duplicate: 100}, 3: {Loss: 100}}, free: map[int]time.Time{}}
	var last time.Duration
	lost := 0
	for range 1000 {
		delays := s.fate(1, 1000) // 10 ms each
		if len(delays) == 0 {
			lost++
			continue
		}
		last = max(last, delays[0])
	}
	if last < queueMax/2 || last > queueMax || lost < 900 {
		t.Errorf("the longest wait was %v, %d of 1000 were lost", last, lost)
	}
	if n := len(s.fate(2, 1)); n != 2 {
		t.Errorf("%d copies, want 2", n)
	}
	if n := len(s.fate(3, 1)); n != 0 {
		t.Errorf("%d copies, want none", n)
	}
	if n := len(s.fate(4, 1)); n != 1 {
		t.Errorf("%d copies, want 1", n)
	}
}
