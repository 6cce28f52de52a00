package node

import (
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/controller"
	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/node/api"
	"github.com/ringmill/ringmill/wire"
)

// change has the controller make records that were validated part of the metadata, if this node is the controller, and waits until
// they are in force here.
func (c *cluster) change(records ...image.Record) (wire.ErrorCode, string) {
	var refused error
	code := c.decideHere(func(logic *controller.Controller, m *image.Image, _ time.Duration) []image.Record {
		if _, refused = m.With(records...); refused != nil {
			return nil
		}
		return logic.AlterConfigs(m, records...) // with what a change of configurations does to partitions
	})
	if refused != nil {
		return storageCode(refused)
	}
	return code, ""
}

// decideHere is decide that waits until this node has followed the metadata to what was decided.
func (c *cluster) decideHere(f func(*controller.Controller, *image.Image, time.Duration) []image.Record) wire.ErrorCode {
	code := c.decide(f)
	if code == wire.None {
		c.ready()
	}
	return code
}

// createTopic has the controller place and make a topic.
func (c *cluster) createTopic(spec api.NewTopic) (id wire.TopicID, code wire.ErrorCode, message string) {
	switch here := c.quorum.view.Load().here; {
	case !here && spec.Asked:
		spec.Asked = false
		if err := c.requestTopic(spec); err != nil {
			return id, wire.NotController, err.Error()
		}
		return id, wire.None, ""
	case !here:
		return id, wire.NotController, ""
	}
	t := topicSpec(spec)
	var refused controller.Refusal
	decided := c.decideHere(func(logic *controller.Controller, m *image.Image, _ time.Duration) (records []image.Record) {
		records, refused = logic.CreateTopic(m, t)
		return records
	})
	switch {
	case decided != wire.None:
		return wire.TopicID{}, decided, ""
	case refused.Code != wire.None:
		return wire.TopicID{}, refused.Code, refused.Message
	}
	return t.ID, wire.None, ""
}

// topicSpec is a new topic as the controller takes it, with an id.
func topicSpec(t api.NewTopic) controller.TopicSpec {
	if t.Assignment != nil { // as CreateTopic has it
		t.Partitions, t.ReplicationFactor = -1, -1
	}
	return controller.TopicSpec{
		Name: t.Name, ID: newUUID(), Partitions: t.Partitions, ReplicationFactor: t.ReplicationFactor, Assignment: t.Assignment, Configs: t.Configs,
	}
}

// checkTopic has the controller place a topic that is not made.
func (c *cluster) checkTopic(spec api.NewTopic) (wire.ErrorCode, string) {
	return c.wouldRefuse(func(logic *controller.Controller, m *image.Image) controller.Refusal {
		_, refused := logic.CreateTopic(m, topicSpec(spec))
		return refused
	})
}

// checkGrowth has the controller place partitions that are not made.
func (c *cluster) checkGrowth(name string, count int32, assignment [][]wire.NodeID) (wire.ErrorCode, string) {
	return c.wouldRefuse(func(logic *controller.Controller, m *image.Image) controller.Refusal {
		_, refused := logic.CreatePartitions(m, name, count, assignment)
		return refused
	})
}

// wouldRefuse has the controller say what it would decide, and decides nothing.
func (c *cluster) wouldRefuse(f func(*controller.Controller, *image.Image) controller.Refusal) (wire.ErrorCode, string) {
	var refused controller.Refusal
	code := c.decide(func(logic *controller.Controller, m *image.Image, _ time.Duration) []image.Record {
		refused = f(logic, m)
		return nil
	})
	if code != wire.None {
		return code, ""
	}
	return refused.Code, refused.Message
}

func (c *cluster) deleteTopic(name string, id wire.TopicID) wire.ErrorCode {
	var refused controller.Refusal
	code := c.decideHere(func(logic *controller.Controller, m *image.Image, _ time.Duration) (records []image.Record) {
		t := m.ByName(name)
		if t == nil || !id.IsZero() && t.ID != id {
			refused.Code = wire.UnknownTopicOrPartition
			return nil
		}
		records, refused = logic.DeleteTopic(m, t.ID)
		return records
	})
	if code != wire.None {
		return code
	}
	return refused.Code
}

