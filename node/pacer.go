package node

import "time"

// pacer bounds the rate of background work.
type pacer struct{ paced time.Time } // until when the bytes that were taken would last at the highest rate

// paceMax is the longest that one piece of work is waited for, so that a rate of next to nothing can be changed.
const paceMax = time.Minute

// take notes bytes and says how long to wait before more.
func (r *pacer) take(bytes int, perSecond float64) time.Duration {
	now := time.Now()
	if r.paced.Before(now) {
		r.paced = now
	}
	r.paced = r.paced.Add(time.Duration(min(float64(bytes)/perSecond, paceMax.Seconds()) * float64(time.Second)))
	return r.paced.Sub(now)
}
