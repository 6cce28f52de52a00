package load

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// Entry is one judged run of a campaign.
type Entry struct {
	At       string         `json:"at"` // when it was judged, RFC 3339
	Campaign string         `json:"campaign"`
	Seed     uint64         `json:"seed"`
	Nodes    int            `json:"nodes"`
	Where    string         `json:"where"`          // "namespaces", "loopback", "ext4", …
	With     []string       `json:"with,omitempty"` // "transactions", "libraries", "clocks": what else the cluster had
	Faults   []string       `json:"faults"`         // in the order in which they came
	Counts   map[string]int `json:"counts"`         // "kills", "partitions", "power cuts", …
	Acked    int            `json:"acked"`
	GapMS    int64          `json:"gap_ms"` // the longest time in which nothing was acknowledged
	Verdict  int            `json:"verdict"`
	Why      string         `json:"why,omitempty"`
}

// Ledger is a JSON Lines file to which campaigns append what was judged, so that runs of any length add up. Without a path it is
// kept in memory alone.
type Ledger struct {
	path    string
	entries []Entry
}

// OpenLedger reads the ledger that RINGMILL_TEST_LEDGER names, which need not be there yet.
func OpenLedger(tb testing.TB) *Ledger {
	tb.Helper()
	l := &Ledger{path: os.Getenv("RINGMILL_TEST_LEDGER")}
	if l.path == "" {
		return l
	}
	file, err := os.Open(l.path)
	if os.IsNotExist(err) {
		return l
	}
	if err != nil {
		tb.Fatal(err)
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var e Entry
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			tb.Fatalf("%s: %v", l.path, err)
		}
		l.entries = append(l.entries, e)
	}
	return l
}

// Add appends a run that was judged. Each line is one write, for several campaigns may share a ledger.
func (l *Ledger) Add(tb testing.TB, e Entry) {
	tb.Helper()
	e.At = time.Now().UTC().Format(time.RFC3339)
	l.entries = append(l.entries, e)
	line, err := json.Marshal(e)
	if err != nil {
		panic("BUG: ledger: " + err.Error())
	}
	tb.Logf("ledger: %s", line)
	if l.path == "" {
		return
	}
	file, err := os.OpenFile(l.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := file.Write(append(line, '\n')); err != nil {
		tb.Error(err)
	}
	if err := file.Close(); err != nil {
		tb.Error(err)
	}
}

// Sum adds up all entries of a campaign: what was done and judged, over all runs.
func (l *Ledger) Sum(campaign string) string {
	counts, verdicts := map[string]int{}, [3]int{}
	runs, acked := 0, 0
	for _, e := range l.entries {
		if e.Campaign != campaign {
			continue
		}
		runs, acked = runs+1, acked+e.Acked
		verdicts[e.Verdict]++
		if e.Verdict == Unknown {
			continue // what was not judged counts for nothing
		}
		for what, n := range e.Counts {
			counts[what] += n
		}
	}
	var parts []string
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%d %s", counts[what], what))
	}
	return fmt.Sprintf("%s: %d runs, %d records acknowledged; %s; %d hold, %d violations, %d without judgement", campaign, runs, acked,
		strings.Join(parts, ", "), verdicts[Holds], verdicts[Violation], verdicts[Unknown])
}
