package cluster

import (
	"strings"
	"time"

	"github.com/ringmill/ringmill/tools/simulate/world"
)

// Result is what a run came to.
type Result struct {
	Seed         uint64           `json:"seed"`
	Options      Options          `json:"options"`
	Violation    *world.Violation `json:"violation,omitempty"` // nil: all held
	Hash         uint64           `json:"hash"`                // of all events, in order
	Events       int              `json:"events"`
	Simulated    time.Duration    `json:"simulated"`
	Faults       int              `json:"faults"` // that happened
	Acked        int              `json:"acked"`  // records that producers were told are safe
	Elections    int              `json:"elections"`
	Transactions int              `json:"transactions"` // that producers were told are committed
	Committed    int              `json:"committed"`    // offsets below high watermarks, and entries of the quorum's log
}

// Panicked is the result of a run that ended in a panic: complaint is what Go printed.
func Panicked(seed uint64, complaint string) Result {
	first, _, _ := strings.Cut(complaint, "\n")
	return Result{Seed: seed, Violation: &world.Violation{Invariant: panicInvariant(first), Text: complaint}}
}

// panicInvariant tells an assertion of the production code from any other panic.
func panicInvariant(line string) string {
	if strings.Contains(line, "BUG") {
		return "assertion"
	}
	return "panic"
}
