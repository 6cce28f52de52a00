package node

import "sync/atomic"

// shareMetrics are the share groups' figures, published by their goroutine whenever it has done what there was to do.
type shareMetrics struct {
	partitions, inFlight, sessions atomic.Int64
}

func (m *shareMetrics) register(to *nodeMetrics) {
	to.gauge("ringmill_share_partitions", &m.partitions)
	to.gauge("ringmill_share_records_in_flight", &m.inFlight)
	to.gauge("ringmill_share_sessions", &m.sessions)
}

func (m *shareMetrics) publish(s *shareService) {
	m.partitions.Store(int64(len(s.parts)))
	m.inFlight.Store(s.inFlight)
	m.sessions.Store(int64(s.sessions.Count()))
}
