package api

import (
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/node/config"
	"github.com/ringmill/ringmill/wire"
)

var createTopicsRow = row{key: wire.KeyCreateTopics, min: 2, max: 7, handle: on(createTopics)}

// partitionsPerRequestMax bounds what one CreateTopics or CreatePartitions makes, as Apache Kafka 4.1.1 does.
const partitionsPerRequestMax = 10_000

func createTopics(b Broker, r *Request, req *kmsg.CreateTopicsRequest) *kmsg.CreateTopicsResponse {
	resp := kmsg.NewPtrCreateTopicsResponse()
	c := &topicCreation{broker: b, request: r, req: req, tooMany: partitionsAsked(b, req) > partitionsPerRequestMax}
	times := make(map[string]int, len(req.Topics))
	for i := range req.Topics {
		times[req.Topics[i].Topic]++
	}
	for i := range req.Topics {
		t := &req.Topics[i]
		again := times[t.Topic] > 1
		switch {
		case !takeOnce(times, t.Topic):
		case again:
			resp.Topics = append(resp.Topics, refusedTopic(t.Topic, refuse(wire.InvalidRequest, "Duplicate topic name.")))
		case !c.mayCreate(t.Topic):
			resp.Topics = append(resp.Topics, refusedTopic(t.Topic, unauthorizedTopic))
		default:
			resp.Topics = append(resp.Topics, c.create(t))
		}
	}
	return resp
}

// partitionsAsked counts the partitions that the whole request would make.
func partitionsAsked(b Broker, req *kmsg.CreateTopicsRequest) int64 {
	var sum int64
	for i := range req.Topics {
		switch t := &req.Topics[i]; {
		case len(t.ReplicaAssignment) > 0:
			sum += int64(len(t.ReplicaAssignment))
		case t.NumPartitions == -1:
			sum += int64(b.Config().NumPartitions)
		case t.NumPartitions > 0:
			sum += int64(t.NumPartitions)
		}
	}
	return sum
}

func refusedTopic(name string, why refusal) kmsg.CreateTopicsResponseTopic {
	t := newCreatedTopic(name)
	t.ErrorCode, t.ErrorMessage = int16(why.code), why.text()
	return t
}

func newCreatedTopic(name string) kmsg.CreateTopicsResponseTopic {
	t := kmsg.NewCreateTopicsResponseTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = name, -1, -1
	t.Configs = []kmsg.CreateTopicsResponseTopicConfig{}
	return t
}

// topicCreation is one CreateTopics being answered.
type topicCreation struct {
	broker  Broker
	request *Request
	req     *kmsg.CreateTopicsRequest
	tooMany bool // partitions in the whole request
}

func (c *topicCreation) create(t *kmsg.CreateTopicsRequestTopic) kmsg.CreateTopicsResponseTopic {
	configs, why := c.check(t)
	if why.code != wire.None {
		return refusedTopic(t.Topic, why)
	}
	out := newCreatedTopic(t.Topic)
	out.NumPartitions, out.ReplicationFactor = c.partitions(t), c.replicationFactor(t)
	if why := c.request.chargeMutations(c.broker, out.NumPartitions, createTopicsStrictFrom); why.code != wire.None {
		return refusedTopic(t.Topic, why)
	}
	id, why := c.make(NewTopic{
		Name: t.Topic, Partitions: out.NumPartitions, ReplicationFactor: t.ReplicationFactor, Assignment: assignmentOf(t), Configs: configs,
	})
	if why.code != wire.None {
		return refusedTopic(t.Topic, why)
	}
	out.TopicID = id
	switch {
	case !c.request.allows(c.broker, describeTopicConfigs, t.Topic):
		out.ConfigErrorCode, out.NumPartitions, out.ReplicationFactor = int16(unauthorizedTopic.code), -1, -1
	case c.req.Version >= createTopicsConfigsFrom:
		out.Configs = createdConfigs(c.broker.Config(), configs)
	}
	return out
}

