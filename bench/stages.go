package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// stageMetric is the histogram in which a ringmill node tells where its requests' time goes (docs/metrics.md).
const stageMetric = "ringmill_request_stage_seconds"

// stageOrder is the way of a request. The stages received and throttled are outside of the total.
var stageOrder = []string{"received", "queued", "handled", "mailbox", "purgatory", "appended", "synced", "replicated", "sent", "throttled"}

// StageTotal is what all of a request is called beside its stages.
const StageTotal = "total"

func outsideTotal(stage string) bool { return stage == "received" || stage == "throttled" }

// errNoStages is of a status address that tells nothing of stages.
var errNoStages = errors.New("bench: no " + stageMetric + ": another make, or an older version")

// buckets is a histogram of seconds as Prometheus writes it: how many were at most each bound, the last of which is infinite.
type buckets struct {
	bounds []float64
	counts []float64
	sum    float64
}

type stageKey struct{ api, stage string }

// stageCounts are a node's stages since it started.
type stageCounts map[stageKey]*buckets

// scrapeTimeout bounds the reading of a status address, scrapeBytesMax what is read of it.
const (
	scrapeTimeout  = 3 * time.Second
	scrapeBytesMax = 16 << 20
)

// metricsURL is where a node's metrics are: HOST:PORT and a URL without a path are enough to say.
func metricsURL(address string) string {
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	if rest := address[strings.Index(address, "://")+3:]; !strings.Contains(strings.TrimSuffix(rest, "/"), "/") {
		address = strings.TrimSuffix(address, "/") + "/metrics"
	}
	return address
}

// ReadMetrics gives what a node tells at HOST:PORT, or at a URL, in Prometheus' text format.
func ReadMetrics(ctx context.Context, address string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, metricsURL(address), nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s", metricsURL(address), resp.Status)
	}
	return io.ReadAll(io.LimitReader(resp.Body, scrapeBytesMax))
}

// readStages asks a node for its stages.
func readStages(address string) (stageCounts, error) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	text, err := ReadMetrics(ctx, address)
	if err != nil {
		return nil, fmt.Errorf("bench: metrics: %w", err)
	}
	return parseStages(text)
}

// parseStages reads the stages of a page in Prometheus' text format and passes over all else.
func parseStages(text []byte) (stageCounts, error) {
	all := stageCounts{}
	for line := range bytes.Lines(text) {
		rest, ours := strings.CutPrefix(string(line), stageMetric)
		if !ours {
			continue
		}
		kind, rest, labelled := strings.Cut(rest, "{")
		inner, value, closed := strings.Cut(rest, "} ")
		if !labelled || !closed {
			continue
		}
		v, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		labels := parseLabels(inner)
		if err == nil {
			err = all.add(kind, labels, v)
		}
		if err != nil {
			return nil, fmt.Errorf("bench: metrics: %q: %w", strings.TrimSpace(string(line)), err)
		}
	}
	if len(all) == 0 {
		return nil, errNoStages
	}
	return all, nil
}

// parseLabels reads a="b",c="d" with values that have no quotes in them, as those of stages have none.
func parseLabels(text string) map[string]string {
	labels := map[string]string{}
	for _, pair := range strings.Split(text, ",") {
		name, value, _ := strings.Cut(pair, "=")
		labels[strings.TrimSpace(name)] = strings.Trim(value, `"`)
	}
	return labels
}

func (c stageCounts) add(kind string, labels map[string]string, v float64) error {
	key := stageKey{labels["api"], labels["stage"]}
	b := c[key]
	if b == nil {
		b = &buckets{}
		c[key] = b
	}
	switch kind {
	case "_sum":
		b.sum = v
	case "_bucket":
		bound, err := strconv.ParseFloat(labels["le"], 64) // which knows +Inf
		if err != nil {
			return err
		}
		b.bounds, b.counts = append(b.bounds, bound), append(b.counts, v)
	}
	return nil
}

// errRestarted is of a node whose counts have fallen.
var errRestarted = errors.New("bench: the node was restarted in the window")

// since subtracts what there was before.
func (c stageCounts) since(before stageCounts) error {
	for key, b := range c {
		was := before[key]
		if was == nil {
			continue // the first request of its kind
		}
		if !slices.Equal(b.bounds, was.bounds) {
			return errRestarted
		}
		for i := range b.counts {
			if b.counts[i] -= was.counts[i]; b.counts[i] < 0 {
				return errRestarted
			}
		}
		b.sum -= was.sum
	}
	for key := range before {
		if c[key] == nil {
			return errRestarted
		}
	}
	return nil
}

// merge adds another node's.
func (c stageCounts) merge(other stageCounts) {
	for key, b := range other {
		mine := c[key]
		if mine == nil {
			c[key] = b
			continue
		}
		if !slices.Equal(b.bounds, mine.bounds) {
			continue // of another version: it cannot be added
		}
		for i := range b.counts {
			mine.counts[i] += b.counts[i]
		}
		mine.sum += b.sum
	}
}

