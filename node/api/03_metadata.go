package api

import (
	"math"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/wire"
)

var metadataRow = row{key: wire.KeyMetadata, min: 0, max: 13, handle: on(metadata)}

// What a client may do where nobody is restricted, as bits of org.apache.kafka.common.acl.AclOperation: what Apache Kafka
// 4.1.1 answers without an authorizer. operationsUnknown is the answer to who did not ask.
const (
	topicOperations   = 3576 // read, write, create, delete, alter, describe, describe-configs, alter-configs
	clusterOperations = 8096 // create, alter, describe, cluster-action, describe-configs, alter-configs, idempotent-write
	operationsUnknown = math.MinInt32
)

// autoCreatedMax bounds the topics that one Metadata makes. The others are unknown for now, and made when the client asks
// again, as it does.
const autoCreatedMax = 256

func metadata(b Broker, r *Request, req *kmsg.MetadataRequest) *kmsg.MetadataResponse {
	m := &metadataAnswer{broker: b, request: r, req: req, image: b.Image(), resp: kmsg.NewPtrMetadataResponse()}
	if !m.valid() {
		return m.refuse(wire.InvalidRequest)
	}
	m.describeCluster()
	defer m.addRefused()
	switch {
	case m.wantsAll():
		m.addAll()
	case m.usesIDs():
		m.addByID()
	default:
		m.addByName()
	}
	return m.resp
}

// metadataAnswer is one Metadata being answered.
type metadataAnswer struct {
	broker  Broker
	request *Request
	req     *kmsg.MetadataRequest
	image   *image.Image
	resp    *kmsg.MetadataResponse
	created int
	// refused are the topics that the client may not describe, or not make; they are answered last.
	refused []kmsg.MetadataResponseTopic
}

// valid: ids and null names came with version 10, and work from version 12 on (KAFKA-10774).
func (m *metadataAnswer) valid() bool {
	for i := range m.req.Topics {
		t := &m.req.Topics[i]
		if named := t.Topic != nil; m.req.Version < 12 && (!named || t.TopicID != wire.TopicID{}) || !named && t.TopicID == (wire.TopicID{}) {
			return false
		}
	}
	return true
}

// refuse answers every topic with code and tells nothing else.
func (m *metadataAnswer) refuse(code wire.ErrorCode) *kmsg.MetadataResponse {
	m.resp.ControllerID = -1
	m.resp.Topics = make([]kmsg.MetadataResponseTopic, len(m.req.Topics))
	for i := range m.req.Topics {
		t := &m.resp.Topics[i]
		t.Default()
		t.ErrorCode, t.Topic, t.TopicID = int16(code), m.req.Topics[i].Topic, m.req.Topics[i].TopicID
		if t.Topic == nil {
			t.Topic = new(string)
		}
	}
	return m.resp
}

func (m *metadataAnswer) describeCluster() {
	for _, n := range clusterNodes(m.broker, m.image, m.request.Client.ListenerName, false) {
		node := kmsg.NewMetadataResponseBroker()
		node.NodeID, node.Host, node.Port, node.Rack = n.id, n.host, n.port, nullable(n.rack)
		m.resp.Brokers = append(m.resp.Brokers, node)
	}
	m.resp.ClusterID, m.resp.ControllerID = kmsg.StringPtr(m.image.ClusterID()), int32(m.broker.Controller())
	if m.req.IncludeClusterAuthorizedOperations {
		m.resp.AuthorizedOperations = m.request.allowedInCluster(m.broker)
	}
}

