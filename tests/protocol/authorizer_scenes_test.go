package protocol

import (
	"crypto/rand"
	"slices"
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/tests/harness"
)

// authorizationSweeps are exchanges of the sweeps over all versions, and those that matter to an authorizer alone.
var authorizationSweeps = sync.OnceValue(func() (all []sweep) {
	all = slices.Clone(authorizerSweeps)
	for _, s := range sweeps {
		i := slices.IndexFunc(all, func(o sweep) bool { return o.key == s.key })
		if i < 0 {
			all = append(all, sweep{key: s.key})
			i = len(all) - 1
		}
		for j, e := range s.exchanges {
			if s.key >= 29 && s.key <= 31 || s.key == 18 || j > 0 && !slices.Contains(authorizedToo[s.key], e.name) || unanswered[s.key] == e.name {
				continue
			}
			all[i].exchanges = append(all[i].exchanges, e)
		}
	}
	return slices.DeleteFunc(all, func(s sweep) bool { return len(s.exchanges) == 0 })
})

// unanswered are requests that Apache Kafka 4.1.1 never answers where they are refused; TestUnansweredRefusals has them.
var unanswered = map[wireKey]string{50: "all users"}

// authorizedToo are exchanges beside the first of each key.
var authorizedToo = map[wireKey][]string{
	0:  {"a topic that is not there"},
	1:  {"a topic that is not there"},
	2:  {"a topic that is not there"},
	3:  {"with what may be done", "a name that no topic can have", "an id", "an id that no topic has"},
	8:  {"to a topic that is not there"},
	9:  {"all that is committed", "of a topic that is not there"},
	10: {"of a transaction", "of nothing known"},
	15: {"a group that is not there"},
	19: {"only validated", "one that is there", "a name that no topic can have"},
	20: {"a topic that is not there", "by id", "an id that no topic has"},
	21: {"a topic that is not there"},
	22: {"a transactional producer"},
	23: {"a topic that is not there"},
	24: {"a topic that is not there"},
	28: {"to a topic that is not there"},
	32: {"of the node", "a topic that is not there"},
	33: {"a topic that is not there"},
	37: {"a topic that is not there"},
	42: {"a group that is not there"},
	43: {"a topic that is not there"},
	44: {"a topic that is not there"},
	46: {"of all"},
	47: {"of a topic that is not there"},
	50: {"a user that has none"},
	55: {"of the metadata"},
	60: {"with what may be done"},
	61: {"a topic that is not there"},
	65: {"an id that is not there"},
	68: {"without a group"},
	75: {"a topic that is not there"},
}

// onlyVersions are exchanges that are asked at one version, "KEY NAME".
var onlyVersions = map[string]int16{
	"24 a partition, as clients ask": 3, "24 a topic that is not there, as clients ask": 3,
	"1 of a replica":                  14,
	"10 of a share group's partition": 6,
}

// repeatable are keys whose requests change nothing: every guest sends the same one.
var repeatable = map[wireKey]bool{
	1: true, 2: true, 9: true, 10: true, 15: true, 16: true, 23: true, 29: true, 32: true, 35: true, 46: true, 48: true, 50: true, 55: true, 60: true,
	61: true, 65: true, 66: true, 69: true, 74: true, 75: true, 77: true, 90: true,
}

