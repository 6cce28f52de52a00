package load

import (
	"testing"

	"github.com/ringmill/ringmill/tests/harness"
)

// Verdict is ringcheck's: its exit status, and what it said.
type Verdict struct {
	Status int // 0 all holds, 1 a violation, 2 no judgement
	Said   string
}

// Verdicts.
const (
	Holds     = 0
	Violation = 1
	Unknown   = 2
)

// Judge runs ringcheck over histories. A violation fails the test, and the histories are then kept in RINGMILL_TEST_KEEP.
func Judge(tb testing.TB, flags []string, histories ...string) Verdict {
	tb.Helper()
	status, said := harness.Judge(tb, flags, histories...)
	tb.Logf("ringcheck: %s", said)
	if status == Violation {
		tb.Errorf("ringcheck found a violation")
		harness.Keep(tb, histories)
	}
	return Verdict{Status: status, Said: said}
}
