package segment

import "github.com/ringmill/ringmill/wire"

// Limit lowers the offset that the plan makes durable to written, the end of what the page cache has: appends that are
// planned and not written yet are in the log's bookkeeping, but a sync of the file would not cover them.
func (p *FlushPlan) Limit(written wire.Offset) { p.upTo = min(p.upTo, written) }
