package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/wire"
)

var incrementalAlterConfigsRow = row{key: wire.KeyIncrementalAlterConfigs, min: 0, max: 1, handle: on(incrementalAlterConfigs)}

func incrementalAlterConfigs(b Broker, r *Request, req *kmsg.IncrementalAlterConfigsRequest) *kmsg.IncrementalAlterConfigsResponse {
	resp := kmsg.NewPtrIncrementalAlterConfigsResponse()
	resp.Resources = make([]kmsg.IncrementalAlterConfigsResponseResource, len(req.Resources))
	times := make(map[alteredResource]int, len(req.Resources))
	for i := range req.Resources {
		times[resourceOf(&req.Resources[i])]++
	}
	for i := range req.Resources {
		asked, out := &req.Resources[i], &resp.Resources[i]
		why := refuse(wire.InvalidRequest, "Each resource must appear at most once.")
		switch {
		case times[resourceOf(asked)] != 1:
		case !r.mayAlterConfigs(b, asked.ResourceType, asked.ResourceName):
			why = unauthorizedResource(asked.ResourceType)
			if asked.ResourceType == kmsg.ConfigResourceTypeBrokerLogger {
				why.message = "" // Kafka's node refuses these itself, and says nothing
			}
		default:
			why = alterResource(b, asked, req.ValidateOnly)
		}
		out.ResourceType, out.ResourceName = asked.ResourceType, asked.ResourceName
		out.ErrorCode, out.ErrorMessage = int16(why.code), nullable(why.message)
	}
	return resp
}

type alteredResource struct {
	kind kmsg.ConfigResourceType
	name string
}

func resourceOf(r *kmsg.IncrementalAlterConfigsRequestResource) alteredResource {
	return alteredResource{r.ResourceType, r.ResourceName}
}

// alterResource checks all changes of a resource, and makes all or none.
func alterResource(b Broker, asked *kmsg.IncrementalAlterConfigsRequestResource, validateOnly bool) refusal {
	if asked.ResourceType == kmsg.ConfigResourceTypeBrokerLogger {
		return alterLoggers(b, asked, validateOnly)
	}
	a, why := alterationOf(b, asked)
	if why.code != wire.None {
		return why
	}
	changes, why := a.changes(asked.Configs)
	if why.code != wire.None {
		return why
	}
	if why = a.check(changes); why.code != wire.None || validateOnly || len(changes) == 0 {
		return why
	}
	code, message := b.AlterConfigs(a.resource, changes)
	return refusal{code, message}
}

// alterationOf finds the resource. What is wrong with the list of changes itself is told first, as Kafka does.
func alterationOf(b Broker, asked *kmsg.IncrementalAlterConfigsRequestResource) (*alteration, refusal) {
	if why := checkAlterations(asked.Configs); why.code != wire.None {
		return nil, why
	}
	switch asked.ResourceType {
	case kmsg.ConfigResourceTypeTopic:
		return topicAlteration(b, asked.ResourceName)
	case kmsg.ConfigResourceTypeBroker:
		return brokerAlteration(b, asked.ResourceName)
	case kmsg.ConfigResourceTypeGroupConfig:
		return namedAlteration(b, image.GroupResource, asked.ResourceName)
	case kmsg.ConfigResourceTypeClientMetrics:
		return namedAlteration(b, image.ClientMetricsResource, asked.ResourceName)
	}
	return nil, refuse(wire.InvalidRequest, "Unknown resource type %d", asked.ResourceType)
}

// configTextMax bounds a key and a value: what is longer could not be told in the versions before flexible ones, whose
// lengths are 16 bits wide.
const configTextMax = 1<<15 - 1

func checkAlterations(configs []kmsg.IncrementalAlterConfigsRequestResourceConfig) refusal {
	seen := make(map[string]struct{}, len(configs))
	for i := range configs {
		c := &configs[i]
		if _, again := seen[c.Name]; again {
			return refuse(wire.InvalidRequest, "Error due to duplicate config keys")
		}
		seen[c.Name] = struct{}{}
	}
	for i := range configs {
		switch c := &configs[i]; {
		case c.Value == nil && c.Op != kmsg.IncrementalAlterConfigOpDelete:
			return refuse(wire.InvalidRequest, "Null value not supported for : %s", c.Name)
		case len(c.Name) > configTextMax || c.Value != nil && len(*c.Value) > configTextMax:
			return refuse(wire.InvalidConfig, "A key or value is longer than %d bytes.", configTextMax)
		}
	}
	return refusal{}
}

func topicAlteration(b Broker, name string) (*alteration, refusal) {
	if err := wire.CheckTopicName(name); err != nil {
		return nil, refusal{wire.InvalidTopicException, err.Error()}
	}
	t := b.Image().ByName(name)
	if t == nil {
		return nil, refuse(wire.UnknownTopicOrPartition, "The topic '%s' does not exist.", name)
	}
	return &alteration{broker: b, resource: image.Resource{Type: image.TopicResource, Name: name}, own: t.Configs}, refusal{}
}