// make makes a topic, or says whether it could be made, where the request only validates.
func (c *topicCreation) make(t NewTopic) (id wire.TopicID, why refusal) {
	if c.req.ValidateOnly {
		id = c.broker.NewTopicID() // Kafka gives one even here
		why.code, why.message = c.broker.CheckTopic(t)
	} else {
		id, why.code, why.message = c.broker.CreateTopic(t)
	}
	if why.code == wire.TopicAlreadyExists {
		why = topicExists(t.Name)
	}
	return id, why
}

func (c *topicCreation) mayCreate(name string) bool {
	return c.request.allowsInCluster(c.broker, createInCluster) || c.request.may(c.broker, createTopicNeed, name)
}

func (c *topicCreation) partitions(t *kmsg.CreateTopicsRequestTopic) int32 {
	switch {
	case len(t.ReplicaAssignment) > 0:
		return int32(len(t.ReplicaAssignment))
	case t.NumPartitions == -1:
		return c.broker.Config().NumPartitions
	}
	return t.NumPartitions
}

// replicationFactor is what the answer tells.
func (c *topicCreation) replicationFactor(t *kmsg.CreateTopicsRequestTopic) int16 {
	switch {
	case len(t.ReplicaAssignment) > 0:
		return int16(len(t.ReplicaAssignment[0].Replicas))
	case t.ReplicationFactor == -1:
		return c.broker.Config().DefaultReplicationFactor
	}
	return t.ReplicationFactor
}

// assignmentOf has the replicas of each partition in order, nil if the client names none.
func assignmentOf(t *kmsg.CreateTopicsRequestTopic) [][]wire.NodeID {
	if len(t.ReplicaAssignment) == 0 {
		return nil
	}
	all := make([][]wire.NodeID, len(t.ReplicaAssignment))
	for i := range t.ReplicaAssignment {
		a := &t.ReplicaAssignment[i]
		all[a.Partition] = wire.NodeIDs(a.Replicas)
	}
	return all
}

// check says what Kafka's ReplicationControlManager would refuse, in its order, and gives the topic's own configuration.
func (c *topicCreation) check(t *kmsg.CreateTopicsRequestTopic) (configs map[string]string, why refusal) {
	if why = c.checkName(t.Topic); why.code != wire.None {
		return nil, why
	}
	if configs, why = topicConfigs(c.broker.Config(), t.Configs); why.code != wire.None {
		return nil, why
	}
	if len(t.ReplicaAssignment) > 0 {
		return configs, c.checkAssignment(t)
	}
	return configs, c.checkCounts(t)
}

func (c *topicCreation) checkName(name string) refusal {
	m := c.broker.Image()
	// Kafka lets clients make the topics that it would make itself, in whatever form.
	if name == image.ClusterMetadataTopic || image.IsInternal(name) && m.ByName(name) == nil && !c.request.Client.Node {
		return refuse(wire.InvalidRequest, "Creation of internal topic %s is prohibited.", name)
	}
	if c.tooMany {
		return refuse(wire.PolicyViolation, "Excessively large number of partitions per request.")
	}
	if err := wire.CheckTopicName(name); err != nil {
		return refusal{wire.InvalidTopicException, err.Error()}
	}
	if m.ByName(name) != nil {
		return topicExists(name)
	}
	if other := m.Colliding(name); other != "" {
		return refuse(wire.InvalidTopicException, "Topic '%s' collides with existing topic: %s", name, other)
	}
	return refusal{}
}

func topicExists(name string) refusal {
	return refuse(wire.TopicAlreadyExists, "Topic '%s' already exists.", name)
}

