package quorum

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"reflect"
	"testing"

	pb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
)

// sealed makes a message of any bytes that has the right checksum and, if they are a raftpb.Message, the right envelope.
func sealed(body []byte) Message {
	data := append([]byte{messageVersion, 0, 0, 0, 0}, body...)
	binary.BigEndian.PutUint32(data[1:], crc32.Checksum(body, castagnoli))
	var m pb.Message
	if proto.Unmarshal(body, &m) != nil {
		return Message{To: 1, From: 2, Data: data}
	}
	return Message{To: m.GetTo(), From: m.GetFrom(), Data: data}
}

func sealedMessage(t testing.TB, m *pb.Message) Message {
	body, err := proto.Marshal(m)
	must(t, err)
	return sealed(body)
}

// standing is all that a message could change.
func standing(q *Quorum) any {
	return []any{q.Status(), q.store.hard.String(), q.timer, q.node.HasReady()}
}

// TestStepRefuses: what no member would send changes nothing.
func TestStepRefuses(t *testing.T) {
	c := newCluster(t, 1, 3, Config{})
	c.elect()
	m := c.members[0]
	app := func(change func(m *pb.Message)) Message {
		m := &pb.Message{Type: pb.MsgApp.Enum(), To: new(uint64(1)), From: new(uint64(2)), Term: new(uint64(9)), Index: new(uint64(2)), LogTerm: new(uint64(2)),
			Entries: []*pb.Entry{{Index: new(uint64(3)), Term: new(uint64(9)), Data: appendProposal(nil, 2, 1, nil)}}}
		change(m)
		return sealedMessage(t, m)
	}
	good := app(func(*pb.Message) {})
	flipped := Message{To: good.To, From: good.From, Data: append([]byte{}, good.Data...)}
	flipped.Data[len(flipped.Data)-1] ^= 4
	newer := Message{To: good.To, From: good.From, Data: append([]byte{9}, good.Data[1:]...)}
	snap := snapshot{index: 50, term: 9, members: c.members[0].q.members}.raftSnapshot()
	for what, msg := range map[string]Message{
		"nothing":                {To: 1, From: 2},
		"a flipped bit":          flipped,
		"a newer version":        newer,
		"no message":             sealed([]byte{0xff, 0xff}),
		"for somebody else":      app(func(m *pb.Message) { m.To = new(uint64(3)) }),
		"from itself":            app(func(m *pb.Message) { m.From = new(uint64(1)) }),
		"from nobody":            app(func(m *pb.Message) { m.From = new(uint64(0)) }),
		"another envelope":       {To: 1, From: 3, Data: good.Data},
		"no term":                app(func(m *pb.Message) { m.Term = nil }),
		"a term beyond epochs":   app(func(m *pb.Message) { m.Term = new(uint64(1) << 31) }),
		"a local type":           app(func(m *pb.Message) { m.Type, m.Entries = pb.MsgHup.Enum(), nil }),
		"a forwarded proposal":   app(func(m *pb.Message) { m.Type = pb.MsgProp.Enum() }),
		"an unknown type":        app(func(m *pb.Message) { m.Type, m.Entries = pb.MessageType(99).Enum(), nil }),
		"a gap":                  app(func(m *pb.Message) { m.Entries[0].Index = new(uint64(4)) }),
		"an older term":          app(func(m *pb.Message) { m.Entries[0].Term = new(uint64(1)) }),
		"a term to come":         app(func(m *pb.Message) { m.Entries[0].Term = new(uint64(10)) }),
		"an entry of a new kind": app(func(m *pb.Message) { m.Entries[0].Type = pb.EntryConfChangeV2.Enum() }),
		"an entry of version 2":  app(func(m *pb.Message) { m.Entries[0].Data = []byte{2} }),
		"a cut entry":            app(func(m *pb.Message) { m.Entries[0].Data = []byte{entryVersion, 1} }),
		"a change of nothing":    app(func(m *pb.Message) { m.Entries[0].Type = pb.EntryConfChange.Enum() }),
		"entries where none are": app(func(m *pb.Message) { m.Type = pb.MsgHeartbeat.Enum() }),
		"no snapshot":            app(func(m *pb.Message) { m.Type, m.Entries = pb.MsgSnap.Enum(), nil }),
		"a snapshot to come": app(func(m *pb.Message) {
			m.Type, m.Entries, m.Snapshot, m.Term = pb.MsgSnap.Enum(), nil, snap, new(uint64(8))
		}),
		"a vote of a stranger": app(func(m *pb.Message) { m.Type, m.Entries, m.From = pb.MsgVoteResp.Enum(), nil, new(uint64(77)) }),
		"raft's view is another's": app(func(m *pb.Message) {
			s := proto.Clone(snap).(*pb.Snapshot)
			s.Metadata.ConfState.Voters = []uint64{1}
			m.Type, m.Entries, m.Snapshot = pb.MsgSnap.Enum(), nil, s
		}),
	} {
		before := standing(m.q)
		if err := m.q.Step(msg); !errors.Is(err, ErrMessage) {
			t.Errorf("%s: %v", what, err)
		}
		if after := standing(m.q); !reflect.DeepEqual(before, after) {
			t.Errorf("%s changed\n%+v to\n%+v", what, before, after)
		}
	}
	must(t, m.q.Step(good))
}

func TestMembersRoundTrip(t *testing.T) {
	ms, err := sortedMembers([]Member{testMember(3), {ReplicaKey: testKey(1), Voter: true}, testMember(2)})
	must(t, err)
	c := cursor{src: ms.appendTo(nil)}
	if got := c.members(); !c.done() || !reflect.DeepEqual(got, ms) {
		t.Errorf("got %+v, want %+v", got, ms)
	}
	if _, err := sortedMembers([]Member{testMember(1), testMember(1)}); !errors.Is(err, ErrMember) {
		t.Errorf("one member twice: %v", err)
	}
}

func TestCreateRefuses(t *testing.T) {
	c := newCluster(t, 1, 1, Config{})
	fs := c.members[0].fs
	other, bad := testIdentity(2), testIdentity(1)
	bad.ClusterID = ""
	noRaftID := testIdentity(1)
	clear(noRaftID.DirectoryID[:8])
	for what, err := range map[string]error{
		"not a voter":          Create(fs, "state/x", other, []Member{testMember(1)}, nil),
		"a learner's snapshot": Create(fs, "state/x", other, nil, []byte("x")),
	} {
		if !errors.Is(err, ErrMember) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for what, id := range map[string]Identity{"no cluster": bad, "no raft id": noRaftID} {
		if err := Create(fs, "state/x", id, nil, nil); !errors.Is(err, ErrIdentity) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if exists, err := Exists(fs, "state/x"); exists || err != nil {
		t.Errorf("a refused Create left something: %v", err)
	}
}
