package share

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/ringmill/ringmill/wire"
)

// Session epochs (ShareRequestMetadata).
const (
	InitialEpoch int32 = 0  // opens a session, in place of the one that the member has
	FinalEpoch   int32 = -1 // ends it
)

// SessionKey names a share session: a member has one at most.
type SessionKey struct {
	Group  string
	Member wire.TopicID // a member id is a UUID, written as topic ids are
}

func (k SessionKey) compare(other SessionKey) int {
	return cmp.Or(cmp.Compare(k.Group, other.Group), slices.Compare(k.Member[:], other.Member[:]))
}

// TopicIDPartition names a partition by its topic's id.
type TopicIDPartition struct {
	Topic     wire.TopicID
	Partition wire.PartitionIndex
}

// Session is what a member fetches, remembered between its requests.
type Session struct {
	Key SessionKey
	// Epoch is that of the member's next request.
	Epoch int32
	// partitions are in the order in which they are fetched, but for those of moved, which go to the end of the line in its order
	// before it is looked at again: one by one that would cost the square of what a member may ask for.
	partitions []TopicIDPartition
	moved      []TopicIDPartition
	// told has the partitions, and says of each that the member has had an answer about it and need not be told that there is
	// nothing new.
	told       map[TopicIDPartition]bool
	connection uint64
	// ended says that nobody gets an answer of it any more.
	ended bool
}

// Sessions are the share sessions of a node. They have one owner.
type Sessions struct {
	max, maxPartitions int
	byKey              map[SessionKey]*Session
	byConnection       map[uint64]map[SessionKey]*Session // opened there; of the connections that are there
	members            map[string]int                     // sessions of each group
	partitions         int                                // of all sessions
}

// NewSessions makes room for max sessions (group.share.max.share.sessions) with maxPartitions partitions together.
func NewSessions(max, maxPartitions int) *Sessions {
	return &Sessions{
		max: max, maxPartitions: maxPartitions, byKey: map[SessionKey]*Session{}, byConnection: map[uint64]map[SessionKey]*Session{}, members: map[string]int{},
	}
}

// Count is how many sessions there are.
func (s *Sessions) Count() int { return len(s.byKey) }

// SessionFetch is what a ShareFetch says of its session.
type SessionFetch struct {
	Key           SessionKey
	Epoch         int32
	Asked, Forget []TopicIDPartition
	Acknowledges  bool // it carries acknowledgements
	Connection    uint64
}

// Fetch finds or opens the session of a ShareFetch and brings it up to date. A request that ends a session fetches nothing:
// its session is nil.
//
// Codes: SHARE_SESSION_NOT_FOUND, INVALID_SHARE_SESSION_EPOCH, SHARE_SESSION_LIMIT_REACHED, INVALID_REQUEST for
// acknowledgements in the first request, and NETWORK_EXCEPTION, which nobody gets, where the connection is not there any more:
// nothing would end a session of it.
func (s *Sessions) Fetch(f *SessionFetch) (*Session, wire.ErrorCode) {
	session := s.byKey[f.Key]
	switch {
	case f.Epoch == InitialEpoch && f.Acknowledges:
		return nil, wire.InvalidRequest
	case f.Epoch == InitialEpoch:
		return s.open(f)
	case session == nil:
		return nil, wire.ShareSessionNotFound
	case f.Epoch == FinalEpoch:
		return nil, wire.None
	case f.Epoch != session.Epoch:
		return nil, wire.InvalidShareSessionEpoch
	case s.partitions+len(f.Asked) > s.maxPartitions:
		return nil, wire.ShareSessionLimitReached
	}
	session.Epoch = nextEpoch(session.Epoch)
	before := len(session.partitions)
	session.update(f.Asked, f.Forget)
	s.partitions += len(session.partitions) - before
	return session, wire.None
}

func (s *Sessions) open(f *SessionFetch) (*Session, wire.ErrorCode) {
	s.Remove(f.Key)
	opened := s.byConnection[f.Connection]
	if opened == nil {
		return nil, wire.NetworkException
	}
	if len(s.byKey) >= s.max || s.partitions+len(f.Asked) > s.maxPartitions {
		return nil, wire.ShareSessionLimitReached
	}
	session := &Session{Key: f.Key, Epoch: nextEpoch(InitialEpoch), told: map[TopicIDPartition]bool{}, connection: f.Connection}
	session.update(f.Asked, nil)
	s.byKey[f.Key] = session
	opened[f.Key] = session
	s.members[f.Key.Group]++
	s.partitions += len(session.partitions)
	return session, wire.None
}

