package member

import (
	"errors"
	"log/slog"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/hashicorp/serf/serf"
)

// mergeDelegate judges every node that gossip brings up, before serf takes it in. It is called with memberlist's lock held,
// so it has a picture of its own of who is there.
type mergeDelegate struct {
	log   *agentLog
	start time.Time

	mu    sync.Mutex
	self  peer   // addr is "" until the port is open
	known []peer // alive, without self
}

func newMergeDelegate(info Info, log *agentLog) *mergeDelegate {
	return &mergeDelegate{log: log, start: time.Now(), self: peer{name: nodeName(info.NodeID), readable: true, info: info}}
}

func (d *mergeDelegate) told(info Info) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.self.info = info
}

func (d *mergeDelegate) located(addr string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.self.addr = addr
}

func (d *mergeDelegate) seen(alive []peer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.known = d.known[:0]
	for _, p := range alive {
		if p.name != d.self.name {
			d.known = append(d.known, p)
		}
	}
}

// movedAfter is how long a node's old address may still be told after it was started again at another: memberlist takes
// up to half a minute to call a node dead.
const movedAfter = 30 * time.Second

// NotifyMerge is serf.MergeDelegate: an error keeps the members out.
func (d *mergeDelegate) NotifyMerge(members []*serf.Member) error {
	offered := make([]peer, len(members))
	for i, m := range members {
		offered[i] = peerOf(m)
	}
	d.mu.Lock()
	reason := refusal(d.self.info, d.known, offered)
	found := conflicts(append([]peer{d.self}, d.known...), offered)
	d.mu.Unlock()
	if reason != "" {
		d.log.told(slog.LevelWarn, "gossip refused: "+reason, reason)
		return errors.New(reason)
	}
	for _, c := range found {
		if !c.mayBeOne() || time.Since(d.start) > movedAfter && c.known.name == d.self.name {
			d.log.told(slog.LevelWarn, "two nodes have one node.id; give each its own", c.known.name+c.known.addr+c.offered.addr,
				"node", int(c.known.info.NodeID), "one", c.known.addr, "other", c.offered.addr)
		}
	}
	return nil
}

func peerOf(m *serf.Member) peer {
	p := peer{name: m.Name, addr: net.JoinHostPort(m.Addr.String(), strconv.Itoa(int(m.Port)))}
	p.info, p.readable = ReadTags(m.Tags)
	return p
}
