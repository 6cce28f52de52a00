package quick

import (
	"fmt"
	"strings"
	"time"

	"github.com/ringmill/ringmill/bench"
	"github.com/ringmill/ringmill/bench/limits"
)

// Schema names the form of a Report, as bench.ReportSchema does of a run's.
const Schema = "ringmill.bench.quick/1"

// Report is what a Quick found.
type Report struct {
	Schema  string `json:"schema"`
	Verdict string `json:"verdict"` // as of bench.Report
	// Reasons are why it is not valid, Error is why it broke off.
	Reasons []string   `json:"reasons"`
	Error   string     `json:"error,omitempty"`
	Started time.Time  `json:"started"`
	Host    bench.Host `json:"host"`
	// Command repeats it.
	Command string `json:"command,omitempty"`
	Node    Node   `json:"node"`
	// Directory is where the disk was measured.
	Directory string         `json:"directory,omitempty"`
	Limits    []limits.Limit `json:"limits"`
	// ClientAlone is the client against a server that does nothing.
	ClientAlone *bench.Report `json:"clientAlone,omitempty"`
	// Capacity is the load that takes as much as is acknowledged.
	Capacity   *Load      `json:"capacity,omitempty"`
	Shares     []Share    `json:"shares"`
	Bottleneck Bottleneck `json:"bottleneck"`
	// Bounds are what a rate has to hold, as p99<25ms; Found is the highest that does, Failed why there is none.
	Bounds []string     `json:"bounds"`
	Found  *bench.Found `json:"found,omitempty"`
	Failed string       `json:"failed,omitempty"`
	// ClientLimited: what did not hold above Found was the client.
	ClientLimited bool    `json:"clientLimited"`
	Points        []Point `json:"points"`
}

// Load is one run with what the node used in its window.
type Load struct {
	Run *bench.Report `json:"run"`
	Use Use           `json:"use"`
}

// Point is a Load at a share of the rate that was found.
type Point struct {
	OfFound float64 `json:"ofFound"`
	Load
}

// judge adds what makes a run not valid to the report's own reasons.
func (r *Report) judge(what string, run *bench.Report) {
	if run.Verdict == bench.VerdictValid {
		return
	}
	r.Verdict = bench.VerdictInvalid
	for _, reason := range run.Reasons {
		r.Reasons = append(r.Reasons, what+": "+reason)
	}
	if run.Error != "" {
		r.Reasons = append(r.Reasons, what+": "+run.Error)
	}
}

// Reading is the result in sentences for people who read nothing else: what holds, and what the limit is.
func (r *Report) Reading() (said []string) {
	bounds := strings.Join(r.Bounds, " and ")
	switch {
	case r.Found != nil && r.Found.Above > 0:
		said = append(said, fmt.Sprintf("%s holds up to %s records/s; at %s it does not: %s.", bounds, bench.FormatCount(r.Found.Rate), bench.FormatCount(r.Found.Above), r.Found.Broken))
	case r.Found != nil:
		said = append(said, fmt.Sprintf("%s holds at %s records/s.", bounds, bench.FormatCount(r.Found.Rate)))
	case r.Failed != "":
		said = append(said, fmt.Sprintf("No rate holds %s: %s.", bounds, r.Failed))
	}
	switch {
	case !r.ClientLimited:
	case r.Found != nil:
		said = append(said, "What did not hold above that was the client: the node may hold more.")
	default:
		said = append(said, "What did not hold was the client: the node may hold more.")
	}
	if r.Bottleneck.Said != "" {
		said = append(said, r.Bottleneck.Said)
	}
	return said
}
