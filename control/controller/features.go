package controller

import (
	"fmt"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/wire"
)

// CheckFeature says whether every registered node, fenced ones too, knows a feature at a level (FeatureControlManager.updateFeature).
// INVALID_UPDATE_VERSION if one does not. A node that does not name a feature knows its level 0 alone.
func CheckFeature(m *image.Image, name string, level int16) Refusal {
	for b := range m.Brokers() {
		if why := notSupported(b, name, level); why != "" {
			return Refusal{wire.InvalidUpdateVersion, fmt.Sprintf("Invalid update version %d for feature %s. %s", level, name, why)}
		}
	}
	return Refusal{}
}

// notSupported is QuorumFeatures.reasonNotSupported; "" if the node knows the level.
func notSupported(b *image.Broker, name string, level int16) string {
	low, high := b.Features[name][0], b.Features[name][1]
	switch {
	case low <= level && level <= high:
		return ""
	case high == 0:
		return fmt.Sprintf("Broker %d does not support this feature.", b.ID)
	case low == high:
		return fmt.Sprintf("Broker %d only supports versions %d", b.ID, low)
	}
	return fmt.Sprintf("Broker %d only supports versions %d-%d", b.ID, low, high)
}
