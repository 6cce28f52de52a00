package protocol

import (
	"cmp"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// topicSweeps make topics, change them, move them and take them away.
var topicSweeps = []sweep{
	{19, []exchange{
		{name: "a topic", request: func(s *scene) kmsg.Request {
			return createRequest(false, s.newTopic("cleanup.policy=compact", "retention.ms=1234567"))
		}, trim: sortedConfigs},
		{name: "only validated", request: func(s *scene) kmsg.Request { return createRequest(true, s.newTopic()) }, trim: sortedConfigs},
		{name: "one that is there", request: func(s *scene) kmsg.Request { return createRequest(false, newTopic(s.records(), 1, 1)) }},
		{name: "no partitions", request: func(s *scene) kmsg.Request { return createRequest(false, newTopic(s.name("topic"), 0, 1)) }},
		{name: "more replicas than nodes", request: func(s *scene) kmsg.Request { return createRequest(false, newTopic(s.name("topic"), 1, 3)) }},
		{name: "a name that no topic can have", request: func(*scene) kmsg.Request { return createRequest(false, newTopic("a/b", 1, 1)) }},
		{name: "a value that is none", request: func(s *scene) kmsg.Request {
			return createRequest(false, newTopic(s.name("topic"), 1, 1, "retention.ms=soon"))
		}},
	}},
	{20, []exchange{
		{name: "a topic", request: func(s *scene) kmsg.Request { return deleteRequest(s.topic()) }},
		{name: "a topic that is not there", request: func(s *scene) kmsg.Request { return deleteRequest(s.name("missing")) }},
		{name: "by id", request: func(s *scene) kmsg.Request {
			req := deleteRequest(s.topic())
			id := s.conn.topicID(req.TopicNames[0])
			req.Topics = []kmsg.DeleteTopicsRequestTopic{{TopicID: id}}
			return req
		}},
		{name: "an id that no topic has", request: func(s *scene) kmsg.Request {
			req := deleteRequest(s.name("missing"))
			req.Topics = []kmsg.DeleteTopicsRequestTopic{{TopicID: [16]byte{1, 2, 3}}}
			return req
		}},
	}},
	{37, []exchange{
		{name: "to more", request: func(s *scene) kmsg.Request { return partitionsRequest(s.topic(), 4) }},
		{name: "to as many", request: func(s *scene) kmsg.Request { return partitionsRequest(s.records(), 2) }},
		{name: "to fewer", request: func(s *scene) kmsg.Request { return partitionsRequest(s.records(), 1) }},
		{name: "a topic that is not there", request: func(s *scene) kmsg.Request { return partitionsRequest(s.name("missing"), 4) }},
	}},
	{43, []exchange{
		{name: "preferred", request: func(s *scene) kmsg.Request { return electRequest(s.records(), 0) }},
		{name: "unclean", request: func(s *scene) kmsg.Request { return electRequest(s.records(), 1) }},
		{name: "a topic that is not there", request: func(s *scene) kmsg.Request { return electRequest(s.name("missing"), 0) }},
	}},
	{45, []exchange{
		{name: "to where it is", request: func(s *scene) kmsg.Request { return reassignRequest(s.records(), []int32{1}) }},
		{name: "to another node", request: func(s *scene) kmsg.Request { return reassignRequest(s.records(), []int32{77}) }},
		{name: "cancelled", request: func(s *scene) kmsg.Request { return reassignRequest(s.records(), nil) }},
		{name: "a topic that is not there", request: func(s *scene) kmsg.Request { return reassignRequest(s.name("missing"), []int32{1}) }},
	}},
	{46, []exchange{
		{name: "of a topic", request: func(s *scene) kmsg.Request {
			req := kmsg.NewPtrListPartitionReassignmentsRequest()
			req.Topics = []kmsg.ListPartitionReassignmentsRequestTopic{{Topic: s.records(), Partitions: []int32{0}}}
			return req
		}},
		{name: "of all", request: func(*scene) kmsg.Request { return kmsg.NewPtrListPartitionReassignmentsRequest() }},
	}},
}

// newTopic is one to be made, and taken away with the test.
func (s *scene) newTopic(configs ...string) kmsg.CreateTopicsRequestTopic {
	topic := s.name("topic")
	s.t.Cleanup(func() { ask[*kmsg.DeleteTopicsResponse](dial(s.t, s.node), 5, deleteRequest(topic)) })
	return newTopic(topic, 2, 1, configs...)
}

// sortedConfigs: they come in no order. ringmill has one of its own, and where min.insync.replicas comes from depends on
// eligible.leader.replicas.version, which it does not serve.
func sortedConfigs(_ *scene, answer kmsg.Response) {
	topics := answer.(*kmsg.CreateTopicsResponse).Topics
	for i := range topics {
		topic := &topics[i]
		topic.Configs = slices.DeleteFunc(topic.Configs, func(c kmsg.CreateTopicsResponseTopicConfig) bool {
			return c.Name == "ringmill.flush.policy" || c.Name == "min.insync.replicas"
		})
		slices.SortFunc(topic.Configs, func(a, b kmsg.CreateTopicsResponseTopicConfig) int { return cmp.Compare(a.Name, b.Name) })
	}
}

func partitionsRequest(topic string, count int32) *kmsg.CreatePartitionsRequest {
	req := kmsg.NewPtrCreatePartitionsRequest()
	req.TimeoutMillis = 10000
	t := kmsg.NewCreatePartitionsRequestTopic()
	t.Topic, t.Count = topic, count
	req.Topics = []kmsg.CreatePartitionsRequestTopic{t}
	return req
}

func electRequest(topic string, kind int8) *kmsg.ElectLeadersRequest {
	req := kmsg.NewPtrElectLeadersRequest()
	req.TimeoutMillis, req.ElectionType = 10000, kind
	req.Topics = []kmsg.ElectLeadersRequestTopic{{Topic: topic, Partitions: []int32{0}}}
	return req
}

func reassignRequest(topic string, replicas []int32) *kmsg.AlterPartitionAssignmentsRequest {
	req := kmsg.NewPtrAlterPartitionAssignmentsRequest()
	req.Topics = []kmsg.AlterPartitionAssignmentsRequestTopic{{Topic: topic,
		Partitions: []kmsg.AlterPartitionAssignmentsRequestTopicPartition{{Partition: 0, Replicas: replicas}}}}
	return req
}

// nodeSweeps are what tools ask of the node itself.
var nodeSweeps = []sweep{
	{29, []exchange{{name: "without an authorizer", request: func(*scene) kmsg.Request {
		req := kmsg.NewPtrDescribeACLsRequest()
		req.ResourceType, req.ResourcePatternType = kmsg.ACLResourceTypeAny, kmsg.ACLResourcePatternTypeAny
		req.Operation, req.PermissionType = kmsg.ACLOperationAny, kmsg.ACLPermissionTypeAny
		return req
	}}}},
	{30, []exchange{{name: "without an authorizer", request: func(*scene) kmsg.Request {
		return &kmsg.CreateACLsRequest{Creations: []kmsg.CreateACLsRequestCreation{{ResourceType: kmsg.ACLResourceTypeTopic, ResourceName: "t",
			ResourcePatternType: kmsg.ACLResourcePatternTypeLiteral, Principal: "User:a", Host: "*",
			Operation: kmsg.ACLOperationRead, PermissionType: kmsg.ACLPermissionTypeAllow}}}
	}}}},
	{31, []exchange{{name: "without an authorizer", request: func(*scene) kmsg.Request {
		return &kmsg.DeleteACLsRequest{Filters: []kmsg.DeleteACLsRequestFilter{{ResourceType: kmsg.ACLResourceTypeAny,
			ResourcePatternType: kmsg.ACLResourcePatternTypeAny, Operation: kmsg.ACLOperationAny, PermissionType: kmsg.ACLPermissionTypeAny}}}
	}}}},
	{34, []exchange{
		{name: "to a directory that is not there", request: func(s *scene) kmsg.Request { return moveRequest("/nowhere", s.records()) }},
		{name: "to where it is", request: func(s *scene) kmsg.Request { return moveRequest(s.logDir(), s.records()) }},
		{name: "a topic that is not there", request: func(s *scene) kmsg.Request { return moveRequest(s.logDir(), s.name("missing")) }},
	}},
	{35, []exchange{
		{name: "a topic", request: func(s *scene) kmsg.Request { return logDirsRequest(s.records()) }},
		{name: "a topic that is not there", request: func(s *scene) kmsg.Request { return logDirsRequest(s.name("missing")) }},
	}},
	{48, []exchange{{name: "of a user that has none", request: func(s *scene) kmsg.Request {
		req := kmsg.NewPtrDescribeClientQuotasRequest()
		req.Components = []kmsg.DescribeClientQuotasRequestComponent{{EntityType: "user", Match: ptr(s.name("user"))}}
		return req
	}}}},
	{49, []exchange{
		{name: "a quota, only validated", request: func(s *scene) kmsg.Request { return quotaRequest(s.name("user"), "producer_byte_rate") }},
		{name: "of a kind that is none", request: func(s *scene) kmsg.Request { return quotaRequest(s.name("user"), "odd") }},
	}},
	{50, []exchange{
		{name: "all users", request: func(*scene) kmsg.Request { return kmsg.NewPtrDescribeUserSCRAMCredentialsRequest() }, trim: noUsers},
		{name: "a user that has none", request: func(s *scene) kmsg.Request { return scramRequest(s.name("user")) }},
		{name: "the same twice", request: func(s *scene) kmsg.Request { user := s.name("user"); return scramRequest(user, user) }},
	}},
	{51, []exchange{
		{name: "a credential", request: func(s *scene) kmsg.Request { return setScramRequest(s.name("user"), 1) }},
		{name: "of a mechanism that is none", request: func(s *scene) kmsg.Request { return setScramRequest(s.name("user"), 9) }},
		{name: "one taken away that is not there", request: func(s *scene) kmsg.Request {
			req := kmsg.NewPtrAlterUserSCRAMCredentialsRequest()
			req.Deletions = []kmsg.AlterUserSCRAMCredentialsRequestDeletion{{Name: s.name("user"), Mechanism: 1}}
			return req
		}},
	}},
	{55, []exchange{
		{name: "of another topic", request: func(s *scene) kmsg.Request { return quorumRequest("other") }},
		{name: "of the metadata", request: func(s *scene) kmsg.Request { return quorumRequest("__cluster_metadata") }, trim: onlyVoters},
	}},
	{57, []exchange{
		{name: "to the level at hand", request: func(*scene) kmsg.Request { return featureRequest("group.version", 1) }},
		{name: "to a level that is none", request: func(*scene) kmsg.Request { return featureRequest("group.version", 99) }},
		{name: "a feature that is none", request: func(*scene) kmsg.Request { return featureRequest("odd.version", 1) }},
	}},
}

// logDir is the node's, as it says itself.
func (s *scene) logDir() string {
	return ask[*kmsg.DescribeLogDirsResponse](s.conn, 4, kmsg.NewPtrDescribeLogDirsRequest()).Dirs[0].Dir
}

func moveRequest(dir, topic string) *kmsg.AlterReplicaLogDirsRequest {
	return &kmsg.AlterReplicaLogDirsRequest{Dirs: []kmsg.AlterReplicaLogDirsRequestDir{{Dir: dir,
		Topics: []kmsg.AlterReplicaLogDirsRequestDirTopic{{Topic: topic, Partitions: []int32{0}}}}}}
}

func logDirsRequest(topic string) *kmsg.DescribeLogDirsRequest {
	return &kmsg.DescribeLogDirsRequest{Topics: []kmsg.DescribeLogDirsRequestTopic{{Topic: topic, Partitions: []int32{0}}}}
}

func quotaRequest(user, key string) *kmsg.AlterClientQuotasRequest {
	req := kmsg.NewPtrAlterClientQuotasRequest()
	req.ValidateOnly = true
	req.Entries = []kmsg.AlterClientQuotasRequestEntry{{Entity: []kmsg.AlterClientQuotasRequestEntryEntity{{Type: "user", Name: &user}},
		Ops: []kmsg.AlterClientQuotasRequestEntryOp{{Key: key, Value: 1 << 20}}}}
	return req
}

func scramRequest(users ...string) *kmsg.DescribeUserSCRAMCredentialsRequest {
	req := kmsg.NewPtrDescribeUserSCRAMCredentialsRequest()
	for _, name := range users {
		req.Users = append(req.Users, kmsg.DescribeUserSCRAMCredentialsRequestUser{Name: name})
	}
	return req
}

// noUsers: other tests give users credentials.
func noUsers(_ *scene, answer kmsg.Response) {
	answer.(*kmsg.DescribeUserSCRAMCredentialsResponse).Results = nil
}

func setScramRequest(user string, mechanism int8) *kmsg.AlterUserSCRAMCredentialsRequest {
	req := kmsg.NewPtrAlterUserSCRAMCredentialsRequest()
	req.Upsertions = []kmsg.AlterUserSCRAMCredentialsRequestUpsertion{
		{Name: user, Mechanism: mechanism, Iterations: 4096, Salt: []byte("salt"), SaltedPassword: []byte("salted")}}
	return req
}

func quorumRequest(topic string) *kmsg.DescribeQuorumRequest {
	return &kmsg.DescribeQuorumRequest{Topics: []kmsg.DescribeQuorumRequestTopic{{Topic: topic,
		Partitions: []kmsg.DescribeQuorumRequestTopicPartition{{Partition: 0}}}}}
}

// onlyVoters: the listener and the positions are ringmill's own, as docs/compatibility.md says.
func onlyVoters(_ *scene, answer kmsg.Response) {
	res := answer.(*kmsg.DescribeQuorumResponse)
	for i := range res.Nodes {
		res.Nodes[i].Listeners = nil
	}
	if len(res.Topics) == 0 { // it was refused
		return
	}
	p := &res.Topics[0].Partitions[0]
	p.HighWatermark, p.LeaderEpoch = 0, 0
	for i := range p.CurrentVoters {
		v := &p.CurrentVoters[i]
		v.LogEndOffset, v.LastFetchTimestamp, v.LastCaughtUpTimestamp, v.ReplicaDirectoryID = 0, 0, 0, [16]byte{}
	}
}

func featureRequest(name string, level int16) *kmsg.UpdateFeaturesRequest {
	req := kmsg.NewPtrUpdateFeaturesRequest()
	f := kmsg.NewUpdateFeaturesRequestFeatureUpdate()
	f.Feature, f.MaxVersionLevel = name, level
	req.FeatureUpdates = []kmsg.UpdateFeaturesRequestFeatureUpdate{f}
	return req
}
