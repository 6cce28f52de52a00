package bench

import (
	"fmt"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Histogram counts latencies from 1 µs to 10 minutes to three digits. It is one goroutine's; 180 kB each.
type Histogram struct{ hdr *hdrhistogram.Histogram }

// latencyMin and latencyMax are the least and the greatest latency told apart; what is beyond counts as these.
const (
	latencyMin = time.Microsecond
	latencyMax = 10 * time.Minute
)

// NewHistogram makes an empty one. Its unit is the nanosecond, as that of the .hlog files that others' tools read.
func NewHistogram() *Histogram {
	return &Histogram{hdrhistogram.New(latencyMin.Nanoseconds(), latencyMax.Nanoseconds(), 3)}
}

// Record counts d.
func (h *Histogram) Record(d time.Duration) {
	if err := h.hdr.RecordValue(min(max(d, latencyMin), latencyMax).Nanoseconds()); err != nil {
		panic("BUG: a value inside the histogram's bounds was refused: " + err.Error())
	}
}

// Merge adds from's counts.
func (h *Histogram) Merge(from *Histogram) { h.hdr.Merge(from.hdr) }

// Reset forgets all.
func (h *Histogram) Reset() { h.hdr.Reset() }

// Count is how many latencies were recorded.
func (h *Histogram) Count() int64 { return h.hdr.TotalCount() }

// Max is the greatest latency; 0 if there is none.
func (h *Histogram) Max() time.Duration { return time.Duration(h.hdr.Max()) }

// Mean is the mean latency; 0 if there is none.
func (h *Histogram) Mean() time.Duration {
	if h.Count() == 0 {
		return 0
	}
	return time.Duration(h.hdr.Mean())
}

// Quantile is the latency that the share q of all (0 to 1) does not exceed; 0 if there is none.
func (h *Histogram) Quantile(q float64) time.Duration {
	return time.Duration(h.hdr.ValueAtQuantile(q * 100))
}

// Percentile is how much of a histogram does not exceed a latency.
type Percentile struct {
	Percent float64 // up to 100
	Latency time.Duration
}

// Percentiles are HdrHistogram's percentile ticks: so many each time that the distance to 100 % is halved, until all is counted.
func (h *Histogram) Percentiles(ticksPerHalfDistance int32) (all []Percentile) {
	for _, b := range h.hdr.CumulativeDistributionWithTicks(ticksPerHalfDistance) {
		all = append(all, Percentile{b.Quantile, time.Duration(b.ValueAt)})
	}
	return all
}

// Encode is the compressed V2 encoding in base64, which HdrHistogram has in every language.
func (h *Histogram) Encode() string {
	text, err := h.hdr.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		panic("BUG: a histogram in memory was not encoded: " + err.Error())
	}
	return string(text)
}

// DecodeHistogram reads what Encode wrote, or anybody's encoding of nanoseconds within the same bounds.
func DecodeHistogram(text string) (*Histogram, error) {
	read, err := hdrhistogram.Decode([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("bench: a histogram: %w", err)
	}
	h := NewHistogram()
	if dropped := h.hdr.Merge(read); dropped > 0 {
		return nil, fmt.Errorf("bench: a histogram has %d values beyond %v", dropped, latencyMax)
	}
	return h, nil
}
