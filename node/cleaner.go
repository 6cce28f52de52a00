package node

import (
	"errors"
	"io/fs"
	"log/slog"
	"maps"
	"math"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/wire"
)

// cleaner compacts logs with cleanup.policy=compact: one goroutine, the dirtiest log first, as Kafka's LogCleaner with one
// thread. Loops only plan and swap; everything that reads or writes is the goroutine's.
//
//	goroutine            owner
//	pick ──────────────▶ Cleanable of each log; a log whose sealed segments are not on disk is flushed first
//	begin ─────────────▶ PlanClean
//	Start, Next
//	swap ──────────────▶ nobody opens its files by name any more: PlanSwap
//	SwapPlan.Run
//	     ──────────────▶ Cleaned; the old files are let go, who waited for new ones goes on
//	checkpoint
type cleaner struct {
	node *Node
	// uncleanable are logs that failed for what they hold: they are not tried again before a restart.
	uncleanable map[*partition]bool
	pacer       pacer
}

// errCleanerStops ends a cleaning when the node stops, or when its partition is gone.
var errCleanerStops = errors.New("the cleaner stops")

func (n *Node) startCleaner() {
	c := &cleaner{node: n, uncleanable: make(map[*partition]bool)}
	go func() {
		defer close(n.cleanerStopped)
		for n.Config().CleanerEnable && !n.hasStopped() {
			if p := c.dirtiest(); p == nil || !c.clean(p) {
				c.pause(time.Duration(n.Config().CleanerBackoffMS) * time.Millisecond)
			}
		}
	}()
}

func (n *Node) hasStopped() bool {
	select {
	case <-n.quit:
		return true
	default:
		return n.hasFailed()
	}
}

// cleanerPauseMin keeps a back-off of 0 from spinning.
const cleanerPauseMin = 10 * time.Millisecond

func (c *cleaner) pause(d time.Duration) { c.node.sleep(max(d, cleanerPauseMin)) }

// dirtiest picks the log to clean; nil if none is dirty enough.
func (c *cleaner) dirtiest() (best *partition) {
	maps.DeleteFunc(c.uncleanable, func(p *partition, _ bool) bool { return p.gone.Load() })
	ratio := -1.0
	c.node.eachPartition(func(l *Loop, p *partition) {
		log := p.log()
		if !log.Config().Compact || p.stopped != wire.None || c.uncleanable[p] {
			return
		}
		if log.RecoveryPoint() < log.ActiveSegment().BaseOffset() {
			l.startFlush(p) // then the next look finds more
		}
		if d := log.Cleanable(l.wall, p.replica.HighWatermark()); d.Due(log.Config().MinCleanableRatio) && d.Ratio() > ratio {
			best, ratio = p, d.Ratio()
		}
	})
	return best
}

// clean cleans one log; false if that failed, so that the next try waits.
func (c *cleaner) clean(p *partition) bool {
	n, began := c.node, time.Now()
	var plan segment.CleanPlan
	p.loop.on(func(l *Loop) { plan = p.log().PlanClean(l.wall, p.replica.HighWatermark()) })
	cfg := n.Config()
	result, err := c.run(p, plan, segment.CleanOptions{
		DedupeBytes: min(cfg.CleanerDedupeBytes, math.MaxInt32), LoadFactor: cfg.CleanerLoadFactor, Step: func(bytes int) error { return c.step(p, bytes) },
	})
	if err != nil {
		c.failed(p, err)
		return false
	}
	slog.Info("log compacted", "partition", p.name(), "from", int64(plan.FirstDirty), "to", int64(plan.FirstUncleanable), "keys", result.Keys,
		"bytesRead", result.BytesRead, "bytesWritten", result.BytesWritten, "records", result.RecordsRead, "kept", result.RecordsKept,
		"duration", time.Since(began).Round(time.Millisecond))
	n.metrics.compactions.Inc()
	if err := n.writeDirCheckpoints(p.dir(), segment.CleanerCheckpoint); err != nil {
		n.log.throttled("checkpoint files cannot be written", "directory", p.dir().path, "error", err)
	}
	return true
}

