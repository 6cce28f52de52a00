package harness

import (
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Setting is a count from the environment.
func Setting(tb testing.TB, name string, otherwise int) int {
	tb.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		tb.Fatalf("%s=%q is no count", name, text)
	}
	return n
}

// Random is a reproducible stream; its seed is RINGMILL_TEST_SEED or the clock's, and is logged.
func Random(tb testing.TB) *rand.Rand {
	tb.Helper()
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("RINGMILL_TEST_SEED"); text != "" {
		parsed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			tb.Fatal(err)
		}
		seed = parsed
	}
	tb.Logf("RINGMILL_TEST_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, seed))
}

// Ringcheck runs tools/ringcheck over histories; anything but "all hold" fails the test, and the histories are then kept
// in RINGMILL_TEST_KEEP.
func Ringcheck(tb testing.TB, flags []string, histories ...string) {
	tb.Helper()
	status, said := Judge(tb, flags, histories...)
	tb.Logf("ringcheck: %s", said)
	if status != 0 {
		tb.Errorf("ringcheck ended with status %d", status)
		Keep(tb, histories)
	}
}

// Judge runs tools/ringcheck over histories and gives its exit status and what it said.
func Judge(tb testing.TB, flags []string, histories ...string) (status int, said string) {
	tb.Helper()
	binary := filepath.Join(tb.TempDir(), "ringcheck") // "go run" tells of no exit status but 1
	Command{Dir: Root(), Timeout: 5 * time.Minute, Argv: []string{"go", "build", "-o", binary, "./tools/ringcheck"}}.Output(tb)
	stdout, stderr, err := Command{Timeout: 5 * time.Minute, Argv: append(append([]string{binary}, flags...), histories...)}.Try()
	said = strings.TrimSpace(stdout + stderr)
	var ended *exec.ExitError
	switch {
	case err == nil:
		return 0, said
	case errors.As(err, &ended) && ended.ExitCode() > 0:
		return ended.ExitCode(), said
	}
	tb.Fatalf("ringcheck: %v\n%s", err, said)
	return 0, ""
}

// Keep copies histories of a failed run to where they outlive the test: RINGMILL_TEST_KEEP, if that is set.
func Keep(tb testing.TB, histories []string) {
	tb.Helper()
	parent := os.Getenv("RINGMILL_TEST_KEEP")
	if parent == "" {
		return
	}
	dir := filepath.Join(parent, Name("history"))
	if err := os.Mkdir(dir, 0o755); err != nil {
		tb.Error(err)
		return
	}
	for _, name := range histories {
		data, err := os.ReadFile(name)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, filepath.Base(name)), data, 0o644)
		}
		if err != nil {
			tb.Error(err)
		}
	}
	tb.Logf("the histories are kept in %s", dir)
}
