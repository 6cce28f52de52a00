package share

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/ringmill/ringmill/wire"
)

func partitionsOf(indexes ...wire.PartitionIndex) (list []TopicIDPartition) {
	for _, i := range indexes {
		list = append(list, TopicIDPartition{wire.TopicID{1}, i})
	}
	return list
}

func fetchOf(member byte, epoch int32, asked ...wire.PartitionIndex) *SessionFetch {
	return &SessionFetch{Key: sessionKey(member), Epoch: epoch, Asked: partitionsOf(asked...), Connection: uint64(member)}
}

// newSessions has connections 0 to 9.
func newSessions(max, maxPartitions int) *Sessions {
	s := NewSessions(max, maxPartitions)
	for connection := range uint64(10) {
		s.Connected(connection)
	}
	return s
}

func sessionKey(member byte) SessionKey { return SessionKey{"g", wire.TopicID{member}} }

func TestSessionEpochs(t *testing.T) {
	s := newSessions(2, 100)
	for _, step := range []struct {
		name  string
		fetch *SessionFetch
		want  wire.ErrorCode
	}{
		{"before there is one", fetchOf(1, 1), wire.ShareSessionNotFound},
		{"an end before there is one", fetchOf(1, FinalEpoch), wire.ShareSessionNotFound},
		{"the first", fetchOf(1, InitialEpoch, 0, 1), wire.None},
		{"the second", fetchOf(1, 1), wire.None},
		{"the second once more", fetchOf(1, 1), wire.InvalidShareSessionEpoch},
		{"one left out", fetchOf(1, 3), wire.InvalidShareSessionEpoch},
		{"acknowledgements in the first", &SessionFetch{Key: sessionKey(2), Acknowledges: true}, wire.InvalidRequest},
		{"another member", fetchOf(2, InitialEpoch, 0), wire.None},
		{"one too many", fetchOf(3, InitialEpoch, 0), wire.ShareSessionLimitReached},
		{"anew, in place of its own", fetchOf(2, InitialEpoch, 1), wire.None},
		{"an end", fetchOf(2, FinalEpoch), wire.None},
	} {
		if _, code := s.Fetch(step.fetch); code != step.want {
			t.Errorf("%s: %s, want %s", step.name, code, step.want)
		}
	}
	if session := s.Remove(sessionKey(2)); !reflect.DeepEqual(session.Partitions(0), partitionsOf(1)) {
		t.Errorf("the session that ended had %v", session.Partitions(0))
	}
	if s.Remove(sessionKey(2)) != nil {
		t.Error("a session ended twice")
	}
}

func TestAcknowledgeEpochs(t *testing.T) {
	s := newSessions(2, 100)
	s.Fetch(fetchOf(1, InitialEpoch, 0))
	for _, step := range []struct {
		epoch int32
		want  wire.ErrorCode
	}{
		{0, wire.InvalidShareSessionEpoch}, {2, wire.InvalidShareSessionEpoch}, {1, wire.None}, {2, wire.None}, {FinalEpoch, wire.None},
	} {
		if code := s.Acknowledge(sessionKey(1), step.epoch); code != step.want {
			t.Errorf("epoch %d: %s, want %s", step.epoch, code, step.want)
		}
	}
	if code := s.Acknowledge(sessionKey(2), 1); code != wire.ShareSessionNotFound {
		t.Errorf("another member: %s", code)
	}
}

func TestSessionEpochWraps(t *testing.T) {
	s := newSessions(1, 100)
	session, _ := s.Fetch(fetchOf(1, InitialEpoch))
	session.Epoch = math.MaxInt32
	if s.Fetch(fetchOf(1, math.MaxInt32)); session.Epoch != 1 {
		t.Errorf("epoch %d after the greatest, want 1", session.Epoch)
	}
}

