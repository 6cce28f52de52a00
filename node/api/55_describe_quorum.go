package api

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/wire"
)

var describeQuorumRow = row{key: wire.KeyDescribeQuorum, min: 0, max: 2, handle: on(describeQuorum), authorize: inCluster(describeClusterNeed, refusedWhole)}

const (
	// metadataLeaderEpoch: there is never another leader.
	metadataLeaderEpoch = 1
	// The first versions that tell times (KIP-836), and messages and nodes (KIP-853).
	quorumTimesFrom, quorumMessagesFrom = 1, 2
)

// describeQuorum: a node of its own leads the metadata and is the only voter. Whoever asks for anything but the one partition is
// told that it is not here, for all that was asked for, as Kafka does.
func describeQuorum(b Broker, r *Request, req *kmsg.DescribeQuorumRequest) *kmsg.DescribeQuorumResponse {
	if b.Clustered() && asksForMetadata(req) {
		return b.Control(req).(*kmsg.DescribeQuorumResponse)
	}
	resp := kmsg.NewPtrDescribeQuorumResponse()
	told := asksForMetadata(req)
	resp.ErrorMessage = new(string)
	for i := range req.Topics {
		t := kmsg.NewDescribeQuorumResponseTopic()
		t.Topic = req.Topics[i].Topic
		for j := range req.Topics[i].Partitions {
			p := kmsg.NewDescribeQuorumResponseTopicPartition()
			p.Partition = req.Topics[i].Partitions[j].Partition
			if told {
				describeMetadata(&p, b, req.Version)
			} else {
				p.ErrorCode = int16(wire.UnknownTopicOrPartition)
				p.ErrorMessage = kmsg.StringPtr("This server does not host this topic-partition.")
			}
			t.Partitions = append(t.Partitions, p)
		}
		resp.Topics = append(resp.Topics, t)
	}
	if told && req.Version >= quorumMessagesFrom {
		resp.Nodes = []kmsg.DescribeQuorumResponseNode{quorumNode(b, r.Client.ListenerName)}
	}
	return resp
}

// asksForMetadata says whether the one partition of the metadata is asked for, by Kafka's name for it.
func asksForMetadata(req *kmsg.DescribeQuorumRequest) bool {
	if len(req.Topics) != 1 || len(req.Topics[0].Partitions) != 1 {
		return false
	}
	return req.Topics[0].Topic == image.ClusterMetadataTopic && req.Topics[0].Partitions[0].Partition == 0
}

func describeMetadata(p *kmsg.DescribeQuorumResponseTopicPartition, b Broker, version int16) {
	voter := kmsg.NewDescribeQuorumResponseTopicPartitionReplicaState()
	voter.ReplicaID, voter.LogEndOffset = int32(b.Config().NodeID), int64(b.Image().Version())
	if version >= quorumTimesFrom {
		voter.LastFetchTimestamp = time.Now().UnixMilli()
		voter.LastCaughtUpTimestamp = voter.LastFetchTimestamp
	}
	p.ErrorMessage = new(string)
	p.LeaderID, p.LeaderEpoch, p.HighWatermark = voter.ReplicaID, metadataLeaderEpoch, voter.LogEndOffset
	p.CurrentVoters = []kmsg.DescribeQuorumResponseTopicPartitionReplicaState{voter}
}

// quorumNode is where the voter is reached: there is no listener for controllers, so it is the one that asks.
func quorumNode(b Broker, listener string) kmsg.DescribeQuorumResponseNode {
	host, port := b.Advertised(listener)
	l := kmsg.NewDescribeQuorumResponseNodeListener()
	l.Name, l.Host, l.Port = listener, host, uint16(port)
	n := kmsg.NewDescribeQuorumResponseNode()
	n.NodeID, n.Listeners = int32(b.Config().NodeID), []kmsg.DescribeQuorumResponseNodeListener{l}
	return n
}
