package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

// transactionVersion is the feature of KIP-890: clients that see it finalized at 2 add no partitions to their transactions
// and get a new epoch at the end of each.
const transactionVersion, transactionVersionMax = "transaction.version", 2

// tellTransactionVersion is fillFeatures for it.
func tellTransactionVersion(resp *kmsg.ApiVersionsResponse, v wire.APIVersion) {
	if v > apiVersionsFeaturesFrom {
		s := kmsg.NewApiVersionsResponseSupportedFeature()
		s.Name, s.MaxVersion = transactionVersion, transactionVersionMax
		resp.SupportedFeatures = append(resp.SupportedFeatures, s)
	}
	f := kmsg.NewApiVersionsResponseFinalizedFeature()
	f.Name, f.MinVersionLevel, f.MaxVersionLevel = transactionVersion, transactionVersionMax, transactionVersionMax
	resp.FinalizedFeatures = append(resp.FinalizedFeatures, f)
}
