package node

import (
	"errors"
	"io/fs"
	"log/slog"
	"maps"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringmill/ringmill/replicate"
	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/wire"
)

// planFlush plans to make what p has written durable.
func (p *partition) planFlush() segment.FlushPlan {
	plan := p.log().PlanFlush()
	plan.Limit(p.replica.WrittenEnd())
	return plan
}

// startFlush puts a partition's log and indexes on disk in the background, and raises its recovery point.
func (l *Loop) startFlush(p *partition) {
	if p.flushing || p.rolling || p.stopped != wire.None {
		return
	}
	p.flushing = true
	plan, fsys := p.planFlush(), p.dir.fs
	l.background(func() Message {
		err := plan.Run(fsys)
		return messageFunc(func(l *Loop) { l.flushed(p, plan, err) })
	})
}

func (l *Loop) flushed(p *partition, plan segment.FlushPlan, err error) {
	p.flushing = false
	l.tryRoll(p)
	switch {
	case p.failing() || errors.Is(err, fs.ErrNotExist): // deleted meanwhile
	case passes(err):
		l.node.log.throttled("indexes are not written", "partition", p.name(), "error", err)
	case err != nil:
		l.storageFault(p.dir, "flush "+p.name(), err)
	default:
		p.log().Flushed(plan)
		p.replica.Synced(plan.UpTo(), &l.eff)
		l.apply(p)
	}
}

// every runs f in a goroutine of its own, at intervals after an initial delay, until the node stops.
func (n *Node) every(interval time.Duration, f func()) {
	if interval <= 0 {
		return
	}
	delay := time.Duration(n.config().InitialTaskDelayMS) * time.Millisecond
	go func() {
		select {
		case <-time.After(delay):
		case <-n.quit:
			return
		}
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				f()
			case <-n.quit:
				return
			}
		}
	}()
}

// startHousekeeping begins the periodic work, each kind at the interval of Kafka's property.
func (n *Node) startHousekeeping() {
	c := n.config()
	ms := func(v int64) time.Duration { return time.Duration(v) * time.Millisecond }
	n.every(ms(c.RetentionCheckIntervalMS), n.retain)
	n.every(ms(c.OffsetCheckpointIntervalMS), n.checkpointOffsets)
	n.every(ms(c.StartOffsetCheckpointIntervalMS), n.checkpointStarts)
	n.every(ms(c.ProducerIDExpirationCheckMS), n.expireProducers)
	n.every(flushCheckInterval, n.flushByTime)
	n.every(time.Minute, n.closeIdleFiles)
}

// flushCheckInterval is how often flush.ms and flush.messages of the policy interval are looked at, Kafka's
// log.flush.scheduler.interval.ms being "never" by default.
const flushCheckInterval = 100 * time.Millisecond

// eachPartition runs f for every partition on its loop, one loop after the other.
func (n *Node) eachPartition(f func(l *Loop, p *partition)) {
	for _, l := range n.loops {
		l.on(func(l *Loop) {
			l.parts.all(func(p *partition) {
				if p.stopped == wire.None {
					f(l, p)
				}
			})
		})
	}
}

// retain deletes segments by age and size.
func (n *Node) retain() {
	n.eachPartition(func(l *Loop, p *partition) {
		doomed := p.log().PlanRetention(l.wall, p.replica.HighWatermark())
		if len(doomed) == 0 || p.rolling || len(p.plans)+len(p.writing) > 0 {
			return
		}
		if doomed[len(doomed)-1] == p.log().ActiveSegment() {
			l.roll(p) // the next check drops it
			doomed = doomed[:len(doomed)-1]
		}
		l.dropSegments(p, doomed)
	})
}

func (l *Loop) dropSegments(p *partition, doomed []*segment.Segment) {
	if len(doomed) == 0 {
		return
	}
	p.log().DropSegments(doomed)
	p.publish()
	for _, s := range doomed {
		if f := p.files[s]; f != nil {
			delete(p.files, s)
			f.release()
		}
	}
	slog.Info("segments deleted by retention", "partition", p.name(), "segments", len(doomed), "logStartOffset", int64(p.log().LogStartOffset()))
	fsys := p.dir.fs
	l.background(func() Message {
		if err := segment.DeleteSegments(fsys, doomed); err != nil {
			l.node.log.throttled("segments cannot be removed", "partition", p.name(), "error", err)
		}
		return nil
	})
}

func (n *Node) expireProducers() {
	n.eachPartition(func(l *Loop, p *partition) { p.log().ExpireProducers(l.wall) })
}

// flushByTime syncs partitions under the policy interval by flush.ms and flush.messages.
func (n *Node) flushByTime() {
	n.eachPartition(func(l *Loop, p *partition) {
		behind := int64(p.replica.WrittenEnd() - p.replica.SyncedEnd())
		if p.replica.Policy() != replicate.FlushInterval || behind == 0 {
			p.dirtySince = 0
			return
		}
		if p.dirtySince == 0 {
			p.dirtySince = l.mono
		}
		c := p.log().Config()
		if behind >= c.FlushMessages || (l.mono-p.dirtySince).Milliseconds() >= c.FlushMS {
			p.dirtySince = 0
			l.startSync(p, nil)
		}
	})
}

// closeIdleFiles closes the segment files that nobody has used, beyond a bound on all that are open.
func (n *Node) closeIdleFiles() {
	if n.openFiles.Load() < openFilesKeep {
		return
	}
	n.eachPartition(func(l *Loop, p *partition) { l.closeIdleFiles(p, false) })
}

