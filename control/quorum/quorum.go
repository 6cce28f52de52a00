package quorum

import (
	"encoding/binary"
	"fmt"

	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"

	"github.com/ringmill/ringmill/segment"
)

// Quorum is one member of the metadata quorum. It belongs to one goroutine, and its methods block on the disk.
type Quorum struct {
	id    Identity
	self  uint64 // its raft id
	cfg   Config
	node  *raft.RawNode
	store *store

	members members    // as of the last entry that Ready gave
	configs []configAt // the members since the last snapshot, for Compact
	applied position   // the last entry that Ready gave, or the snapshot

	ticks   uint64           // since Open
	timer   electionTimer    // counts while this member does not lead
	peers   map[uint64]*peer // what a leader knows of the others
	change  uint64           // term in which this member has proposed a change that is not applied; 0: none
	install *snapshot        // of the disk, for the first Ready
	asked   bool             // Effects has asked for a snapshot
	failed  error            // final
	unsaved *raft.Ready      // that the disk had no room for; nil: none
	reads   []raft.ReadState // that a majority has answered, and whose index is not applied yet; oldest first
}

// configAt is what the members were from an index on.
type configAt struct {
	index   uint64
	members members
}

// Open recovers the quorum in dir. Errors: ErrNoQuorum, *CorruptionError, ErrNewerFormat within one, the file system's; after
// any of them nothing in the directory is changed that was durable. A *CorruptionError that wraps ErrLostEntries: an earlier run has found
// that the log lacks what it had acknowledged.
func Open(fsys segment.FS, dir string, cfg Config) (*Quorum, error) {
	cfg = cfg.withDefaults()
	id, err := ReadIdentity(fsys, dir)
	if err != nil {
		return nil, err
	}
	s, owner, err := openStore(fsys, dir, cfg)
	if err != nil {
		return nil, err
	}
	s.wal.noRoom = cfg.NoRoom
	q := &Quorum{
		id: id, self: RaftID(id.DirectoryID), cfg: cfg, store: s, members: s.members, applied: s.snap,
		configs: []configAt{{s.snap.index, s.members}}, peers: map[uint64]*peer{},
	}
	if s.snap.index > 0 {
		q.install = &snapshot{index: s.snap.index, term: s.snap.term, data: owner}
	}
	if err := q.guard(q.start); err != nil {
		s.wal.abandon()
		return nil, err
	}
	q.timer.restart(q)
	return q, nil
}

// start makes the raft library's node from what is stored.
func (q *Quorum) start() (err error) {
	q.node, err = raft.NewRawNode(&raft.Config{
		ID: q.self, Storage: q.store, Applied: q.store.snap.index,
		ElectionTick: max(q.cfg.ElectionTicks, q.cfg.HeartbeatTicks+1), HeartbeatTick: q.cfg.HeartbeatTicks,
		MaxSizePerMsg: uint64(q.cfg.MessageBytes), MaxInflightMsgs: q.cfg.InflightMessages, MaxInflightBytes: inflightFactor * uint64(q.cfg.MessageBytes),
		MaxUncommittedEntriesSize: uint64(q.cfg.UncommittedBytesMax), MaxCommittedSizePerReady: uint64(q.cfg.ApplyBytes),
		CheckQuorum: true, PreVote: true, DisableProposalForwarding: true,
		Logger: raftLogger{q.cfg.Warn},
	})
	return err
}

// inflightFactor is how many full messages may be on their way to a member: what a link of 1 Gbit/s carries in a tenth of a
// second, with messages of 1 MiB.
const inflightFactor = 12

// Identity is the directory's.
func (q *Quorum) Identity() Identity { return q.id }

// RaftID is this member's name in messages.
func (q *Quorum) RaftID() uint64 { return q.self }

// guard runs f, which may call the raft library, and makes what that panics with, or a failure of the disk, the last thing
// that this member says.
func (q *Quorum) guard(f func() error) (err error) {
	if q.failed != nil {
		return q.failed
	}
	defer func() {
		if p := recover(); p != nil {
			err = q.panicked(p)
		}
		if q.store.failed != nil {
			err = q.store.failed
			q.failed = err
		}
	}()
	return f()
}

// panicked makes an error of what the raft library panics with: the store's errors, and its own words.
func (q *Quorum) panicked(p any) error {
	switch p := p.(type) {
	case raftPanic:
		q.failed = fmt.Errorf("%w: %s", ErrInternal, string(p))
	case string:
		q.failed = fmt.Errorf("%w: %s", ErrInternal, p)
	case error:
		if _, runtime := p.(interface{ RuntimeError() }); runtime {
			panic(p)
		}
		q.failed = fmt.Errorf("%w: %w", ErrInternal, p)
	default:
		panic(p)
	}
	return q.failed
}

// Tick says that a tick has passed. What it leads to is in the next Ready.
func (q *Quorum) Tick() {
	q.ticks++
	_ = q.guard(func() error { // Ready tells of a failure
		before := q.status()
		if before.RaftState == raft.StateLeader {
			q.node.Tick()
			q.retrySnapshots()
			q.handOver()
		} else {
			q.timer.tick(q, before)
		}
		q.turned(before)
		return q.store.witness()
	})
}

