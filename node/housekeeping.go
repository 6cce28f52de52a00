package node

import (
	"errors"
	"io/fs"
	"log/slog"
	"time"

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
	if p.flushing || len(p.swapping) > 0 || p.rolling || p.stopped != wire.None {
		return
	}
	if p.writingEpochs {
		p.flushWanted = true
		return
	}
	p.flushing = true
	plan, fsys := p.planFlush(), p.dir().fs
	l.backgroundOf(p, func() Message {
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
		l.storageFault(p.dir(), "flush "+p.name(), err)
	default:
		p.log().Flushed(plan)
		p.replica.Synced(plan.UpTo(), &l.eff)
		l.apply(p)
	}
	l.tryEpochs(p)
}

// sleep waits; false if the node stopped meanwhile.
func (n *Node) sleep(d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-n.quit:
		return false
	}
}

// every runs f in a goroutine of its own, at intervals after an initial delay, until the node stops.
func (n *Node) every(interval time.Duration, f func()) {
	if interval <= 0 {
		return
	}
	delay := time.Duration(n.Config().InitialTaskDelayMS) * time.Millisecond
	go func() {
		if !n.sleep(delay) {
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
	go n.removeDeleted()
	go n.scrubber.run()
	c := n.Config()
	ms := func(v int64) time.Duration { return time.Duration(v) * time.Millisecond }
	n.every(ms(c.RetentionCheckIntervalMS), n.retain)
	n.every(ms(c.OffsetCheckpointIntervalMS), n.checkpointOffsets)
	n.every(ms(c.StartOffsetCheckpointIntervalMS), n.checkpointStarts)
	n.every(ms(c.ProducerIDExpirationCheckMS), n.expireProducers)
	n.every(flushCheckInterval, n.flushByTime)
	n.every(time.Minute, n.closeIdleFiles)
	if n.cluster != nil {
		go n.isr.run()
		n.every(ms(c.ReplicaLagMS)/2, n.shrinkISRs)
	}
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
func (n *Node) retain() { n.eachPartition((*Loop).retain) }

func (l *Loop) retain(p *partition) {
	if s := p.log().BlockedByFuture(l.wall); s != nil {
		l.node.log.throttled("segment contains future timestamps: it and those after it cannot be deleted by age", "partition", p.name(),
			"segment", int64(s.BaseOffset()), "greatestTimestamp", int64(s.MaxTimestamp()))
	}
	doomed := p.log().PlanRetention(l.wall, p.replica.HighWatermark())
	if len(doomed) == 0 || p.rolling || p.held || len(p.plans)+len(p.writing) > 0 || p.stopped != wire.None {
		return
	}
	if doomed[len(doomed)-1] == p.log().ActiveSegment() {
		l.roll(p) // the next check drops it
		doomed = doomed[:len(doomed)-1]
	}
	l.dropSegments(p, doomed)
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
	fsys := p.dir().fs
	l.backgroundOf(p, func() Message {
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
	if int(n.openFiles.Load()) > n.seams.filesKept/2 {
		n.eachPartition(func(l *Loop, p *partition) { l.closeIdleFiles(p, false) })
	}
}

// openFilesKeep is the largest part of the process's descriptors that is kept for files; half of it for segments that stay
// open, the other half for those that are opened for a moment.
const openFilesKeep = 8192
