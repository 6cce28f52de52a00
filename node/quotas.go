package node

import (
	"maps"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/control/quota"
	"github.com/ringmill/ringmill/node/api"
	"github.com/ringmill/ringmill/node/config"
	"github.com/ringmill/ringmill/wire"
)

// quotaKind is what a client can take too much of, as a bit.
type quotaKind uint32

const (
	quotaProduce quotaKind = 1 << iota
	quotaFetch
	quotaRequest
	quotaMutation
)

// clientQuotas hold clients to their quotas, on whatever loop their connections are: what one client takes counts in one place.
// Where nobody has a quota of a kind, asking costs one load of a word that hardly ever changes; otherwise it is a lock held for a
// map lookup and the sum of a dozen numbers.
type clientQuotas struct {
	started time.Time
	// limited are the kinds that anybody has a quota of.
	limited atomic.Uint32

	mu                      sync.Mutex
	produce, fetch, request *quota.Limiter
	mutations               *quota.Mutations
}

func newClientQuotas(cfg *config.Config, started time.Time) *clientQuotas {
	w := clientWindows(cfg)
	return &clientQuotas{
		started: started, produce: quota.NewByteLimiter(w), fetch: quota.NewByteLimiter(w), request: quota.NewTimeLimiter(w),
		mutations: quota.NewMutations(quota.Windows{Count: cfg.ControllerQuotaWindows, SizeMS: int64(cfg.ControllerQuotaWindowSeconds) * 1000}),
	}
}

func clientWindows(cfg *config.Config) quota.Windows {
	return quota.Windows{Count: cfg.QuotaWindows, SizeMS: int64(cfg.QuotaWindowSeconds) * 1000}
}

// quotaKeys are the kinds' names in the metadata.
var quotaKeys = map[quotaKind]string{
	quotaProduce: quota.ProducerByteRate, quotaFetch: quota.ConsumerByteRate,
	quotaRequest: quota.RequestPercentage, quotaMutation: quota.ControllerMutationRate,
}

// set has the metadata's quotas in force for every request from now on. The loops do not wait while they are looked through.
func (q *clientQuotas) set(m *image.Image) {
	limits, limited := make(map[quotaKind]quota.Limits, len(quotaKeys)), quotaKind(0)
	for kind, key := range quotaKeys {
		if limits[kind] = quota.LimitsOf(m, key); !limits[kind].None() {
			limited |= kind
		}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.produce.SetLimits(limits[quotaProduce])
	q.fetch.SetLimits(limits[quotaFetch])
	q.request.SetLimits(limits[quotaRequest])
	q.mutations.SetLimits(limits[quotaMutation])
	q.limited.Store(uint32(limited))
}

// any says whether somebody has a quota of one of the kinds.
func (q *clientQuotas) any(kinds quotaKind) bool { return q.limited.Load()&uint32(kinds) != 0 }

func (q *clientQuotas) limiter(kind quotaKind) *quota.Limiter {
	switch kind {
	case quotaProduce:
		return q.produce
	case quotaFetch:
		return q.fetch
	}
	return q.request
}

// record charges a client and gives the wait in milliseconds.
func (q *clientQuotas) record(kind quotaKind, c quota.Client, value float64) int32 {
	if !q.any(kind) {
		return 0
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	return int32(q.limiter(kind).Record(c, value, q.nowMS()))
}

// note charges a client, or takes a charge back, without asking for a wait.
func (q *clientQuotas) note(kind quotaKind, c quota.Client, value float64) {
	if !q.any(kind) {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.limiter(kind).Note(c, value, q.nowMS())
}

// recordServed charges a client with a Fetch's bytes and says whether it may have them.
func (q *clientQuotas) recordServed(c quota.Client, bytes float64) (ms int32, serve bool) {
	if !q.any(quotaFetch) {
		return 0, true
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	wait, serve := q.fetch.RecordServed(c, bytes, q.nowMS())
	return int32(wait), serve
}

// fetchMax keeps the bytes that a fetch may bring within what the client's quota lets through at once: more would be held up for
// certain.
func (q *clientQuotas) fetchMax(c quota.Client, bytes int) int {
	if !q.any(quotaFetch) {
		return bytes
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if most := q.fetch.Most(c); most < float64(bytes) {
		return int(most)
	}
	return bytes
}

// nowMS is asked for under the lock, so that time does not run backwards between loops.
func (q *clientQuotas) nowMS() int64 { return time.Since(q.started).Milliseconds() }

// shares is how many clients, or groups of them, are remembered.
func (q *clientQuotas) shares() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.produce.Shares() + q.fetch.Shares() + q.request.Shares() + q.mutations.Shares()
}

// quotaClient is whom a connection's requests are charged to.
func quotaClient(c *api.Client) quota.Client { return quota.Client{User: c.User, ClientID: c.ID} }

// AlterClientQuotas makes quotas durable and has them in force.
func (n *Node) AlterClientQuotas(records []image.ClientQuotaRecord) (wire.ErrorCode, string) {
	changes, set := make([]image.Record, len(records)), make([]image.QuotaEntity, 0, len(records))
	for i, r := range records {
		if changes[i] = r; !r.Remove {
			set = append(set, r.Entity)
		}
	}
	if n.cluster != nil {
		return n.cluster.change(changes...)
	}
	found := n.lookUpHosts(set)
	n.metaMu.Lock()
	defer n.metaMu.Unlock()
	m, err := n.applyMeta(changes...)
	if err != nil {
		return storageCode(err)
	}
	n.quotasChanged(found, m)
	return wire.None, ""
}

// loadQuotas has those in force that the metadata log holds.
func (n *Node) loadQuotas() error {
	n.addresses = n.lookUpHosts(n.Image().QuotaEntities())
	n.setQuotas(n.Image())
	return nil
}

// followQuotas has changed quotas of the cluster in force.
func (n *Node) followQuotas(d image.Delta, m *image.Image) {
	var set []image.QuotaEntity
	for _, e := range d.Quotas {
		if m.ClientQuotas(e) != nil {
			set = append(set, e)
		}
	}
	n.quotasChanged(n.lookUpHosts(set), m)
}

// quotasChanged has the metadata's quotas in force; found are the addresses of hosts that have got some. metaMu is held.
func (n *Node) quotasChanged(found map[string]netip.Addr, m *image.Image) {
	maps.Copy(n.addresses, found)
	maps.DeleteFunc(n.addresses, func(name string, _ netip.Addr) bool {
		return m.ClientQuotas(image.QuotaEntity{IP: image.NamedQuota(name)}) == nil
	})
	n.setQuotas(m)
}

// setQuotas has the metadata's quotas in force.
func (n *Node) setQuotas(m *image.Image) {
	n.quotas.set(m)
	n.setAddressRates(m)
}

// ChargeMutations counts partitions that a client makes or removes.
func (n *Node) ChargeMutations(c api.Client, partitions int32, strict bool) (int32, bool) {
	q := n.quotas
	if !q.any(quotaMutation) {
		return 0, true
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	wait, ok := q.mutations.Charge(quotaClient(&c), float64(partitions), strict, q.nowMS())
	if wait > 0 {
		n.metrics.throttled(quotaMutation, int32(wait))
	}
	return int32(wait), ok
}
