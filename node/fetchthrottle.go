package node

import "github.com/ringmill/ringmill/wire"

// charge charges the answer's bytes, and the request's time, and says whether the answer may go out as it is. What a client does
// not get is not charged.
func (f *fetchRequest) charge(bytes int) (serve bool) {
	c, q := f.conn, f.conn.loop.node.quotas
	if f.by.follower() || !q.any(quotaFetch|quotaRequest) { // other quotas bound what nodes copy
		return true
	}
	client := quotaClient(&c.client)
	c.chargeTime(f.pending)
	late := f.pending.throttleMS > 0
	ms, serve := q.recordServed(client, float64(bytes))
	c.throttle(f.pending, quotaFetch, ms)
	if late && serve {
		q.note(quotaFetch, client, -float64(bytes))
	}
	return serve && !late
}

// throttled answers without records, for the client's quota does not allow them: nothing has changed in an incremental session,
// and one that the request was to begin is not begun.
func (f *fetchRequest) throttled(out *wire.FetchResponse) {
	f.dropFiles()
	if !f.incremental && f.session != nil {
		f.conn.loop.fetches.drop(f.conn.loop, f.session.id)
		f.session = nil
	}
	out.Reset()
	out.SessionID = f.session.responseID()
	f.answer(out)
}
