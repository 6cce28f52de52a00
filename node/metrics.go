package node

import (
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/wire"
)

// nodeMetrics are the node's own figures; those of the loops are in loopMetrics.
type nodeMetrics struct {
	set                                  *metrics.Set
	connections, partitions, offlineDirs atomic.Int64
	// muted are connections that wait for a quota; throttles are by quota.
	muted         atomic.Int64
	throttles     map[quotaKind]throttleMetrics
	delayed, held *metrics.Counter
	compactions   *metrics.Counter
	// isrShrinks and isrExpands are of proposals that the controller has carried out.
	isrShrinks, isrExpands *metrics.Counter
	requests               [wire.APIKeysMax]*metrics.Counter
	stages                 map[stageKey]*metrics.PrometheusHistogram
}

// stage is one leg of a request's way.
type stage string

// The stages that are stamped. Total is from when a request was taken up, in whole turns of the loop, until its answer was
// ready: the wait for those before it and for the socket is not in it. Sync is a round of syncs, which many Produces share.
const (
	stageTotal stage = "total"
	stageSync  stage = "sync"
)

type stageKey struct {
	key   wire.APIKey
	stage stage
}

// latencyBuckets are seconds, some 1.6 apart from 50 µs to 1 s, then some 2 apart to 10 s.
var latencyBuckets = []float64{
	0.00005, 0.0001, 0.00015, 0.00025, 0.0004, 0.0006, 0.001, 0.0015, 0.0025, 0.004, 0.006, 0.01, 0.015, 0.025, 0.04,
	0.06, 0.1, 0.15, 0.25, 0.4, 0.6, 1, 2.5, 5, 10,
}

func newNodeMetrics() *nodeMetrics {
	metrics.ExposeMetadata(true) // # TYPE lines, which scrapers ask for
	m := &nodeMetrics{set: metrics.NewSet(), stages: make(map[stageKey]*metrics.PrometheusHistogram)}
	for k := range m.requests {
		if api, ok := wire.LookupAPI(wire.APIKey(k)); ok {
			m.requests[k] = m.set.NewCounter(fmt.Sprintf(`ringmill_requests_total{api=%q}`, api.Name))
			m.stages[stageKey{api.Key, stageTotal}] = m.stage(api.Name, stageTotal)
		}
	}
	m.stages[stageKey{wire.KeyProduce, stageSync}] = m.stage("Produce", stageSync)
	m.compactions = m.set.NewCounter("ringmill_compactions_total")
	m.throttles = make(map[quotaKind]throttleMetrics)
	for kind, name := range map[quotaKind]string{quotaProduce: "produce", quotaFetch: "fetch", quotaRequest: "request", quotaMutation: "controller_mutation"} {
		m.throttles[kind] = throttleMetrics{
			requests: m.set.NewCounter(fmt.Sprintf(`ringmill_throttled_requests_total{quota=%q}`, name)),
			seconds:  m.set.NewFloatCounter(fmt.Sprintf(`ringmill_throttle_seconds_total{quota=%q}`, name)),
		}
	}
	m.delayed = m.set.NewCounter("ringmill_connections_delayed_total")
	m.held = m.set.NewCounter("ringmill_connections_closed_for_rate_total")
	m.gauge("ringmill_connections_muted", &m.muted)
	m.gauge("ringmill_connections", &m.connections)
	m.gauge("ringmill_partitions", &m.partitions)
	m.gauge("ringmill_log_directories_offline", &m.offlineDirs)
	return m
}

func (m *nodeMetrics) stage(api string, s stage) *metrics.PrometheusHistogram {
	return m.set.NewPrometheusHistogramExt(fmt.Sprintf(`ringmill_request_stage_seconds{api=%q,stage=%q}`, api, s), latencyBuckets)
}

// throttleMetrics are what one quota did.
type throttleMetrics struct {
	requests *metrics.Counter
	seconds  *metrics.FloatCounter
}

// throttled counts a request whose client is told to wait.
func (m *nodeMetrics) throttled(kind quotaKind, ms int32) {
	m.throttles[kind].requests.Inc()
	m.throttles[kind].seconds.Add(float64(ms) / 1000)
}

// quotaClients shows how many clients the quotas remember.
func (m *nodeMetrics) quotaClients(q *clientQuotas) {
	m.set.NewGauge("ringmill_quota_clients", func() float64 { return float64(q.shares()) })
}

func (m *nodeMetrics) gauge(name string, v *atomic.Int64) {
	m.set.NewGauge(name, func() float64 { return float64(v.Load()) })
}

// write writes all metrics in Prometheus' text format.
func (m *nodeMetrics) write(w io.Writer) {
	m.set.WritePrometheus(w)
	metrics.WriteProcessMetrics(w)
}

// loopMetrics are one loop's counters.
type loopMetrics struct {
	node *nodeMetrics

	received, sent, refused, faulted, shed, starved *metrics.Counter
	batches, records, appendedBytes                 *metrics.Counter
	rolls, coldRanges, coldLookups                  *metrics.Counter
	syncs, syncedPartitions                         *metrics.Counter
	journalFull, checkpoints                        *metrics.Counter
	// replicated are bytes that followers were sent by their leaders, truncations logs that were cut.
	replicated, truncations *metrics.Counter
	engine                  engineMetrics
}

func newLoopMetrics(m *nodeMetrics, loop int) loopMetrics {
	c := func(name string) *metrics.Counter {
		return m.set.NewCounter(fmt.Sprintf(`ringmill_%s{loop="%d"}`, name, loop))
	}
	return loopMetrics{
		node: m, received: c("received_bytes_total"), sent: c("sent_bytes_total"),
		refused: c("connections_refused_total"), faulted: c("connections_closed_for_faults_total"), shed: c("connections_closed_unread_total"), starved: c("receive_waits_for_memory_total"),
		batches: c("appended_batches_total"), records: c("appended_records_total"), appendedBytes: c("appended_bytes_total"),
		rolls: c("segment_rolls_total"), coldRanges: c("fetch_cold_ranges_total"), coldLookups: c("fetch_cold_lookups_total"),
		syncs: c("sync_rounds_total"), syncedPartitions: c("sync_round_partitions_total"),
		journalFull: c("journal_full_total"), checkpoints: c("journal_checkpoints_total"),
		replicated: c("replicated_bytes_total"), truncations: c("log_truncations_total"),
		engine: newEngineMetrics(c),
	}
}

func (m *loopMetrics) request(k wire.APIKey) {
	if k >= 0 && int(k) < len(m.node.requests) && m.node.requests[k] != nil {
		m.node.requests[k].Inc()
	}
}

func (m *loopMetrics) observe(k wire.APIKey, s stage, d time.Duration) {
	if h := m.node.stages[stageKey{k, s}]; h != nil {
		h.Update(d.Seconds())
	}
}

func (m *loopMetrics) appended(plans []segment.AppendPlan) {
	m.batches.Add(len(plans))
	bytes, records := 0, 0
	for i := range plans {
		bytes += len(plans[i].Bytes)
		records += int(plans[i].LastOffset-plans[i].BaseOffset) + 1
	}
	m.appendedBytes.Add(bytes)
	m.records.Add(records)
}

func (m *loopMetrics) syncRound(took time.Duration, partitions int) {
	m.syncs.Inc()
	m.syncedPartitions.Add(partitions)
	m.observe(wire.KeyProduce, stageSync, took)
}
