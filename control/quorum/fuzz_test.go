package quorum

import (
	"errors"
	"math/rand/v2"
	"path"
	"testing"

	pb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"github.com/ringmill/ringmill/segment/segmenttest"
	"github.com/ringmill/ringmill/wire"
)

// plant makes a directory with three files of any bytes.
func plant(t testing.TB, identity, log, checkpoint []byte) *segmenttest.FS {
	fs := segmenttest.New(1)
	must(t, fs.MkdirAll(testDir, 0o755))
	must(t, fs.WriteFileAtomic(path.Join(testDir, identityName), identity))
	must(t, fs.WriteFileAtomic(path.Join(testDir, logName(0)), log))
	if len(checkpoint) > 0 {
		must(t, fs.WriteFileAtomic(path.Join(testDir, snapshotName{1, 1}.String()), checkpoint))
	}
	return fs
}

// tryQuorum opens a directory and uses what it gets: nothing may panic, and a directory is damaged or sound. What is sound
// and yet impossible ends in the first Readys.
func tryQuorum(t *testing.T, fs *segmenttest.FS) {
	q, err := Open(fs, testDir, Config{Rand: rand.New(rand.NewPCG(1, 1))})
	var corrupt *CorruptionError
	if err != nil {
		if !errors.As(err, &corrupt) && !errors.Is(err, ErrInternal) {
			t.Fatalf("open: %v", err)
		}
		return
	}
	defer q.Close()
	drainAll(q)
	for range 25 {
		q.Tick()
		drainAll(q)
	}
	_ = q.Status()
}

func drainAll(q *Quorum) {
	for n := 0; q.HasReady() && n < 1000; n++ {
		if _, err := q.Ready(); err != nil {
			return
		}
	}
}

func firstFiles() (identity, log, checkpoint []byte) {
	ms, _ := sortedMembers([]Member{{ReplicaKey: testKey(1), Voter: true}})
	checkpoint = snapshot{index: 1, term: 1, members: ms}.appendFile(nil)
	log = wire.AppendRecordBatch(nil, wire.BatchHeader{BaseTimestamp: wire.NoTimestamp}, []wire.Record{
		walState{term: 1, commit: 1, snapshot: 1}.record(), position{1, 1}.record(),
	})
	return testIdentity(1).appendTo(nil), log, checkpoint
}

// FuzzOpen opens directories of arbitrary bytes.
func FuzzOpen(f *testing.F) {
	identity, log, checkpoint := firstFiles()
	f.Add(identity, log, checkpoint)
	f.Add(identity, append(log, log...), []byte{})
	f.Add(identity, log[:len(log)-1], checkpoint)
	f.Fuzz(func(t *testing.T, identity, log, checkpoint []byte) {
		tryQuorum(t, plant(t, identity, log, checkpoint))
	})
}

// FuzzRecords opens logs of sound batches with arbitrary records: a length, a key, a length, a value, and so on; a key of
// nothing ends a batch.
func FuzzRecords(f *testing.F) {
	add := func(batches ...[]wire.Record) {
		var data []byte
		for _, records := range batches {
			for _, r := range records {
				data = append(append(data, uint8(len(r.Key))), r.Key...)
				data = append(append(data, uint8(len(r.Value))), r.Value...)
			}
			data = append(data, 0, 0)
		}
		f.Add(data)
	}
	entry := func(index, term uint64, typ pb.EntryType, data []byte) wire.Record {
		return entryToRecord(&pb.Entry{Index: new(index), Term: new(term), Type: typ.Enum(), Data: data})
	}
	change, _ := proto.Marshal(Change{AddLearner, testMember(2)}.confChange(1, 1))
	add([]wire.Record{walState{term: 2, commit: 2, snapshot: 1}.record(), entry(2, 2, pb.EntryNormal, nil)},
		[]wire.Record{walState{term: 2, vote: 1, commit: 3, snapshot: 1}.record(), entry(3, 2, pb.EntryConfChange, change)})
	add([]wire.Record{walState{term: 5, commit: 4}.record(), position{4, 2}.record(), entry(5, 5, pb.EntryNormal, appendProposal(nil, 1, 2, []byte("x")))})
	f.Fuzz(func(t *testing.T, data []byte) {
		identity, log, checkpoint := firstFiles()
		next := wire.Offset(2)
		c := cursor{src: data}
		var records []wire.Record
		for len(c.src) > 0 {
			key := c.take(min(int(c.uint8()), len(c.src)))
			value := c.take(min(int(c.uint8Or0()), len(c.src)))
			if len(key) > 0 {
				records = append(records, wire.Record{Key: key, Value: value})
			} else if len(records) > 0 {
				log = wire.AppendRecordBatch(log, wire.BatchHeader{BaseOffset: next, BaseTimestamp: wire.NoTimestamp}, records)
				next, records = next+wire.Offset(len(records)), nil
			}
		}
		tryQuorum(t, plant(t, identity, log, checkpoint))
	})
}

func (c *cursor) uint8Or0() uint8 {
	if len(c.src) == 0 {
		return 0
	}
	return c.uint8()
}

// FuzzStep gives a follower arbitrary messages with the right checksum. What is no message changes nothing; what is one may
// end this member, and panics it does not.
func FuzzStep(f *testing.F) {
	c := newCluster(f, 1, 3, Config{})
	c.lose = func(m Message) bool { f.Add(m.Data[messageOverhead:], []byte{}); return false }
	leader := c.elect()
	must(f, leader.q.Propose(1, []byte("a")))
	c.settle()
	must(f, leader.q.AddLearner(2, testMember(4)))
	c.settle()
	c.tick()
	snap, _ := proto.Marshal(&pb.Message{Type: pb.MsgSnap.Enum(), To: new(uint64(1)), From: new(uint64(2)), Term: new(uint64(9)),
		Snapshot: snapshot{index: 50, term: 9, members: leader.q.members, data: []byte("x")}.raftSnapshot()})
	f.Add(snap, []byte{})
	f.Fuzz(func(t *testing.T, first, second []byte) {
		c := newCluster(t, 1, 3, Config{})
		q := c.members[0].q
		drainAll(q)
		for _, body := range [][]byte{first, second} {
			before, failed := q.Status(), q.Err()
			err := q.Step(sealed(body))
			if errors.Is(err, ErrMessage) && (q.Err() != failed || before.Term != q.Status().Term || before.Commit != q.Status().Commit) {
				t.Fatalf("%v, and yet from %+v to %+v", err, before, q.Status())
			}
			drainAll(q)
			q.Tick()
			drainAll(q)
		}
	})
}

// FuzzReaders reads arbitrary bytes as what travels and is stored, and writes again what it takes.
func FuzzReaders(f *testing.F) {
	f.Add(testIdentity(1).appendTo(nil))
	f.Add(Change{AddVoter, Member{ReplicaKey: testKey(2), Voter: true}}.appendTo(nil, 1, 2))
	f.Add(snapshot{members: members{{ReplicaKey: testKey(1), Voter: true}}, data: []byte("x")}.appendPayload(nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		if id, err := readIdentity(data); err == nil && string(id.appendTo(nil)) != string(data) {
			t.Errorf("identity %+v", id)
		}
		if c, origin, proposal, err := readChange(data); err == nil && string(c.appendTo(nil, origin, proposal)) != string(data) {
			t.Errorf("change %+v", c)
		}
		s := snapshot{index: 1, term: 1}
		if err := s.readPayload(data); err == nil && string(s.appendPayload(nil)) != string(data) {
			t.Errorf("snapshot %+v", s)
		}
	})
}
