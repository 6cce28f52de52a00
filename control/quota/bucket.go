package quota

// bucket holds tokens that come at a rate and are taken by permits (org.apache.kafka.common.metrics.stats.TokenBucket,
// KIP-599). It may be overdrawn.
type bucket struct {
	tokens float64
	at     int64 // when tokens was right
	filled bool  // false: it has never been used, and is full
}

// most is what the bucket holds: what all windows would let through.
func (*bucket) most(w Windows, limit float64) float64 {
	return float64(w.Count) * float64(w.SizeMS) / 1000 * limit
}

// fill adds what came since the last time.
func (b *bucket) fill(w Windows, limit float64, now int64) {
	most := b.most(w, limit)
	if !b.filled {
		b.filled, b.tokens = true, most
	}
	b.tokens = min(most, b.tokens+limit*float64(now-b.at)/1000)
	b.at = now
}

// take takes permits, whether they are there or not.
func (b *bucket) take(permits float64) { b.tokens -= permits }

// wait is how long until nothing is owed, in milliseconds.
func (b *bucket) wait(limit float64) int64 {
	if b.tokens >= 0 {
		return 0
	}
	return roundMS(-b.tokens / limit * 1000)
}
