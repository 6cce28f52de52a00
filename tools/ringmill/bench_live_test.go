package main

import (
	"bytes"
	"fmt"
	"math"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"github.com/ringmill/ringmill/bench"
)

// display is what a terminal shows of what is written to it: lines that wrap at its width, and no more sequences than a screen uses.
type display struct {
	mu      sync.Mutex
	columns int
	lines   [][]rune
	line    int // of the cursor
	column  int
	strange []string // sequences that it does not know
	pending string   // the beginning of a sequence
}

var sequence = regexp.MustCompile(`^\x1b\[([0-9;?]*)([A-Za-z])`)

func (d *display) Write(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	text := d.pending + string(p)
	d.pending = ""
	for len(text) > 0 {
		if text[0] == '\x1b' {
			m := sequence.FindStringSubmatch(text)
			if m == nil {
				d.pending = text
				break
			}
			d.control(m[1], m[2])
			text = text[len(m[0]):]
			continue
		}
		r, size := rune(text[0]), 1
		if r >= 0x80 {
			if !strings.ContainsRune(text, '\n') && len(text) < 4 {
				d.pending = text
				break
			}
			for i, first := range text {
				if i > 0 {
					size = i
					break
				}
				r, size = first, len(text)
			}
		}
		d.put(r)
		text = text[size:]
	}
	return len(p), nil
}

func (d *display) put(r rune) {
	switch r {
	case '\r':
		d.column = 0
	case '\n':
		d.line++
	default:
		d.reach()
		d.lines[d.line][d.column] = r
		d.column++
	}
}

// reach makes room at the cursor.
func (d *display) reach() {
	for len(d.lines) <= d.line {
		d.lines = append(d.lines, nil)
	}
	for len(d.lines[d.line]) <= d.column {
		d.lines[d.line] = append(d.lines[d.line], ' ')
	}
}

func (d *display) control(argument, command string) {
	n, _ := strconv.Atoi(argument)
	switch {
	case command == "A":
		for ; n > 0 && d.line > 0; n -= d.rows(d.line) {
			d.line--
		}
		if n < 0 {
			d.strange = append(d.strange, "up into the middle of a line")
		}
	case command == "K" && argument == "", command == "J" && argument == "":
		if d.line < len(d.lines) {
			d.lines[d.line] = d.lines[d.line][:min(d.column, len(d.lines[d.line]))]
			if command == "J" {
				d.lines = d.lines[:d.line+1]
			}
		}
	default:
		d.strange = append(d.strange, "\\e["+argument+command)
	}
}

// rows are how many of them a line takes.
func (d *display) rows(line int) int {
	if line >= len(d.lines) {
		return 1
	}
	return max(1, (len(d.lines[line])+d.columns-1)/d.columns)
}

// text is what is shown.
func (d *display) text() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var all []string
	for _, line := range d.lines {
		all = append(all, strings.TrimRight(string(line), " "))
	}
	return strings.TrimRight(strings.Join(all, "\n"), "\n")
}

// await returns what is shown once it matches.
func (d *display) await(t *testing.T, pattern string) string {
	t.Helper()
	want := regexp.MustCompile(pattern)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		text := d.text()
		if want.MatchString(text) {
			return text
		}
		if time.Now().After(deadline) {
			t.Fatalf("no %s in\n%s", pattern, text)
		}
	}
}

