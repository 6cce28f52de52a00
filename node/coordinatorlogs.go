package node

import (
	"fmt"
	"sync/atomic"

	"github.com/VictoriaMetrics/metrics"
)

// coordinatorLogs is how far the coordinators of one kind are with reading the partitions that hold their records. /readyz and the
// metrics tell of it; any goroutine may call.
type coordinatorLogs struct {
	kind string // group, transaction, share-group
	// loading are the partitions that are not read yet, failed those that cannot be: what hashes to them is not served until the
	// node starts again.
	loading, failed atomic.Int64
}

// begin says that so many partitions are to be read.
func (c *coordinatorLogs) begin(partitions int) { c.loading.Add(int64(partitions)) }

// end says that one of them was read, or why it cannot be.
func (c *coordinatorLogs) end(err error) {
	if err != nil {
		c.failed.Add(1)
	}
	c.loading.Add(-1)
}

// check is the line of /readyz.
func (c *coordinatorLogs) check() check {
	loading, failed := c.loading.Load(), c.failed.Load()
	why := fmt.Sprintf("the %s coordinators still read %d partitions", c.kind, loading)
	if failed > 0 {
		why = fmt.Sprintf("the %s coordinators cannot read %d partitions; the log says why", c.kind, failed)
	}
	return check{c.kind + "s-loaded", loading == 0 && failed == 0, why}
}

// register adds the gauges of this kind to the node's metrics.
func (c *coordinatorLogs) register(set *metrics.Set) {
	for name, v := range map[string]*atomic.Int64{"loading": &c.loading, "failed": &c.failed} {
		set.NewGauge(fmt.Sprintf("ringmill_coordinator_partitions_%s{kind=%q}", name, c.kind), func() float64 { return float64(v.Load()) })
	}
}