// Acknowledge finds the session of a ShareAcknowledge and counts its epoch. Codes as Fetch's.
func (s *Sessions) Acknowledge(key SessionKey, epoch int32) wire.ErrorCode {
	session := s.byKey[key]
	switch {
	case epoch == InitialEpoch:
		return wire.InvalidShareSessionEpoch
	case session == nil:
		return wire.ShareSessionNotFound
	case epoch == FinalEpoch:
		return wire.None
	case epoch != session.Epoch:
		return wire.InvalidShareSessionEpoch
	}
	session.Epoch = nextEpoch(session.Epoch)
	return wire.None
}

// Remove ends a session; nil if there is none.
func (s *Sessions) Remove(key SessionKey) *Session {
	session := s.byKey[key]
	if session == nil {
		return nil
	}
	delete(s.byKey, key)
	delete(s.byConnection[session.connection], key)
	session.ended = true
	s.partitions -= len(session.partitions)
	if s.members[key.Group]--; s.members[key.Group] == 0 {
		delete(s.members, key.Group)
	}
	return session
}

// Of is a member's session; nil if it has none.
func (s *Sessions) Of(key SessionKey) *Session { return s.byKey[key] }

// Empty says that a group has no sessions.
func (s *Sessions) Empty(group string) bool { return s.members[group] == 0 }

// Connected says that sessions may be opened on a connection, before it asks for one.
func (s *Sessions) Connected(connection uint64) {
	s.byConnection[connection] = map[SessionKey]*Session{}
}

// Disconnected ends the sessions that were opened on a connection; Kafka ends the last of them alone. Those that their members
// have opened anew on another connection stay.
func (s *Sessions) Disconnected(connection uint64) (ended []*Session) {
	for _, key := range slices.SortedFunc(maps.Keys(s.byConnection[connection]), SessionKey.compare) {
		ended = append(ended, s.Remove(key))
	}
	delete(s.byConnection, connection)
	return ended
}

// Ended says that the session is over: its member has ended it or opened another, or its connection is gone.
func (s *Session) Ended() bool { return s.ended }

// Partitions are what the session fetches, those first that it is the turn of (PartitionRotateStrategy).
func (s *Session) Partitions(epoch int32) []TopicIDPartition {
	s.settle()
	n := len(s.partitions)
	if n == 0 {
		return nil
	}
	first := int(epoch) % n
	return slices.Concat(s.partitions[first:], s.partitions[:first])
}

// Tell says whether a partition belongs in an answer: one that has records or an error does, and one that the member has not
// been told of yet. What had records goes to the end of the line.
func (s *Session) Tell(p TopicIDPartition, records, failed bool) bool {
	told, has := s.told[p]
	if !has {
		return records || failed
	}
	s.told[p] = !failed
	if records {
		s.moved = append(s.moved, p)
	}
	return records || failed || !told
}

// settle moves those to the end of the line that had records.
func (s *Session) settle() {
	if len(s.moved) == 0 {
		return
	}
	last := make(map[TopicIDPartition]int, len(s.moved)) // of its moves
	for i, p := range s.moved {
		last[p] = i
	}
	s.partitions = slices.DeleteFunc(s.partitions, func(p TopicIDPartition) bool {
		_, moved := last[p]
		return moved
	})
	for i, p := range s.moved {
		if last[p] == i {
			s.partitions = append(s.partitions, p)
		}
	}
	s.moved = nil
}

func (s *Session) update(asked, forget []TopicIDPartition) {
	s.settle()
	for _, p := range asked {
		if _, has := s.told[p]; !has {
			s.told[p] = false
			s.partitions = append(s.partitions, p)
		}
	}
	if len(forget) == 0 {
		return
	}
	for _, p := range forget {
		delete(s.told, p)
	}
	s.partitions = slices.DeleteFunc(s.partitions, func(p TopicIDPartition) bool {
		_, has := s.told[p]
		return !has
	})
}

// nextEpoch is the epoch after one that was used.
func nextEpoch(epoch int32) int32 {
	if epoch == math.MaxInt32 {
		return 1
	}
	return epoch + 1
}
