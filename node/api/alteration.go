package api

import (
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
		case id != int(b.Config().NodeID):
			return nil, refuse(wire.InvalidRequest, "Unexpected broker id, expected %d, but received %s", b.Config().NodeID, name)
		}
	}
	r := image.Resource{Type: image.BrokerResource, Name: name}
	return &alteration{broker: b, resource: r, own: b.Image().Configs(r)}, refusal{}
}

func (a *alteration) isTopic() bool { return a.resource.Type == image.TopicResource }

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
			if !a.isList(c.Name) {
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

func (a *alteration) isList(key string) bool {
	lookup := config.LookupBroker
	if a.isTopic() {
		lookup = config.LookupTopic
	}
	p, known := lookup(key)
	return known && p.Type == config.List
}

func (a *alteration) notAList(c *kmsg.IncrementalAlterConfigsRequestResourceConfig) refusal {
	if a.isTopic() {
		return refuse(wire.InvalidConfig, "Can't %s to key %s because its type is not LIST.", c.Op, c.Name)
	}
	return refuse(wire.InvalidConfig, "Config value %s is not allowed for config key: %s", strings.ToLower(c.Op.String()), c.Name)
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
	if a.isTopic() {
		if err := a.broker.Config().ValidateTopicConfig(next); err != nil {
			return refusal{wire.InvalidConfig, err.Error()}
		}
		return refusal{}
	}
	return a.checkBroker(next, set)
}

// checkBroker: single values first, then all of them laid over what the node was started with.
func (a *alteration) checkBroker(next, set map[string]string) refusal {
	perNode := a.resource.Name != ""
	if err := config.ValidateDynamic(set, perNode); err != nil {
		return refusal{wire.InvalidRequest, err.Error()}
	}
	m, cfg := a.broker.Image(), a.broker.Config()
	node, cluster := m.BrokerConfigs(strconv.Itoa(int(cfg.NodeID))), next
	if perNode {
		node, cluster = next, m.BrokerConfigs("")
	}
	if _, err := cfg.WithDynamic(node, cluster); err != nil {
		return refusal{wire.InvalidRequest, err.Error()}
	}
	return refusal{}
}
