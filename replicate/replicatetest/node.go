package replicatetest

import (
	"fmt"
	"time"

	"github.com/ringmill/ringmill/replicate"
	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/segment/segmenttest"
	"github.com/ringmill/ringmill/wire"
)

// Node is one replica of the partition and the disk that its log lies on.
type Node struct {
	ID wire.NodeID
	// BrokerEpoch is that of its registration; a restart takes the next one that it is given.
	BrokerEpoch wire.BrokerEpoch
	Policy      replicate.FlushPolicy
	Config      segment.Config
	FS          *segmenttest.FS
	Log         *segment.Log
	Partition   *replicate.Partition
	// Effects are those since the last Reset, but for truncations, which are in Truncations until they are run.
	Effects     replicate.Effects
	Truncations []replicate.Truncation
	// Plans are not written yet.
	Plans []segment.AppendPlan
	// Checkpointed is the high watermark that the next start finds.
	Checkpointed wire.Offset
	// Down says that it has crashed and was not started again.
	Down bool
}

// LogDir is the directory of the partition's log on each node.
const LogDir = "/logs/t-0"

// Config is what logs are made with.
func Config() segment.Config {
	return segment.Config{
		SegmentBytes: 1 << 20, SegmentMS: 1 << 40, IndexBytes: 1 << 20, IndexIntervalBytes: 4096,
		RetentionMS: -1, RetentionBytes: -1, ProducerExpirationMS: 1 << 40, Delete: true,
		TimestampBeforeMaxMS: 1 << 60, TimestampAfterMaxMS: 1 << 60, FlushMessages: 1 << 60, FlushMS: 1 << 60,
	}
}

// NewNode makes a node with an empty log. The seed decides what its power cuts leave.
func NewNode(id wire.NodeID, policy replicate.FlushPolicy, cfg segment.Config, seed uint64) (*Node, error) {
	n := &Node{ID: id, BrokerEpoch: wire.BrokerEpoch(id), Policy: policy, Config: cfg, FS: segmenttest.New(seed)}
	if err := n.FS.MkdirAll("/logs", 0o755); err != nil {
		return nil, err
	}
	if err := n.FS.SyncDir("/"); err != nil {
		return nil, err
	}
	log, err := segment.CreateLog(n.FS, LogDir, cfg, wire.TopicID{1}, 0)
	if err != nil {
		return nil, err
	}
	if err := n.FS.SyncDir("/logs"); err != nil {
		return nil, err
	}
	n.Log, n.Partition = log, replicate.NewReplica(log, policy, 0)
	return n, nil
}

// Metadata is m as this node is told it, from now.
func (n *Node) Metadata(m replicate.Metadata) replicate.Metadata {
	m.Registered, m.Ref = n.BrokerEpoch, n
	m.Version = max(m.Version, n.BrokerEpoch+1)
	return m
}

// Produce takes a batch of records with these values; the log is rolled if it has to be.
func (n *Node) Produce(ref any, acks int16, h wire.BatchHeader, values ...string) (replicate.Outcome, error) {
	records := make([]wire.Record, len(values))
	for i, value := range values {
		records[i].Value = []byte(value)
	}
	b := wire.RecordBatch(wire.AppendRecordBatch(nil, h, records))
	plan, outcome := n.Partition.Produce(b, acks, ref, h.BaseTimestamp, &n.Effects)
	if outcome == replicate.NeedsRoll {
		if err := n.roll(); err != nil {
			return outcome, err
		}
		plan, outcome = n.Partition.Produce(b, acks, ref, h.BaseTimestamp, &n.Effects)
	}
	if outcome == replicate.Planned {
		n.Plans = append(n.Plans, plan)
	}
	n.take()
	return outcome, nil
}

// take keeps the truncations of the effects.
func (n *Node) take() {
	n.Truncations = append(n.Truncations, n.Effects.Truncations...)
	n.Effects.Truncations = n.Effects.Truncations[:0]
}

