package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

var alterConfigsRow = row{key: wire.KeyAlterConfigs, min: 0, max: 2, handle: on(alterConfigs)}

// alterConfigs replaces all that a resource has of its own: what is not named is removed (the call from before KIP-339).
func alterConfigs(b Broker, r *Request, req *kmsg.AlterConfigsRequest) *kmsg.AlterConfigsResponse {
	resp := kmsg.NewPtrAlterConfigsResponse()
	resp.Resources = make([]kmsg.AlterConfigsResponseResource, len(req.Resources))
	wanted := make([]kmsg.IncrementalAlterConfigsRequestResource, len(req.Resources))
	times := make(map[alteredResource]int, len(req.Resources))
	for i := range req.Resources {
		wanted[i] = assignments(&req.Resources[i])
		times[resourceOf(&wanted[i])]++
	}
	for i := range wanted {
		asked, out := &wanted[i], &resp.Resources[i]
		why := refuse(wire.InvalidRequest, "Each resource must appear at most once.")
		switch {
		case times[resourceOf(asked)] != 1:
		case !r.mayAlterConfigs(b, asked.ResourceType, asked.ResourceName):
			why = unauthorizedResource(asked.ResourceType)
		default:
			why = replaceConfigs(b, asked, req.ValidateOnly)
		}
		out.ResourceType, out.ResourceName = asked.ResourceType, asked.ResourceName
		out.ErrorCode, out.ErrorMessage = int16(why.code), nullable(why.message)
	}
	return resp
}

// assignments is a resource's new configuration as the operations that set it.
func assignments(r *kmsg.AlterConfigsRequestResource) kmsg.IncrementalAlterConfigsRequestResource {
	out := kmsg.NewIncrementalAlterConfigsRequestResource()
	out.ResourceType, out.ResourceName = r.ResourceType, r.ResourceName
	for i := range r.Configs {
		c := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		c.Name, c.Value, c.Op = r.Configs[i].Name, r.Configs[i].Value, kmsg.IncrementalAlterConfigOpSet
		out.Configs = append(out.Configs, c)
	}
	return out
}

// replaceConfigs checks a resource's whole new configuration, and makes it what the resource has, or changes nothing.
func replaceConfigs(b Broker, asked *kmsg.IncrementalAlterConfigsRequestResource, validateOnly bool) refusal {
	if asked.ResourceType == kmsg.ConfigResourceTypeBrokerLogger {
		return refuse(wire.InvalidRequest, "Unknown resource type %d", asked.ResourceType)
	}
	a, why := alterationOf(b, asked)
	if why.code != wire.None {
		return why
	}
	changes, why := a.changes(asked.Configs)
	if why.code != wire.None {
		return why
	}
	for key := range a.own {
		if _, kept := changes[key]; !kept {
			changes[key] = nil
		}
	}
	if why = a.check(changes); why.code != wire.None || validateOnly || len(changes) == 0 {
		return why
	}
	code, message := b.AlterConfigs(a.resource, changes)
	return refusal{code, message}
}
