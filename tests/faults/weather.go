package faults

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Weather is what becomes of the packets that a host sends. The kernels that tests run on have no netem: packets take the way over a
// TUN device to this process instead, which passes them on.
type Weather struct {
	Delay, Jitter   time.Duration // the latter is spread evenly, and so packets overtake each other
	Loss, Duplicate int           // of a hundred packets
	Rate            int           // bytes a second that a host sends at most; 0: no limit
}

// flightMax bounds the packets that are under way: a queue like that of a router, whose end is lost.
const flightMax = 20_000

// queueMax bounds how far behind a sender with a Rate may be.
const queueMax = 500 * time.Millisecond

// sky passes packets on from TUN to TUN: one of each host and one of the clients.
type sky struct {
	tuns map[int]*os.File // by host

	mu      sync.Mutex
	random  *rand.Rand
	weather map[int]Weather   // of senders
	free    map[int]time.Time // when a sender with a Rate may send again

	flight         atomic.Int64
	passed, harmed atomic.Int64
}

func newSky(w *Network, seed uint64) (*sky, error) {
	s := &sky{tuns: map[int]*os.File{}, random: rand.New(rand.NewPCG(seed, 1)), weather: map[int]Weather{}, free: map[int]time.Time{}}
	for host := range len(w.hosts) + 1 {
		var tun *os.File
		err := within(w.path(w.namespace(host)), func() (err error) {
			tun, err = openTUN()
			return err
		})
		if err == nil {
			s.tuns[host] = tun
			err = run("ip", "-n", w.namespace(host), "link", "set", tunName, "up", "mtu", "1500")
		}
		if err != nil {
			s.close()
			return nil, err
		}
	}
	for host, tun := range s.tuns {
		go s.pass(host, tun)
	}
	return s, nil
}

func (s *sky) close() {
	for _, tun := range s.tuns {
		tun.Close()
	}
}

const tunName = "tun0"

// openTUN makes a device of the thread's namespace (tun(4), Documentation/networking/tuntap.rst).
func openTUN() (*os.File, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("/dev/net/tun: %w", err)
	}
	request, err := unix.NewIfreq(tunName)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	request.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, request); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("TUNSETIFF: %w", err)
	}
	return os.NewFile(uintptr(fd), tunName), nil
}

// within runs f on a thread that is in a network namespace; the thread ends with it.
func within(path string, f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and not unlocked: setns(2) is for the thread, and nobody else may get it
		done <- func() error {
			ns, err := os.Open(path)
			if err != nil {
				return err
			}
			defer ns.Close()
			if err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET); err != nil {
				return fmt.Errorf("setns: %w", err)
			}
			return f()
		}()
	}()
	return <-done
}

// destination is the host of an IPv4 packet's destination address, and whether it is one of the network's.
func destination(packet []byte) (host int, ok bool) {
	const header, last = 20, 19
	if len(packet) < header || packet[0]>>4 != 4 {
		return 0, false
	}
	host = int(packet[last])
	if host == clientsByte {
		host = clients
	}
	return host, true
}

// pass takes what one host sends until its device is closed.
func (s *sky) pass(from int, tun *os.File) {
	packet := make([]byte, 2048)
	for {
		n, err := tun.Read(packet)
		if errors.Is(err, os.ErrClosed) {
			return
		}
		to, ok := destination(packet[:n])
		if err != nil || !ok || s.tuns[to] == nil {
			continue
		}
		for _, delay := range s.fate(from, n) {
			s.send(to, append([]byte(nil), packet[:n]...), delay)
		}
	}
}

// fate is after how long a packet arrives, as often as it does.
func (s *sky) fate(from, size int) (delays []time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.weather[from]
	if s.random.IntN(100) < w.Loss {
		s.harmed.Add(1)
		return nil
	}
	queued := time.Duration(0)
	if w.Rate > 0 {
		if queued = max(0, time.Until(s.free[from])); queued > queueMax {
			s.harmed.Add(1)
			return nil
		}
		s.free[from] = time.Now().Add(queued + time.Duration(size)*time.Second/time.Duration(w.Rate))
	}
	copies := 1
	if s.random.IntN(100) < w.Duplicate {
		copies = 2
	}
	for range copies {
		delay := queued + w.Delay
		if w.Jitter > 0 {
			delay += time.Duration(s.random.Int64N(int64(w.Jitter)))
		}
		delays = append(delays, delay)
	}
	s.passed.Add(1)
	return delays
}

func (s *sky) send(to int, packet []byte, delay time.Duration) {
	if s.flight.Add(1) > flightMax {
		s.flight.Add(-1)
		s.harmed.Add(1)
		return
	}
	time.AfterFunc(delay, func() {
		s.flight.Add(-1)
		_, _ = s.tuns[to].Write(packet) // lost, where the device is closed or full
	})
}

// Bad sends what some hosts send through weather from now on, until Heal.
func (w *Network) Bad(tb testing.TB, weather Weather, hosts ...int) {
	tb.Helper()
	w.sky.mu.Lock()
	for _, host := range hosts {
		w.sky.weather[host] = weather
	}
	w.sky.mu.Unlock()
	for _, host := range hosts {
		if err := w.route(host, tunName); err != nil {
			tb.Fatal(err)
		}
		w.bad = append(w.bad, host)
	}
}

// Passed is how many packets went through weather, and how many of those were lost or late on their way there.
func (w *Network) Passed() int { return int(w.sky.passed.Load() + w.sky.harmed.Load()) }

// fair sends everything over the bridge again.
func (w *Network) fair(tb testing.TB) {
	tb.Helper()
	for _, host := range w.bad {
		if err := w.route(host, w.device(host)); err != nil {
			tb.Fatal(err)
		}
	}
	w.bad = nil
}

// route sends what goes out of a host over one of its devices. Its address is on lo and stays what it is.
func (w *Network) route(host int, device string) error {
	return run("ip", "-n", w.namespace(host), "route", "replace", subnet, "dev", device, "src", address(host))
}
