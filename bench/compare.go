package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/aclements/go-moremath/stats"
)

// CompareSchema names the form of a Comparison, as ReportSchema does of a Report.
const CompareSchema = "ringmill.bench.compare/1"

// alpha is the chance that a verdict is given where there is no difference; intervals hold the ratio with 1 - alpha.
const alpha = 0.05

// ErrCompare is wrapped by errors about results that cannot be compared.
var ErrCompare = errors.New("bench: results that do not compare")

// Measure is a figure of a result.
type Measure struct {
	Name, Unit string
	MoreBetter bool
	of         func(*Report) (value float64, has bool)
}

// EndToEndPrefix begins the names of measures of what consumers have.
const EndToEndPrefix = "e2e-"

// Measures are what results are compared by, and what bounds are about.
var Measures = slices.Concat(
	[]Measure{{"rate", "records/s", true, func(r *Report) (float64, bool) { return r.Produced.RecordsPerSecond, true }}},
	latencyMeasures("", func(r *Report) (LatencyFigure, bool) { return r.Produced.Latency, true }),
	latencyMeasures(EndToEndPrefix, func(r *Report) (LatencyFigure, bool) {
		if r.Consumed == nil {
			return LatencyFigure{}, false
		}
		return r.Consumed.Latency, true
	}),
)

// latencyMeasures are the percentiles of one of a result's latencies, in milliseconds.
func latencyMeasures(prefix string, of func(*Report) (LatencyFigure, bool)) []Measure {
	percentile := func(name string, us func(LatencyFigure) float64) Measure {
		return Measure{prefix + name, "ms", false, func(r *Report) (float64, bool) {
			figure, has := of(r)
			return us(figure) / 1000, has && figure.Count > 0
		}}
	}
	return []Measure{
		percentile("p50", func(f LatencyFigure) float64 { return f.P50Us }),
		percentile("p90", func(f LatencyFigure) float64 { return f.P90Us }),
		percentile("p99", func(f LatencyFigure) float64 { return f.P99Us }),
		percentile("p99.9", func(f LatencyFigure) float64 { return f.P999Us }),
		percentile("max", func(f LatencyFigure) float64 { return f.MaxUs }),
	}
}

// MeasureNamed finds a measure; the error, which wraps ErrWorkload, names all.
func MeasureNamed(name string) (Measure, error) {
	var names []string
	for _, m := range Measures {
		if m.Name == name {
			return m, nil
		}
		names = append(names, m.Name)
	}
	return Measure{}, fmt.Errorf("%w: %q is none of %s", ErrWorkload, name, strings.Join(names, ", "))
}

// Comparison is what the runs of two sides say.
type Comparison struct {
	Schema string `json:"schema"`
	A      Side   `json:"a"`
	B      Side   `json:"b"`
	// Differs is what was asked for otherwise, or ran on another machine, as "name: a, b".
	Differs []string   `json:"differs"`
	Figures []Contrast `json:"figures"`
	// Stages is where the difference lies in the nodes; nil if those of one side did not say.
	Stages *StageComparison `json:"stages,omitempty"`
}

// Side is the runs of one side.
type Side struct {
	Addresses []string `json:"addresses"`
	Runs      int      `json:"runs"`
	// LeftOut is why each run that does not count was left out.
	LeftOut []string `json:"leftOut"`
	// LostRequests are acknowledged and came to no consumer: with one, no other figure of the side is worth anything.
	LostRequests int64 `json:"lostRequests"`
}

// Verdicts of a Contrast, about B.
const (
	VerdictBetter = "better"
	VerdictWorse  = "worse"
	VerdictSame   = "no difference seen"
	VerdictTooFew = "too few runs"
)

