package quota

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ringmill/ringmill/control/image"
)

func limited(key string, value float64, entities ...image.QuotaEntity) Limits {
	m := new(image.Image)
	for _, e := range entities {
		next, err := m.With(image.ClientQuotaRecord{Entity: e, Key: key, Value: value})
		if err != nil {
			panic(err)
		}
		m = next
	}
	return LimitsOf(m, key)
}

// Inventing client ids makes nothing grow (Q3), and does not make those who stay forget what they owe.
func TestInventedClientIDsAreBounded(t *testing.T) {
	l := NewByteLimiter(Windows{Count: 11, SizeMS: 1000})
	l.SetLimits(limited(ProducerByteRate, 100, image.QuotaEntity{ClientID: image.DefaultQuota}))
	honest := Client{User: "ANONYMOUS", ClientID: "honest"}
	l.Record(honest, 5000, 0)
	for i := range 3 * metersMax {
		l.Record(Client{ClientID: fmt.Sprint("invented-", i)}, 1, int64(i/1000))
		if i%1000 == 0 && l.Record(honest, 0, int64(i/1000)) == 0 {
			t.Fatalf("after %d invented ids the debt is forgotten", i)
		}
	}
	if l.Shares() != metersMax {
		t.Errorf("%d shares are remembered, want %d", l.Shares(), metersMax)
	}
}

func TestLongClientIDsAreBounded(t *testing.T) {
	l := NewByteLimiter(Windows{Count: 11, SizeMS: 1000})
	l.SetLimits(limited(ProducerByteRate, 100, image.QuotaEntity{ClientID: image.DefaultQuota}))
	for i := range 1000 {
		l.Record(Client{ClientID: fmt.Sprint(i, strings.Repeat("x", 32<<10))}, 1, 0)
		if l.rates.names > metersBytesMax {
			t.Fatalf("names take %d bytes", l.rates.names)
		}
	}
	if n := l.Shares(); n < 100 {
		t.Errorf("only %d shares are remembered", n)
	}
}

// A client that does as it is told stays within its limit over any time much longer than the windows, and is not held up for
// longer than that takes.
func TestObedientClientGetsItsQuota(t *testing.T) {
	const limit, chunk = 1000_000.0, 64_000.0
	l := NewByteLimiter(Windows{Count: 11, SizeMS: 1000})
	l.SetLimits(limited(ProducerByteRate, limit, image.QuotaEntity{User: image.DefaultQuota}))
	r := rand.New(rand.NewPCG(1, 1))
	c := Client{User: "ANONYMOUS", ClientID: "c"}
	now, sent := int64(0), 0.0
	for now < 30_000 { // the burst of the beginning is over
		now += l.Record(c, chunk, now) + r.Int64N(3)
	}
	for end := now + 600_000; now < end; {
		wait := l.Record(c, chunk, now)
		sent += chunk
		now += wait + r.Int64N(3)
	}
	if rate := sent / 600; rate < 0.9*limit || rate > 1.02*limit {
		t.Errorf("%.0f bytes a second, the quota is %.0f", rate, limit)
	}
}
