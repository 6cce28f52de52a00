package node

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/wire"
)

// stop drains the node: no new connections, what is under way is answered, everything is put on disk, and the mark of
// a clean stop is left. After a failure nothing is written any more: the next start recovers.
func (n *Node) stop() error {
	n.ready.Store(false)
	failed := n.hasFailed()
	if n.cluster != nil && !failed {
		n.cluster.leave()
	}
	n.stopping.Store(true)
	close(n.draining)
	if !failed {
		n.drain()
	}
	close(n.quit)
	if n.cluster != nil {
		n.cluster.close()
	}
	<-n.groups.inbox.stopped
	<-n.txns.inbox.stopped
	<-n.shareLog.inbox.stopped
	<-n.shares.inbox.stopped
	<-n.cleanerStopped
	n.moves.stop()
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

// drain closes each connection when its requests are answered, none being taken up any more (Conn.mayRead); long polls
// are answered at once, and so is who waits for other members of its group (Node.draining). Who does not read its answers is closed
// at the end of the time. New connections are refused by the kernel: clients go elsewhere at once.
func (n *Node) drain() {
	deadline := time.Now().Add(n.seams.drainTimeout)
	for _, ln := range n.listeners {
		n.loops[0].on(func(l *Loop) { l.engine.CancelFD(ln.fd) })
		_ = unix.Shutdown(ln.fd, unix.SHUT_RDWR)
	}
	open := 0
	for pause := drainPauseMin; time.Now().Before(deadline); pause = min(2*pause, drainPauseMax) {
		open = 0
		for _, l := range n.loops {
			l.on(func(l *Loop) { open += l.drainConns() })
		}
		if open == 0 {
			return
		}
		time.Sleep(pause)
	}
	slog.Warn("connections are closed with requests under way", "connections", open)
	for _, l := range n.loops {
		l.on(func(l *Loop) { l.conns.all((*Conn).close) })
	}
}

// drainPauseMin and drainPauseMax are the pauses between looks at what is still open.
const (
	drainPauseMin = time.Millisecond
	drainPauseMax = 10 * time.Millisecond
)

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
		still := l.awaitStill()
		l.on(func(l *Loop) { closes = l.planCloses() })
		ok = runCloses(closes) && still && ok
		l.on(func(*Loop) {
			for i := range closes {
				if closes[i].done {
					closes[i].p.log().Flushed(closes[i].plan)
				}
			}
		})
	}
	return ok && (n.someOffline() || n.emptyJournals()) &&
		n.writeCheckpoints(segment.RecoveryPointCheckpoint, segment.HighWatermarkCheckpoint, segment.LogStartCheckpoint)
}

// awaitStill waits until nobody is at the files of the loop's logs: flushes, truncations, writes of leader epochs that have begun. False if
// some are not done, or a truncation that could not end leaves a log to be recovered.
func (l *Loop) awaitStill() (still bool) {
	for deadline := time.Now().Add(jobPatience); ; time.Sleep(time.Millisecond) {
		busy, torn := 0, 0
		l.on(func(l *Loop) {
			l.parts.all(func(p *partition) {
				switch {
				case p.stopped != wire.None:
				case p.jobs > 0:
					busy++
				case p.cut:
					torn++
				}
			})
		})
		if busy == 0 || time.Now().After(deadline) {
			return busy == 0 && torn == 0
		}
	}
}

// runCloses runs closes side by side, so that the file system joins their syncs, and says whether all went well.
func runCloses(closes []logClose) bool {
	var workers sync.WaitGroup
	next := make(chan *logClose)
	for range min(logCreators, len(closes)) {
		workers.Go(func() {
			for c := range next {
				c.done = c.run()
			}
		})
	}
	for i := range closes {
		next <- &closes[i]
	}
	close(next)
	workers.Wait()
	return !slices.ContainsFunc(closes, func(c logClose) bool { return !c.done })
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
		if p.stopped != wire.None || p.jobs > 0 || p.cut {
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
	err := c.plan.Run(c.p.dir().fs)
	if err != nil {
		slog.Error("log cannot be closed cleanly", "partition", c.p.name(), "error", err)
	}
	return err == nil
}

// someOffline says whether a log directory failed: what was acknowledged of it may be in the journals alone.
func (n *Node) someOffline() bool {
	return slices.ContainsFunc(n.dirs, func(d *logDir) bool { return d.offline.Load() })
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

// markClean leaves Kafka's mark of a clean stop in each log directory, save those that failed: the next start recovers
// them.
func (n *Node) markClean() {
	for _, d := range n.dirs {
		if d.offline.Load() {
			continue
		}
		path := filepath.Join(d.path, segment.CleanShutdownFile)
		if err := d.fs.WriteFileAtomic(path, segment.AppendCleanShutdown(nil, -1)); err != nil {
			slog.Error("mark of a clean stop cannot be left", "path", path, "error", err)
		}
	}
}

// abandon undoes a start that failed; directories that were not there before it go.
func (n *Node) abandon() {
	if n.cluster != nil {
		close(n.quit)
		n.cluster.close()
	}
	if n.running {
		n.stopping.Store(true)
		n.stopLoops()
	}
	if n.http != nil {
		n.http.close()
	}
	n.closeFiles()
	for _, path := range n.made {
		_ = os.RemoveAll(path)
	}
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
