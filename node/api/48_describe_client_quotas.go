package api

import (
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/wire"
)

var describeClientQuotasRow = row{key: wire.KeyDescribeClientQuotas, min: 0, max: 1, handle: on(describeClientQuotas),
	authorize: inCluster(describeClusterConfigs, refusedQuotaDescription)}

func describeClientQuotas(b Broker, _ *Request, req *kmsg.DescribeClientQuotasRequest) *kmsg.DescribeClientQuotasResponse {
	resp := kmsg.NewPtrDescribeClientQuotasResponse()
	filter, why := quotaFilterOf(req)
	resp.ErrorCode, resp.ErrorMessage = int16(why.code), &why.message
	if why.code != wire.None {
		return resp // with null entries
	}
	m := b.Image()
	resp.Entries = []kmsg.DescribeClientQuotasResponseEntry{}
	for _, e := range m.QuotaEntities() {
		if filter.matches(e) {
			resp.Entries = append(resp.Entries, describedQuota(e, m.ClientQuotas(e)))
		}
	}
	return resp
}

// quotaFilter picks entities by their parts, by type. strict leaves out those that have other parts too.
type quotaFilter struct {
	exact  map[string]image.QuotaName // DefaultQuota for the default
	any    map[string]bool
	strict bool
}

func (f *quotaFilter) matches(e image.QuotaEntity) bool {
	if f.strict && e.Parts() != len(f.exact)+len(f.any) {
		return false
	}
	for t, name := range f.exact {
		if *e.Part(t) != name {
			return false
		}
	}
	for t := range f.any {
		if !e.Part(t).Given {
			return false
		}
	}
	return true
}

func quotaFilterOf(req *kmsg.DescribeClientQuotasRequest) (*quotaFilter, refusal) {
	f := &quotaFilter{exact: make(map[string]image.QuotaName), any: make(map[string]bool), strict: req.Strict}
	for i := range req.Components {
		if why := f.add(&req.Components[i]); why.code != wire.None {
			return nil, why
		}
	}
	if f.has(image.QuotaIP) && (f.has(image.QuotaUser) || f.has(image.QuotaClientID)) {
		return nil, refuse(wire.InvalidRequest, "Invalid entity filter component combination. IP filter component should not be used with user or clientId filter component.")
	}
	return f, refusal{}
}

func (f *quotaFilter) has(entityType string) bool {
	_, exact := f.exact[entityType]
	return exact || f.any[entityType]
}

func (f *quotaFilter) add(c *kmsg.DescribeClientQuotasRequestComponent) refusal {
	t := c.EntityType
	switch {
	case t == "":
		return refuse(wire.InvalidRequest, "Invalid empty entity type.")
	case f.has(t):
		return refuse(wire.InvalidRequest, "Entity type %s cannot appear more than once in the filter.", t)
	case !slices.Contains(image.QuotaTypes[:], t):
		return refuse(wire.UnsupportedVersion, "Unsupported entity type %s", t)
	}
	switch c.MatchType {
	case kmsg.QuotasMatchTypeExact:
		if c.Match == nil {
			return refuse(wire.InvalidRequest, "Request specified MATCH_TYPE_EXACT, but set match string to null.")
		}
		f.exact[t] = image.NamedQuota(*c.Match)
	case kmsg.QuotasMatchTypeDefault:
		f.exact[t] = image.DefaultQuota
		return withoutMatch(c, "DEFAULT")
	case kmsg.QuotasMatchTypeAny:
		f.any[t] = true
		return withoutMatch(c, "SPECIFIED")
	default:
		return refuse(wire.InvalidRequest, "Unknown match type %d", int8(c.MatchType))
	}
	return refusal{}
}

func withoutMatch(c *kmsg.DescribeClientQuotasRequestComponent, kind string) refusal {
	if c.Match != nil {
		return refuse(wire.InvalidRequest, "Request specified MATCH_TYPE_%s, but also specified a match string.", kind)
	}
	return refusal{}
}

func describedQuota(e image.QuotaEntity, values map[string]float64) kmsg.DescribeClientQuotasResponseEntry {
	out := kmsg.NewDescribeClientQuotasResponseEntry()
	for _, t := range image.QuotaTypes {
		if p := e.Part(t); p.Given {
			part := kmsg.NewDescribeClientQuotasResponseEntryEntity()
			part.Type = t
			if !p.Default {
				part.Name = &p.Name
			}
			out.Entity = append(out.Entity, part)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		value := kmsg.NewDescribeClientQuotasResponseEntryValue()
		value.Key, value.Value = key, values[key]
		out.Values = append(out.Values, value)
	}
	return out
}

// refusedQuotaDescription has no message, as Kafka's.
func refusedQuotaDescription(_ *kmsg.DescribeClientQuotasRequest, why refusal) kmsg.Response {
	resp := kmsg.NewPtrDescribeClientQuotasResponse()
	resp.ErrorCode = int16(why.code)
	return resp
}