// openFilesKeep is how many segment files may stay open between checks.
const openFilesKeep = 4096

// offsetCheckpoints are the contents of a directory's checkpoint files, by name.
type offsetCheckpoints map[string]map[wire.TopicPartition]wire.Offset

// offsetsOf collects the recovery points, high watermarks and log start offsets of a directory's partitions. A log
// start offset is written only where the first segment's name does not say it, as Kafka does.
func (n *Node) offsetsOf(d *logDir) offsetCheckpoints {
	recovery := make(map[wire.TopicPartition]wire.Offset)
	watermarks, starts := maps.Clone(recovery), maps.Clone(recovery)
	n.eachPartition(func(_ *Loop, p *partition) {
		if p.dir != d {
			return
		}
		tp := wire.TopicPartition{Topic: p.topic, Partition: p.index}
		recovery[tp] = p.log().RecoveryPoint()
		watermarks[tp] = p.replica.HighWatermark()
		if start := p.log().LogStartOffset(); start > p.log().Segments()[0].BaseOffset() {
			starts[tp] = start
		}
	})
	return offsetCheckpoints{
		segment.RecoveryPointCheckpoint: recovery, segment.HighWatermarkCheckpoint: watermarks, segment.LogStartCheckpoint: starts,
	}
}

// checkpointOffsets flushes what is behind and writes the recovery points and high watermarks.
func (n *Node) checkpointOffsets() {
	n.eachPartition(func(l *Loop, p *partition) {
		if p.log().RecoveryPoint() < p.replica.WrittenEnd() {
			l.startFlush(p)
		}
	})
	n.writeCheckpoints(segment.RecoveryPointCheckpoint, segment.HighWatermarkCheckpoint)
}

// checkpointStarts writes the log start offsets.
func (n *Node) checkpointStarts() { n.writeCheckpoints(segment.LogStartCheckpoint) }

// writeCheckpoints writes checkpoint files in every directory that is online, and says whether all were written.
func (n *Node) writeCheckpoints(names ...string) bool {
	ok := true
	for _, d := range n.dirs {
		if d.offline.Load() {
			continue
		}
		if err := n.writeDirCheckpoints(d, names...); err != nil {
			n.log.throttled("checkpoint files cannot be written", "directory", d.path, "error", err)
			ok = false
		}
	}
	return ok
}

func (n *Node) writeDirCheckpoints(d *logDir, names ...string) error {
	d.checkpointMu.Lock()
	defer d.checkpointMu.Unlock()
	offsets := n.offsetsOf(d)
	for _, name := range names {
		if err := d.fs.WriteFileAtomic(filepath.Join(d.path, name), segment.AppendOffsetCheckpoint(nil, offsets[name])); err != nil {
			return err
		}
		switch name {
		case segment.RecoveryPointCheckpoint:
			d.recovery = offsets[name]
		case segment.LogStartCheckpoint:
			d.starts = offsets[name]
		}
	}
	return nil
}

// forgetCheckpoints sees to it that the checkpoint files say nothing of a partition that is about to be made: one of
// that name may have been deleted, and its recovery point would make the new log look damaged after a crash.
func (n *Node) forgetCheckpoints(d *logDir, tp wire.TopicPartition) error {
	d.checkpointMu.Lock()
	_, recovery := d.recovery[tp]
	_, start := d.starts[tp]
	d.checkpointMu.Unlock()
	if !recovery && !start {
		return nil
	}
	return n.writeDirCheckpoints(d, segment.RecoveryPointCheckpoint, segment.LogStartCheckpoint)
}

// sweepInterval is how often connections are looked at; sweep closes those that idle or that do not get on.
const sweepInterval = time.Second

// requestTimeout is how long a request's bytes may take: a half-sent frame holds memory that others wait for. The
// rate is what a client on a slow link keeps up.
const (
	requestTimeout = 30 * time.Second
	requestRate    = 64 << 10 // bytes a second
)

func (l *Loop) sweep() {
	if l.mono < l.nextSweep {
		return
	}
	l.nextSweep = l.mono + l.node.seams.sweepInterval
	idle := time.Duration(l.node.config().ConnectionIdleMS) * time.Millisecond
	l.freed = true // memory that the kernel refused may be had now
	l.conns.all(func(c *Conn) {
		switch {
		case c.closing:
		case c.late():
			c.refuse("a request did not arrive in time", "bytes", c.in.size, "received", c.in.filled)
		case c.pipeline.len() > 0 && c.out.empty():
			if c.gone() {
				c.close()
			}
		case idle > 0 && l.mono-c.lastActive > idle:
			c.close()
		}
	})
}

// gone says that the client closed its side while it waits for an answer. No receive is armed then that would tell, and
// a long poll may last for hours.
func (c *Conn) gone() bool {
	if c.in.armed || c.in.backlog != nil || c.in.body != nil || c.loop.mono-c.lastActive < goneSweeps*c.loop.node.seams.sweepInterval {
		return false
	}
	var next [1]byte
	n, _, err := unix.Recvfrom(c.fd, next[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
	return n == 0 && err == nil
}

// goneSweeps is after how many sweeps a waiting client is looked after: consumers whose polls take a second are spared.
const goneSweeps = 5

// late says that the client does not get on with a request that it began: no byte of it came for a while, or in all
// they come too slowly.
func (c *Conn) late() bool {
	if c.in.size == 0 || c.starving {
		return false
	}
	now, patience := c.loop.mono, c.loop.node.seams.requestTimeout
	return now-c.lastActive > patience || now-c.in.since > patience+time.Duration(c.in.filled/requestRate)*time.Second
}
