package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

// The first versions whose clients know THROTTLING_QUOTA_EXCEEDED (KIP-599). Older ones are never refused, but held up.
const (
	createTopicsStrictFrom     = 6
	deleteTopicsStrictFrom     = 5
	createPartitionsStrictFrom = 3
)

// chargeMutations counts partitions that the client is about to make or remove.
func (r *Request) chargeMutations(b Broker, partitions int32, strictFrom wire.APIVersion) refusal {
	wait, ok := b.ChargeMutations(r.Client, partitions, r.Header.Version >= strictFrom)
	r.ThrottleMS = max(r.ThrottleMS, wait)
	if !ok {
		return refusal{code: wire.ThrottlingQuotaExceeded}
	}
	return refusal{}
}

// setThrottle tells the client how long to wait.
func (r *Request) setThrottle(resp kmsg.Response) {
	if r.Charge != nil {
		r.ThrottleMS = max(r.ThrottleMS, r.Charge())
	}
	if t, ok := resp.(kmsg.SetThrottleResponse); ok && r.ThrottleMS > 0 {
		t.SetThrottle(r.ThrottleMS)
	}
}
