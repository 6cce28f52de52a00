package node

import (
	"time"

	"github.com/ringmill/ringmill/control/controller"
	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/wire"
)

// ChangeMetadata makes durable what decide makes of the newest metadata.
func (n *Node) ChangeMetadata(decide func(*image.Image) []image.Record) (wire.ErrorCode, string) {
	if n.cluster != nil {
		return n.cluster.decideHere(func(logic *controller.Controller, m *image.Image, _ time.Duration) []image.Record {
			return logic.AlterConfigs(m, decide(m)...)
		}), ""
	}
	n.metaMu.Lock()
	defer n.metaMu.Unlock()
	records := decide(n.Image())
	if len(records) == 0 {
		return wire.None, ""
	}
	if _, err := n.applyMeta(records...); err != nil {
		return storageCode(err)
	}
	return wire.None, ""
}
