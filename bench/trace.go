package bench

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// traceBytesMax bounds a trace's file: some five million lines, whose instants take 40 MB.
const traceBytesMax = 64 << 20

// trace is when the records of a recorded load came. It is replayed from its beginning when it has ended.
type trace struct {
	at     []float64 // of each record, nanoseconds from the first on, which never fall
	period float64   // nanoseconds from the first record to the first one of the next round: the last is a mean gap before that
}

// readTrace reads a file with the instant of one record a line, in seconds from any beginning (1.25), or with a unit of time.ParseDuration
// (1250ms); of a line that begins with a plus sign it is the gap to the line before. Empty lines and those that begin with # are passed over.
// Errors wrap ErrWorkload.
func readTrace(path string) (*trace, error) {
	text, err := ReadFile(path, traceBytesMax)
	if err != nil {
		return nil, fmt.Errorf("%w: trace: %w", ErrWorkload, err)
	}
	t := &trace{}
	if err := t.read(text); err != nil {
		return nil, fmt.Errorf("%w: trace %s: %w", ErrWorkload, path, err)
	}
	return t, nil
}

// read takes the instants of a file's lines.
func (t *trace) read(text []byte) error {
	var last time.Duration
	lines := bufio.NewScanner(bytes.NewReader(text))
	for number := 1; lines.Scan(); number++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		at, err := traceInstant(line, last)
		switch {
		case err != nil:
			return fmt.Errorf("line %d: %w", number, err)
		case at < last && len(t.at) > 0:
			return fmt.Errorf("line %d: %q is before the line above it", number, beginning(line))
		}
		last = at
		t.at = append(t.at, float64(at))
	}
	if err := lines.Err(); err != nil {
		return err
	}
	n := len(t.at)
	if n < 2 || t.at[n-1] == t.at[0] {
		return errors.New("needs records at two instants at least")
	}
	first := t.at[0]
	for i := range t.at {
		t.at[i] -= first
	}
	t.period = t.at[n-1] * float64(n) / float64(n-1)
	return nil
}

// traceInstant reads a line; last is the instant of the line before.
func traceInstant(line string, last time.Duration) (time.Duration, error) {
	number, gap := strings.CutPrefix(line, "+")
	at, err := time.ParseDuration(number)
	if err != nil {
		seconds, notSeconds := strconv.ParseFloat(number, 64)
		if notSeconds != nil || !(math.Abs(seconds) < math.MaxInt64/1e9) { // a NaN is not, too
			return 0, fmt.Errorf("%q: seconds, as 1.25, or a time with its unit, as 1250ms; +0.5 of a gap", beginning(line))
		}
		at = time.Duration(math.Round(seconds * 1e9))
	}
	switch {
	case !gap:
		return at, nil
	case at < 0:
		return 0, fmt.Errorf("%q: a gap below zero", beginning(line))
	case last > math.MaxInt64-at:
		return 0, fmt.Errorf("%q: beyond what can be counted", beginning(line))
	}
	return last + at, nil
}

// beginning is what an error shows of a line, which may be one of a file that has no lines at all.
func beginning(line string) string {
	const most = 40
	if len(line) > most {
		return line[:most] + "…"
	}
	return line
}

// rate is the records a second that were recorded.
func (t *trace) rate() float64 { return float64(len(t.at)) / t.period * 1e9 }

// replay is one pacer's part of a trace: of its records, which are counted over all rounds, those at which share times their number has come to
// the next whole number.
type replay struct {
	trace *trace
	// scale is what instants are multiplied with. share are the pacer's events for a record of the trace, and phase by how much of an event it is
	// ahead: of pacers whose shares are alike and make one, with phases as far apart, each record is one's.
	scale, share, phase float64
	next                int64
}

// upTo is how many events there are before record n. Shares are no exact binary fractions: what lacks less than a billionth is there.
func (r *replay) upTo(n int64) float64 { return math.Floor(float64(n)*r.share + r.phase + 1e-9) }

// after gives the next event's distance from the beginning, in nanoseconds.
func (r *replay) after() float64 {
	for r.upTo(r.next+1) == r.upTo(r.next) {
		r.next++
	}
	n := r.next
	r.next++
	records := int64(len(r.trace.at))
	return (float64(n/records)*r.trace.period + r.trace.at[n%records]) * r.scale
}
