package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringmill/ringmill/bench"
)

// peer is a server of any protocol that does the work of a log.
type peer struct {
	*server
	// open makes a topic whose records are on disk when they are acknowledged, in so many partitions, and says how to remove it.
	open func(ctx context.Context, w *bench.Workload) (bench.Stream, func(context.Context) error, error)
	// ready tells whether a client can work with it.
	ready func(ctx context.Context) bool
}

// peerCase is a load that all peers are put under by a client of their own kind.
type peerCase struct {
	name string
	load bench.Workload
	run  func(ctx context.Context, w *bench.Workload, s bench.Stream) (bench.Result, error)
	of   func(bench.Result) outcome
}

func (c *peerCase) title() string { return "peers, durable: " + c.name }

func peerCases(window time.Duration) []peerCase {
	base := bench.Workload{Acks: -1, RecordBytes: 1024, WarmUp: time.Second, Duration: window}
	over := func(ctx context.Context, w *bench.Workload, s bench.Stream) (bench.Result, error) {
		return w.EndToEndOver(ctx, s)
	}
	paced := func(rate float64) bench.Workload {
		w := base
		w.Partitions, w.Producers, w.Fetchers, w.Rate = 1, 1, 1, rate
		return w
	}
	full := base
	full.Partitions, full.Producers, full.InFlight = 8, 4, 1000
	return []peerCase{
		{"end to end, 1,000/s of 1 KiB, 1 log", paced(1000), over, peerLatency},
		{"end to end, 5,000/s of 1 KiB, 1 log", paced(5000), over, peerLatency},
		{"capacity, 1 KiB, 4 clients with 1,000 records out each, 8 logs", full,
			func(ctx context.Context, w *bench.Workload, s bench.Stream) (bench.Result, error) {
				return w.ProduceOver(ctx, s)
			}, peerCapacity},
	}
}

func peerLatency(r bench.Result) outcome {
	return outcome{doubt: r.Doubt(), figures: []figure{
		{"p50", "ms", ms(r.Latency.Quantile(0.5)), false},
		{"p99", "ms", ms(r.Latency.Quantile(0.99)), false},
		{"acknowledged p50", "ms", ms(r.Acknowledged.Quantile(0.5)), false},
		{"acknowledged p99", "ms", ms(r.Acknowledged.Quantile(0.99)), false},
		{"generator late p99", "ms", ms(r.Lag.Quantile(0.99)), false},
		{"lost", "records", float64(r.Lost), false},
		{"CPU per GB", "s", r.CPUPerGB().Seconds(), false},
	}}
}

func peerCapacity(r bench.Result) outcome {
	return outcome{figures: []figure{
		{"rate", "MB/s", r.BytesPerSecond() / 1e6, true},
		{"CPU per GB", "s", r.CPUPerGB().Seconds(), false},
	}}
}

// measurePeers runs the cases on ringmill, Kafka and those of the others that there are, which all stay up throughout. The order turns by one in each
// round and case, and the first round warms up.
func measurePeers(ctx context.Context, o options, t *table, progress io.Writer) (names []string, err error) {
	var chosen []peerCase
	for _, c := range peerCases(o.window) {
		if o.only.MatchString(c.title()) {
			chosen = append(chosen, c)
		}
	}
	if len(chosen) == 0 || o.nats == "" && o.redis == "" {
		return nil, nil
	}
	peers, err := newPeers(o, filepath.Join(o.dir, "peers"))
	if err != nil {
		return nil, err
	}
	for _, p := range peers {
		names = append(names, p.name)
		defer p.stop(syscall.SIGTERM)
		if err := p.startUp(ctx); err != nil {
			return nil, err
		}
	}
	for round := range o.pairs + 1 {
		for i, c := range chosen {
			for j := range peers {
				p := peers[(round+i+j)%len(peers)]
				got, err := p.run(ctx, c)
				if err != nil {
					return nil, fmt.Errorf("%s on %s: %w", c.title(), p.name, err)
				}
				if round > 0 {
					t.note(c.title(), p.name, got.figures)
					t.doubt(c.title(), p.name, got.doubt)
				}
			}
		}
		fmt.Fprintf(progress, "peers: round %d of %d\n", round, o.pairs)
	}
	return names, nil
}

