package bench

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Histogram counts latencies from 1 µs to 10 minutes to three digits. It is one goroutine's; 180 kB each.
type Histogram struct{ hdr *hdrhistogram.Histogram }

// latencyMax is the greatest latency told apart; what is longer counts as this.
const latencyMax = 10 * time.Minute

// NewHistogram makes an empty one.
func NewHistogram() *Histogram {
	return &Histogram{hdrhistogram.New(1, latencyMax.Microseconds(), 3)}
}

// Record counts d.
func (h *Histogram) Record(d time.Duration) {
	if err := h.hdr.RecordValue(min(max(d, time.Microsecond), latencyMax).Microseconds()); err != nil {
		panic("BUG: a value inside the histogram's bounds was refused: " + err.Error())
	}
}

// Merge adds from's counts.
func (h *Histogram) Merge(from *Histogram) { h.hdr.Merge(from.hdr) }

// Count is how many latencies were recorded.
func (h *Histogram) Count() int64 { return h.hdr.TotalCount() }

// Quantile is the latency that the share q of all (0 to 1) does not exceed; 0 if there is none.
func (h *Histogram) Quantile(q float64) time.Duration {
	return time.Duration(h.hdr.ValueAtQuantile(q*100)) * time.Microsecond
}
