package api

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/node/config"
	"github.com/ringmill/ringmill/wire"
)

// alteration is the change of one resource's configuration.
type alteration struct {
	broker   Broker
	resource image.Resource
	own      map[string]string // what is set on the resource now; read-only
}

func brokerAlteration(b Broker, name string) (*alteration, refusal) {
	if name != "" {
		id, err := strconv.Atoi(name)
		switch {
		case err != nil:
			return nil, refuse(wire.InvalidRequest, "Node id must be an integer, but it is: %s", name)
		case !b.Clustered() && id != int(b.Config().NodeID), b.Clustered() && b.Image().Broker(wire.NodeID(id)) == nil:
			return nil, refuse(wire.InvalidRequest, "Unexpected broker id, expected %d, but received %s", b.Config().NodeID, name)
		}
	}
	r := image.Resource{Type: image.BrokerResource, Name: name}
	return &alteration{broker: b, resource: r, own: b.Image().Configs(r)}, refusal{}
}

func (a *alteration) isTopic() bool { return a.resource.Type == image.TopicResource }

func (a *alteration) isBroker() bool { return a.resource.Type == image.BrokerResource }

// configuredResourcesMax bounds the groups and subscriptions that have a configuration, since a name is all that it takes to
// make one: each change copies the map of them, a millisecond at most.
const configuredResourcesMax = 10_000

// namedAlteration is that of a resource that comes into being with its first value: a group, a subscription.
func namedAlteration(b Broker, kind image.ResourceType, name string) (*alteration, refusal) {
	r := image.Resource{Type: kind, Name: name}
	own := b.Image().Configs(r)
	switch {
	case name == "" && kind == image.GroupResource:
		return nil, refuse(wire.InvalidRequest, "Default group resources are not allowed.")
	case name == "":
		return nil, refuse(wire.InvalidRequest, "Subscription name can't be empty")
	case len(name) > configTextMax:
		return nil, refuse(wire.InvalidConfig, "A name is longer than %d bytes.", configTextMax)
	case own == nil && b.Image().ResourceCount() >= configuredResourcesMax:
		return nil, refuse(wire.PolicyViolation, "%d groups and subscriptions can have a configuration.", configuredResourcesMax)
	}
	return &alteration{broker: b, resource: r, own: own}, refusal{}
}

// changes turns the operations into the values that the keys are to have, nil for none.
func (a *alteration) changes(configs []kmsg.IncrementalAlterConfigsRequestResourceConfig) (map[string]*string, refusal) {
	out := make(map[string]*string, len(configs))
	for i := range configs {
		c := &configs[i]
		switch c.Op {
		case kmsg.IncrementalAlterConfigOpSet:
			out[c.Name] = c.Value
		case kmsg.IncrementalAlterConfigOpDelete:
			out[c.Name] = nil
		case kmsg.IncrementalAlterConfigOpAppend, kmsg.IncrementalAlterConfigOpSubtract:
			if !config.IsList(a.scope(), c.Name) {
				return nil, a.notAList(c)
			}
			v := changedList(a.present(c.Name), *c.Value, c.Op == kmsg.IncrementalAlterConfigOpAppend)
			out[c.Name] = &v
		default:
			return nil, refuse(wire.InvalidRequest, "Unknown operation %d on %s", c.Op, c.Name)
		}
	}
	return out, refusal{}
}

func (a *alteration) scope() config.Scope {
	switch a.resource.Type {
	case image.TopicResource:
		return config.TopicScope
	case image.GroupResource:
		return config.GroupScope
	case image.ClientMetricsResource:
		return config.ClientMetricsScope
	}
	return config.BrokerScope
}

func (a *alteration) notAList(c *kmsg.IncrementalAlterConfigsRequestResourceConfig) refusal {
	if a.isBroker() {
		return refuse(wire.InvalidConfig, "Config value %s is not allowed for config key: %s", strings.ToLower(c.Op.String()), c.Name)
	}
	return refuse(wire.InvalidConfig, "Can't %s to key %s because its type is not LIST.", c.Op, c.Name)
}