// run puts a case on a topic of its own.
func (p *peer) run(ctx context.Context, c peerCase) (outcome, error) {
	w := c.load
	w.Topic, w.NodePIDs = fmt.Sprintf("compare-%d", bench.Now()), []int{p.pid()}
	stream, remove, err := p.open(ctx, &w)
	if err != nil {
		return outcome{}, err
	}
	unix.Sync()
	r, err := c.run(ctx, &w, stream)
	if err != nil {
		return outcome{}, err
	}
	return c.of(r), remove(ctx)
}

// startMax is how long a peer may take to start: Apache Kafka has needed minutes on a machine with other work.
const startMax = 4 * time.Minute

// startUp runs the process and waits until a client can work with it.
func (p *peer) startUp(ctx context.Context) error {
	if err := p.launch(); err != nil {
		return err
	}
	for began := bench.Now(); !p.ready(ctx); time.Sleep(10 * time.Millisecond) {
		if bench.Now().Sub(began) > startMax || ctx.Err() != nil {
			return fmt.Errorf("%s does not serve; its output is in %s", p.name, p.log)
		}
	}
	return nil
}

// newPeers lays them out with directories of their own under dir.
func newPeers(o options, dir string) (all []*peer, err error) {
	ringmill, kafka, err := newServers(o, dir)
	if err != nil {
		return nil, err
	}
	for _, s := range []*server{ringmill, kafka} {
		all = append(all, &peer{server: s, ready: func(ctx context.Context) bool { return bench.Ready(ctx, s.address, "", 0) },
			open: func(ctx context.Context, w *bench.Workload) (bench.Stream, func(context.Context) error, error) {
				err := bench.CreateTopic(ctx, s.address, w.Topic, w.Partitions, s.policy[durable])
				return w.Franz(s.address), func(ctx context.Context) error { return bench.DeleteTopic(ctx, s.address, w.Topic) }, err
			}})
	}
	ports, err := freePorts(6) // the first ones are newServers'
	if err != nil {
		return nil, err
	}
	if o.nats != "" {
		p, err := newNATS(o.nats, dir, ports[4])
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	if o.redis != "" {
		p, err := newRedis(o.redis, dir, ports[5])
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

// newNATS is a nats-server whose JetStream syncs each message before it answers.
func newNATS(binary, dir string, port int) (*peer, error) {
	config := fmt.Sprintf("listen: %q\nmax_pending: 256MB\njetstream {\n  store_dir: %q\n  sync_interval: always\n}\n", loopback(port), filepath.Join(dir, "nats"))
	path := filepath.Join(dir, "nats.conf")
	if err := os.WriteFile(path, []byte(config), 0o644); err != nil {
		return nil, err
	}
	p := &peer{server: &server{name: "NATS JetStream", address: loopback(port), log: filepath.Join(dir, "nats.log"), argv: []string{binary, "-c", path}}}
	p.ready = func(ctx context.Context) bool {
		ctx, stop := context.WithTimeout(ctx, time.Second)
		defer stop()
		return natsAsk(ctx, p.address, "$JS.API.INFO", map[string]any{}) == nil
	}
	p.open = func(ctx context.Context, w *bench.Workload) (bench.Stream, func(context.Context) error, error) {
		s := &natsStream{p.address, w.Topic, w.Partitions}
		return s, s.remove, s.create(ctx)
	}
	return p, nil
}

// newRedis is a redis-server that syncs its append-only file before it answers.
func newRedis(binary, dir string, port int) (*peer, error) {
	store := filepath.Join(dir, "redis")
	if err := os.MkdirAll(store, 0o755); err != nil {
		return nil, err
	}
	p := &peer{server: &server{name: "Redis streams", address: loopback(port), log: filepath.Join(dir, "redis.log"),
		argv: []string{binary, "--bind", "127.0.0.1", "--port", strconv.Itoa(port), "--dir", store, "--appendonly", "yes", "--appendfsync", "always", "--save", ""}}}
	p.ready = func(ctx context.Context) bool {
		c, err := dialRedis(ctx, p.address)
		if err != nil {
			return false
		}
		defer c.close()
		_, err = c.ask("PING")
		return err == nil
	}
	p.open = func(_ context.Context, w *bench.Workload) (bench.Stream, func(context.Context) error, error) {
		s := &redisStream{p.address, w.Topic, w.Partitions}
		return s, s.remove, nil
	}
	return p, nil
}
