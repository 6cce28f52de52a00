package node

import (
	"fmt"

	"github.com/ringmill/ringmill/control/member"
	"github.com/ringmill/ringmill/wire"
)

// checkTwin refuses to start beside a living node with the same directory: a copy. Two processes with one name in the quorum would vote twice,
// and each would miss what the other was told. before is the node where it was at its last start: a copy has the same address there, and another
// one now. Who answers nothing in time is taken for dead, as a node is that has moved to another host.
func (c *cluster) checkTwin(before member.Voter) error {
	if before.Addr == "" || before.Addr == c.address() {
		return nil
	}
	body, err := c.peers.callRaw(before.Addr, wire.RequestHeader{Key: wire.KeyIdentify}, appendBytes(nil, c.clusterID()), formingTimeout)
	if err != nil {
		return nil
	}
	there, err := readIdentifyAnswer(body)
	if err != nil || there.code != wire.None || there.node != before.NodeID || there.directory != before.DirectoryID {
		return nil
	}
	return &StartError{
		Path:    c.node.Config().DataDir,
		Problem: fmt.Sprintf("it is a copy: node %d runs at %s with the same directory, %s", there.node, before.Addr, there.directory),
		Cure:    fmt.Sprintf("start a new node with an empty data directory and a node.id of its own; to move node %d, stop it first", there.node),
	}
}
