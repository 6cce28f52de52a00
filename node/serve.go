package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/ringmill/ringmill/iouring"
	"github.com/ringmill/ringmill/node/config"
	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/wire"
)

// Serve runs a node until ctx ends, then drains it and leaves the clean-shutdown mark. What it found and where it
// listens is written to out. A *StartError, or a *config.Error, is a start that changed nothing; any other error is a
// node that stopped serving.
func Serve(ctx context.Context, cfg *config.Config, notices []config.Notice, out io.Writer) error {
	n := newNode(cfg)
	if err := n.start(); err != nil {
		return err
	}
	n.report(out, notices)
	select {
	case <-ctx.Done():
	case <-n.failed:
	}
	return n.stop()
}

// start brings the node up to where it serves.
func (n *Node) start() error {
	if err := n.open(); err != nil {
		n.abandon()
		return err
	}
	go n.groups.run()
	n.groups.start()
	n.startHousekeeping()
	n.loops[0].on((*Loop).startAccepting)
	n.ready.Store(true)
	return nil
}

// open does what can fail. Sockets are bound first: a port in use is found before anything is written.
func (n *Node) open() error {
	for _, step := range []func() error{
		n.bind,
		func() error { return n.openStorage(n.seams.fs) },
		func() error { return n.applyDynamicConfig(n.store.Image()) },
		n.loadTopics,
		n.removeCleanMarks,
		n.startLoops,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func newNode(cfg *config.Config) *Node {
	n := &Node{
		started: time.Now(), seams: defaultSeams(), log: newThrottledLog(slog.Default()), metrics: newNodeMetrics(), topics: newCatalog(),
		probes: make(map[int]iouring.Probe), failed: make(chan struct{}), quit: make(chan struct{}),
	}
	n.cfg.Store(cfg)
	n.decoding.cond = sync.NewCond(&n.decoding.mu)
	n.groups = newGroupService(n)
	n.sessions.home = make(map[int32]*Loop)
	for i := range cfg.Loops {
		n.loops = append(n.loops, newLoop(n, i))
	}
	return n
}

func newLoop(n *Node, index int) *Loop {
	cfg := n.config()
	return &Loop{
		node: n, index: index, overflow: make([][]Message, cfg.Loops), metrics: newLoopMetrics(n.metrics, index),
		slabs:   slabPool{max: int(cfg.RequestMemoryBytes) / cfg.Loops},
		fetches: fetchSessions{byID: make(map[int32]*fetchSession), max: max(1, cfg.FetchSessionSlots/cfg.Loops)},
		stopped: make(chan struct{}),
	}
}

// bind opens the listeners for clients and the one for operators.
func (n *Node) bind() error {
	cfg := n.config()
	limits := &connLimits{max: cfg.ConnectionsMax, perIP: cfg.ConnectionsPerIPMax, overrides: cfg.ConnectionsPerIPOverrides, byIP: make(map[string]int)}
	for _, l := range cfg.Listeners {
		ln, err := listen(l, cfg.ListenBacklog, limits)
		if err != nil {
			return err
		}
		n.listeners = append(n.listeners, ln)
	}
	if cfg.HTTPListen == "" {
		return nil
	}
	ln, err := bindTCP(cfg.HTTPListen)
	if err != nil {
		return &StartError{Path: "ringmill.http.listen: " + cfg.HTTPListen, Problem: bindProblem(err), Cure: "stop what listens there, or choose another address with --set ringmill.http.listen=HOST:PORT"}
	}
	n.http = newAdmin(n, ln)
	return nil
}

// startLoops runs the loops. Two more Ps than loops keep the garbage collector and goroutines going while every loop
// sits in the kernel (loop.md 1.5).
func (n *Node) startLoops() error {
	runtime.GOMAXPROCS(len(n.loops) + 2)
	started := make(chan error, len(n.loops))
	for _, l := range n.loops {
		go l.run(started)
	}
	n.running = true
	var failed error
	for range n.loops { // all of them: one that still opens its engine must not be stopped under its hands
		if err := <-started; err != nil {
			failed = &StartError{Path: "ringmill.engine", Problem: err.Error(), Cure: "use --set ringmill.engine=epoll"}
		}
	}
	return failed
}

// report tells the user where the node listens and what it picked.
func (n *Node) report(out io.Writer, notices []config.Notice) {
	for _, notice := range notices {
		fmt.Fprintf(out, "property without effect: %s\n", notice)
	}
	fmt.Fprintf(out, "engine    %s\n", n.probes[0])
	for _, d := range n.dirs {
		way := "small ones by the loop, large ones by the ring: " + d.kind + " hands ring writes to worker threads"
		if !d.inlineAppends {
			way = "by the ring: " + d.kind + " takes its writes inline"
		}
		fmt.Fprintf(out, "logs      %s (%s); appends %s\n", d.path, d.kind, way)
	}
	fmt.Fprintf(out, "fetches   sendfile from the page cache; what is cold is read in by the ring first\n")
	cfg := n.config()
	fmt.Fprintf(out, "flush     %s; loops %d; request memory %d MiB, journals up to %d MiB\n", cfg.FlushPolicy(), len(n.loops),
		cfg.RequestMemoryBytes>>20, cfg.JournalBytes*int64(len(n.loops))>>20)
	if n.http != nil {
		fmt.Fprintf(out, "status    http://%s\n", n.http.listener.Addr())
	}
	for i, l := range n.listeners {
		fmt.Fprintf(out, "listening %s at %s, advertised as %s\n", l.name, l.addr, n.config().AdvertisedListeners[i].Address())
	}
	fmt.Fprintf(out, "ready     in %d ms: cluster %s, node %d, %d topics, %d partitions\n", time.Since(n.started).Milliseconds(),
		n.Image().ClusterID(), cfg.NodeID, n.Image().TopicCount(), n.Image().PartitionCount())
}

// stop drains the node: no new connections, what is under way is answered, everything is put on disk, and the mark of
// a clean stop is left. After a failure nothing is written any more: the next start recovers.
func (n *Node) stop() error {
	n.ready.Store(false)
	n.stopping.Store(true)
	failed := n.hasFailed()
	if !failed {
		n.drain()
	}
	close(n.quit)
	<-n.groups.stopped
	if !failed {
		failed = !n.closeLogs()
	}
	n.stopLoops()
	if n.http != nil {
		n.http.close()
	}
	if !failed {
		n.markClean()
	}
	n.closeFiles()
	if n.hasFailed() {
		return n.failure
	}
	return nil
}

// drainTimeout bounds how long requests under way may take once the node is to stop.
const drainTimeout = 5 * time.Second

// drain closes each connection when its requests are answered; long polls are answered at once.
func (n *Node) drain() {
	deadline := time.Now().Add(n.seams.drainTimeout)
	for _, ln := range n.listeners {
		n.loops[0].on(func(l *Loop) { l.engine.CancelFD(ln.fd) })
	}
	for time.Now().Before(deadline) {
		open := 0
		for _, l := range n.loops {
			l.on(func(l *Loop) { open += l.drainConns() })
		}
		if open == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// drainConns closes the idle connections and says how many are not.
func (l *Loop) drainConns() (busy int) {
	l.conns.all(func(c *Conn) {
		switch {
		case c.closing:
		case c.pipeline.len() == 0 && c.out.empty():
			c.close()
		default:
			busy++
			if c.fetch.waiting {
				c.fetch.expired()
			}
		}
	})
	return busy
}

// closeLogs puts every log on disk with its indexes and a producer snapshot, so that the next start scans nothing.
func (n *Node) closeLogs() bool {
	ok := true
	for _, l := range n.loops {
		var closes []logClose
		l.on(func(l *Loop) { closes = l.planCloses() })
		for i := range closes {
			closes[i].done = closes[i].run()
			ok = ok && closes[i].done
		}
		l.on(func(*Loop) {
			for i := range closes {
				if closes[i].done {
					closes[i].p.log().Flushed(closes[i].plan)
				}
			}
		})
	}
	return ok && n.emptyJournals() &&
		n.writeCheckpoints(segment.RecoveryPointCheckpoint, segment.HighWatermarkCheckpoint, segment.LogStartCheckpoint)
}

// logClose is one log's flush at a clean stop.
type logClose struct {
	p    *partition
	plan segment.FlushPlan
	done bool
}

// planCloses plans the close of the loop's logs, all but those that have nothing to do.
func (l *Loop) planCloses() (closes []logClose) {
	l.parts.all(func(p *partition) {
		if p.stopped != wire.None {
			return
		}
		plan := p.log().PlanClose()
		plan.Limit(p.replica.WrittenEnd())
		if !plan.Empty() {
			closes = append(closes, logClose{p: p, plan: plan})
		}
	})
	return closes
}

func (c *logClose) run() bool {
	err := c.plan.Run(c.p.dir.fs)
	if err != nil {
		slog.Error("log cannot be closed cleanly", "partition", c.p.name(), "error", err)
	}
	return err == nil
}

// emptyJournals notes in each journal that the segments have everything, so that the next start replays nothing.
func (n *Node) emptyJournals() bool {
	ok := true
	for _, l := range n.loops {
		l.on(func(l *Loop) {
			if l.sync.checking {
				return // its own checkpoint ends with the loop; the rest is replayed, which changes nothing
			}
			plan := l.sync.journal.PlanCheckpoint()
			if err := plan.Run(l.sync.file); err != nil {
				slog.Error("journal cannot be emptied", "journal", n.journalName(l.index), "error", err)
				ok = false
			}
		})
	}
	return ok
}

// markClean leaves Kafka's mark of a clean stop in each log directory.
func (n *Node) markClean() {
	for _, d := range n.dirs {
		path := filepath.Join(d.path, segment.CleanShutdownFile)
		if err := d.fs.WriteFileAtomic(path, segment.AppendCleanShutdown(nil, -1)); err != nil {
			slog.Error("mark of a clean stop cannot be left", "path", path, "error", err)
		}
	}
}

// removeCleanMarks takes the marks away durably before anything is appended: a crash from now on is not a clean stop.
func (n *Node) removeCleanMarks() error {
	for _, d := range n.dirs {
		if !d.clean {
			continue
		}
		if err := errors.Join(d.fs.Remove(filepath.Join(d.path, segment.CleanShutdownFile)), d.fs.SyncDir(d.path)); err != nil {
			return startError(d.path, err)
		}
	}
	return nil
}

// abandon undoes a start that failed.
func (n *Node) abandon() {
	if n.running {
		n.stopping.Store(true)
		n.stopLoops()
	}
	if n.http != nil {
		n.http.close()
	}
	n.closeFiles()
}

func (n *Node) closeFiles() {
	for _, ln := range n.listeners {
		_ = ln.file.Close()
	}
	if n.store != nil {
		_ = n.store.Close()
	}
	for _, l := range n.loops {
		if l.sync.file != nil {
			_ = l.sync.file.Close()
		}
	}
	for _, d := range n.dirs {
		_ = d.lock.Close()
	}
	if n.state != nil && n.state.lock != nil {
		_ = n.state.lock.Close()
	}
}
