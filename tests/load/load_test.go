package load

import (
	"path/filepath"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// TestNameFindsChangedBytes: a record is named by its value, and no byte of it may be another.
func TestNameFindsChangedBytes(t *testing.T) {
	value := Value(7, 9, 100)
	record := &kgo.Record{Offset: 42, Value: value}
	if name, err := Name(record, 100); err != nil || name != [3]uint64{42, 7, 9} {
		t.Fatalf("named %v, %v", name, err)
	}
	for i := range value {
		value[i] ^= 1
		if name, err := Name(record, 100); err == nil && name == [3]uint64{42, 7, 9} {
			t.Errorf("byte %d was changed and it is still %v", i, name)
		}
		value[i] ^= 1
	}
	if _, err := Name(record, 101); err == nil {
		t.Error("a record of another length has a name")
	}
}

// TestLedgerAddsUp: runs of several processes are one sum; what was not judged counts for nothing.
func TestLedgerAddsUp(t *testing.T) {
	t.Setenv("RINGMILL_TEST_LEDGER", filepath.Join(t.TempDir(), "ledger.jsonl"))
	OpenLedger(t).Add(t, Entry{Campaign: "c", Counts: map[string]int{"kills": 2, "partitions": 1}, Acked: 10})
	OpenLedger(t).Add(t, Entry{Campaign: "c", Counts: map[string]int{"kills": 3}, Acked: 5, Verdict: Violation})
	OpenLedger(t).Add(t, Entry{Campaign: "c", Counts: map[string]int{"kills": 100}, Verdict: Unknown})
	OpenLedger(t).Add(t, Entry{Campaign: "another", Counts: map[string]int{"kills": 100}})
	want := "c: 3 runs, 15 records acknowledged; 5 kills, 1 partitions; 1 hold, 1 violations, 1 without judgement"
	if got := OpenLedger(t).Sum("c"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
