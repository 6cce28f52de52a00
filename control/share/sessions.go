package share

import (
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
	// partitions are in the order in which they are fetched.
	partitions []sessionPartition
	connection uint64
}

type sessionPartition struct {
	TopicIDPartition
	// told says that the member has had an answer about it and need not be told that there is nothing new.
	told bool
}

// Sessions are the share sessions of a node. They have one owner.
type Sessions struct {
	max, maxPartitions int
	byKey              map[SessionKey]*Session
	byConnection       map[uint64][]SessionKey // opened there; some may have ended since, or been opened anew elsewhere
	members            map[string]int          // sessions of each group
	partitions         int                     // of all sessions
}

// NewSessions makes room for max sessions (group.share.max.share.sessions) with maxPartitions partitions together.
func NewSessions(max, maxPartitions int) *Sessions {
	return &Sessions{
		max: max, maxPartitions: maxPartitions, byKey: map[SessionKey]*Session{}, byConnection: map[uint64][]SessionKey{}, members: map[string]int{},
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
// Codes: SHARE_SESSION_NOT_FOUND, INVALID_SHARE_SESSION_EPOCH, SHARE_SESSION_LIMIT_REACHED, and INVALID_REQUEST for
// acknowledgements in the first request.
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
	if len(s.byKey) >= s.max || s.partitions+len(f.Asked) > s.maxPartitions {
		return nil, wire.ShareSessionLimitReached
	}
	session := &Session{Key: f.Key, Epoch: nextEpoch(InitialEpoch), connection: f.Connection}
	session.update(f.Asked, nil)
	s.byKey[f.Key] = session
	if opened := s.byConnection[f.Connection]; !slices.Contains(opened, f.Key) {
		s.byConnection[f.Connection] = append(opened, f.Key)
	}
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
	s.partitions -= len(session.partitions)
	if s.members[key.Group]--; s.members[key.Group] == 0 {
		delete(s.members, key.Group)
	}
	return session
}

// Disconnected ends the sessions that were opened on a connection; Kafka ends the last of them alone. Those that their members
// have opened anew on another connection stay. emptied are groups that have no sessions left.
func (s *Sessions) Disconnected(connection uint64) (ended []*Session, emptied []string) {
	keys := s.byConnection[connection]
	delete(s.byConnection, connection)
	for _, key := range keys {
		if live := s.byKey[key]; live != nil && live.connection == connection {
			ended = append(ended, s.Remove(key))
		}
		if s.members[key.Group] == 0 && !slices.Contains(emptied, key.Group) {
			emptied = append(emptied, key.Group)
		}
	}
	return ended, emptied
}

// Partitions are what the session fetches, those first that it is the turn of (PartitionRotateStrategy).
func (s *Session) Partitions(epoch int32) []TopicIDPartition {
	n := len(s.partitions)
	list := make([]TopicIDPartition, 0, n)
	if n == 0 {
		return list
	}
	first := int(epoch) % n
	for i := range n {
		list = append(list, s.partitions[(first+i)%n].TopicIDPartition)
	}
	return list
}

// Tell says whether a partition belongs in an answer: one that has records or an error does, and one that the member has not
// been told of yet. What had records goes to the end of the line.
func (s *Session) Tell(p TopicIDPartition, records, failed bool) bool {
	i := s.index(p)
	if i < 0 {
		return records || failed
	}
	tell := records || failed || !s.partitions[i].told
	s.partitions[i].told = !failed
	if records {
		moved := s.partitions[i]
		s.partitions = append(slices.Delete(s.partitions, i, i+1), moved)
	}
	return tell
}

func (s *Session) index(p TopicIDPartition) int {
	return slices.IndexFunc(s.partitions, func(have sessionPartition) bool { return have.TopicIDPartition == p })
}

func (s *Session) update(asked, forget []TopicIDPartition) {
	have := make(map[TopicIDPartition]bool, len(s.partitions))
	for _, p := range s.partitions {
		have[p.TopicIDPartition] = true
	}
	for _, p := range asked {
		if !have[p] {
			have[p] = true
			s.partitions = append(s.partitions, sessionPartition{TopicIDPartition: p})
		}
	}
	if len(forget) == 0 {
		return
	}
	gone := make(map[TopicIDPartition]bool, len(forget))
	for _, p := range forget {
		gone[p] = true
	}
	s.partitions = slices.DeleteFunc(s.partitions, func(p sessionPartition) bool { return gone[p.TopicIDPartition] })
}

// nextEpoch is the epoch after one that was used.
func nextEpoch(epoch int32) int32 {
	if epoch == math.MaxInt32 {
		return 1
	}
	return epoch + 1
}
