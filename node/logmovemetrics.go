package node

import (
	"fmt"

	"github.com/VictoriaMetrics/metrics"
)

// logMoveMetrics count how moves of logs ended. One that the node's stop or a directory that is offline cuts off goes on at the next
// start and is not counted.
type logMoveMetrics struct {
	moved, cancelled, failed *metrics.Counter
}

func (m *logMoveMetrics) register(to *nodeMetrics, moves *logMoves) {
	ended := func(outcome string) *metrics.Counter {
		return to.set.NewCounter(fmt.Sprintf("ringmill_log_moves_ended_total{outcome=%q}", outcome))
	}
	m.moved, m.cancelled, m.failed = ended("moved"), ended("cancelled"), ended("failed")
	to.set.NewGauge("ringmill_log_moves", func() float64 { return float64(moves.count()) })
}

// count is how many moves are under way or wait for their turn.
func (s *logMoves) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.of)
}
