package node

import (
	"slices"

	"github.com/ringmill/ringmill/control/share"
	"github.com/ringmill/ringmill/wire"
)

// sessionKeyOf names a member's session.
func sessionKeyOf(group, member *string) (key share.SessionKey, code wire.ErrorCode) {
	if group == nil || member == nil {
		return key, wire.UnknownServerError
	}
	id, ok := wire.ParseUUID(*member)
	if !ok {
		return key, wire.UnknownServerError
	}
	return share.SessionKey{Group: *group, Member: id}, wire.None
}

// begin opens or finds the session of a fetch.
func (s *shareService) begin(f *shareFetch, asked *share.SessionFetch) (code wire.ErrorCode) {
	before := s.sessions.Of(f.key)
	f.session, code = s.sessions.Fetch(asked)
	if before != nil && before.Ended() {
		s.rouseAll(before)
	}
	if f.session != nil {
		s.fetching[f.session] = append(s.fetching[f.session], f)
	}
	return code
}

// fetched ends a fetch.
func (s *shareService) fetched(f *shareFetch) {
	others := slices.DeleteFunc(s.fetching[f.session], func(other *shareFetch) bool { return other == f })
	if s.fetching[f.session] = others; len(others) == 0 {
		delete(s.fetching, f.session)
	}
}

// rouseAll lets the fetches of a session that is over end.
func (s *shareService) rouseAll(session *share.Session) {
	for _, f := range s.fetching[session] {
		if len(f.lines) > 0 {
			f.rouse()
		}
	}
}

// connected says that sessions may be opened on a connection.
func (s *shareService) connected(connection uint64) {
	s.inbox.put(func() { s.sessions.Connected(connection) })
}

// disconnected gives back what the members had acquired whose sessions were opened on a connection.
func (s *shareService) disconnected(connection uint64) {
	s.inbox.put(func() {
		for _, session := range s.sessions.Disconnected(connection) {
			s.ended(session)
		}
	})
}

// ended gives back what the member of a session that is over has acquired, and the share partitions of a group that has no other.
func (s *shareService) ended(session *share.Session) {
	s.rouseAll(session)
	s.release(session)
	if s.sessions.Empty(session.Key.Group) {
		for _, sp := range s.groups[session.Key.Group] {
			s.drop(sp)
		}
	}
}

// release gives back what the member of a session that is over has acquired.
func (s *shareService) release(session *share.Session) {
	for _, p := range session.Partitions(0) {
		sp := s.parts[share.Key{Group: session.Key.Group, Topic: p.Topic, Partition: p.Partition}]
		if sp != nil && sp.machine != nil {
			h := s.waiting.add(func(share.Done) {})
			s.apply(sp, sp.machine.Release(s.node.nowMS(), h, session.Key.Member.String()))
		}
	}
}

// end ends a session at its member's wish: what it has acquired is given back.
func (s *shareService) end(key share.SessionKey) {
	if session := s.sessions.Remove(key); session != nil {
		s.ended(session)
	}
}
