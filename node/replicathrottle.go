package node

import (
	"math"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/ringmill/ringmill/wire"
)

// replicationQuota bounds what throttled replicas copy, of all loops together (KIP-73): bytes may be copied as long as there are any left,
// and what went beyond is owed.
type replicationQuota struct {
	mu   sync.Mutex
	left float64
	at   time.Duration
}

// replicationBurst is how long a rate is saved up for that was not used: Apache Kafka's window is ten times as long.
const replicationBurst = time.Second

// available is how many bytes may be copied at now, at a rate in bytes a second; none or less while too many were.
func (q *replicationQuota) available(now time.Duration, rate int64) int64 {
	if rate == math.MaxInt64 { // no bound is set
		return rate
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	most := float64(rate) * replicationBurst.Seconds()
	q.left = min(q.left+float64(rate)*max(now-q.at, 0).Seconds(), most)
	q.at = max(q.at, now)
	return int64(min(q.left, 1<<62))
}

// take notes bytes that were copied.
func (q *replicationQuota) take(bytes int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.left -= float64(bytes)
}

// throttles says whether a list of throttled replicas names a node's replica of a partition: * names all, else each element is
// partition:broker.
func throttles(replicas []string, index wire.PartitionIndex, node wire.NodeID) bool {
	if len(replicas) == 0 {
		return false
	}
	me := strconv.Itoa(int(index)) + ":" + strconv.Itoa(int(node))
	return slices.ContainsFunc(replicas, func(r string) bool { return r == "*" || r == me })
}

// withheld says that a throttled leader serves a follower nothing for now: one that is not in sync, for the others are waited for.
func (l *Loop) withheld(by *fetcherOf, p *fetchPart, inSync bool) bool {
	if p.throttled = by.follower() && !inSync && l.leaderThrottled(p); !p.throttled {
		return false
	}
	return l.node.leaderQuota.available(l.mono, l.node.Config().LeaderThrottleBytesPerSecond()) <= 0
}

func (l *Loop) leaderThrottled(p *fetchPart) bool {
	return throttles(p.topic.config.LeaderThrottledReplicas, p.ask.Index, l.node.Config().NodeID)
}

// chargeThrottled counts what throttled leaders serve.
func (f *fetchRequest) chargeThrottled() {
	for i := range f.parts {
		if p := &f.parts[i]; p.throttled && p.file != nil {
			f.conn.loop.node.leaderQuota.take(p.length)
		}
	}
}

// throttleFollower has a partition fetched within follower.replication.throttled.rate or not.
func (l *Loop) throttleFollower(p *partition, replicas []string) {
	throttled := throttles(replicas, p.index, l.node.Config().NodeID)
	if throttled == p.throttled {
		return
	}
	p.throttled = throttled
	if r := p.replicator; r != nil {
		r.fetcher.Add(r.target(p), p.fetchedRest == nil && p.replica.MayFetch())
		r.soon()
	}
}

// followerBudget is how many bytes throttled followers may fetch now.
func (l *Loop) followerBudget() int64 {
	return l.node.followerQuota.available(l.mono, l.node.Config().FollowerThrottleBytesPerSecond())
}

// budgetPause is how long a replicator waits whose followers are held back.
const budgetPause = 50 * time.Millisecond
