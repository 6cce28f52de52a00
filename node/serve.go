package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"github.com/ringmill/ringmill/iouring"
	"github.com/ringmill/ringmill/node/config"
	"github.com/ringmill/ringmill/segment"
)

// Serve runs a node until ctx ends, then drains it and leaves the clean-shutdown mark. What it found and where it
// listens is written to out. A *StartError, or a *config.Error, is a start that changed nothing; any other error is a
// node that stopped serving.
func Serve(ctx context.Context, cfg *config.Config, notices []config.Notice, out io.Writer) error {
	n := newNode(cfg)
	n.interrupt = ctx.Done()
	switch err := n.start(); {
	case interrupted(err):
		fmt.Fprintln(out, "stopped   before it served anybody")
		return nil
	case err != nil:
		return err
	}
	n.report(out, notices, n.limitMemory())
	select {
	case <-ctx.Done():
	case <-n.failed:
	}
	fmt.Fprintln(out, "stopping  what is under way is answered, then everything is put on disk")
	began := time.Now()
	err := n.stop()
	if err == nil {
		fmt.Fprintf(out, "stopped   in %d ms, cleanly\n", time.Since(began).Milliseconds())
	}
	return err
}

// start brings the node up to where it serves.
func (n *Node) start() error {
	clustered, err := n.inCluster()
	if err != nil {
		return err
	}
	open := n.open
	if clustered {
		open = n.openCluster
	}
	if err := open(); err != nil {
		n.abandon()
		return err
	}
	go n.groups.run()
	n.groups.start()
	go n.txns.run()
	n.txns.start()
	go n.shareLog.run()
	n.shareLog.start()
	go n.shares.run()
	n.startHousekeeping()
	n.resumeMoves()
	n.startCleaner()
	if clustered {
		if err := n.cluster.serve(); err != nil {
			return errors.Join(err, n.stop())
		}
	}
	n.serving.Store(true)
	close(n.served)
	if !clustered {
		n.loops[0].on((*Loop).startAccepting)
	}
	n.warnOfNobody()
	n.ready.Store(true)
	return nil
}

// open does what can fail. Sockets are bound first: a port in use is found before anything is written.
func (n *Node) open() error {
	for _, step := range []func() error{
		n.bind,
		func() error { return n.openDirs(n.seams.fs) },
		func() error { return n.openMetadata(n.seams.fs) },
		func() error { return n.applyDynamicConfig(n.Image()) },
		n.loadQuotas,
		n.loadTopics,
		n.writeKnownDirs,
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
		probes: make(map[int]iouring.Probe), failed: make(chan struct{}), draining: make(chan struct{}), quit: make(chan struct{}), served: make(chan struct{}),
		cleanerStopped: make(chan struct{}),
	}
	n.cfg.Store(cfg)
	n.growing = newGrowingTurns(cfg.Loops)
	n.decoding = newDecodeLimit()
	n.recordReaders = make(chan struct{}, recordReaders)
	n.truncations, n.isr, n.lacking = make(chan struct{}, truncationsAtOnce), newISRProposer(n), newLackingReplicas(n)
	n.scrubber = newScrubber(n)
	n.moves = newLogMoves(cfg.MovesAtOnce())
	n.quotas, n.connectionRates = newClientQuotas(cfg, n.started), newConnectionRates(cfg, n.started)
	n.metrics.quotaClients(n.quotas)
	n.metrics.registerCluster(n)
	n.metrics.replicas(n)
	n.groups = newGroupService(n)
	n.txns = newTxnService(n)
	n.shareLog, n.shares = newShareStateService(n), newShareService(n)
	for _, logs := range []*coordinatorLogs{&n.groups.logs, &n.txns.logs, &n.shareLog.logs} {
		logs.register(n.metrics.set)
	}
	n.metrics.gauge("ringmill_transactions_open", &n.txns.openTxns)
	n.shares.metrics.register(n.metrics)
	n.moves.metrics.register(n.metrics, n.moves)
	n.sessions.home = make(map[int32]*Loop)
	for i := range cfg.Loops {
		n.loops = append(n.loops, newLoop(n, i))
	}
	return n
}

func newLoop(n *Node, index int) *Loop {
	cfg := n.Config()
	return &Loop{
		node: n, index: index, overflow: make([][]Message, cfg.Loops), metrics: newLoopMetrics(n.metrics, index), stages: newStageTimes(),
		slabs: slabPool{max: int(cfg.RequestMemoryBytes) / cfg.Loops},
		sync:  newSyncer(cfg), inlineMax: cfg.AppendInlineBytesMax,
		answers: answerMemory{max: answersOfLoop(cfg.Loops)},
		fetches: fetchSessions{byID: make(map[int32]*fetchSession), max: max(1, cfg.FetchSessionSlots/cfg.Loops)},
		stopped: make(chan struct{}),
	}
}

// bind opens the listeners for clients and the one for operators.
func (n *Node) bind() error {
	cfg := n.Config()
	limits := &connLimits{byIP: make(map[string]int)}
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
// sits in the kernel.
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
	if failed == nil {
		n.metrics.stages.begin(n.loops)
	}
	return failed
}

// report tells the user where the node listens and what it picked; limit is the runtime's on its memory.
func (n *Node) report(out io.Writer, notices []config.Notice, limit int64) {
	for _, notice := range notices {
		fmt.Fprintf(out, "property without effect: %s\n", notice)
	}
	fmt.Fprintf(out, "engine    %s\n", n.probes[0])
	for i := 1; i < len(n.loops); i++ {
		if n.probes[i].Engine != n.probes[0].Engine {
			fmt.Fprintf(out, "engine    of loop %d: %s\n", i, n.probes[i])
		}
	}
	for _, d := range n.dirs {
		way := "small ones by the loop, large ones by the ring: " + d.kind + " hands ring writes to worker threads"
		if !d.inlineAppends {
			way = "by the ring: " + d.kind + " takes its writes inline"
		}
		fmt.Fprintf(out, "logs      %s (%s); appends %s\n", d.path, d.kind, way)
	}
	fmt.Fprintf(out, "fetches   sendfile from the page cache; what is cold is read in by the ring first\n")
	cfg := n.Config()
	fmt.Fprintf(out, "flush     %s; loops %d; journals up to %d MiB\n", cfg.FlushPolicy(), len(n.loops), cfg.JournalBytes*int64(len(n.loops))>>20)
	fmt.Fprintf(out, "memory    up to %d MiB for clients, %d MiB of it for requests, %d MiB for answers; collected %s\n",
		n.memoryBound()>>20, cfg.RequestMemoryBytes>>20, answersOfLoop(cfg.Loops)*cfg.Loops>>20, limitText(limit))
	if n.http != nil {
		fmt.Fprintf(out, "status    http://%s\n", n.http.listener.Addr())
	}
	for _, l := range n.listeners {
		host, port := n.Advertised(l.name)
		fmt.Fprintf(out, "listening %s at %s, advertised as %s\n", l.name, l.addr, net.JoinHostPort(host, strconv.Itoa(int(port))))
	}
	fmt.Fprintf(out, "ready     in %d ms: cluster %s, node %d, %d topics, %d partitions\n", time.Since(n.started).Milliseconds(),
		n.Image().ClusterID(), cfg.NodeID, n.Image().TopicCount(), n.Image().PartitionCount())
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