var authorizerSweeps = []sweep{
	{0, []exchange{
		{name: "a batch of a transaction", request: func(s *scene) kmsg.Request {
			p := s.openTransaction()
			b := newBatch(record("more")).producer(p.id, p.epoch, 1)
			b.Attributes |= 0x10
			req := s.produce(p.topic, b.bytes())
			req.TransactionID = &p.transactional
			return req
		}},
	}},
	{1, []exchange{{name: "of a replica", request: func(s *scene) kmsg.Request {
		req := s.fetch(s.records(), 0, 0)
		req.ReplicaID = 7
		return req
	}, trim: func(_ *scene, answer kmsg.Response) { // whether there is such a replica is another question
		res := answer.(*kmsg.FetchResponse)
		if p := &res.Topics[0].Partitions[0]; p.ErrorCode != 29 {
			res.Topics = nil
		}
	}}}},
	{3, []exchange{
		{name: "all topics", request: func(s *scene) kmsg.Request {
			s.conn.topicID(s.records())
			return kmsg.NewPtrMetadataRequest()
		}, trim: func(s *scene, answer kmsg.Response) {
			res := answer.(*kmsg.MetadataResponse)
			res.Topics = slices.DeleteFunc(res.Topics, func(t kmsg.MetadataResponseTopic) bool { return t.Topic == nil || s.names[*t.Topic] == "" })
			sortedPartitions(s, answer)
		}},
		{name: "a topic to be made", request: func(s *scene) kmsg.Request {
			req := metadataRequest(s.name("missing"))
			req.AllowAutoTopicCreation = true
			return req
		}, trim: func(_ *scene, answer kmsg.Response) { // one that is made may be there at once, or not
			for i := range answer.(*kmsg.MetadataResponse).Topics {
				if t := &answer.(*kmsg.MetadataResponse).Topics[i]; t.ErrorCode != 29 {
					*t = kmsg.MetadataResponseTopic{}
				}
			}
		}},
	}},
	{10, []exchange{{name: "of a share group's partition", request: func(s *scene) kmsg.Request {
		id := base64ID(s.conn.topicID(s.records()))
		s.names[id] = "<id>"
		return findRequest(2, s.name("group")+":"+id+":0")
	}}}},
	{24, []exchange{
		{name: "a partition, as clients ask", request: func(s *scene) kmsg.Request { return addPartitionsRequest(s.producer(), s.records()) }},
		{name: "a topic that is not there, as clients ask", request: func(s *scene) kmsg.Request { return addPartitionsRequest(s.producer(), s.name("missing")) }},
	}},
	{29, []exchange{{name: "of a resource", request: func(s *scene) kmsg.Request {
		a := s.someACL()
		req := kmsg.NewPtrDescribeACLsRequest()
		req.ResourceType, req.ResourceName, req.ResourcePatternType = kmsg.ACLResourceTypeAny, &a.ResourceName, kmsg.ACLResourcePatternTypeAny
		req.Operation, req.PermissionType = kmsg.ACLOperationAny, kmsg.ACLPermissionTypeAny
		return req
	}}}},
	{30, []exchange{{name: "of a resource", request: func(s *scene) kmsg.Request {
		return &kmsg.CreateACLsRequest{Creations: []kmsg.CreateACLsRequestCreation{s.newACL()}}
	}}}},
	{31, []exchange{{name: "of a resource", request: func(s *scene) kmsg.Request {
		a := s.someACL()
		f := kmsg.NewDeleteACLsRequestFilter()
		f.ResourceType, f.ResourceName, f.ResourcePatternType = kmsg.ACLResourceTypeAny, &a.ResourceName, kmsg.ACLResourcePatternTypeAny
		f.Operation, f.PermissionType = kmsg.ACLOperationAny, kmsg.ACLPermissionTypeAny
		return &kmsg.DeleteACLsRequest{Filters: []kmsg.DeleteACLsRequestFilter{f}}
	}}}},
	{32, []exchange{
		{name: "of a group", request: func(s *scene) kmsg.Request {
			return describeConfigsRequest(kmsg.ConfigResourceTypeGroupConfig, s.name("group"), "consumer.session.timeout.ms")
		}, trim: sortedDescription},
		{name: "of client metrics", request: func(s *scene) kmsg.Request {
			return describeConfigsRequest(kmsg.ConfigResourceTypeClientMetrics, s.name("metrics"), "interval.ms")
		}, trim: sortedDescription},
		{name: "of loggers", request: func(*scene) kmsg.Request {
			return describeConfigsRequest(kmsg.ConfigResourceTypeBrokerLogger, "1", "odd")
		}},
	}},
	{33, []exchange{
		{name: "of the node", request: func(*scene) kmsg.Request {
			return replaced(kmsg.ConfigResourceTypeBroker, "1", "log.cleaner.threads", "1")
		}},
		{name: "of a group", request: func(s *scene) kmsg.Request {
			return replaced(kmsg.ConfigResourceTypeGroupConfig, s.name("group"), "consumer.session.timeout.ms", "50000")
		}},
		{name: "of client metrics", request: func(s *scene) kmsg.Request {
			return replaced(kmsg.ConfigResourceTypeClientMetrics, s.name("metrics"), "interval.ms", "30000")
		}},
	}},
	{44, []exchange{
		{name: "of the node", request: func(*scene) kmsg.Request {
			return changed(kmsg.ConfigResourceTypeBroker, "1", "log.cleaner.threads", "1")
		}},
		{name: "of a group", request: func(s *scene) kmsg.Request {
			return changed(kmsg.ConfigResourceTypeGroupConfig, s.name("group"), "consumer.session.timeout.ms", "50000")
		}},
		{name: "of client metrics", request: func(s *scene) kmsg.Request {
			return changed(kmsg.ConfigResourceTypeClientMetrics, s.name("metrics"), "interval.ms", "30000")
		}},
		{name: "of loggers", request: func(*scene) kmsg.Request { return changed(kmsg.ConfigResourceTypeBrokerLogger, "1", "root", "INFO") }},
	}},
	{64, []exchange{{name: "a node that is not there", request: func(*scene) kmsg.Request { return &kmsg.UnregisterBrokerRequest{BrokerID: 99} }}}},
	{76, []exchange{{name: "joins", request: func(s *scene) kmsg.Request {
		req := kmsg.NewPtrShareGroupHeartbeatRequest()
		req.GroupID, req.MemberID, req.SubscribedTopicNames = s.name("group"), newMemberID(), []string{s.records()}
		return req
	}}}},
	{77, []exchange{{name: "a group", request: func(s *scene) kmsg.Request {
		return &kmsg.ShareGroupDescribeRequest{GroupIDs: []string{s.shareGroup()}, IncludeAuthorizedOperations: true}
	}, trim: func(_ *scene, answer kmsg.Response) {
		for i := range answer.(*kmsg.ShareGroupDescribeResponse).Groups {
			g := &answer.(*kmsg.ShareGroupDescribeResponse).Groups[i]
			g.Members, g.GroupState, g.GroupEpoch, g.AssignmentEpoch, g.Assignor = nil, "", 0, 0, ""
		}
	}}}},
	{78, []exchange{{name: "records", request: func(s *scene) kmsg.Request {
		req := kmsg.NewPtrShareFetchRequest()
		req.GroupID, req.MemberID = ptr(s.shareGroup()), ptr(newMemberID())
		req.MaxBytes, req.MaxRecords, req.BatchSize = 1<<20, 100, 100
		t := kmsg.NewShareFetchRequestTopic()
		t.TopicID = s.conn.topicID(s.records())
		t.Partitions = []kmsg.ShareFetchRequestTopicPartition{kmsg.NewShareFetchRequestTopicPartition()}
		req.Topics = []kmsg.ShareFetchRequestTopic{t}
		return req
	}, trim: func(_ *scene, answer kmsg.Response) { // what is there to be acquired is another question
		res := answer.(*kmsg.ShareFetchResponse)
		if len(res.Topics) > 0 && res.Topics[0].Partitions[0].ErrorCode != 29 {
			res.Topics = nil
		}
		res.AcquisitionLockTimeoutMillis = 0
	}}}},
	{79, []exchange{{name: "records", request: func(s *scene) kmsg.Request {
		req := kmsg.NewPtrShareAcknowledgeRequest()
		req.GroupID, req.MemberID, req.ShareSessionEpoch = ptr(s.shareGroup()), ptr(newMemberID()), 1
		t := kmsg.NewShareAcknowledgeRequestTopic()
		t.TopicID = s.conn.topicID(s.records())
		p := kmsg.NewShareAcknowledgeRequestTopicPartition()
		p.AcknowledgementBatches = []kmsg.ShareAcknowledgeRequestTopicPartitionAcknowledgementBatch{{FirstOffset: 0, LastOffset: 0, AcknowledgeTypes: []int8{1}}}
		t.Partitions = []kmsg.ShareAcknowledgeRequestTopicPartition{p}
		req.Topics = []kmsg.ShareAcknowledgeRequestTopic{t}
		return req
	}}}},
	{83, []exchange{{name: "a partition", request: func(s *scene) kmsg.Request {
		req := kmsg.NewPtrInitializeShareGroupStateRequest()
		req.GroupID = s.name("group")
		t := kmsg.NewInitializeShareGroupStateRequestTopic()
		t.TopicID, t.Partitions = s.conn.topicID(s.records()), []kmsg.InitializeShareGroupStateRequestTopicPartition{kmsg.NewInitializeShareGroupStateRequestTopicPartition()}
		req.Topics = []kmsg.InitializeShareGroupStateRequestTopic{t}
		return req
	}}}},
	{84, []exchange{{name: "a partition", request: func(s *scene) kmsg.Request {
		req := kmsg.NewPtrReadShareGroupStateRequest()
		req.GroupID = s.name("group")
		t := kmsg.NewReadShareGroupStateRequestTopic()
		t.TopicID, t.Partitions = s.conn.topicID(s.records()), []kmsg.ReadShareGroupStateRequestTopicPartition{kmsg.NewReadShareGroupStateRequestTopicPartition()}
		req.Topics = []kmsg.ReadShareGroupStateRequestTopic{t}
		return req
	}}}},
	{85, []exchange{{name: "a partition", request: func(s *scene) kmsg.Request {
		req := kmsg.NewPtrWriteShareGroupStateRequest()
		req.GroupID = s.name("group")
		t := kmsg.NewWriteShareGroupStateRequestTopic()
		t.TopicID, t.Partitions = s.conn.topicID(s.records()), []kmsg.WriteShareGroupStateRequestTopicPartition{kmsg.NewWriteShareGroupStateRequestTopicPartition()}
		req.Topics = []kmsg.WriteShareGroupStateRequestTopic{t}
		return req
	}}}},
	{86, []exchange{{name: "a partition", request: func(s *scene) kmsg.Request {
		req := kmsg.NewPtrDeleteShareGroupStateRequest()
		req.GroupID = s.name("group")
		t := kmsg.NewDeleteShareGroupStateRequestTopic()
		t.TopicID, t.Partitions = s.conn.topicID(s.records()), []kmsg.DeleteShareGroupStateRequestTopicPartition{kmsg.NewDeleteShareGroupStateRequestTopicPartition()}
		req.Topics = []kmsg.DeleteShareGroupStateRequestTopic{t}
		return req
	}}}},
	{87, []exchange{{name: "a partition", request: func(s *scene) kmsg.Request {
		req := kmsg.NewPtrReadShareGroupStateSummaryRequest()
		req.GroupID = s.name("group")
		t := kmsg.NewReadShareGroupStateSummaryRequestTopic()
		t.TopicID, t.Partitions = s.conn.topicID(s.records()), []kmsg.ReadShareGroupStateSummaryRequestTopicPartition{kmsg.NewReadShareGroupStateSummaryRequestTopicPartition()}
		req.Topics = []kmsg.ReadShareGroupStateSummaryRequestTopic{t}
		return req
	}}}},
	{90, []exchange{
		{name: "of a topic", request: func(s *scene) kmsg.Request { return s.shareOffsetsRequest(s.shareGroup(), s.records()) }, trim: onlyShareCodes},
		{name: "of all", request: func(s *scene) kmsg.Request {
			req := s.shareOffsetsRequest(s.shareGroup())
			harness.Await(s.t, "offsets of a share group", func() bool {
				return len(ask[*kmsg.DescribeShareGroupOffsetsResponse](s.conn, 0, req).Groups[0].Topics) == 1
			})
			return req
		}, trim: onlyShareTopics},
	}},
	{91, []exchange{{name: "of a topic", request: func(s *scene) kmsg.Request {
		req := kmsg.NewPtrAlterShareGroupOffsetsRequest()
		req.GroupID = s.name("group")
		t := kmsg.NewAlterShareGroupOffsetsRequestTopic()
		t.Topic, t.Partitions = s.records(), []kmsg.AlterShareGroupOffsetsRequestTopicPartition{kmsg.NewAlterShareGroupOffsetsRequestTopicPartition()}
		req.Topics = []kmsg.AlterShareGroupOffsetsRequestTopic{t}
		return req
	}}}},
	{92, []exchange{{name: "of a topic", request: func(s *scene) kmsg.Request {
		req := kmsg.NewPtrDeleteShareGroupOffsetsRequest()
		req.GroupID = s.name("group")
		req.Topics = []kmsg.DeleteShareGroupOffsetsRequestTopic{{Topic: s.records()}}
		return req
	}}}},
}