// present is the value that is added to or taken from: the resource's own, else the one in force.
func (a *alteration) present(key string) string {
	if v, ok := a.own[key]; ok {
		return v
	}
	entries := a.broker.Config().DescribeBroker()
	if a.isTopic() {
		entries = a.broker.Config().DescribeTopic(a.own)
	}
	for i := range entries {
		if entries[i].Name == key && entries[i].Value != nil {
			return *entries[i].Value
		}
	}
	return ""
}

// changedList adds elements that are not there, or takes away those that are.
func changedList(present, change string, add bool) string {
	list := elements(present)
	for _, e := range elements(change) {
		at := slices.Index(list, e)
		switch {
		case add && at < 0:
			list = append(list, e)
		case !add && at >= 0:
			list = slices.Delete(list, at, at+1)
		}
	}
	return strings.Join(list, ",")
}

func elements(list string) []string {
	if strings.TrimSpace(list) == "" {
		return nil
	}
	parts := strings.Split(list, ",")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	return parts
}

// configKeysMax bounds what a resource keeps: a broker takes keys that it does not know, as in Kafka.
const configKeysMax = 1000

// check judges what the resource would have with the changes.
func (a *alteration) check(changes map[string]*string) refusal {
	next := maps.Clone(a.own)
	if next == nil {
		next = make(map[string]string, len(changes))
	}
	set := make(map[string]string, len(changes))
	for key, value := range changes {
		delete(next, key)
		if value != nil {
			next[key], set[key] = *value, *value
		}
	}
	if len(next) > configKeysMax {
		return refuse(wire.PolicyViolation, "A resource can have %d values of its own.", configKeysMax)
	}
	switch a.resource.Type {
	case image.TopicResource:
		return refusedConfig(a.broker.Config().ValidateTopicConfig(next))
	case image.GroupResource:
		return refusedConfig(a.broker.Config().ValidateGroup(next))
	case image.ClientMetricsResource:
		return refusedConfig(config.ValidateClientMetrics(next))
	}
	if why := a.checkMinISR(changes); why.code != wire.None {
		return why
	}
	return a.checkBroker(next, set)
}

// checkMinISR: in a cluster all nodes go by the same min.insync.replicas. Whom the controller takes for eligible when the last replicas in
// sync are gone follows from it, so that a leader that acknowledged with fewer would lose records. The words are Kafka's.
func (a *alteration) checkMinISR(changes map[string]*string) refusal {
	value, altered := changes[minISRKey]
	switch {
	case !altered || !a.broker.Clustered():
	case a.resource.Name != "" && value != nil:
		return refuse(wire.InvalidConfig, "Broker-level %s cannot be altered while ELR is enabled.", minISRKey)
	case a.resource.Name == "" && value == nil:
		return refuse(wire.InvalidConfig, "Cluster-level %s cannot be removed while ELR is enabled.", minISRKey)
	}
	return refusal{}
}

const minISRKey = "min.insync.replicas"

// refusedConfig tells of a *config.TopicError.
func refusedConfig(err error) refusal {
	var e *config.TopicError
	switch {
	case err == nil:
		return refusal{}
	case errors.As(err, &e) && e.InvalidRequest:
		return refusal{wire.InvalidRequest, err.Error()}
	}
	return refusal{wire.InvalidConfig, err.Error()}
}

// checkBroker: single values first, then all of them laid over what the node was started with.
func (a *alteration) checkBroker(next, set map[string]string) refusal {
	perNode := a.resource.Name != ""
	if err := config.ValidateDynamic(set, perNode); err != nil {
		return refusal{wire.InvalidRequest, err.Error()}
	}
	m, cfg := a.broker.Image(), a.broker.Config()
	node, cluster := m.BrokerConfigs(strconv.Itoa(int(cfg.NodeID))), next // another node of a cluster is held to what this one has
	if perNode {
		node, cluster = next, m.BrokerConfigs("")
	}
	if _, err := cfg.WithDynamic(node, cluster); err != nil {
		return refusal{wire.InvalidRequest, err.Error()}
	}
	return refusal{}
}