// Contrast is one measure of both sides.
type Contrast struct {
	Measure string  `json:"measure"`
	Unit    string  `json:"unit"`
	A       float64 `json:"a"` // medians
	B       float64 `json:"b"`
	// Ratio is B to A, by the Hodges-Lehmann estimator of the logarithms, and Low to High its interval of 95 %, which holds 1 when the
	// Mann-Whitney test sees no difference; both are 0 where there are too few runs for an interval, fewer than four on a side.
	Ratio float64 `json:"ratio"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	// P is the Mann-Whitney test's, two-sided.
	P float64 `json:"p"`
	// Noise is by how much two runs in a row of the same side differ, as a part: the median of all such pairs; 0 if there is none.
	Noise   float64 `json:"noise"`
	Verdict string  `json:"verdict"`
}

// ReadReports reads results, one after another as they were appended to a file.
func ReadReports(r io.Reader) (reports []*Report, err error) {
	for d := json.NewDecoder(r); ; {
		report := new(Report)
		switch err := d.Decode(report); {
		case errors.Is(err, io.EOF) && len(reports) == 0:
			return nil, fmt.Errorf("%w: nothing to read", ErrCompare)
		case errors.Is(err, io.EOF):
			return reports, nil
		case err != nil:
			return nil, fmt.Errorf("%w: result %d: %w", ErrCompare, len(reports)+1, err)
		case report.Schema != ReportSchema:
			return nil, fmt.Errorf("%w: result %d has the schema %q; %q is known", ErrCompare, len(reports)+1, report.Schema, ReportSchema)
		}
		reports = append(reports, report)
	}
}

// Compare says how B does against A. Runs that are not valid do not count, but are told of. Errors wrap ErrCompare: the runs of a side
// were not asked for the same.
func Compare(a, b []*Report) (*Comparison, error) {
	c := &Comparison{Schema: CompareSchema, Differs: []string{}, Figures: []Contrast{}}
	var err error
	if a, err = c.A.take(a); err != nil {
		return nil, fmt.Errorf("%w: A: %w", ErrCompare, err)
	}
	if b, err = c.B.take(b); err != nil {
		return nil, fmt.Errorf("%w: B: %w", ErrCompare, err)
	}
	if len(a) == 0 || len(b) == 0 {
		return c, nil
	}
	c.Differs = append(differences(a[0].Config, b[0].Config), differences(a[0].Host, b[0].Host)...)
	for _, m := range Measures {
		if x, y := m.Sample(a), m.Sample(b); len(x) > 0 && len(y) > 0 {
			c.Figures = append(c.Figures, m.contrast(x, y))
		}
	}
	c.Stages = compareStages(a, b)
	return c, nil
}

// take gives the valid runs of a side, in the order in which they ran.
func (s *Side) take(all []*Report) (valid []*Report, err error) {
	s.LeftOut = []string{}
	for _, r := range all {
		if d := differences(all[0].Config, r.Config); len(d) > 0 {
			return nil, fmt.Errorf("its runs differ in %s", strings.Join(d, "; "))
		}
		s.Addresses = r.Config.Addresses
		s.LostRequests += r.LostRequests
		switch {
		case r.Verdict == VerdictValid:
			valid = append(valid, r)
		case r.Error != "":
			s.LeftOut = append(s.LeftOut, r.Verdict+": "+r.Error)
		default:
			s.LeftOut = append(s.LeftOut, r.Verdict+": "+strings.Join(r.Reasons, "; "))
		}
	}
	slices.SortStableFunc(valid, func(x, y *Report) int { return x.Started.Compare(y.Started) })
	s.Runs = len(valid)
	return valid, nil
}

// differences names the fields by which two structures of one type differ, by their names in JSON. Where a run was, and what its topic
// was called, is no difference.
func differences[T any](a, b T) (differ []string) {
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	for i := range x.NumField() {
		name, _, _ := strings.Cut(x.Type().Field(i).Tag.Get("json"), ",")
		if name == "addresses" || name == "topic" {
			continue
		}
		if p, q := x.Field(i).Interface(), y.Field(i).Interface(); !reflect.DeepEqual(p, q) {
			differ = append(differ, fmt.Sprintf("%s: %v, %v", name, p, q))
		}
	}
	return differ
}

// Sample is the measure of each run that has it, in their order. Ratios need values above zero.
func (m Measure) Sample(runs []*Report) (s Sample) {
	for _, r := range runs {
		if v, has := m.of(r); has && v > 0 {
			s = append(s, v)
		}
	}
	return s
}

// medians is the measure of both sides, without a verdict on it.
func (m Measure) medians(a, b Sample) Contrast {
	c := Contrast{Measure: m.Name, Unit: m.Unit, A: a.Median(), B: b.Median(), P: 1}
	if test, err := stats.MannWhitneyUTest(a, b, stats.LocationDiffers); err == nil { // else all values are the same
		c.P = test.P
	}
	return c
}

// contrast compares values, all of which are above 0.
func (m Measure) contrast(a, b Sample) Contrast {
	c := m.medians(a, b)
	c.Verdict, c.Noise = VerdictTooFew, noise(a, b)
	shifts := logRatios(a, b)
	c.Ratio = math.Exp(shifts.Median())
	out := leftOut(len(a), len(b))
	if out == 0 {
		return c
	}
	c.Low, c.High = math.Exp(shifts[out-1]), math.Exp(shifts[len(shifts)-out])
	switch {
	case c.Low <= 1 && c.High >= 1:
		c.Verdict = VerdictSame
	case c.Low > 1 == m.MoreBetter:
		c.Verdict = VerdictBetter
	default:
		c.Verdict = VerdictWorse
	}
	return c
}

// logRatios are the logarithms of all ratios of one of b to one of a, in ascending order.
func logRatios(a, b Sample) Sample {
	var all Sample
	for _, x := range a {
		for _, y := range b {
			all = append(all, math.Log(y/x))
		}
	}
	slices.Sort(all)
	return all
}

// leftOut is how many of the least, and of the greatest, of all n·m differences lie outside of the interval that inverts the
// Mann-Whitney test: the most that still leave alpha/2 at most on either side. 0: there are too few for any interval.
func leftOut(n, m int) int {
	u, out := stats.UDist{N1: n, N2: m}, 0
	for out < n*m/2 && u.CDF(float64(out)) <= alpha/2 {
		out++
	}
	return out
}

// noise is the median difference of two runs in a row of the same side.
func noise(sides ...Sample) float64 {
	var steps Sample
	for _, s := range sides {
		for i := 1; i < len(s); i++ {
			steps = append(steps, math.Abs(math.Log(s[i]/s[i-1])))
		}
	}
	if len(steps) == 0 {
		return 0
	}
	return math.Expm1(steps.Median())
}

// Visible is the least difference, as a part, that this many runs of this spread would have shown; 0 without an interval.
func (c Contrast) Visible() float64 {
	if c.Low == 0 {
		return 0
	}
	return math.Sqrt(c.High/c.Low) - 1
}