// newACL is for a resource and a user of its own.
func (s *scene) newACL() kmsg.CreateACLsRequestCreation {
	return kmsg.CreateACLsRequestCreation{ResourceType: kmsg.ACLResourceTypeTopic, ResourceName: s.name("resource"),
		ResourcePatternType: kmsg.ACLResourcePatternTypePrefixed, Principal: "User:" + s.name("user"), Host: "*",
		Operation: kmsg.ACLOperationRead, PermissionType: kmsg.ACLPermissionTypeDeny}
}

func (s *scene) someACL() kmsg.CreateACLsRequestCreation {
	s.t.Helper()
	a := s.newACL()
	s.conn.t = s.t
	s.conn.allow(a)
	return a
}

// shareGroup has a member.
func (s *scene) shareGroup() string {
	s.t.Helper()
	group := s.name("group")
	s.conn.findCoordinator(group)
	req := kmsg.NewPtrShareGroupHeartbeatRequest()
	req.GroupID, req.MemberID, req.SubscribedTopicNames = group, newMemberID(), []string{s.records()}
	harness.Await(s.t, "a member of a share group", func() bool { return ask[*kmsg.ShareGroupHeartbeatResponse](s.conn, 1, req).ErrorCode == 0 })
	return group
}

// newMemberID is one as members of share groups make it.
func newMemberID() string {
	var id [16]byte
	_, _ = rand.Read(id[:])
	return base64ID(id)
}