func (c *cluster) growTopic(name string, count int32, assignment [][]wire.NodeID) (wire.ErrorCode, string) {
	var refused controller.Refusal
	code := c.decideHere(func(logic *controller.Controller, m *image.Image, _ time.Duration) (records []image.Record) {
		records, refused = logic.CreatePartitions(m, name, count, assignment)
		return records
	})
	if code != wire.None {
		return code, ""
	}
	return refused.Code, refused.Message
}

// newProducerIDs has the controller give this node a block of producer ids (KIP-730).
func (c *cluster) newProducerIDs() (first, end wire.ProducerID, err error) {
	req := kmsg.NewPtrAllocateProducerIDsRequest()
	req.BrokerID, req.BrokerEpoch = int32(c.node.Config().NodeID), c.broker.epoch.Load()
	resp, err := c.askController(req)
	if err != nil {
		return 0, 0, err
	}
	r := resp.(*kmsg.AllocateProducerIDsResponse)
	if r.ErrorCode != 0 {
		return 0, 0, kafkaError(r.ErrorCode)
	}
	first = wire.ProducerID(r.ProducerIDStart)
	return first, first + wire.ProducerID(r.ProducerIDLen), nil
}

// makeInternalTopic has the controller make one of the topics that coordinators keep their records in; false while that is not
// possible.
func (c *cluster) makeInternalTopic(name string, created func() (int32, map[string]string)) bool {
	n := c.node
	partitions, configs := created()
	replicas, minISR := n.internalReplicas(name)
	if minISR > 0 {
		configs["min.insync.replicas"] = fmt.Sprint(minISR)
	}
	spec := api.NewTopic{Name: name, Partitions: partitions, ReplicationFactor: replicas, Configs: configs}
	if err := c.requestTopic(spec); err != nil {
		n.log.throttled(name+" cannot be made", "error", err)
		return false
	}
	return n.topics.named([]byte(name)) != nil
}

// requestTopic has the controller make a topic for this node, wherever the controller is.
func (c *cluster) requestTopic(spec api.NewTopic) error {
	code, message := wire.NotController, ""
	if c.quorum.view.Load().here {
		_, code, message = c.createTopic(spec)
	} else {
		var err error
		if code, message, err = c.forwardTopic(spec); err != nil {
			return err
		}
	}
	if code == wire.None || code == wire.TopicAlreadyExists {
		return nil
	}
	return errors.New(code.String() + ": " + message)
}

// forwardTopic asks the controller for a topic as a client does.
func (c *cluster) forwardTopic(spec api.NewTopic) (wire.ErrorCode, string, error) {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Version = createTopicsForwarded
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = spec.Name, spec.Partitions, spec.ReplicationFactor
	for key, value := range spec.Configs {
		entry := kmsg.NewCreateTopicsRequestTopicConfig()
		entry.Name, entry.Value = key, &value
		t.Configs = append(t.Configs, entry)
	}
	req.Topics = append(req.Topics, t)
	r := api.Request{
		Header: wire.RequestHeader{Key: wire.KeyCreateTopics, Version: createTopicsForwarded},
		Client: api.Client{User: api.AnonymousUser, ID: string(peerClientID), ListenerName: c.node.interBroker().name, Node: true}, Body: req.AppendTo(nil),
	}
	body, err := c.forward(&r, nil)
	if errors.Is(err, errControllerHere) {
		_, code, message := c.createTopic(spec)
		return code, message, nil
	}
	if err != nil {
		return 0, "", err
	}
	resp := kmsg.NewPtrCreateTopicsResponse()
	resp.Version = createTopicsForwarded
	if err := resp.ReadFrom(body); err != nil || len(resp.Topics) != 1 {
		return 0, "", errors.Join(errPeerMessage, err)
	}
	message := ""
	if resp.Topics[0].ErrorMessage != nil {
		message = *resp.Topics[0].ErrorMessage
	}
	return wire.ErrorCode(resp.Topics[0].ErrorCode), message, nil
}

// internalReplicas is how many replicas an internal topic gets, and its min.insync.replicas, 0 for the node's.
func (n *Node) internalReplicas(topic string) (replicas int16, minISR int) {
	cfg := n.Config()
	switch topic {
	case image.ConsumerOffsetsTopic:
		return cfg.OffsetsTopicReplication, 0
	case image.TransactionStateTopic:
		return cfg.TransactionTopicReplication, cfg.TransactionTopicMinISR
	}
	return cfg.ShareStateTopicReplication, cfg.ShareStateTopicMinISR
}

// createTopicsForwarded is the version of CreateTopics that nodes send.
const createTopicsForwarded = 7
