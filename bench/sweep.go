package bench

import "strings"

// SweepSchema names the form of a Sweep, as ReportSchema does of a Report.
const SweepSchema = "ringmill.bench.sweep/1"

// Sweep is one load with settings that vary.
type Sweep struct {
	Schema string `json:"schema"`
	// Bounds are what a rate had to hold, as p99<10ms; without any, each point ran at the rate that was asked for.
	Bounds []string     `json:"bounds"`
	Points []SweepPoint `json:"points"`
}

// SweepPoint is what was measured with one choice of the settings.
type SweepPoint struct {
	Settings []Setting `json:"settings"`
	// Found is the highest rate that holds the bounds; nil without bounds, or if none did.
	Found *Found `json:"found,omitempty"`
	// ClientLimited: what did not hold was the client, so that the node may hold more.
	ClientLimited bool `json:"clientLimited"`
	// Failed is why there is no rate.
	Failed string    `json:"failed,omitempty"`
	Runs   []*Report `json:"runs"`
}

// Setting is a flag of a run with its value.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// NameSettings are NAME=VALUE with blanks between; "" of none.
func NameSettings(settings []Setting) string {
	var all []string
	for _, s := range settings {
		all = append(all, s.Name+"="+s.Value)
	}
	return strings.Join(all, " ")
}

// Shown are the runs that the point's figures are about: those at the rate that was found, or all.
func (p *SweepPoint) Shown() (shown []*Report) {
	for _, r := range p.Runs {
		if p.Found == nil || r.Config.RatePerSecond == p.Found.Rate {
			shown = append(shown, r)
		}
	}
	return shown
}

// Median is the median of a measure over runs, in its unit; NaN and false if none has it.
func (m Measure) Median(runs []*Report) (float64, bool) {
	s := m.Sample(runs)
	return s.Median(), len(s) > 0
}
