package node

import (
	"fmt"
	"io"
	"sync/atomic"

	"github.com/VictoriaMetrics/metrics"

	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/wire"
)

// nodeMetrics are the node's own figures; those of the loops are in loopMetrics.
type nodeMetrics struct {
	set                                           *metrics.Set
	connections, partitions, offlineDirs, lacking atomic.Int64
	clockAheadS                                   atomic.Int64 // of the controller's wall clock
	// muted are connections that wait for a quota; throttles are by quota.
	muted                                   atomic.Int64
	throttles                               map[quotaKind]throttleMetrics
	delayed, held                           *metrics.Counter
	compactions                             *metrics.Counter
	scrubPasses, scrubbedBytes, damagedLogs *metrics.Counter
	// isrShrinks and isrExpands are of proposals that the controller has carried out.
	isrShrinks, isrExpands *metrics.Counter
	requests               [wire.APIKeysMax]*metrics.Counter
	stages                 stageScrapes
}

func newNodeMetrics() *nodeMetrics {
	metrics.ExposeMetadata(true) // # TYPE lines, which scrapers ask for
	m := &nodeMetrics{set: metrics.NewSet()}
	for k := range m.requests {
		if api, ok := wire.LookupAPI(wire.APIKey(k)); ok {
			m.requests[k] = m.set.NewCounter(fmt.Sprintf(`ringmill_requests_total{api=%q}`, api.Name))
		}
	}
	m.compactions = m.set.NewCounter("ringmill_compactions_total")
	m.scrubPasses, m.scrubbedBytes = m.set.NewCounter("ringmill_scrub_passes_total"), m.set.NewCounter("ringmill_scrubbed_bytes_total")
	m.damagedLogs = m.set.NewCounter("ringmill_damaged_logs_total")
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
	m.gauge("ringmill_lacking_replicas", &m.lacking)
	m.gauge("ringmill_clock_ahead_seconds", &m.clockAheadS)
	m.gauge("ringmill_log_directories_offline", &m.offlineDirs)
	return m
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
	m.stages.write(w)
	metrics.WriteProcessMetrics(w)
}

// loopMetrics are one loop's counters.
type loopMetrics struct {
	node *nodeMetrics

	received, sent, refused, faulted, shed, starved *metrics.Counter
	batches, records, appendedBytes                 *metrics.Counter
	rolls, coldRanges, coldLookups                  *metrics.Counter
	readahead, readaheadLost                        *metrics.Counter
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
		readahead: c("fetch_readahead_bytes_total"), readaheadLost: c("fetch_readahead_lost_total"),
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

func (m *loopMetrics) syncRound(partitions int) {
	m.syncs.Inc()
	m.syncedPartitions.Add(partitions)
}
