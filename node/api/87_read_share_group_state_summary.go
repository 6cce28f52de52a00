package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

// ReadShareGroupStateSummary tells where share partitions start: for group coordinators.
var readShareGroupStateSummaryRow = row{key: wire.KeyReadShareGroupStateSummary, min: 0, max: 0, handle: on(readShareGroupStateSummary), authorize: inCluster(actForCluster, refusedShareState)}

func readShareGroupStateSummary(b Broker, _ *Request, req *kmsg.ReadShareGroupStateSummaryRequest) kmsg.Response {
	return b.ShareState(req)
}
