package api

import (
	"context"
	"math"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/control/quota"
	"github.com/ringmill/ringmill/wire"
)

// quotaKey says what a value may be. Whole ones may not be above max.
type quotaKey struct {
	whole bool
	max   float64
	kind  string // Kafka's name of the type, with its article
}

var (
	longQuota   = quotaKey{true, math.MaxInt64, "a LONG"}
	intQuota    = quotaKey{true, math.MaxInt32, "an INT"}
	doubleQuota = quotaKey{false, math.MaxFloat64, "a DOUBLE"}
)

// clientQuotaKeys are those of users and client ids, ipQuotaKeys those of addresses.
var (
	clientQuotaKeys = map[string]quotaKey{
		quota.ProducerByteRate: longQuota, quota.ConsumerByteRate: longQuota,
		quota.RequestPercentage: doubleQuota, quota.ControllerMutationRate: doubleQuota,
	}
	ipQuotaKeys = map[string]quotaKey{quota.ConnectionCreationRate: intQuota}
)

// check gives the records that an entry leads to, in the order of Kafka's ClientQuotaControlManager. A value that an entity has,
// or has not, already needs none.
func (a *quotaAlteration) check(parts []quotaPart, ops []kmsg.AlterClientQuotasRequestEntryOp) ([]image.ClientQuotaRecord, refusal) {
	entity, why := quotaEntityOf(parts)
	if why.code != wire.None {
		return nil, why
	}
	keys, why := a.keysOf(entity)
	if why.code != wire.None {
		return nil, why
	}
	present := a.broker.Image().ClientQuotas(entity)
	var records []image.ClientQuotaRecord
	for i := range ops {
		op := &ops[i]
		old, has := present[op.Key]
		if op.Remove {
			if has {
				records = append(records, image.ClientQuotaRecord{Entity: entity, Key: op.Key, Remove: true})
			}
			continue
		}
		if why := checkQuotaValue(keys, op.Key, op.Value); why.code != wire.None {
			return nil, why
		}
		if !has || old != op.Value {
			records = append(records, image.ClientQuotaRecord{Entity: entity, Key: op.Key, Value: op.Value})
		}
	}
	return records, refusal{}
}

func quotaEntityOf(parts []quotaPart) (e image.QuotaEntity, why refusal) {
	if len(parts) == 0 {
		return e, refuse(wire.InvalidRequest, "Invalid empty client quota entity")
	}
	for _, p := range parts {
		part := e.Part(p.kind)
		switch {
		case part == nil:
			return e, refuse(wire.InvalidRequest, "Unhandled client quota entity type: %s", p.kind)
		case p.name == nil:
			*part = image.DefaultQuota
		case *p.name == "":
			return e, refuse(wire.InvalidRequest, "Empty %s not supported", p.kind)
		default:
			*part = image.NamedQuota(*p.name)
		}
	}
	return e, refusal{}
}

func (a *quotaAlteration) keysOf(e image.QuotaEntity) (map[string]quotaKey, refusal) {
	switch {
	case !e.IP.Given:
		return clientQuotaKeys, refusal{}
	case e.Parts() > 1: // the words are Kafka's
		return nil, refuse(wire.InvalidRequest, "Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId")
	case !e.IP.Default && !a.isAddress(e.IP.Name):
		return nil, refuse(wire.InvalidRequest, "%s is not a valid IP or resolvable host.", e.IP.Name)
	}
	return ipQuotaKeys, refusal{}
}

func checkQuotaValue(keys map[string]quotaKey, key string, value float64) refusal {
	k, known := keys[key]
	switch {
	case !known:
		return refuse(wire.InvalidRequest, "Invalid configuration key %s", key)
	case value <= 0:
		return refuse(wire.InvalidRequest, "Quota %s must be greater than 0", key)
	case value > k.max:
		return refuse(wire.InvalidRequest, "Proposed value for %s is too large for %s.", key, k.kind)
	case math.IsNaN(value): // which Kafka keeps, and then refuses everything or nothing
		return refuse(wire.InvalidRequest, "Quota %s must be a number.", key)
	case k.whole && math.Mod(value, 1) > 1e-6:
		return refuse(wire.InvalidRequest, "%s cannot be a fractional value.", key)
	}
	return refusal{}
}

// Looking up host names waits for others: so many a request, and so long for each.
const (
	quotaLookupsMax     = 16
	quotaLookupPatience = 5 * time.Second
)

// isAddress says whether a name is an address, or a host's that has one.
func (a *quotaAlteration) isAddress(name string) bool {
	if _, ok := quota.ParseAddress(name); ok {
		return true
	}
	if !strings.ContainsAny(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz") || a.lookups >= quotaLookupsMax {
		return false // a host's name has a letter
	}
	a.lookups++
	_, ok := LookupAddress(name)
	return ok
}

// LookupAddress resolves the name of an address quota, as Java's InetAddress.getByName does: the first address counts. It may
// wait for some seconds.
func LookupAddress(name string) (netip.Addr, bool) {
	if addr, ok := quota.ParseAddress(name); ok {
		return addr, true
	}
	ctx, cancel := context.WithTimeout(context.Background(), quotaLookupPatience)
	defer cancel()
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", name)
	if err != nil || len(found) == 0 {
		return netip.Addr{}, false
	}
	return found[0].Unmap(), true
}
