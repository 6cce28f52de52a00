package protocol

import (
	"cmp"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// notSwept are keys whose answers have tests of their own instead.
var notSwept = map[wireKey]string{
	17: "SaslHandshake: what it answers depends on the listener, and ringmill has no SASL yet",
	36: "SaslAuthenticate: as above",
	38: "CreateDelegationToken: as above", 39: "RenewDelegationToken: as above", 40: "ExpireDelegationToken: as above", 41: "DescribeDelegationToken: as above",
	64: "UnregisterBroker: there is one node",
	// Their one version each needs share.version=1, which a new cluster does not have.
	76: "ShareGroupHeartbeat: tests of share groups", 77: "ShareGroupDescribe: as above", 78: "ShareFetch: as above", 79: "ShareAcknowledge: as above",
	83: "InitializeShareGroupState: as above", 84: "ReadShareGroupState: as above", 85: "WriteShareGroupState: as above",
	86: "DeleteShareGroupState: as above", 87: "ReadShareGroupStateSummary: as above", 90: "DescribeShareGroupOffsets: as above",
	91: "AlterShareGroupOffsets: as above", 92: "DeleteShareGroupOffsets: as above",
	80: "AddRaftVoter: there is no KRaft log", 81: "RemoveRaftVoter: as above",
}

// metadataSweeps are what a client asks before it does anything.
var metadataSweeps = []sweep{
	{3, []exchange{
		{name: "a topic", request: func(s *scene) kmsg.Request {
			topic := s.records()
			s.conn.topicID(topic)
			return metadataRequest(topic)
		}, trim: sortedPartitions},
		{name: "with what may be done", request: func(s *scene) kmsg.Request {
			req := metadataRequest(s.records())
			req.IncludeTopicAuthorizedOperations, req.IncludeClusterAuthorizedOperations = true, true
			return req
		}, trim: sortedPartitions},
		{name: "a topic that is not there, made where the version knows no other way", request: func(s *scene) kmsg.Request {
			req := metadataRequest(s.name("missing"))
			req.AllowAutoTopicCreation = false
			return req
		}},
		{name: "a name that no topic can have", request: func(s *scene) kmsg.Request { return metadataRequest("a/b") }},
		{name: "an id", request: func(s *scene) kmsg.Request {
			if topic := s.records(); s.version >= 12 {
				return &kmsg.MetadataRequest{Topics: []kmsg.MetadataRequestTopic{{TopicID: s.conn.topicID(topic)}}}
			}
			return metadataRequest("a/b") // null is no name before
		}, trim: sortedPartitions},
		{name: "an id that no topic has", request: func(s *scene) kmsg.Request {
			if s.version >= 12 {
				return &kmsg.MetadataRequest{Topics: []kmsg.MetadataRequestTopic{{TopicID: [16]byte{1, 2, 3}}}}
			}
			return metadataRequest("a/b")
		}},
	}},
	{10, []exchange{
		{name: "of a group", request: func(s *scene) kmsg.Request { return findRequest(0, s.group()) }},
		{name: "of a transaction", request: func(s *scene) kmsg.Request { return findRequest(1, s.producer().transactional) }},
		{name: "of nothing known", request: func(s *scene) kmsg.Request { return findRequest(9, "x") }},
	}},
	{18, []exchange{
		{name: "what the node serves", request: func(*scene) kmsg.Request { return apiVersionsRequest() },
			trim: func(_ *scene, answer kmsg.Response) { // TestApiVersions and TestFeaturesOfANewCluster have these
				res := answer.(*kmsg.ApiVersionsResponse)
				res.ApiKeys, res.SupportedFeatures, res.FinalizedFeatures, res.FinalizedFeaturesEpoch = nil, nil, nil, 0
			}},
	}},
	{60, []exchange{
		{name: "the cluster", request: func(*scene) kmsg.Request { return clusterRequest(false) }},
		{name: "with what may be done", request: func(*scene) kmsg.Request { return clusterRequest(true) }},
		{name: "of controllers", request: func(*scene) kmsg.Request {
			req := clusterRequest(false)
			req.EndpointType = 2
			return req
		}},
	}},
	{75, []exchange{
		{name: "a topic", request: func(s *scene) kmsg.Request { return topicPartitionsRequest(s.records(), 2000) }},
		{name: "its first partition", request: func(s *scene) kmsg.Request { return topicPartitionsRequest(s.records(), 1) }},
		{name: "from its second partition on", request: func(s *scene) kmsg.Request {
			req := topicPartitionsRequest(s.records(), 1)
			req.Cursor = &kmsg.DescribeTopicPartitionsRequestCursor{Topic: req.Topics[0].Topic, Partition: 1}
			return req
		}},
		{name: "a topic that is not there", request: func(s *scene) kmsg.Request { return topicPartitionsRequest(s.name("missing"), 2000) }},
	}},
}

func findRequest(kind int8, key string) *kmsg.FindCoordinatorRequest {
	req := kmsg.NewPtrFindCoordinatorRequest()
	req.CoordinatorType, req.CoordinatorKey, req.CoordinatorKeys = kind, key, []string{key}
	return req
}

func clusterRequest(operations bool) *kmsg.DescribeClusterRequest {
	req := kmsg.NewPtrDescribeClusterRequest()
	req.IncludeClusterAuthorizedOperations = operations
	return req
}

func topicPartitionsRequest(topic string, limit int32) *kmsg.DescribeTopicPartitionsRequest {
	req := kmsg.NewPtrDescribeTopicPartitionsRequest()
	req.ResponsePartitionLimit = limit
	req.Topics = []kmsg.DescribeTopicPartitionsRequestTopic{{Topic: topic}}
	return req
}

// sortedPartitions: they come in no order.
func sortedPartitions(_ *scene, answer kmsg.Response) {
	for _, topic := range answer.(*kmsg.MetadataResponse).Topics {
		slices.SortFunc(topic.Partitions, func(a, b kmsg.MetadataResponseTopicPartition) int { return cmp.Compare(a.Partition, b.Partition) })
	}
}
