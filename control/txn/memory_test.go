package txn

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/memory"
	"github.com/ringmill/ringmill/wire"
)

// held sums what every id is charged with anew, and counts the open transactions; the Coordinator must say the same.
func (m *machine) held(t *testing.T) int64 {
	t.Helper()
	sum, open := int64(0), 0
	for _, id := range m.c.ids {
		if !id.state.idle() {
			open++
		}
		sum += idBytes + int64(len(id.id)) + sizeOf(id.partitions)
		if id.pending != nil {
			sum += sizeOf(id.pending.partitions)
		}
	}
	if sum != m.c.held {
		t.Fatalf("ids hold %d bytes, %d are charged", sum, m.c.held)
	}
	if open != m.c.Open() {
		t.Fatalf("%d transactions are open, %d are counted", open, m.c.Open())
	}
	return sum
}

func (m *machine) init(id string) (wire.ErrorCode, *kmsg.InitProducerIDResponse) {
	req := kmsg.NewPtrInitProducerIDRequest()
	req.Version, req.TransactionalID, req.TransactionTimeoutMillis = 4, &id, 1000
	resp := m.ask(req).(*kmsg.InitProducerIDResponse)
	return wire.ErrorCode(resp.ErrorCode), resp
}

func (m *machine) addTo(id string, owner *kmsg.InitProducerIDResponse, partitions int) wire.ErrorCode {
	req := kmsg.NewPtrAddPartitionsToTxnRequest()
	req.Version, req.TransactionalID, req.ProducerID, req.ProducerEpoch = 3, id, owner.ProducerID, owner.ProducerEpoch
	topic := kmsg.AddPartitionsToTxnRequestTopic{Topic: "a"}
	for i := range partitions {
		topic.Partitions = append(topic.Partitions, int32(i))
	}
	req.Topics = []kmsg.AddPartitionsToTxnRequestTopic{topic}
	return wire.ErrorCode(m.ask(req).(*kmsg.AddPartitionsToTxnResponse).Topics[0].Partitions[0].ErrorCode)
}

// TestMemoryBytes: long ids and wide transactions are refused once they would hold more than the bound, and room comes back
// with a transaction's end, with an id's expiry and over a restart.
func TestMemoryBytes(t *testing.T) {
	m := newMachine()
	m.cfg.MemoryBytes = 200_000
	m.restart()
	_, owner := m.init("owner")
	if code := m.addTo("owner", owner, 2000); code != wire.ConcurrentTransactions {
		t.Errorf("2000 partitions: %s, want CONCURRENT_TRANSACTIONS", code)
	}
	if code := m.addTo("owner", owner, 500); code != wire.None {
		t.Errorf("500 partitions: %s", code)
	}
	made := 0
	for code := wire.None; ; made++ {
		if code, _ = m.init(fmt.Sprint(made, strings.Repeat("x", 5000))); code != wire.None {
			if code != wire.PolicyViolation {
				t.Errorf("an id over the bound: %s, want POLICY_VIOLATION", code)
			}
			break
		}
	}
	if held := m.held(t); made < 20 || held > m.cfg.MemoryBytes {
		t.Errorf("%d ids, %d bytes held, bound %d", made, held, m.cfg.MemoryBytes)
	}
	before := m.c.held
	m.restart()
	if m.held(t) != before {
		t.Errorf("%d bytes held after a restart, %d before it", m.c.held, before)
	}
	m.pass(20_000) // the transaction times out
	if m.held(t) >= before {
		t.Error("an ended transaction's partitions still count")
	}
	m.pass(m.cfg.IDExpirationMS + m.cfg.ExpirationIntervalMS)
	if m.held(t) != 0 {
		t.Errorf("%d bytes held by no id", m.c.held)
	}
}

// TestSharedMemory: what one coordinator holds is missing to another of the same owner, and room that the one gives back is the
// other's.
func TestSharedMemory(t *testing.T) {
	one, other := newMachine(), newMachine()
	one.cfg.Memory = memory.NewBound(200_000)
	other.cfg.Memory = one.cfg.Memory
	one.restart()
	other.restart()
	_, owner := one.init("owner")
	if code := one.addTo("owner", owner, 900); code != wire.None {
		t.Fatalf("900 partitions: %s", code)
	}
	_, second := other.init("second")
	if code := other.addTo("second", second, 900); code != wire.ConcurrentTransactions {
		t.Errorf("900 partitions more than the bound has room for: %s, want CONCURRENT_TRANSACTIONS", code)
	}
	one.pass(20_000) // the transaction times out
	if code := other.addTo("second", second, 900); code != wire.None {
		t.Errorf("900 partitions, with those of the other coordinator gone: %s", code)
	}
	if used := one.cfg.Memory.Used(); used != one.held(t)+other.held(t) {
		t.Errorf("%d bytes are counted, %d and %d are held", used, one.c.held, other.c.held)
	}
}