// topicConfigs takes a topic's configuration from a request. A key that is there twice has its last value.
func topicConfigs(cfg *config.Config, asked []kmsg.CreateTopicsRequestTopicConfig) (map[string]string, refusal) {
	configs := make(map[string]string, len(asked))
	var null []string
	for i := range asked {
		if asked[i].Value == nil {
			null = append(null, asked[i].Name)
			continue
		}
		configs[asked[i].Name] = *asked[i].Value
	}
	if null != nil {
		return nil, refuse(wire.InvalidConfig, "Null value not supported for topic configs: %s", strings.Join(null, ","))
	}
	if err := cfg.ValidateTopicConfig(configs); err != nil {
		return nil, refusal{wire.InvalidConfig, err.Error()}
	}
	return configs, refusal{}
}

func (c *topicCreation) checkCounts(t *kmsg.CreateTopicsRequestTopic) refusal {
	switch {
	case t.NumPartitions < -1 || t.NumPartitions == 0:
		return refuse(wire.InvalidPartitions, "Number of partitions was set to an invalid non-positive value.")
	case t.ReplicationFactor < -1 || t.ReplicationFactor == 0:
		return refuse(wire.InvalidReplicationFactor, "Replication factor must be larger than 0, or -1 to use the default value.")
	}
	replicas := t.ReplicationFactor
	if replicas == -1 {
		replicas = c.broker.Config().DefaultReplicationFactor
	}
	if replicas > 1 && !c.broker.Clustered() { // a controller knows how many there are
		return refuse(wire.InvalidReplicationFactor, "Unable to replicate the partition %d time(s): The target replication factor of %d cannot be reached because only 1 broker(s) are registered.",
			replicas, replicas)
	}
	return refusal{}
}

func (c *topicCreation) checkAssignment(t *kmsg.CreateTopicsRequestTopic) refusal {
	switch {
	case t.ReplicationFactor != -1:
		return refuse(wire.InvalidRequest, "A manual partition assignment was specified, but replication factor was not set to -1.")
	case t.NumPartitions != -1:
		return refuse(wire.InvalidRequest, "A manual partition assignment was specified, but numPartitions was not set to -1.")
	}
	seen := make([]bool, len(t.ReplicaAssignment))
	for i := range t.ReplicaAssignment {
		a := &t.ReplicaAssignment[i]
		if why := checkReplicas(c.broker, a.Replicas); why.code != wire.None {
			return why
		}
		if a.Partition < 0 || int(a.Partition) >= len(seen) || seen[a.Partition] {
			return refuse(wire.InvalidReplicaAssignment, "partitions should be a consecutive 0-based integer sequence")
		}
		seen[a.Partition] = true
	}
	return refusal{}
}

// checkReplicas: registered nodes, each once. A node of its own is the only one.
func checkReplicas(b Broker, replicas []int32) refusal {
	if len(replicas) == 0 {
		return refuse(wire.InvalidReplicaAssignment, "The manual partition assignment includes an empty replica list.")
	}
	m := b.Image()
	for _, node := range replicas {
		if b.Clustered() && m.Broker(wire.NodeID(node)) == nil || !b.Clustered() && node != int32(b.Config().NodeID) {
			return refuse(wire.InvalidReplicaAssignment, "The manual partition assignment includes broker %d, but no such broker is registered.", node)
		}
	}
	for i, node := range replicas {
		if slices.Contains(replicas[:i], node) {
			return refuse(wire.InvalidReplicaAssignment, "The manual partition assignment includes the broker %d more than once.", node)
		}
	}
	return refusal{}
}

// createTopicsConfigsFrom is the first version that is told the topic's configuration (KIP-525).
const createTopicsConfigsFrom = 5

func createdConfigs(cfg *config.Config, overrides map[string]string) []kmsg.CreateTopicsResponseTopicConfig {
	entries := cfg.DescribeTopic(overrides)
	out := make([]kmsg.CreateTopicsResponseTopicConfig, len(entries))
	for i := range entries {
		e := &entries[i]
		out[i].Name, out[i].Value, out[i].ReadOnly = e.Name, e.Value, e.ReadOnly
		out[i].Source, out[i].IsSensitive = int8(e.Source), e.Sensitive
	}
	return out
}