func (s *scene) shareOffsetsRequest(group string, topics ...string) *kmsg.DescribeShareGroupOffsetsRequest {
	req := kmsg.NewPtrDescribeShareGroupOffsetsRequest()
	g := kmsg.NewDescribeShareGroupOffsetsRequestGroup()
	g.GroupID = group
	for _, topic := range topics {
		g.Topics = append(g.Topics, kmsg.DescribeShareGroupOffsetsRequestGroupTopic{Topic: topic, Partitions: []int32{0}})
	}
	req.Groups = []kmsg.DescribeShareGroupOffsetsRequestGroup{g}
	return req
}

// onlyShareCodes: where a share group stands is another question.
func onlyShareCodes(_ *scene, answer kmsg.Response) {
	for i := range answer.(*kmsg.DescribeShareGroupOffsetsResponse).Groups {
		g := &answer.(*kmsg.DescribeShareGroupOffsetsResponse).Groups[i]
		g.Topics = slices.DeleteFunc(g.Topics, func(t kmsg.DescribeShareGroupOffsetsResponseGroupTopic) bool {
			return len(t.Partitions) == 0 || t.Partitions[0].ErrorCode == 0
		})
	}
}

// onlyShareTopics is onlyShareCodes that leaves the names.
func onlyShareTopics(_ *scene, answer kmsg.Response) {
	for _, g := range answer.(*kmsg.DescribeShareGroupOffsetsResponse).Groups {
		for i := range g.Topics {
			g.Topics[i].Partitions = nil
		}
	}
}

func replaced(kind kmsg.ConfigResourceType, resource, name, value string) kmsg.Request {
	req := alterRequest(resource, name, value)
	req.Resources[0].ResourceType = kind
	return req
}

func changed(kind kmsg.ConfigResourceType, resource, name, value string) kmsg.Request {
	req := changeRequest(resource, name, kmsg.IncrementalAlterConfigOpSet, value)
	req.Resources[0].ResourceType = kind
	return req
}
