package node

import (
	"time"

	"github.com/ringmill/ringmill/node/api"
	"github.com/ringmill/ringmill/wire"
)

// A client that took more than its quota is answered at once, told how long to wait, and its connection is muted for that time:
// no further request of it is read (KIP-219). So it is slowed whether it looks at throttle_time_ms or not.
//
//	reading ──charge: too much──▶ muted ──the timer──▶ reading
//	              └ the answer, with the wait, goes out all the same

// mute reads no further request of the connection for ms milliseconds; a longer wait that is under way stays.
func (c *Conn) mute(ms int32) {
	until := c.loop.mono + time.Duration(ms)*time.Millisecond
	if ms <= 0 || c.closing || c.muted && until <= c.unmute.at {
		return
	}
	if !c.muted {
		c.muted, c.mutedAt = true, c.loop.mono
		c.loop.node.metrics.muted.Add(1)
	}
	c.loop.timers.set(&c.unmute, until)
}

// unmuted goes on where the connection was. The time that it was muted is not counted against it.
func (c *Conn) unmuted() {
	c.endMute()
	c.lastActive = c.loop.mono
	c.in.since += c.loop.mono - c.mutedAt
	c.in.arrived += c.loop.mono - max(c.mutedAt, c.in.arrived)
	if c.in.body != nil {
		c.bodyReceived()
		return
	}
	c.consume()
}

func (c *Conn) endMute() {
	if c.muted {
		c.muted = false
		c.loop.timers.cancel(&c.unmute)
		c.loop.node.metrics.muted.Add(-1)
	}
}

// chargeProduce charges a Produce's bytes as it is taken up, so that a client that pipelines is muted before its next request.
func (c *Conn) chargeProduce(r *pending, bytes int) {
	q := c.loop.node.quotas
	if !q.any(quotaProduce) {
		return
	}
	c.throttle(r, quotaProduce, q.record(quotaProduce, quotaClient(&c.client), float64(bytes)))
}

// throttle mutes the connection and notes the wait for the answer.
func (c *Conn) throttle(r *pending, kind quotaKind, ms int32) {
	if ms <= 0 {
		return
	}
	r.throttleMS = max(r.throttleMS, ms)
	c.loop.node.metrics.throttled(kind, ms)
	c.mute(ms)
}

// percentPerSecond turns a time spent into the unit of request_percentage.
const percentPerSecond = 100 / float64(time.Second)

// clock is the time for noteTime, or the zero time if nobody has a quota of time.
func (c *Conn) clock() (began time.Time) {
	if c.loop.node.quotas.any(quotaRequest) {
		began = time.Now()
	}
	return began
}

// noteTime charges the client with the loop's time since began. The wait for it is asked for with the answer.
func (c *Conn) noteTime(began time.Time) {
	if !began.IsZero() {
		c.loop.node.quotas.note(quotaRequest, quotaClient(&c.client), float64(time.Since(began))*percentPerSecond)
	}
}

// chargeTime has a client that took too much of the loops' time wait.
func (c *Conn) chargeTime(r *pending) {
	if q := c.loop.node.quotas; q.any(quotaRequest) {
		c.throttle(r, quotaRequest, q.record(quotaRequest, quotaClient(&c.client), 0))
	}
}

// exemptFromTime are requests whose time nobody is charged with: those of one node to another.
func exemptFromTime(k wire.APIKey) bool {
	return k == wire.KeyWriteTxnMarkers || peerKey(k) || api.BetweenNodes(k)
}
