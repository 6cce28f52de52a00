package node

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/control/quorum"
	"github.com/ringmill/ringmill/wire"
)

// keepVoters keeps the quorum at the number of voters that is wanted, one change at a time: a node that came back with another directory
// takes the place of the voter that it was, and a node that joined votes where there are too few.
//
//	node 3, voter ─ disk lost ─▶ node 3', learner ─ caught up ─▶ voter ─▶ node 3 votes no more ─▶ node 3 is gone
func (c *controllerService) keepVoters() {
	kind, key := nextVoterChange(c.quorum.q.Members(), c.working, c.quorum.node.Config().QuorumVoters)
	if kind == nil {
		return
	}
	switch err := kind(c.quorum.q, c.numbered.Add(1), key); {
	case err == nil:
		slog.Info("the voters of the metadata quorum change", "member", key.String())
	case errors.Is(err, quorum.ErrChangePending), errors.Is(err, quorum.ErrNotCaughtUp), errors.Is(err, quorum.ErrNotReady), errors.Is(err, quorum.ErrBusy):
	default:
		c.quorum.node.log.throttled("the voters of the metadata quorum stay as they are", "member", key.String(), "error", err)
	}
}

// voterChange is one of quorum's changes of a member.
type voterChange func(q *quorum.Quorum, number uint64, key quorum.ReplicaKey) error

// nextVoterChange is what to do next, and to whom; nil if there is nothing to do. wanted is how many voters there should be; 0: who votes is an
// operator's to say.
func nextVoterChange(members []quorum.Member, m *image.Image, wanted int) (voterChange, quorum.ReplicaKey) {
	if wanted == 0 {
		return nil, quorum.ReplicaKey{}
	}
	voters := voterKeys(members)
	// Who votes with the new directory by now votes with the old one no more. A node that is fenced may be on its way to a newer one.
	for _, v := range members {
		b := m.Broker(v.NodeID)
		if b == nil || b.Fenced || b.DirectoryID == v.DirectoryID || !slices.Contains(voters, partOf(b)) {
			continue
		}
		if v.Voter {
			return (*quorum.Quorum).RemoveVoter, v.ReplicaKey
		}
		return (*quorum.Quorum).Remove, v.ReplicaKey
	}
	for _, v := range members {
		b := m.Broker(v.NodeID)
		if v.Voter || b == nil || b.DirectoryID != v.DirectoryID || !b.Active() {
			continue
		}
		replaces := slices.ContainsFunc(voters, func(voter quorum.ReplicaKey) bool { return voter.NodeID == v.NodeID })
		if replaces || len(voters) < wanted {
			return (*quorum.Quorum).AddVoter, v.ReplicaKey
		}
	}
	return nil, quorum.ReplicaKey{}
}

// partOf is the key of the part of the quorum that a node has with its present directory.
func partOf(b *image.Broker) quorum.ReplicaKey {
	return quorum.ReplicaKey{NodeID: b.ID, DirectoryID: b.DirectoryID}
}

// memberKey is the key of a node's part of the quorum by an administrator's words. The id of one of the node's log directories stands for that
// of its part as well: kafka-metadata-quorum add-controller finds it in meta.properties, for the metadata log of an Apache Kafka node lies in a
// log directory.
func memberKey(m *image.Image, named quorum.ReplicaKey) quorum.ReplicaKey {
	if b := m.Broker(named.NodeID); b != nil && slices.Contains(b.LogDirs, named.DirectoryID) {
		return partOf(b)
	}
	return named
}

// voterJudge says whether an administrator may change a voter of a quorum with these members, and if not, why.
type voterJudge func(members []quorum.Member, key quorum.ReplicaKey) (wire.ErrorCode, string)

// errRefused: a voterJudge has said more.
var errRefused = errors.New("node: the change of a voter is refused")

// mayVote refuses a second voter of a node, as Kafka's AddVoterHandler does.
func mayVote(members []quorum.Member, key quorum.ReplicaKey) (wire.ErrorCode, string) {
	voters := voterKeys(members)
	if !validVoter(key) {
		return wire.InvalidRequest, "Add voter request didn't include a valid voter"
	}
	if slices.ContainsFunc(voters, func(voter quorum.ReplicaKey) bool { return voter.NodeID == key.NodeID }) {
		return wire.DuplicateVoter, fmt.Sprintf("The voter id for %s is already part of the set of voters %v.", key, voters)
	}
	return wire.None, ""
}

// mayBeRemoved refuses who does not vote, as Kafka's RemoveVoterHandler does.
func mayBeRemoved(members []quorum.Member, key quorum.ReplicaKey) (wire.ErrorCode, string) {
	voters := voterKeys(members)
	if !validVoter(key) {
		return wire.InvalidRequest, "Remove voter request didn't include a valid voter"
	}
	if !slices.Contains(voters, key) {
		return wire.VoterNotFound, fmt.Sprintf("Cannot remove voter %s from the set of voters %v", key, voters)
	}
	return wire.None, ""
}

func validVoter(key quorum.ReplicaKey) bool { return key.NodeID >= 0 && !key.DirectoryID.IsZero() }

func voterKeys(members []quorum.Member) (keys []quorum.ReplicaKey) {
	for _, m := range members {
		if m.Voter {
			keys = append(keys, m.ReplicaKey)
		}
	}
	return keys
}
