package group

import (
	"github.com/ringmill/ringmill/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// recordKind is the version of a key: what kind of record it is.
type recordKind int16

// The records of consumer groups, as Apache Kafka 4.1.1 writes them.
const (
	recordClassicGroup recordKind = keyGroupMetadata // a tombstone where a consumer group was a classic one
	recordGroup        recordKind = 3                // group epoch and hash of topics
	recordOldMetadata  recordKind = 4                // a tombstone: Kafka 4.0 and earlier kept topics here
	recordMember       recordKind = 5                // what a member says of itself
	recordTargetEpoch  recordKind = 6
	recordTarget       recordKind = 7  // what a member shall own
	recordCurrent      recordKind = 8  // what a member owns
	recordRegex        recordKind = 16 // topics that a regular expression matches
)

// recordName names one record of a group: a kind, and for some the member id or the regular expression.
type recordName struct {
	kind recordKind
	of   string
}

// unwrittenRecords are the names of records that differ from what is in the log or on its way there. Their values are made
// when they are written, from what the group is by then: an append that failed is made good by writing the same names
// later.
type unwrittenRecords struct {
	order []recordName
	seen  map[recordName]struct{}
}

func (u *unwrittenRecords) add(name recordName) {
	if _, again := u.seen[name]; again {
		return
	}
	if u.seen == nil {
		u.seen = map[recordName]struct{}{}
	}
	u.seen[name] = struct{}{}
	u.order = append(u.order, name)
}

// touch notes that a record of the group has to be written.
func (g *group) touch(kind recordKind, of string) { g.unwritten.add(recordName{kind, of}) }

// delayedReply is what waits for something to be written: an answer that tells of it, a call that needs it, or both.
type delayedReply struct {
	handle Handle
	req    kmsg.Request
	resp   kmsg.Response
	call   shareCall // of a share group: what is to be asked then; or nil
}

// consumerAppend is the records of one change of a consumer group, or of its conversion.
type consumerAppend struct {
	group   *group
	id      AppendID
	names   []recordName
	replies []delayedReply
}

// settle ends each change of a group that follows, or followed, the consumer protocol: what changed is written, and the
// replies are sent when that and all that was under way before is durable.
func (c *Coordinator) settle(g *group, replies ...delayedReply) {
	if g.state != Dead {
		g.setModernState(c.wall)
	}
	if len(g.unwritten.order) > 0 {
		c.writeChanges(g, replies)
		return
	}
	if n := len(g.consumerWrites); n > 0 {
		last := g.consumerWrites[n-1]
		last.replies = append(last.replies, replies...)
		return
	}
	c.sendReplies(replies)
}

func (c *Coordinator) writeChanges(g *group, replies []delayedReply) {
	names := g.unwritten.order
	g.unwritten = unwrittenRecords{}
	records := make([]wire.Record, len(names))
	for i, name := range names {
		records[i] = g.consumerRecord(name)
	}
	a := &consumerAppend{group: g, names: names, replies: replies}
	a.id = c.append(records, a)
	g.consumerWrites = append(g.consumerWrites, a)
	c.timers.disarm(&g.rewrite)
}

func (c *Coordinator) sendReplies(replies []delayedReply) {
	for _, r := range replies {
		if r.resp != nil {
			c.reply(r.handle, r.resp)
		}
		if r.call != nil {
			c.ask(r.call)
		}
	}
}

// rewriteAfterMS is how long a group waits before it writes again what could not be written, unless a request has it
// written before.
const rewriteAfterMS = 1_000

func (a *consumerAppend) appended(c *Coordinator, code wire.ErrorCode) {
	g := a.group
	before := a.leave()
	if code == wire.None {
		g.durable = true
		switch {
		case before != nil: // an earlier append is still under way, of which these replies tell too
			before.replies = append(before.replies, a.replies...)
		case len(g.unwritten.order) > 0 && g.state != Dead && c.groups[g.id] == g: // one failed: first make it good
			c.writeChanges(g, a.replies)
		default:
			c.sendReplies(a.replies)
		}
		return
	}
	for _, r := range a.replies {
		if r.resp != nil {
			c.reply(r.handle, errorResponse(r.req, code))
		}
		if r.call != nil {
			c.refuseCall(r.call, code)
		}
	}
	if c.groups[g.id] != g {
		return
	}
	later := g.unwritten
	g.unwritten = unwrittenRecords{}
	for _, name := range append(a.names, later.order...) {
		g.unwritten.add(name)
	}
	c.timers.arm(&g.rewrite, c.after(rewriteAfterMS))
}

// leave takes the append out of those under way, and gives the last of those before it.
func (a *consumerAppend) leave() (before *consumerAppend) {
	writes := a.group.consumerWrites
	for i, w := range writes {
		if w == a {
			a.group.consumerWrites = append(writes[:i:i], writes[i+1:]...)
			return before
		}
		before = w
	}
	panic("BUG: an append of group " + a.group.id + " is not among those under way")
}

// rewriteDue writes what an append that failed has left.
func (c *Coordinator) rewriteDue(g *group) {
	if g.state != Dead {
		c.settle(g)
	}
}
