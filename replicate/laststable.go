package replicate

import "github.com/ringmill/ringmill/wire"

// LastStableOffset is the first offset that read_committed consumers do not see yet: that of the oldest transaction whose
// outcome is not safe, at most the high watermark.
func (p *Partition) LastStableOffset() wire.Offset { return p.log.LastStableOffset(p.highWatermark) }