// roll writes what is planned, and begins a segment.
func (n *Node) roll() error {
	if err := n.Write(len(n.Plans)); err != nil {
		return err
	}
	plan := n.Log.PlanRoll()
	file, err := plan.Run(n.FS, true)
	if err != nil {
		return err
	}
	n.Log.Rolled(plan)
	return file.Close()
}

// Write writes the oldest count plans and says so.
func (n *Node) Write(count int) error {
	for range count {
		plan := n.Plans[0]
		n.Plans = n.Plans[1:]
		if err := n.writeAt(plan.Segment.LogName(), plan.Bytes, int64(plan.Position)); err != nil {
			return err
		}
		n.Partition.Written(plan.LastOffset+1, &n.Effects)
		n.take()
	}
	return nil
}

func (n *Node) writeAt(name string, b []byte, at int64) error {
	f, err := n.FS.OpenFile(name, segment.ReadWrite, 0)
	if err != nil {
		return err
	}
	if _, err := f.WriteAt(b, at); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}

// Fail undoes all plans, as after a failed write.
func (n *Node) Fail(code wire.ErrorCode) {
	plans := n.Plans
	n.Plans = nil
	n.Partition.Failed(plans, code, &n.Effects)
	n.take()
}

// Sync makes what is written durable and says so.
func (n *Node) Sync() error {
	upTo, err := n.sync()
	if err == nil {
		n.Partition.Synced(upTo, &n.Effects)
		n.take()
	}
	return err
}

func (n *Node) sync() (wire.Offset, error) {
	end := n.Log.LogEndOffset()
	if n.Partition != nil {
		end = n.Partition.WrittenEnd()
	}
	plan := n.Log.PlanSync(end)
	for _, f := range plan.Files {
		if err := n.syncFile(f); err != nil {
			return 0, err
		}
	}
	if plan.Dir != "" {
		return plan.UpTo, n.FS.SyncDir(plan.Dir)
	}
	return plan.UpTo, nil
}

func (n *Node) syncFile(f segment.SyncFile) error {
	file, err := n.FS.OpenFile(f.Name, segment.ReadWrite, 0)
	if err != nil {
		if f.Segment == nil {
			return nil // a producer snapshot that there is none of
		}
		return err
	}
	defer file.Close()
	return file.Sync()
}

// Truncate runs the oldest truncation that was asked for.
func (n *Node) Truncate() error {
	t := n.Truncations[0]
	n.Truncations = n.Truncations[1:]
	var plan segment.TruncatePlan
	cuts := true
	if t.Whole {
		plan = n.Log.PlanTruncateFully(t.To)
	} else {
		plan, cuts = n.Log.PlanTruncate(t.To)
	}
	if cuts {
		file, err := plan.Run(n.FS)
		if err != nil {
			return err
		}
		n.Log.Truncated(plan)
		if err := file.Close(); err != nil {
			return err
		}
	}
	n.Partition.Truncated(cuts, &n.Effects)
	n.take()
	return nil
}

// Checkpoint notes the high watermark for the next start.
func (n *Node) Checkpoint() { n.Checkpointed = n.Partition.HighWatermark() }

// Crash ends the process; with power, also the machine.
func (n *Node) Crash(power bool) {
	if power {
		n.FS = n.FS.Crash()
	} else {
		n.FS.Kill()
	}
	n.Down, n.Plans, n.Truncations, n.Partition = true, nil, nil, nil
	n.Effects.Reset()
}

// Restart opens the log again, under a new registration.
func (n *Node) Restart(registered wire.BrokerEpoch) error {
	log, report, err := segment.OpenLog(n.FS, LogDir, n.Config, segment.OpenOptions{CleanerOffset: wire.NoOffset})
	if err != nil {
		return err
	}
	if report.Damage != nil {
		return fmt.Errorf("replicatetest: node %d: %w", n.ID, report.Damage)
	}
	n.Log, n.Down, n.BrokerEpoch = log, false, registered
	if _, err := n.sync(); err != nil {
		return err
	}
	n.Partition = replicate.NewReplica(log, n.Policy, n.Checkpointed)
	return nil
}

// Tick tells the time.
func (n *Node) Tick(now time.Duration) {
	n.Partition.Tick(now, &n.Effects)
	n.take()
}
