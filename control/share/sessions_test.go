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

func sessionKey(member byte) SessionKey { return SessionKey{"g", wire.TopicID{member}} }

func TestSessionEpochs(t *testing.T) {
	s := NewSessions(2, 100)
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
	s := NewSessions(2, 100)
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
	s := NewSessions(1, 100)
	session, _ := s.Fetch(fetchOf(1, InitialEpoch))
	session.Epoch = math.MaxInt32
	if s.Fetch(fetchOf(1, math.MaxInt32)); session.Epoch != 1 {
		t.Errorf("epoch %d after the greatest, want 1", session.Epoch)
	}
}

func TestSessionPartitions(t *testing.T) {
	s := NewSessions(1, 4)
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
	s := NewSessions(4, 100)
	for _, member := range []byte{1, 2, 3} {
		f := fetchOf(member, InitialEpoch, 0)
		f.Connection = uint64(member) / 2 // 2 and 3 share one
		s.Fetch(f)
	}
	for _, step := range []struct {
		connection uint64
		ended      int
		emptied    []string
	}{{9, 0, nil}, {0, 1, nil}, {0, 0, nil}} {
		if ended, emptied := s.Disconnected(step.connection); len(ended) != step.ended || !slices.Equal(emptied, step.emptied) {
			t.Errorf("connection %d: ended %v, emptied %v", step.connection, ended, emptied)
		}
	}
	moved := fetchOf(2, InitialEpoch, 0)
	moved.Connection = 5
	s.Fetch(moved)
	if ended, emptied := s.Disconnected(1); len(ended) != 1 || ended[0].Key != sessionKey(3) || emptied != nil {
		t.Errorf("a connection that one member has left: ended %v, emptied %v", ended, emptied)
	}
	if ended, emptied := s.Disconnected(5); len(ended) != 1 || !slices.Equal(emptied, []string{"g"}) {
		t.Errorf("the last connection: ended %v, emptied %v", ended, emptied)
	}
}