func (b *buckets) count() float64 {
	if len(b.counts) == 0 {
		return 0
	}
	return b.counts[len(b.counts)-1]
}

// quantile is the value that a share q of all is at most, in seconds, by interpolation within its bucket. all are those that were counted and
// those that would have been counted as nothing. What is above the last bound is taken for it.
func (b *buckets) quantile(q, all float64) float64 {
	rank := q*all - max(all-b.count(), 0)
	if rank <= 0 || len(b.bounds) == 0 {
		return 0
	}
	below, from := 0.0, 0.0
	for i, bound := range b.bounds {
		if n := b.counts[i]; n >= rank && n > below {
			if math.IsInf(bound, 1) {
				return from
			}
			return from + (bound-from)*(rank-below)/(n-below)
		}
		below, from = b.counts[i], bound
	}
	return from
}

// StageFigure is what one stage did to the requests of a kind. A request that did not pass it was in it for no time, which is in the mean and
// the percentiles.
type StageFigure struct {
	Stage  string  `json:"stage"`
	Count  int64   `json:"count"` // of requests that passed it
	MeanUs float64 `json:"meanUs"`
	P50Us  float64 `json:"p50Us"`
	P99Us  float64 `json:"p99Us"`
	// Share is that of the mean total; 0 for what is outside of the total.
	Share float64 `json:"share"`
}

// RequestStages is where the time of one kind of request went.
type RequestStages struct {
	API    string  `json:"api"`
	Count  int64   `json:"count"`
	MeanUs float64 `json:"meanUs"`
	P50Us  float64 `json:"p50Us"`
	P99Us  float64 `json:"p99Us"`
	// Stages are those that some request passed, in the order of the way.
	Stages []StageFigure `json:"stages"`
	// P99Stage is the stage with the greatest 99th percentile, Reading says it in a sentence.
	P99Stage string `json:"p99Stage"`
	Reading  string `json:"reading"`
}

// figures are the kinds of requests that were answered, those of records first.
func (c stageCounts) figures() (all []RequestStages) {
	for key, total := range c {
		if key.stage == StageTotal && total.count() > 0 {
			all = append(all, c.request(key.api, total))
		}
	}
	first := func(api string) int {
		at := slices.Index([]string{"Produce", "Fetch", "FetchFollower"}, api)
		return (at + 4) % 4 // what is none of them comes last
	}
	slices.SortFunc(all, func(a, b RequestStages) int {
		if by := first(a.API) - first(b.API); by != 0 {
			return by
		}
		return strings.Compare(a.API, b.API)
	})
	return all
}

func (c stageCounts) request(api string, total *buckets) RequestStages {
	n := total.count()
	r := RequestStages{API: api, Count: int64(n), MeanUs: total.sum / n * 1e6, P50Us: total.quantile(0.5, n) * 1e6, P99Us: total.quantile(0.99, n) * 1e6, Stages: []StageFigure{}}
	for _, stage := range stageOrder {
		b := c[stageKey{api, stage}]
		if b == nil || b.count() == 0 {
			continue
		}
		f := StageFigure{Stage: stage, Count: int64(b.count()), MeanUs: b.sum / n * 1e6, P50Us: b.quantile(0.5, n) * 1e6, P99Us: b.quantile(0.99, n) * 1e6}
		if total.sum > 0 && !outsideTotal(stage) {
			f.Share = b.sum / total.sum
		}
		r.Stages = append(r.Stages, f)
	}
	r.read()
	return r
}

// read finds the stage that makes the 99th percentile, and says so. One that is less than half of it does not make it alone.
func (r *RequestStages) read() {
	byP99 := slices.Clone(r.Stages)
	slices.SortStableFunc(byP99, func(a, b StageFigure) int {
		switch {
		case a.P99Us > b.P99Us:
			return -1
		case a.P99Us < b.P99Us:
			return 1
		}
		return 0
	})
	r.Reading = fmt.Sprintf("%s took %s at p99 in the node", r.API, FormatLatency(r.P99Us))
	if len(byP99) == 0 || byP99[0].P99Us == 0 {
		r.Reading += "."
		return
	}
	first := byP99[0]
	r.P99Stage = first.Stage
	switch {
	case outsideTotal(first.Stage) && first.P99Us > r.P99Us:
		r.Reading += fmt.Sprintf("; %s was above it, with %s", first.Stage, FormatLatency(first.P99Us))
	case first.P99Us < r.P99Us/2:
		r.Reading += fmt.Sprintf(", which no stage makes alone: most is %s, with %s", first.Stage, FormatLatency(first.P99Us))
	default:
		r.Reading += fmt.Sprintf(", made by %s, with %s", first.Stage, FormatLatency(first.P99Us))
	}
	if !outsideTotal(first.Stage) {
		r.Reading += fmt.Sprintf(" and %.0f %% of the mean", first.Share*100)
	}
	if len(byP99) > 1 && byP99[1].P99Us > 0 {
		r.Reading += fmt.Sprintf("; next is %s with %s", byP99[1].Stage, FormatLatency(byP99[1].P99Us))
	}
	r.Reading += "."
}
