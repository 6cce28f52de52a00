package api

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/wire"
)

var alterClientQuotasRow = row{key: wire.KeyAlterClientQuotas, min: 0, max: 1, handle: on(alterClientQuotas),
	authorize: inCluster(alterClusterConfigs, refusedQuotas)}

// quotaRecordsMax bounds the values that one request changes, as Apache Kafka 4.1.1 does.
const quotaRecordsMax = 10_000

func alterClientQuotas(b Broker, _ *Request, req *kmsg.AlterClientQuotasRequest) *kmsg.AlterClientQuotasResponse {
	a := &quotaAlteration{broker: b, results: make(map[string]*quotaResult)}
	for i := range req.Entries {
		a.take(&req.Entries[i])
	}
	if len(a.records) > quotaRecordsMax {
		a.refuseAll(wire.PolicyViolation, "Request parameters do not satisfy the configured policy.")
	} else if !req.ValidateOnly && len(a.records) > 0 {
		if code, message := b.AlterClientQuotas(a.records); code != wire.None {
			a.refuseAll(code, message)
		}
	}
	return a.response()
}

// quotaAlteration is one AlterClientQuotas being answered. What is wrong with one entity does not keep the others from theirs.
type quotaAlteration struct {
	broker  Broker
	records []image.ClientQuotaRecord
	results map[string]*quotaResult // by quotaEntityKey
	order   []*quotaResult
	lookups int // of addresses, see checkAddress
}

// quotaResult is what becomes of one entity, which is answered once however often it is named.
type quotaResult struct {
	parts []quotaPart
	why   refusal
}

// quotaPart is a part of an entity as it was asked, of whatever type; a nil name is the default.
type quotaPart struct {
	kind string
	name *string
}

// take judges one entry. Where an entity or one of its keys comes twice, Kafka refuses it in the words of the entity, and keeps
// what an earlier entry said.
func (a *quotaAlteration) take(entry *kmsg.AlterClientQuotasRequestEntry) {
	parts := quotaPartsOf(entry.Entity)
	result, again := a.results[quotaEntityKey(parts)]
	if !again {
		result = &quotaResult{parts: parts}
		a.results[quotaEntityKey(parts)] = result
		a.order = append(a.order, result)
	}
	if again || duplicateQuotaKey(entry.Ops) {
		result.why = refuse(wire.InvalidRequest, "Ignoring duplicate entity %s", quotaEntityText(parts))
		return
	}
	records, why := a.check(parts, entry.Ops)
	a.records = append(a.records, records...)
	result.why = why
}

func duplicateQuotaKey(ops []kmsg.AlterClientQuotasRequestEntryOp) bool {
	seen := make(map[string]struct{}, len(ops))
	for i := range ops {
		seen[ops[i].Key] = struct{}{}
	}
	return len(seen) < len(ops)
}

// quotaPartsOf gives each type once, with the name that was given last, in the order in which Kafka prints them.
func quotaPartsOf(asked []kmsg.AlterClientQuotasRequestEntryEntity) (parts []quotaPart) {
	names := make(map[string]*string, len(asked))
	for i := range asked {
		if _, again := names[asked[i].Type]; !again {
			parts = append(parts, quotaPart{kind: asked[i].Type})
		}
		names[asked[i].Type] = asked[i].Name
	}
	for i := range parts {
		parts[i].name = names[parts[i].kind]
	}
	slices.SortFunc(parts, func(p, q quotaPart) int {
		return cmp.Or(cmp.Compare(p.rank(), q.rank()), cmp.Compare(p.kind, q.kind))
	})
	return parts
}

// rank puts unknown types last.
func (p quotaPart) rank() int {
	if i := slices.Index(image.QuotaTypes[:], p.kind); i >= 0 {
		return i
	}
	return len(image.QuotaTypes)
}

// quotaEntityKey tells entities apart, whatever their names hold.
func quotaEntityKey(parts []quotaPart) string {
	var key strings.Builder
	for _, p := range parts {
		name := "-"
		if p.name != nil {
			name = strconv.Quote(*p.name)
		}
		key.WriteString(strconv.Quote(p.kind) + name)
	}
	return key.String()
}

// quotaEntityText is an entity in the words of Kafka's messages.
func quotaEntityText(parts []quotaPart) string {
	entries := make([]string, len(parts))
	for i, p := range parts {
		name := "null"
		if p.name != nil {
			name = *p.name
		}
		entries[i] = p.kind + "=" + name
	}
	return "ClientQuotaEntity(entries={" + strings.Join(entries, ", ") + "})"
}

func (a *quotaAlteration) refuseAll(code wire.ErrorCode, message string) {
	for _, r := range a.order {
		r.why = refusal{code, message}
	}
}

func (a *quotaAlteration) response() *kmsg.AlterClientQuotasResponse {
	resp := kmsg.NewPtrAlterClientQuotasResponse()
	for _, r := range a.order {
		entry := kmsg.NewAlterClientQuotasResponseEntry()
		entry.ErrorCode, entry.ErrorMessage = int16(r.why.code), r.why.text()
		for _, p := range r.parts {
			part := kmsg.NewAlterClientQuotasResponseEntryEntity()
			part.Type, part.Name = p.kind, p.name
			entry.Entity = append(entry.Entity, part)
		}
		resp.Entries = append(resp.Entries, entry)
	}
	return resp
}

func refusedQuotas(req *kmsg.AlterClientQuotasRequest, why refusal) kmsg.Response {
	resp := kmsg.NewPtrAlterClientQuotasResponse()
	for i := range req.Entries {
		entry := kmsg.NewAlterClientQuotasResponseEntry()
		entry.ErrorCode, entry.ErrorMessage = int16(why.code), why.text()
		for _, part := range req.Entries[i].Entity {
			entry.Entity = append(entry.Entity, kmsg.AlterClientQuotasResponseEntryEntity{Type: part.Type, Name: part.Name})
		}
		resp.Entries = append(resp.Entries, entry)
	}
	return resp
}