// nullable is nil for the empty string.
func nullable(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// wantsAll: null means all, and so does the empty list of version 0, which cannot say null.
func (m *metadataAnswer) wantsAll() bool {
	return m.req.Topics == nil || m.req.Version == 0 && len(m.req.Topics) == 0
}

func (m *metadataAnswer) addAll() {
	m.resp.Topics = make([]kmsg.MetadataResponseTopic, 0, m.image.TopicCount())
	for t := range m.image.Topics() {
		if m.request.allows(m.broker, describeTopic, t.Name) {
			m.add(t)
		}
	}
}

func (m *metadataAnswer) mayDescribe(name string) bool {
	return m.request.may(m.broker, describeTopic, name)
}

// refuseTopic keeps an answer that tells neither what of a topic was not asked with, name or id, nor whether it is there.
func (m *metadataAnswer) refuseTopic(name *string, id wire.TopicID) *kmsg.MetadataResponseTopic {
	t := kmsg.NewMetadataResponseTopic()
	t.ErrorCode, t.Topic, t.TopicID = int16(unauthorizedTopic.code), name, id
	m.refused = append(m.refused, t)
	return &m.refused[len(m.refused)-1]
}

func (m *metadataAnswer) addRefused() { m.resp.Topics = append(m.resp.Topics, m.refused...) }

// usesIDs: one id is enough for the names to be looked past, as in Kafka.
func (m *metadataAnswer) usesIDs() bool {
	for i := range m.req.Topics {
		if m.req.Topics[i].TopicID != (wire.TopicID{}) {
			return true
		}
	}
	return false
}

func (m *metadataAnswer) addByID() {
	seen := make(map[wire.TopicID]struct{}, len(m.req.Topics))
	for i := range m.req.Topics {
		id := wire.TopicID(m.req.Topics[i].TopicID)
		if _, again := seen[id]; again || id.IsZero() {
			continue
		}
		seen[id] = struct{}{}
		if t := m.image.ByID(id); t != nil {
			if m.mayDescribe(t.Name) {
				m.add(t)
			} else {
				m.refuseTopic(nil, id)
			}
			continue
		}
		t := kmsg.NewMetadataResponseTopic()
		t.ErrorCode, t.TopicID = int16(wire.UnknownTopicID), id
		m.resp.Topics = append(m.resp.Topics, t)
	}
}

func (m *metadataAnswer) addByName() {
	seen := make(map[string]struct{}, len(m.req.Topics))
	for i := range m.req.Topics {
		name := *m.req.Topics[i].Topic
		if _, again := seen[name]; again {
			continue
		}
		seen[name] = struct{}{}
		t := m.image.ByName(name)
		switch {
		case !m.mayDescribe(name):
			m.refuseTopic(&name, wire.TopicID{})
		case t != nil:
			m.add(t)
		case m.wouldCreate() && !m.mayCreate(name):
			m.refuseTopic(&name, wire.TopicID{}).IsInternal = image.IsInternal(name)
		default:
			m.addMissing(name, m.autoCreate(name))
		}
	}
}

// wouldCreate reports whether topics that are not there are made: if client and node both allow it.
func (m *metadataAnswer) wouldCreate() bool {
	return (m.req.Version < 4 || m.req.AllowAutoTopicCreation) && m.broker.Config().AutoCreateTopics
}

func (m *metadataAnswer) mayCreate(name string) bool {
	return m.request.allowsInCluster(m.broker, createInCluster) || m.request.may(m.broker, createTopicNeed, name)
}

// autoCreate makes a topic that is not there, if that is wanted, and returns what its answer says. As in Apache
// Kafka a topic that was just made is not known yet: whoever asks for it asks again, and who only looks whether it is gone
// (segmentio/kafka-go's tests do) is not told otherwise.
func (m *metadataAnswer) autoCreate(name string) wire.ErrorCode {
	switch {
	case wire.CheckTopicName(name) != nil:
		return wire.InvalidTopicException
	case !m.wouldCreate() || m.created >= autoCreatedMax:
	case name == image.ConsumerOffsetsTopic:
		m.broker.OffsetsTopicReady()
		m.created++
	case image.IsInternal(name):
	case m.image.Colliding(name) != "":
		return wire.InvalidTopicException
	default:
		partitions := m.broker.Config().NumPartitions
		if _, ok := m.broker.ChargeMutations(m.request.Client, partitions, true); ok { // else when the client asks again later
			_, _, _ = m.broker.CreateTopic(NewTopic{Name: name, Partitions: partitions, ReplicationFactor: -1, Asked: true})
			m.image = m.broker.Image()
			m.created++
		}
	}
	return wire.UnknownTopicOrPartition
}

func (m *metadataAnswer) addMissing(name string, code wire.ErrorCode) {
	t := kmsg.NewMetadataResponseTopic()
	t.ErrorCode, t.Topic, t.IsInternal = int16(code), &name, image.IsInternal(name)
	t.AuthorizedOperations = m.operations(name)
	m.resp.Topics = append(m.resp.Topics, t)
}

func (m *metadataAnswer) operations(topic string) int32 {
	if m.req.IncludeTopicAuthorizedOperations {
		return m.request.allowedOperations(m.broker, image.ACLResourceTopic, topic, topicOperations)
	}
	return operationsUnknown
}

func (m *metadataAnswer) add(t *image.Topic) {
	out := kmsg.NewMetadataResponseTopic()
	out.Topic, out.TopicID, out.IsInternal = &t.Name, t.ID, t.Internal
	out.AuthorizedOperations = m.operations(t.Name)
	out.Partitions = make([]kmsg.MetadataResponseTopicPartition, t.Partitions)
	replicas := []int32{int32(m.broker.Config().NodeID)}
	for i := range out.Partitions {
		p := &out.Partitions[i]
		p.Default()
		p.Partition = int32(i)
		lead := leadershipOf(m.broker, m.image, t, wire.PartitionIndex(i), replicas)
		p.Leader, p.LeaderEpoch, p.Replicas, p.ISR, p.OfflineReplicas = lead.leader, lead.epoch, lead.replicas, lead.inSync, lead.offline
		if lead.leader < 0 {
			p.ErrorCode = int16(wire.LeaderNotAvailable)
		}
	}
	m.resp.Topics = append(m.resp.Topics, out)
}