// A run on a terminal is painted over itself, in a window that becomes narrower and wider, and is gone after ^C, with the terminal as it was.
func TestBenchOnATerminal(t *testing.T) {
	s := benchServer(t)
	cmd := ringmill(t, "bench", "run", "-b", s.Addresses()[0], "--rate", "100", "--warm-up", "1500ms", "--duration", "5m")
	cmd.Env = append(cmd.Environ(), "TERM=xterm")
	var out bytes.Buffer
	cmd.Stdout = &out // the summary; standard error is the terminal
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Cols: 80, Rows: 24})
	if err != nil {
		t.Fatal(err)
	}
	defer tty.Close()
	t.Cleanup(func() { end(cmd) })
	before := settingsOf(t, tty.Fd())
	shown := &display{columns: 80}
	read := make(chan struct{})
	go func() {
		defer close(read)
		buffer := make([]byte, 4096)
		for n, err := tty.Read(buffer); err == nil; n, err = tty.Read(buffer) {
			_, _ = shown.Write(buffer[:n])
		}
	}()
	shown.await(t, `warming up for 1.5s`)
	text := shown.await(t, `  2 of 300 s`)
	for _, want := range []string{"ringmill bench run, 100 records/s of 100 bytes", "produced", "0 errors", "consumed", "response    p50 ", "end to end  p50 ", "generator   p99 ", "\np99         "} {
		if strings.Count("\n"+text, want) != 1 {
			t.Errorf("%q is not once in\n%s", want, text)
		}
	}
	for _, columns := range []int{45, 120, 30} {
		shown.mu.Lock()
		shown.columns = columns
		shown.mu.Unlock()
		if err := pty.Setsize(tty, &pty.Winsize{Cols: uint16(columns), Rows: 24}); err != nil {
			t.Fatal(err)
		}
		second := secondShown(t, shown.text())
		text = shown.await(t, fmt.Sprintf(`  %d of 300 s`, second+2))
		if n := strings.Count("\n"+text, "\nringmill"); n != 1 || widest(text) >= columns {
			t.Errorf("%d blocks of %d columns in %d\n%s", n, widest(text), columns, text)
		}
	}
	if _, err := tty.Write([]byte{3}); err != nil { // ^C
		t.Fatal(err)
	}
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != statusFailed {
		t.Errorf("%v", err)
	}
	after := settingsOf(t, tty.Fd())
	tty.Close()
	<-read
	if text := shown.text(); text != "ringmill: the run broke off: interrupted" {
		t.Errorf("it leaves\n%s", text)
	}
	if before != after || len(shown.strange) > 0 {
		t.Errorf("settings %+v became %+v; sequences %q", before, after, shown.strange)
	}
	if !strings.Contains(out.String(), "PARTIAL") || len(s.Topics()) > 0 {
		t.Errorf("topics %v, said %s", s.Topics(), out.String())
	}
}

func end(cmd *exec.Cmd) {
	if cmd.ProcessState == nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
}

func settingsOf(t *testing.T, fd uintptr) unix.Termios {
	t.Helper()
	settings, err := unix.IoctlGetTermios(int(fd), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return *settings
}

func secondShown(t *testing.T, text string) (second int) {
	t.Helper()
	m := regexp.MustCompile(`(\d+) of 300 s`).FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("no second in\n%s", text)
	}
	second, _ = strconv.Atoi(m[1])
	return second
}

func widest(text string) (columns int) {
	for line := range strings.Lines(text) {
		columns = max(columns, len([]rune(strings.TrimSuffix(line, "\n"))))
	}
	return columns
}

// Where there is no terminal, a line each second; where JSON is wanted, nothing (TestBenchRun).
func TestBenchWithoutATerminal(t *testing.T) {
	s := benchServer(t)
	var out, errs bytes.Buffer
	code := (&app{stdout: &out, stderr: &errs}).run(t.Context(), []string{"bench", "run", "-b", s.Addresses()[0], "--rate", "100", "--warm-up", "100ms", "--duration", "2s"})
	if code != statusOK && code != statusInvalid || !strings.Contains(out.String(), "produced 200 records") {
		t.Errorf("status %d: %s%s", code, out.String(), errs.String())
	}
	line := regexp.MustCompile(`(?m)^ +[12] s +\d+ records/s  p50 [0-9.]+ ms  p99 [0-9.]+ ms  max [0-9.]+ ms  end to end p99 [0-9.]+ ms  late p99 [0-9.]+ ms$`)
	if got := line.FindAllString(errs.String(), -1); len(got) != 2 || strings.Contains(errs.String(), "\x1b") {
		t.Errorf("%d lines in\n%s", len(got), errs.String())
	}
}

