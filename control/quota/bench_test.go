package quota

import (
	"testing"

	"github.com/ringmill/ringmill/control/image"
)

// BenchmarkRecord is what a request of a client with a quota costs, beside the lock: all windows in use, two levels set.
func BenchmarkRecord(b *testing.B) {
	l := NewByteLimiter(Windows{Count: 11, SizeMS: 1000})
	l.SetLimits(limited(ProducerByteRate, 1e12, image.QuotaEntity{User: image.DefaultQuota}, image.QuotaEntity{ClientID: image.DefaultQuota}))
	c := Client{User: "ANONYMOUS", ClientID: "producer-1"}
	now := int64(0)
	for b.Loop() {
		now += 3
		l.Record(c, 1000, now)
	}
}
