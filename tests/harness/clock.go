package harness

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// Clock is the wall clock of a host, which a test sets. A wall clock is the whole machine's: a time namespace moves the monotonic clocks alone
// (time_namespaces(7)), and a static binary has no library call that could be put in between. So ringmill at a place with a Clock is built over
// a standard library whose time.Now asks the test; not a line of ringmill's own differs. Durations go on as they are, as on a host whose
// clock is set.
type Clock struct {
	file  string
	words *clockWords
}

// clockWords are what the node's process and the test share: testdata/wallclock.go has them too.
type clockWords struct {
	offset atomic.Int64 // ns
	reads  atomic.Int64 // how often the process has asked for the time while it was off
}

// NewClock is right until Set says otherwise.
func NewClock(tb testing.TB) *Clock {
	tb.Helper()
	c := &Clock{file: filepath.Join(tb.TempDir(), "clock")}
	size := int(unsafe.Sizeof(clockWords{}))
	if err := os.WriteFile(c.file, make([]byte, size), 0o600); err != nil {
		tb.Fatal(err)
	}
	file, err := os.OpenFile(c.file, os.O_RDWR, 0)
	if err != nil {
		tb.Fatal(err)
	}
	defer file.Close()
	words, err := syscall.Mmap(int(file.Fd()), 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		tb.Fatalf("mmap: %v", err)
	}
	c.words = (*clockWords)(unsafe.Pointer(&words[0])) // mapped to the end of the process: words is never unmapped
	return c
}

// Set has the clock go wrong, or right with 0, from now on, in a process that runs too.
func (c *Clock) Set(off time.Duration) { c.words.offset.Store(int64(off)) }

// Reads is how often the node has read the clock while it was off.
func (c *Clock) Reads() int64 { return c.words.reads.Load() }

// environment is what tells the node's process of it: a name that is none of ringmill's properties.
func (c *Clock) environment() []string { return []string{"TEST_WALL_CLOCK=" + c.file} }

// clockedBinary is ringmill over the standard library of testdata/wallclock.go.
var clockedBinary = sync.OnceValues(func() (path string, err error) {
	err = locked("build", func(cache string) error {
		dir := buildDir(cache)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		overlay, err := writeOverlay(dir)
		if err != nil {
			return err
		}
		path, err = build(dir, "ringmill-clocked", "-overlay", overlay)
		return err
	})
	return path, err
})

// writeOverlay writes what go build's -overlay wants: a time.go whose Now reads a clock that can be set, and the file that has it.
func writeOverlay(dir string) (overlay string, err error) {
	stdout, stderr, err := Command{Argv: []string{"go", "list", "-f", "{{.Dir}}", "time"}}.Try()
	if err != nil {
		return "", fmt.Errorf("go list time: %w: %s", err, stderr)
	}
	std := strings.TrimSpace(stdout)
	source, err := os.ReadFile(filepath.Join(std, "time.go"))
	if err != nil {
		return "", err
	}
	const right, shifted = "mono := runtimeNow()", "mono := shiftedNow()"
	if n := strings.Count(string(source), right); n != 1 {
		return "", fmt.Errorf("%s/time.go has %q %d times, not once: see how its Now reads the clock", std, right, n)
	}
	changed := filepath.Join(dir, "time.go")
	if err := os.WriteFile(changed, []byte(strings.Replace(string(source), right, shifted, 1)), 0o644); err != nil {
		return "", err
	}
	text, err := json.Marshal(map[string]map[string]string{"Replace": {
		filepath.Join(std, "time.go"): changed, filepath.Join(std, "wallclock.go"): filepath.Join(Root(), "tests", "harness", "testdata", "wallclock.go"),
	}})
	if err != nil {
		return "", err
	}
	overlay = filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, text, 0o644)
}
