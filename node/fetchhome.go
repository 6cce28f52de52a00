package node

import (
	"sync"

	"github.com/ringmill/ringmill/wire"
)

// sessionHomes says which loop has a fetch session. A session follows its client: when that comes back on a connection
// of another loop, the session moves there before its request is taken up.
type sessionHomes struct {
	mu   sync.Mutex
	home map[int32]*Loop
}

func (h *sessionHomes) set(id int32, l *Loop) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.home[id] = l
}

func (h *sessionHomes) of(id int32) *Loop {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.home[id]
}

// forget drops a session that l has given up, unless it has moved since.
func (h *sessionHomes) forget(id int32, l *Loop) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.home[id] == l {
		delete(h.home, id)
	}
}

// sessionMove asks a session's home for it, and brings it, or the reason why not, to the loop of the request.
type sessionMove struct {
	request *fetchRequest
	header  wire.RequestHeader
	body    []byte
	id      int32
	session *fetchSession
	asked   bool
}

// fetchSession begins a move if the request's session lives on another loop; true if the request goes on when the
// session is here. The request's bytes are kept: it is decoded again then.
func (l *Loop) fetchSession(f *fetchRequest, h wire.RequestHeader, body []byte, id int32) bool {
	if id == 0 || l.fetches.byID[id] != nil {
		return false
	}
	home := l.node.sessions.of(id)
	if home == nil || home == l {
		return false
	}
	f.out = 1 // the connection may close meanwhile
	l.post(home, &sessionMove{request: f, header: h, body: append([]byte(nil), body...), id: id})
	return true
}

// handle runs at the session's home first, then at the request's loop.
func (m *sessionMove) handle(l *Loop) {
	if !m.asked {
		m.asked = true
		if s := l.fetches.byID[m.id]; s != nil && !s.busy {
			delete(l.fetches.byID, m.id)
			m.session = s
			l.node.sessions.set(m.id, m.request.conn.loop)
		}
		l.post(m.request.conn.loop, m)
		return
	}
	if m.session != nil {
		l.fetches.byID[m.id] = m.session
	}
	m.request.out = 0
	if !m.request.abandoned {
		l.resumeFetch(m.request, m.header, m.body)
	}
}
