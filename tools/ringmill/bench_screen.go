package main

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/ringmill/ringmill/bench"
)

// screen paints a run over itself in a terminal.
//
// It changes no setting of the terminal and hides no cursor, so that whatever ends the program leaves the terminal as it was: it writes
// lines, and goes up over them before it writes them again. What it has painted is gone when the run is over; the summary follows.
type screen struct {
	trial *bench.Trial
	out   io.Writer
	size  func() (columns, rows int)
	began time.Time

	last    *liveSecond // nil before the window
	p99     []float64   // of each second; NaN if nothing was answered
	rates   []float64
	errors  int64
	painted []string
}

// sparkMax is how many seconds a screen keeps for its lines: more than a terminal has columns.
const sparkMax = 512

func newScreen(t *bench.Trial, on terminal) *screen {
	return &screen{trial: t, out: on.file, size: on.size, began: time.Now()}
}

func (s *screen) show(seconds <-chan liveSecond) {
	resized := make(chan os.Signal, 1)
	signal.Notify(resized, syscall.SIGWINCH)
	defer signal.Stop(resized)
	clock := time.NewTicker(time.Second)
	defer clock.Stop()
	for {
		s.paint()
		select {
		case second, more := <-seconds:
			if !more {
				s.erase()
				return
			}
			s.take(second)
		case <-resized:
		case <-clock.C:
		}
	}
}

func (s *screen) take(second liveSecond) {
	s.last = &second
	s.errors += second.errors
	p99 := math.NaN()
	if second.own.Count > 0 {
		p99 = second.own.P99Us
	}
	s.p99 = append(s.p99, p99)
	s.p99 = s.p99[max(0, len(s.p99)-sparkMax):]
	s.rates = append(s.rates, float64(second.records))
	s.rates = s.rates[max(0, len(s.rates)-sparkMax):]
}

// Control sequences of ECMA-48, which every terminal has.
const (
	toColumnOne  = "\r"
	clearToEnd   = "\x1b[K" // of the line
	clearBelow   = "\x1b[J"
	upFormat     = "\x1b[%dA"
	narrowestMin = 20 // columns that are taken for granted
)

// paint writes the block over the one before, in one write.
func (s *screen) paint() {
	columns, rows := s.size()
	columns = max(columns, narrowestMin)
	lines := s.lines(columns - 1) // the last column is left free: terminals differ in when they wrap
	lines = lines[:min(len(lines), max(rows-1, 1))]
	var b bytes.Buffer
	s.goUp(&b, columns)
	for _, line := range lines {
		b.WriteString(line + clearToEnd + "\n")
	}
	b.WriteString(clearBelow)
	s.painted = lines
	_, _ = s.out.Write(b.Bytes())
}

// erase leaves the terminal as if nothing had been painted.
func (s *screen) erase() {
	columns, _ := s.size()
	var b bytes.Buffer
	s.goUp(&b, max(columns, narrowestMin))
	b.WriteString(clearBelow)
	_, _ = s.out.Write(b.Bytes())
	s.painted = nil
}

// goUp moves to the first row of what was painted. Where the window has become narrower, terminals have wrapped its lines.
func (s *screen) goUp(b *bytes.Buffer, columns int) {
	rows := 0
	for _, line := range s.painted {
		rows += max(1, (utf8.RuneCountInString(line)+columns-1)/columns)
	}
	b.WriteString(toColumnOne)
	if rows > 0 {
		fmt.Fprintf(b, upFormat, rows)
	}
}

// lines are what is shown, each of up to so many columns.
func (s *screen) lines(columns int) []string {
	lines := []string{s.head(columns)}
	if s.last == nil {
		lines = append(lines, fmt.Sprintf("making the topic, and warming up for %v: %.0f s", s.trial.WarmUp, time.Since(s.began).Seconds()))
		return cut(lines, columns)
	}
	l := s.last
	lines = append(lines, fmt.Sprintf("produced    %11s records/s  %10s  %s errors", bench.FormatCount(float64(l.records)), bench.FormatBytes(float64(l.bytes)), bench.FormatCount(float64(s.errors))))
	if l.consuming {
		consumed := fmt.Sprintf("consumed    %11s records/s", bench.FormatCount(float64(l.consumed)))
		if l.waiting > 0 {
			consumed += fmt.Sprintf("  %10s wait", bench.FormatCount(float64(l.waiting)))
		}
		lines = append(lines, consumed)
	}
	lines = append(lines, fmt.Sprintf("%-12s%s   of the last %d s", s.responseName(), percentilesOf(l.response), liveRecent))
	if l.consuming {
		lines = append(lines, fmt.Sprintf("%-12s%s", "end to end", percentilesOf(l.endToEnd)))
	}
	room := columns - 12
	lines = append(lines, fmt.Sprintf("%-12s%s", "rate", sparkline(s.rates, room)), fmt.Sprintf("%-12s%s", "p99", sparkline(s.p99, room)))
	if s.trial.Rate > 0 {
		lines = append(lines, s.lateness())
	}
	return cut(lines, columns)
}

func (s *screen) responseName() string {
	if s.trial.Rate > 0 {
		return "response"
	}
	return "request"
}

// head says what runs, and how far it is.
func (s *screen) head(columns int) string {
	what := "ringmill bench run, as many records as are acknowledged"
	if s.trial.Rate > 0 {
		what = fmt.Sprintf("ringmill bench run, %s records/s of %d bytes", bench.FormatCount(s.trial.Rate), s.trial.RecordBytes)
	}
	if s.last == nil {
		return what
	}
	far := s.last.far()
	room := max(columns-len(far)-2, 0)
	if runes := []rune(what); len(runes) > room {
		what = string(runes[:room])
	}
	return what + strings.Repeat(" ", room-utf8.RuneCountInString(what)+2) + far
}

// far is how far a run is. With a backlog nobody knows how long its window is until that is drained.
func (s *liveSecond) far() string {
	whole := int(math.Ceil(s.window.Seconds()))
	switch {
	case s.building:
		return fmt.Sprintf("%d s, building a backlog", s.number+1)
	case whole == 0:
		return fmt.Sprintf("%d s, draining a backlog", s.number+1)
	case s.number >= whole:
		return fmt.Sprintf("%d s, waiting for what is late", whole)
	}
	return fmt.Sprintf("%d of %d s", s.number+1, whole)
}

func percentilesOf(f bench.LatencyFigure) string {
	if f.Count == 0 {
		return "nothing was answered"
	}
	return fmt.Sprintf("p50 %-8s p99 %-8s max %-8s", bench.FormatLatency(f.P50Us), bench.FormatLatency(f.P99Us), bench.FormatLatency(f.MaxUs))
}

// lateness is the generator's own, and whether a run of such seconds would be invalid.
func (s *screen) lateness() string {
	late, response := s.last.late, s.last.response
	if late.Count == 0 {
		return "generator   nothing could be sent"
	}
	said := "in time"
	switch {
	case response.Count == 0:
		said = "and nothing to hold it against"
	case late.P99Us > bench.LagShareMax*response.P99Us:
		said = "too late: such seconds make the run invalid"
	}
	return fmt.Sprintf("%-12sp99 %-8s late, %s", "generator", bench.FormatLatency(late.P99Us), said)
}

// cut shortens lines to the columns that there are.
func cut(lines []string, columns int) []string {
	for i, line := range lines {
		if runes := []rune(line); len(runes) > columns {
			lines[i] = string(runes[:columns])
		}
	}
	return lines
}
