package node

import (
	"fmt"

	"github.com/VictoriaMetrics/metrics"

	"github.com/ringmill/ringmill/iouring"
)

// engineMetrics are what a loop publishes of its engine's counters, once a sweep: the counters are plain integers of the loop's
// thread.
type engineMetrics struct {
	polls, events, enters, sleeps, spins, spinHits, earlySubmits, wakes, noBuffers, overflows *metrics.Counter
}

// newEngineMetrics makes them with c, which makes a counter of the loop.
func newEngineMetrics(c func(name string) *metrics.Counter) engineMetrics {
	return engineMetrics{
		polls: c("engine_polls_total"), events: c("engine_events_total"), enters: c("engine_enters_total"), sleeps: c("engine_sleeps_total"),
		spins: c("engine_spins_total"), spinHits: c("engine_spin_hits_total"),
		earlySubmits: c("engine_early_submits_total"), wakes: c("engine_wakes_total"), noBuffers: c("engine_receives_without_buffer_total"),
		overflows: c("engine_overflows_total"),
	}
}

func (m *engineMetrics) publish(c iouring.Counters) {
	m.polls.Set(c.Polls)
	m.events.Set(c.Events)
	m.enters.Set(c.Enters)
	m.sleeps.Set(c.Sleeps)
	m.spins.Set(c.Spins)
	m.spinHits.Set(c.SpinHits)
	m.earlySubmits.Set(c.EarlySubmits)
	m.wakes.Set(c.Wakes)
	m.noBuffers.Set(c.NoBuffers)
	m.overflows.Set(c.Overflows)
}

// engineInfo tells which engine a loop runs on, and why not on a ring.
func (m *nodeMetrics) engineInfo(loop int, p iouring.Probe) {
	m.set.GetOrCreateGauge(fmt.Sprintf(`ringmill_engine_info{loop="%d",engine=%q,cause=%q}`, loop, p.Engine, p.Cause), func() float64 { return 1 })
}