func TestSessionPartitions(t *testing.T) {
	s := newSessions(1, 4)
	session, _ := s.Fetch(fetchOf(1, InitialEpoch, 0, 1, 1, 2))
	same := func(what string, got, want []TopicIDPartition) {
		t.Helper()
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	same("at first", session.Partitions(0), partitionsOf(0, 1, 2))
	same("turned", session.Partitions(4), partitionsOf(1, 2, 0))
	s.Fetch(&SessionFetch{Key: sessionKey(1), Epoch: 1, Asked: partitionsOf(3), Forget: partitionsOf(1, 7)})
	same("one more, one less", session.Partitions(0), partitionsOf(0, 2, 3))
	if _, code := s.Fetch(fetchOf(1, 2, 4, 5)); code != wire.ShareSessionLimitReached {
		t.Errorf("more partitions than there is room for: %s", code)
	}
	for _, step := range []struct {
		name                  string
		partition             wire.PartitionIndex
		records, failed, want bool
	}{
		{"not told yet", 0, false, false, true},
		{"nothing new", 0, false, false, false},
		{"an error", 0, false, true, true},
		{"after an error", 0, false, false, true},
		{"records", 0, true, false, true},
		{"forgotten", 1, false, false, false},
	} {
		if got := session.Tell(partitionsOf(step.partition)[0], step.records, step.failed); got != step.want {
			t.Errorf("%s: told %v", step.name, got)
		}
	}
	same("who had records is last", session.Partitions(0), partitionsOf(2, 3, 0))
}

func TestSessionEndsWithItsConnection(t *testing.T) {
	s := newSessions(4, 100)
	for _, member := range []byte{1, 2, 3} {
		f := fetchOf(member, InitialEpoch, 0)
		f.Connection = uint64(member) / 2 // 2 and 3 share one
		s.Fetch(f)
	}
	for _, step := range []struct {
		connection uint64
		ended      int
	}{{9, 0}, {0, 1}, {0, 0}} {
		if ended := s.Disconnected(step.connection); len(ended) != step.ended || s.Empty("g") {
			t.Errorf("connection %d: ended %v, the group is empty: %v", step.connection, ended, s.Empty("g"))
		}
	}
	moved := fetchOf(2, InitialEpoch, 0)
	moved.Connection = 5
	s.Fetch(moved)
	if ended := s.Disconnected(1); len(ended) != 1 || ended[0].Key != sessionKey(3) || s.Empty("g") {
		t.Errorf("a connection that one member has left: ended %v, the group is empty: %v", ended, s.Empty("g"))
	}
	if ended := s.Disconnected(5); len(ended) != 1 || !s.Empty("g") {
		t.Errorf("the last connection: ended %v, the group is empty: %v", ended, s.Empty("g"))
	}
}

// A client that opens and ends sessions leaves nothing behind, though its connection stays.
func TestEndedSessionsAreForgotten(t *testing.T) {
	s := newSessions(4, 100)
	for i := range byte(200) {
		f := fetchOf(i, InitialEpoch, 0)
		f.Connection = 7
		if _, code := s.Fetch(f); code != wire.None {
			t.Fatal(code)
		}
		s.Remove(f.Key)
	}
	if len(s.byKey)+len(s.byConnection[7])+len(s.members)+s.partitions > 0 {
		t.Errorf("left: %d sessions, %d of the connection, %d groups, %d partitions", len(s.byKey), len(s.byConnection[7]), len(s.members), s.partitions)
	}
}

// What had records goes to the end of the line once, in the order of its last records, however often it had some.
func TestPartitionsWithRecordsMoveOnce(t *testing.T) {
	s := newSessions(1, 100)
	session, _ := s.Fetch(fetchOf(1, InitialEpoch, 0, 1, 2, 3))
	for _, i := range []wire.PartitionIndex{0, 2, 0} {
		session.Tell(partitionsOf(i)[0], true, false)
	}
	if got := session.Partitions(0); !slices.Equal(got, partitionsOf(1, 3, 2, 0)) {
		t.Errorf("the line is %v", got)
	}
}

// A request that comes after its connection has gone begins no session: nothing would ever end it.
func TestNoSessionOfAConnectionThatIsGone(t *testing.T) {
	s := newSessions(4, 100)
	s.Disconnected(3)
	if session, code := s.Fetch(fetchOf(3, InitialEpoch, 0)); session != nil || code != wire.NetworkException {
		t.Errorf("session %v, %s", session, code)
	}
}
