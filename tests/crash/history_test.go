package crash

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/ringmill/ringmill/tests/harness"
)

// event is one line of a history: see tools/ringcheck.
type event struct {
	Op         string      `json:"op"`
	T0         int64       `json:"t0"`
	T1         int64       `json:"t1"`
	Proc       uint32      `json:"proc"`
	Res        string      `json:"res,omitempty"`
	Topic      string      `json:"topic"`
	Part       int32       `json:"part"`
	Counter    uint32      `json:"counter"`
	Offset     int64       `json:"offset"`
	Idempotent bool        `json:"idempotent,omitempty"`
	From       int64       `json:"from"`
	Start      int64       `json:"start"`
	End        int64       `json:"end"`
	Recs       [][3]uint64 `json:"recs,omitempty"`
}

// history writes events of one run to a file. All clients share it: one clock, one file.
type history struct {
	mu    sync.Mutex
	begin time.Time
	file  *os.File
	out   *bufio.Writer
	lines *json.Encoder
	acked int
}

func newHistory(t *testing.T) *history {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "history.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	h := &history{begin: time.Now(), file: file, out: bufio.NewWriterSize(file, 1<<20)}
	h.lines = json.NewEncoder(h.out)
	t.Cleanup(func() { file.Close() })
	return h
}

// now is nanoseconds of the run's monotonic clock.
func (h *history) now() int64 { return int64(time.Since(h.begin)) }

func (h *history) add(e event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if e.Op == "send" && e.Res == "ok" {
		h.acked++
	}
	if err := h.lines.Encode(e); err != nil {
		panic("BUG: history: " + err.Error())
	}
}

// acknowledged is how many sends were so far.
func (h *history) acknowledged() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.acked
}

// judge runs ringcheck over the history. Anything but "all hold" fails the test.
func (h *history) judge(t *testing.T) {
	t.Helper()
	h.mu.Lock()
	err := h.out.Flush()
	h.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	harness.Ringcheck(t, []string{"-min-acked", "200"}, h.file.Name())
}
