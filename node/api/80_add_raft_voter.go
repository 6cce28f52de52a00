package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

var addRaftVoterRow = row{key: wire.KeyAddRaftVoter, min: 0, max: 0, clustered: true, handle: on(addRaftVoter), authorize: inCluster(alterCluster, refusedWhole)}

// addRaftVoter: a member of the metadata quorum is to vote (KIP-853). The controller answers.
func addRaftVoter(b Broker, _ *Request, req *kmsg.AddRaftVoterRequest) kmsg.Response {
	return b.Control(req)
}