func TestSparkline(t *testing.T) {
	for want, values := range map[string][]float64{
		"▁█":   {1, 100},
		"▁▅█":  {1, 10, 100},
		"▁×█▁": {1, math.NaN(), 50, 0},
		"▁▁":   {5, 5},
		"":     {},
	} {
		if got := sparkline(values, 10); got != want {
			t.Errorf("%v is %s, want %s", values, got, want)
		}
	}
	if got := sparkline([]float64{1000, 1, 2, 3}, 2); len([]rune(got)) != 2 || got != "▁█" {
		t.Errorf("the last two are %s", got)
	}
}

// How far a run is goes by its window, of which nobody knows how long it is until a backlog is drained.
func TestLiveFar(t *testing.T) {
	for want, s := range map[string]bench.Second{
		"3 of 10 s":                      {Number: 2, Window: 10 * time.Second},
		"11 of 11 s":                     {Number: 10, Window: 10*time.Second + time.Millisecond},
		"10 s, waiting for what is late": {Number: 10, Window: 10 * time.Second},
		"8 s, building a backlog":        {Number: 7, Building: true, Waiting: 12_345},
		"15 s, draining a backlog":       {Number: 14, Waiting: 67_890},
		"20 of 26 s":                     {Number: 19, Window: 25*time.Second + 300*time.Millisecond},
	} {
		s.Produced, s.Consumed = &bench.Figures{Latency: bench.NewHistogram()}, &bench.Figures{Latency: bench.NewHistogram()}
		l := &live{seconds: make(chan liveSecond, 1)}
		l.progress(s)
		shown := &screen{trial: &bench.Trial{Rate: 1000, RecordBytes: 100, Duration: 10 * time.Second}}
		shown.take(<-l.seconds)
		lines := shown.lines(79)
		waits := strings.HasSuffix(lines[2], " "+bench.FormatCount(float64(s.Waiting))+" wait")
		if !strings.HasSuffix(lines[0], "  "+want) || waits != (s.Waiting > 0) {
			t.Errorf("want %q and %d waiting in\n%s", want, s.Waiting, strings.Join(lines, "\n"))
		}
	}
}

// A view that takes nothing keeps no run waiting.
func TestLiveNeverWaits(t *testing.T) {
	stuck := make(chan struct{})
	l := startLive(stuckView{stuck})
	for n := range liveBehind * 3 {
		l.progress(bench.Second{Number: n, Produced: &bench.Figures{Latency: bench.NewHistogram()}})
	}
	close(stuck)
	l.end()
}

type stuckView struct{ until chan struct{} }

func (v stuckView) show(seconds <-chan liveSecond) {
	<-v.until
	for range seconds {
	}
}

// Percentiles are of the last seconds, not of the whole run.
func TestRecent(t *testing.T) {
	var r recent
	slow := bench.NewHistogram()
	slow.Record(time.Second)
	fast := bench.NewHistogram()
	fast.Record(time.Millisecond)
	if f := r.add(slow); f.Count != 1 {
		t.Errorf("%+v", f)
	}
	for range liveRecent - 1 {
		if f := r.add(fast); f.MaxUs < 999_000 {
			t.Errorf("forgotten too soon: %+v", f)
		}
	}
	if f := r.add(nil); f.MaxUs > 1001 || f.Count != liveRecent-1 {
		t.Errorf("%+v", f)
	}
}

// BenchmarkScreen is what a second of a run costs on a terminal: percentiles of the last ones, and a painting.
func BenchmarkScreen(b *testing.B) {
	var out bytes.Buffer
	s := &screen{trial: &bench.Trial{Rate: 1000, RecordBytes: 100, Duration: time.Minute}, out: &out, size: func() (int, int) { return 120, 40 }}
	h := bench.NewHistogram()
	for n := range 1000 {
		h.Record(time.Duration(n) * 37 * time.Microsecond)
	}
	l := &live{seconds: make(chan liveSecond, 1)}
	second := bench.Second{Produced: &bench.Figures{Records: 1000, Latency: h, Service: h, Lag: h}, Consumed: &bench.Figures{Records: 1000, Latency: h}}
	for b.Loop() {
		out.Reset()
		l.progress(second)
		s.take(<-l.seconds)
		s.paint()
	}
}
