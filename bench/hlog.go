package bench

import (
	"io"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// latencyLog writes histograms as HdrHistogram's log format (V2), which its tools and those of other languages read: one line a second
// and kind, tagged with the kind.
type latencyLog struct {
	w     *hdrhistogram.HistogramLogWriter
	start time.Time
	err   error // the first
}

// newLatencyLog writes the head. start is the beginning of the window by the wall clock.
func newLatencyLog(w io.Writer, start time.Time) *latencyLog {
	l := &latencyLog{w: hdrhistogram.NewHistogramLogWriter(w), start: start}
	l.keep(l.w.OutputLogFormatVersion())
	l.keep(l.w.OutputStartTime(start.UnixMilli()))
	l.keep(l.w.OutputLegend())
	return l
}

func (l *latencyLog) keep(err error) {
	if l.err == nil {
		l.err = err
	}
}

// write appends the histogram of a second.
func (l *latencyLog) write(tag string, second int, h *Histogram) {
	begin := l.start.Add(time.Duration(second) * time.Second).UnixMilli()
	h.hdr.SetTag(tag)
	h.hdr.SetStartTimeMs(begin)
	h.hdr.SetEndTimeMs(begin + 1000)
	l.keep(l.w.OutputIntervalHistogram(h.hdr))
}
