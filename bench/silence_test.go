package bench_test

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringmill/ringmill/bench"
	"github.com/ringmill/ringmill/bench/benchtest"
)

// A leader that does nothing any more, and keeps its connections, is left when another node leads: what was out is an error, is sent again, and what was
// due meanwhile waited from the instant at which it was due.
func TestStunnedLeaderIsLeft(t *testing.T) {
	for name, harm := range map[string]func(*bench.Trial){
		"the one whose address is known": func(trial *bench.Trial) { trial.Addresses = trial.Addresses[:1] },
		"another one":                    func(trial *bench.Trial) { trial.Addresses = trial.Addresses[1:] },
		"few requests out":               func(trial *bench.Trial) { trial.Rate, trial.MaxInFlight = 1, 1000 },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := benchtest.New(3, benchtest.Constant(2*time.Millisecond))
				defer s.Close()
				trial := inBubble(s)
				trial.Partitions, trial.Producers, trial.Consumers, trial.Duration, trial.Patience = 6, 2, 2, 20*time.Second, 20*time.Second
				trial.Rate = 300
				harm(&trial)
				time.AfterFunc(4*time.Second+500*time.Microsecond, func() { s.Stun(0) })
				time.AfterFunc(11*time.Second, func() { s.Depose(0) })
				got, err := trial.Run(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				// a lane sends its first batch at some part of its interval: 6 of them may have one more
				if want := int64(20 * trial.Rate); got.Produced.Records < want || got.Produced.Records > want+6 || got.Consumed.Records < want || got.Lost != 0 || got.Produced.Errors == 0 {
					t.Errorf("%d records of %d, %d consumed, %d lost, %d errors", got.Produced.Records, want, got.Consumed.Records, got.Lost, got.Produced.Errors)
				}
				// it is deposed 7 s after it was stunned, and who leads is asked at least each 5 s and a quarter of that
				if greatest := got.Produced.Latency.Max(); greatest < 6*time.Second || greatest > 14*time.Second {
					t.Errorf("the longest response is %v", greatest)
				}
			})
		})
	}
}

// A leader that is stunned for less than leads to another one is waited for, and nothing is sent twice.
func TestSilentLeaderIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := benchtest.New(2, benchtest.Freeze(4*time.Second, 9*time.Second, 2*time.Millisecond))
		defer s.Close()
		trial := inBubble(s)
		trial.Partitions, trial.Consumers = 4, 1
		got, err := trial.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got.Produced.Records != 10*trialRate || got.Produced.Errors != 0 || len(s.Answers()) != 10*trialRate {
			t.Errorf("%d records, %d errors, %d sent", got.Produced.Records, got.Produced.Errors, len(s.Answers()))
		}
	})
}

// meddler is a connection whose answers somebody meddles with.
type meddler struct {
	net.Conn
	read func(net.Conn, []byte) (int, error)
}

func (m meddler) Read(p []byte) (int, error) { return m.read(m.Conn, p) }

// cutting reads so many bytes of a connection as they come, then half of what comes next, and nothing more until it ends.
func cutting(after int) func(net.Conn, []byte) (int, error) {
	passed, cut := 0, false
	return func(c net.Conn, p []byte) (int, error) {
		if cut {
			for {
				if n, err := c.Read(p); err != nil {
					return n, err
				}
			}
		}
		n, err := c.Read(p)
		if passed += n; passed > after {
			n, cut = n/2, true
		}
		return n, err
	}
}

// flipping turns byte 9 of each answer, behind its correlation id, into another.
func flipping() func(net.Conn, []byte) (int, error) {
	at := 0 // of the answer
	var size [4]byte
	return func(c net.Conn, p []byte) (int, error) {
		n, err := c.Read(p)
		for i := range p[:n] {
			if at < 4 {
				size[at] = p[i]
			}
			if at == 9 {
				p[i] ^= 0xff
			}
			if at++; at >= 4 && at == 4+int(binary.BigEndian.Uint32(size[:])) {
				at = 0
			}
		}
		return n, err
	}
}

// However answers are meddled with on the way, a run ends within its window and what it has patience for, and says that nothing came.
func TestMeddledAnswersEndARun(t *testing.T) {
	for name, c := range map[string]struct {
		client bench.ClientKind
		meddle func() func(net.Conn, []byte) (int, error)
		want   error
	}{
		"raw, half an answer":   {bench.ClientRaw, func() func(net.Conn, []byte) (int, error) { return cutting(6000) }, bench.ErrSilent},
		"franz, half an answer": {bench.ClientFranz, func() func(net.Conn, []byte) (int, error) { return cutting(6000) }, nil},
		"franz, flipped bytes":  {bench.ClientFranz, flipping, nil},
		"raw, flipped bytes":    {bench.ClientRaw, flipping, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := benchtest.New(1, benchtest.Constant(time.Millisecond))
				defer s.Close()
				trial := inBubble(s)
				var meddles atomic.Bool
				time.AfterFunc(500*time.Millisecond, func() { meddles.Store(true) })
				trial.Client, trial.Consumers, trial.Duration, trial.Patience = c.client, 1, 2*time.Second, 3*time.Second
				trial.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
					conn, err := s.Dial(ctx, network, address)
					meddle := c.meddle()
					return meddler{conn, func(c net.Conn, p []byte) (int, error) {
						if meddles.Load() {
							return meddle(c, p)
						}
						return c.Read(p)
					}}, err
				}
				began := time.Now()
				_, err := trial.Run(t.Context())
				if err == nil || c.want != nil && !errors.Is(err, c.want) {
					t.Errorf("it ends with %v", err)
				}
				if took := time.Since(began); took > time.Minute {
					t.Errorf("it took %v to give up", took)
				}
			})
		})
	}
}