func (q *Quorum) status() raft.BasicStatus { return q.node.BasicStatus() }

// Step takes a message from another member. An error that wraps ErrMessage changed nothing; any other is final, and ErrLostEntries is so
// over restarts: it is noted in the directory.
func (q *Quorum) Step(msg Message) error {
	if q.failed != nil {
		return q.failed
	}
	m, err := decodeMessage(q.self, msg)
	if err != nil {
		return err
	}
	return q.guard(func() error { return q.step(m) })
}

func (q *Quorum) step(m *pb.Message) error {
	before := q.status()
	if m.GetType() == pb.MsgHeartbeat && m.GetTerm() >= before.GetTerm() && m.GetCommit() > q.lastIndex() {
		l := loss{term: m.GetTerm(), leader: m.GetFrom(), acknowledged: m.GetCommit(), last: q.lastIndex()}
		q.failed = l.stop(q.store.wal.fs, q.store.wal.dir)
		return q.failed
	}
	if err := q.node.Step(m); err != nil {
		return fmt.Errorf("%w: %s from %x: %v", ErrMessage, m.GetType(), m.GetFrom(), err)
	}
	q.turned(before)
	q.heard(m)
	return nil
}

// lastIndex is the last entry's that is stored. Ready leaves none that is not, so between two of them it may be too small by
// what has been received meanwhile.
func (q *Quorum) lastIndex() uint64 { return q.store.lastIndex() }

// Propose puts data into the log, if this member leads. The entry, with this member's raft id and the number proposal, is in
// the Effects of a later Ready when it is committed; if the leadership is lost meanwhile, it may never be. Errors:
// ErrNotLeader, ErrNotReady, ErrBusy, ErrTooLarge.
func (q *Quorum) Propose(proposal uint64, data []byte) error {
	if len(data) > EntryBytesMax {
		return fmt.Errorf("%w: %d bytes", ErrTooLarge, len(data))
	}
	return q.guard(func() error {
		if err := q.leads(); err != nil {
			return err
		}
		return proposed(q.node.Propose(appendProposal(nil, q.self, proposal, data)))
	})
}

// Confirm asks the others whether this member still leads. Once a majority has said so, and all that was committed when it was asked has been
// applied, the number is in an Effects (Confirmed): what this member had applied or proposed by then was the newest state there was when it
// asked. If it leads no more, it never is. It takes a round of messages, and is repeated with each heartbeat. The lease that CheckQuorum gives
// a leader would be free and is not enough: it looks once in ElectionTicks whether a majority has answered since it last looked, and the others
// elect another leader sooner. Errors: ErrNotLeader, ErrNotReady.
func (q *Quorum) Confirm(number uint64) error {
	return q.guard(func() error {
		if err := q.leads(); err != nil {
			return err
		}
		q.node.ReadIndex(binary.BigEndian.AppendUint64(nil, number))
		return nil
	})
}

// leads gives nil if this member leads and is ready: one that is not does not propose, so that its log has nothing that others
// lack when it applies what an earlier leader has left (handOver).
func (q *Quorum) leads() error {
	status := q.status()
	switch {
	case status.RaftState != raft.StateLeader:
		return ErrNotLeader
	case !q.leaderReady(status):
		return ErrNotReady
	}
	return nil
}

func proposed(err error) error {
	if err != nil {
		return fmt.Errorf("%w: %v", ErrBusy, err)
	}
	return nil
}

// TransferLeadership makes a voter the next leader, if it can catch up within ElectionTicks; proposals are refused meanwhile
// (ErrBusy). Errors: ErrNotLeader, ErrMember.
func (q *Quorum) TransferLeadership(to ReplicaKey) error {
	return q.guard(func() error {
		if q.status().RaftState != raft.StateLeader {
			return ErrNotLeader
		}
		m, known := q.Member(to.RaftID())
		if !known || !m.Voter || m.ReplicaKey != to || to.RaftID() == q.self {
			return fmt.Errorf("%w: the leadership cannot go to %s", ErrMember, to)
		}
		q.node.TransferLeader(to.RaftID())
		return nil
	})
}

// Unreachable says that a message to a member was not delivered. It need not be called: it saves time.
func (q *Quorum) Unreachable(to uint64) {
	_ = q.guard(func() error { q.node.ReportUnreachable(to); return nil })
}

// SnapshotFailed says that a message with a snapshot was not delivered, so that it is sent again before SnapshotTicks.
func (q *Quorum) SnapshotFailed(to uint64) {
	_ = q.guard(func() error { q.node.ReportSnapshot(to, raft.SnapshotFailure); return nil })
}

// Member gives a member by its raft id, as of the last Ready.
func (q *Quorum) Member(id uint64) (Member, bool) {
	at, ok := q.members.find(id)
	if !ok {
		return Member{}, false
	}
	return q.members[at], true
}

// Members gives all members in the order of their raft ids, as of the last Ready. The slice is read-only.
func (q *Quorum) Members() []Member { return q.members }

// Err is what has stopped this member, or nil.
func (q *Quorum) Err() error { return q.failed }

// Close closes the files. All that a Ready has told of is durable already.
func (q *Quorum) Close() error {
	err := q.store.close()
	if q.failed == nil {
		q.failed = ErrClosed
	}
	return err
}
