package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

var removeRaftVoterRow = row{key: wire.KeyRemoveRaftVoter, min: 0, max: 0, clustered: true, handle: on(removeRaftVoter), authorize: inCluster(alterCluster, refusedWhole)}

// removeRaftVoter: a member of the metadata quorum is to vote no more (KIP-853). The controller answers.
func removeRaftVoter(b Broker, _ *Request, req *kmsg.RemoveRaftVoterRequest) kmsg.Response {
	return b.Control(req)
}