// failed says what becomes of a log that could not be cleaned. A full disk passes, and retention or a deletion may have taken files
// away; an error of the disk takes the directory with it; what is left lies in the log itself.
func (c *cleaner) failed(p *partition, err error) {
	var disk unix.Errno
	switch {
	case errors.Is(err, errCleanerStops), errors.Is(err, fs.ErrNotExist), p.gone.Load():
	case passes(err):
		c.node.log.throttled("log cannot be compacted now", "partition", p.name(), "error", err)
	case errors.As(err, &disk):
		p.loop.on(func(l *Loop) { l.storageFault(p.dir(), "compact "+p.name(), err) })
	default:
		slog.Error("log is not compacted any more until a restart", "partition", p.name(), "error", err)
		c.uncleanable[p] = true
		c.node.scrubber.suspect(p, 0)
	}
}

// run carries a plan out and swaps each group in.
func (c *cleaner) run(p *partition, plan segment.CleanPlan, opt segment.CleanOptions) (segment.CleanResult, error) {
	job, err := plan.Start(p.dir().fs, opt)
	if err != nil {
		return segment.CleanResult{}, err
	}
	for {
		g, ok, err := job.Next()
		if err != nil {
			return job.Result(), err
		}
		if !ok {
			break
		}
		if err := c.swap(p, g); err != nil {
			return job.Result(), errors.Join(err, g.Discard(p.dir().fs))
		}
	}
	p.loop.on(func(*Loop) { p.log().CleanDone(job.Through()) })
	return job.Result(), nil
}

// step is called with the bytes that the cleaning has moved: it keeps the rate, and ends it when it is of no use any more.
func (c *cleaner) step(p *partition, bytes int) error {
	if c.node.hasStopped() || p.dir().offline.Load() || p.gone.Load() {
		return errCleanerStops
	}
	if ahead := c.pacer.take(bytes, c.node.Config().CleanerBytesPerSecondMax); ahead > cleanerPauseMin {
		c.pause(ahead)
	}
	return nil
}

// swapTries is how often a swap waits cleanerPauseMin for those who open the log's files by name or flush it.
const swapTries = 1000

// swap puts a group in the place of its segments.
func (c *cleaner) swap(p *partition, g segment.CleanedGroup) error {
	var plan segment.SwapPlan
	begun, gone := false, false
	for try := 0; !begun && !gone && try < swapTries; try++ {
		if try > 0 {
			c.pause(cleanerPauseMin)
		}
		gone = true // unless the loop runs this
		p.loop.on(func(l *Loop) { plan, begun, gone = l.beginSwap(p, g) })
	}
	if !begun {
		return errCleanerStops
	}
	err := plan.Run(p.dir().fs)
	p.loop.on(func(l *Loop) { l.swapped(p, plan, err) })
	return err
}

// beginSwap plans a swap, unless somebody opens the log's files by name just now; gone says that it will never be.
func (l *Loop) beginSwap(p *partition, g segment.CleanedGroup) (plan segment.SwapPlan, begun, gone bool) {
	switch {
	case p.stopped != wire.None:
		return plan, false, true
	case p.flushing || p.held || p.named > 0 || len(p.opening) > 0:
		return plan, false, false
	}
	plan, ok := p.log().PlanSwap(g)
	if ok {
		p.swapping = plan.Sources()
	}
	return plan, ok, !ok
}

// swapped puts the new segment in the log. An error leaves the directory between two states, which only a restart can mend.
func (l *Loop) swapped(p *partition, plan segment.SwapPlan, err error) {
	p.swapping = nil
	switch {
	case p.stopped != wire.None:
	case err != nil:
		p.log().SwapAbandoned(plan)
		l.storageFault(p.dir(), "compact "+p.name(), err)
	default:
		p.log().Cleaned(plan)
		for _, s := range plan.Sources() {
			if f := p.files[s]; f != nil {
				delete(p.files, s)
				f.release()
			}
		}
		l.tryRoll(p)
	}
	l.resumeParked(p)
}

// holdNames runs plan on the partition's loop at a moment when the names of its segments' files are what the log says, and keeps
// them so until release is called. It is for goroutines that open those files.
func (p *partition) holdNames(plan func()) (release func()) {
	for held := false; !held; {
		p.loop.on(func(*Loop) {
			if len(p.swapping) == 0 {
				p.named++
				held = true
				plan()
			}
		})
		select {
		case <-p.loop.stopped:
			return func() {}
		default:
		}
		if !held {
			time.Sleep(time.Millisecond)
		}
	}
	return func() { p.loop.send(messageFunc(func(*Loop) { p.named-- })) }
}
