package load

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// Event is one line of a history: see tools/ringcheck for the operations and their fields.
type Event struct {
	Op         string      `json:"op"`
	T0         int64       `json:"t0"`
	T1         int64       `json:"t1"`
	Proc       uint32      `json:"proc"`
	Res        string      `json:"res,omitempty"`
	Topic      string      `json:"topic,omitempty"`
	Part       int32       `json:"part"`
	Counter    uint32      `json:"counter"`
	Offset     int64       `json:"offset"`
	Idempotent bool        `json:"idempotent,omitempty"`
	From       int64       `json:"from,omitempty"`
	Start      int64       `json:"start"`
	End        int64       `json:"end"`
	Recs       [][3]uint64 `json:"recs,omitempty"`
	Node       int32       `json:"node,omitempty"`
	Epoch      int32       `json:"epoch,omitempty"`
	High       int64       `json:"high,omitempty"`
	Sum        string      `json:"sum,omitempty"`
	Kind       string      `json:"kind,omitempty"`
	Bit        bool        `json:"bit,omitempty"`
	Key        string      `json:"key,omitempty"`
	Value      string      `json:"value,omitempty"`
}

// History is the file of one process's events; its clients share it.
type History struct {
	mu    sync.Mutex
	file  *os.File
	out   *bufio.Writer
	lines *json.Encoder
	acked int   // sends with outcome ok
	last  int64 // when the last of them was; 0: none
	gap   int64 // the longest time between two of them since LongestGap was asked, ns
}

// NewHistory begins an empty one in the test's folder.
func NewHistory(tb testing.TB) *History {
	tb.Helper()
	file, err := os.Create(filepath.Join(tb.TempDir(), "history.jsonl"))
	if err != nil {
		tb.Fatal(err)
	}
	h := &History{file: file, out: bufio.NewWriterSize(file, 1<<20)}
	h.lines = json.NewEncoder(h.out)
	tb.Cleanup(func() { file.Close() })
	return h
}

// Now is nanoseconds of the machine's monotonic clock, the same in all processes (clock_gettime(2)).
func Now() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic("BUG: clock_gettime: " + err.Error())
	}
	return ts.Nano()
}

// Add notes an event.
func (h *History) Add(e Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if e.Op == "send" && e.Res == "ok" {
		h.acked++
		if h.last > 0 {
			h.gap = max(h.gap, e.T1-h.last)
		}
		h.last = max(h.last, e.T1)
	}
	if err := h.lines.Encode(e); err != nil {
		panic("history: " + err.Error()) // nothing that follows could be judged
	}
}

// Acknowledged is how many sends were so far.
func (h *History) Acknowledged() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.acked
}

// LongestGap is the longest time in which nothing was acknowledged, in nanoseconds, since it was asked for the last time.
func (h *History) LongestGap() (gap int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	gap, h.gap = h.gap, 0
	return gap
}

// Path is the file, with all events so far in it.
func (h *History) Path(tb testing.TB) string {
	tb.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.out.Flush(); err != nil {
		tb.Fatal(err)
	}
	return h.file.Name()
}
