package image

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ringmill/ringmill/wire"
)

var fullBroker = Broker{ID: 3, Epoch: 17, Incarnation: id(5), DirectoryID: id(6), Rack: "r1", Fenced: true, ShuttingDown: true, Draining: true, Emptying: true,
	Endpoints: []Endpoint{{"PLAINTEXT", "h", 9092, "PLAINTEXT"}, {"TLS", "h", 9093, "SSL"}}, Version: "1.2",
	Features: map[string][2]int16{"metadata.version": {7, 27}}, LogDirs: []wire.UUID{id(8), id(9)}}

var fullState = PartitionState{Replicas: []wire.NodeID{3, 1, 2, 4, 5}, ISR: []wire.NodeID{1, 3}, ELR: []wire.NodeID{2}, LastKnownELR: []wire.NodeID{9},
	Adding: []wire.NodeID{4}, Removing: []wire.NodeID{5}, Leader: 3, LeaderEpoch: 4, PartitionEpoch: 9, Recovering: true}

// state is fullState changed.
func state(change func(*PartitionState)) PartitionRecord {
	s := fullState
	s.PartitionEpoch++
	change(&s)
	return PartitionRecord{id(1), 0, s}
}

func broker(change func(*Broker)) BrokerRecord {
	b := fullBroker
	change(&b)
	return BrokerRecord{b}
}

func nodes(ids ...wire.NodeID) []wire.NodeID { return ids }

func TestRefusedClusterRecords(t *testing.T) {
	m := must(new(Image).With(topic("a", 1), PartitionRecord{id(1), 0, fullState}, BrokerRecord{fullBroker}))
	before := contentOf(t, m)
	for _, c := range []struct {
		record Record
		err    error
	}{
		{broker(func(b *Broker) { b.ID = -1 }), ErrBrokerID}, {broker(func(b *Broker) { b.Epoch = 16 }), ErrBrokerEpochFalls},
		{broker(func(b *Broker) { b.Incarnation = id(99) }), ErrBrokerEpochFalls}, {broker(func(b *Broker) { b.ID, b.Epoch = 4, -1 }), ErrBrokerEpochFalls},
		{broker(func(b *Broker) { b.Rack = "\xff" }), ErrNotUTF8}, {broker(func(b *Broker) { b.Endpoints = []Endpoint{{Host: "\xff"}} }), ErrNotUTF8},
		{broker(func(b *Broker) { b.Features = map[string][2]int16{"\xff": {}} }), ErrNotUTF8}, {RemoveBrokerRecord{4}, ErrNoBroker},
		{PartitionRecord{id(2), 0, fullState}, ErrNoTopic}, {PartitionRecord{id(1), 1, fullState}, ErrNoPartition}, {PartitionRecord{id(1), -1, fullState}, ErrNoPartition},
		{state(func(s *PartitionState) { s.Replicas = nil }), ErrReplicas}, {state(func(s *PartitionState) { s.Replicas = nodes(1, 2, 1, 3) }), ErrReplicas},
		{state(func(s *PartitionState) { s.Replicas = nodes(-1) }), ErrReplicas}, {state(func(s *PartitionState) { s.ISR = nodes(1, 3, 8) }), ErrISR},
		{state(func(s *PartitionState) { s.ISR = nodes(3, 3) }), ErrISR}, {state(func(s *PartitionState) { s.ELR = nodes(1) }), ErrELR},
		{state(func(s *PartitionState) { s.ELR = nodes(8) }), ErrELR}, {state(func(s *PartitionState) { s.Adding = nodes(8) }), ErrReassignment},
		{state(func(s *PartitionState) { s.Removing = nodes(8) }), ErrReassignment}, {state(func(s *PartitionState) { s.Leader = 2 }), ErrLeader},
		{state(func(s *PartitionState) { s.PartitionEpoch = 9 }), ErrPartitionEpochFalls}, {state(func(s *PartitionState) { s.PartitionEpoch = -1 }), ErrPartitionEpochFalls},
		{state(func(s *PartitionState) { s.LeaderEpoch = 3 }), ErrLeaderEpochStays}, {state(func(s *PartitionState) { s.Leader = 1 }), ErrLeaderEpochStays},
		{state(func(s *PartitionState) { s.Leader = wire.NoNode }), ErrLeaderEpochStays}, {state(func(s *PartitionState) { s.LeaderEpoch = -1 }), ErrLeaderEpochStays},
	} {
		next, err := m.With(topic("fine", 7), c.record)
		var e *RecordError
		if next != nil || !errors.Is(err, c.err) || !errors.As(err, &e) || e.Index != 1 || !reflect.DeepEqual(e.Record, c.record) {
			t.Errorf("%+v: %v, want %v", c.record, err, c.err)
		}
	}
	if after := contentOf(t, m); !reflect.DeepEqual(before, after) {
		t.Error("a refused change changed the image")
	}
	must(m.With(state(func(s *PartitionState) { s.Leader, s.LeaderEpoch = 1, 5 }), broker(func(b *Broker) { b.Epoch, b.Incarnation = 18, id(99) })))
}

func TestPartitionsByHand(t *testing.T) {
	for _, s := range []PartitionState{fullState, {Replicas: nodes(1)}, {Replicas: nodes(1, 2_000_000_000), ISR: nodes(1), Leader: -1},
		{Replicas: nodes(123456789), LeaderEpoch: 2147483647, PartitionEpoch: 999_999_999}, {Replicas: nodes(1), Removing: nodes(1), Leader: 1, ISR: nodes(1)}} {
		r := PartitionRecord{id(77), 2_000_000, s}
		value := appendRecord(nil, r)
		samePartition(t, value, r)
	}
	good := string(appendRecord(nil, PartitionRecord{id(77), 3, fullState}))
	if _, ok := readPartition([]byte(good)); !ok {
		t.Errorf("%s is not read by hand", good)
	}
	for _, c := range [][2]string{{`"partitionId":3`, `"partitionId": 3`}, {`"partitionId":3`, `"partitionId":03`}, {`"leader":3`, `"leader":-0`}, {`"leader":3`, `"leader":`},
		{`"version":0`, `"version":1`}, {`[3,1,2,4,5]`, `[]`}, {`[3,1,2,4,5]`, `[3,1,2,4,5,]`}, {`true}}`, `true}} `}, {`"partitionId":3`, `"partitionId":1234567890`}} {
		value := strings.Replace(good, c[0], c[1], 1)
		if value == good {
			t.Fatalf("%s is not in %s", c[0], good)
		}
		if r, ok := readPartition([]byte(value)); ok {
			t.Errorf("%s is read as %+v", value, r)
		}
	}
}

func TestStatesLeaveOldImagesAlone(t *testing.T) {
	one := must(new(Image).With(TopicRecord{"a", id(1), 600}, PartitionRecord{id(1), 599, fullState}))
	before := contentOf(t, one)
	two := must(one.With(PartitionsRecord{id(1), 900}, PartitionRecord{id(1), 899, fullState}, config(TopicResource, "a", "k", "v"),
		PartitionRecord{id(1), 898, fullState}, PartitionRecord{id(1), 0, fullState}))
	if after := contentOf(t, one); !reflect.DeepEqual(before, after) {
		t.Errorf("before %+v\nafter  %+v", before, after)
	}
	a := two.ByName("a")
	if a.State(899) == nil || a.State(898) == nil || a.State(0) == nil || a.State(1) != nil || a.State(900) != nil || a.State(-1) != nil ||
		a.State(599) != one.ByName("a").State(599) || a.Configs["k"] != "v" {
		t.Errorf("second image: %+v", contentOf(t, two))
	}
	three := must(two.With(RemoveTopicRecord{id(1)}, TopicRecord{"a", id(1), 1}))
	if three.ByName("a").State(0) != nil {
		t.Error("a new topic has an old one's state")
	}
}

func checkSnapshot(t *testing.T, m *Image) {
	t.Helper()
	s := m.AppendSnapshot([]byte("before"))[len("before"):]
	read, err := ReadSnapshot(s)
	if err != nil {
		t.Fatal(err)
	}
	sameContent(t, read, m)
	if !slices.Equal(read.AppendSnapshot(nil), s) {
		t.Error("the snapshot of a snapshot differs")
	}
}

func TestSnapshotDamage(t *testing.T) {
	m := must(new(Image).With(topic("a", 1), PartitionRecord{id(1), 0, fullState}))
	whole := m.AppendSnapshot(nil)
	for at := range whole {
		damaged := slices.Clone(whole)
		damaged[at] ^= 4
		want := ErrSnapshot
		if at == len(snapshotMagic)-1 {
			want = ErrNewerFormat
		}
		if _, err := ReadSnapshot(damaged); !errors.Is(err, want) {
			t.Errorf("byte %d: %v", at, err)
		}
		if _, err := ReadSnapshot(whole[:at]); !errors.Is(err, ErrSnapshot) {
			t.Errorf("cut at %d: %v", at, err)
		}
	}
	if _, err := ReadSnapshot(append(slices.Clone(whole), 0)); !errors.Is(err, ErrSnapshot) {
		t.Errorf("a byte too many: %v", err)
	}
	checkSnapshot(t, must(m.With(RemoveTopicRecord{id(1)}))) // nothing but a version
}

func TestEntries(t *testing.T) {
	records := []Record{topic("a", 1), PartitionRecord{id(1), 0, fullState}, BrokerRecord{fullBroker}, RemoveBrokerRecord{3}}
	whole := AppendRecords(nil, 77, records)
	base, read, err := ReadRecords(whole)
	if err != nil || base != 77 || !reflect.DeepEqual(read, records) {
		t.Errorf("base %d, %+v, error %v", base, read, err)
	}
	for at := range whole {
		damaged := slices.Clone(whole)
		damaged[at] ^= 4
		if _, _, err := ReadRecords(damaged); err == nil && !(at < 8 || 12 <= at && at < 16) { // base offset and leader epoch have no checksum
			t.Errorf("damage at %d is not seen", at)
		}
		if _, _, err := ReadRecords(whole[:at]); err == nil {
			t.Errorf("cut at %d", at)
		}
	}
	if _, _, err := ReadRecords(append(slices.Clone(whole), 0)); err == nil {
		t.Error("a byte too many")
	}
}

// Diff of any two Images of a history says what comparing them piece by piece says.
func TestDiffAgainstComparison(t *testing.T) {
	for seed := range uint64(8) {
		h := history{Rand: rand.New(rand.NewPCG(seed, 4)), image: new(Image)}
		images := []*Image{h.image}
		for range 60 {
			var change []Record
			m := h.image
			for range 1 + h.IntN(1+h.IntN(200)) {
				r := h.next()
				h.image, change = must(h.image.With(r)), append(change, r)
			}
			h.image = must(m.With(change...)) // in one step
			images = append(images, h.image)
		}
		for range 100 {
			at := h.IntN(len(images))
			a, b := images[at], images[at+h.IntN(len(images)-at)]
			if got, want := flatten(Diff(a, b)), compared(a, b); !reflect.DeepEqual(got, want) {
				t.Fatalf("seed %d, versions %d and %d: %d and %d partitions differ", seed, a.Version(), b.Version(), len(got.Partitions), len(want.Partitions))
			}
		}
		again, err := ReadSnapshot(h.image.AppendSnapshot(nil))
		if err != nil {
			t.Fatal(err)
		}
		if d := flatten(Diff(h.image, again)); d.Partitions != nil || len(d.Created)+len(d.Removed)+len(d.Brokers)+len(d.Resources)+len(d.Quotas)+len(d.SCRAM)+len(d.ACLs)+len(d.Features) > 0 {
			t.Fatalf("seed %d: an image and its own snapshot: %d partitions differ", seed, len(d.Partitions))
		}
	}
}

// flatDelta is a Delta with its changed partitions spelled out.
type flatDelta struct {
	Delta
	Partitions []string
}

func flatten(d Delta) (f flatDelta) {
	f.Delta = d
	for _, c := range d.Changed {
		for i, s := range c.Partitions() {
			f.Partitions = append(f.Partitions, fmt.Sprintf("%s-%d %p %p", c.New.Name, i, s[0], s[1]))
		}
	}
	return f
}

func compared(a, b *Image) (f flatDelta) {
	names := map[string]bool{}
	for _, m := range []*Image{a, b} {
		for t := range m.Topics() {
			names[t.Name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		old, new := a.ByName(name), b.ByName(name)
		if old == new {
			continue
		}
		if old != nil && new != nil && old.ID == new.ID {
			f.Changed = append(f.Changed, TopicChange{old, new})
			for i := range new.Partitions {
				i := wire.PartitionIndex(i)
				if old.State(i) != new.State(i) {
					f.Partitions = append(f.Partitions, fmt.Sprintf("%s-%d %p %p", name, i, old.State(i), new.State(i)))
				}
			}
			continue
		}
		if old != nil {
			f.Removed = append(f.Removed, old)
		}
		if new != nil {
			f.Created = append(f.Created, new)
		}
	}
	for n := wire.NodeID(0); n < 10; n++ {
		if !reflect.DeepEqual(a.Broker(n), b.Broker(n)) {
			f.Brokers = append(f.Brokers, BrokerChange{a.Broker(n), b.Broker(n)})
		}
	}
	for _, name := range []string{"", "1"} {
		if r := (Resource{BrokerResource, name}); !maps.Equal(a.Configs(r), b.Configs(r)) {
			f.Resources = append(f.Resources, r)
		}
	}
	quotas := map[QuotaEntity]bool{}
	for _, e := range append(a.QuotaEntities(), b.QuotaEntities()...) {
		if !maps.Equal(a.ClientQuotas(e), b.ClientQuotas(e)) {
			quotas[e] = true
		}
	}
	f.Quotas = slices.SortedFunc(maps.Keys(quotas), compareQuotaEntities)
	users := map[SCRAMUser]bool{}
	for _, u := range append(a.SCRAMUsers(), b.SCRAMUsers()...) {
		if !reflect.DeepEqual(a.SCRAMCredential(u), b.SCRAMCredential(u)) {
			users[u] = true
		}
	}
	f.SCRAM = slices.SortedFunc(maps.Keys(users), compareSCRAMUsers)
	for n := range 4 {
		_, was := a.ACLs()[id(n+1)]
		_, is := b.ACLs()[id(n+1)]
		if was != is || a.ACLs()[id(n+1)] != b.ACLs()[id(n+1)] {
			f.ACLs = append(f.ACLs, id(n+1))
		}
	}
	before, wasSet := a.FeatureLevel("share.version")
	if after, isSet := b.FeatureLevel("share.version"); before != after || wasSet != isSet {
		f.Features = []string{"share.version"}
	}
	return f
}

// manyPartitions is 100,000 partitions in topics of that many.
func manyPartitions(perTopic int32) *Image {
	var records []Record
	for i := range 100_000 / perTopic {
		records = append(records, TopicRecord{Name: fmt.Sprintf("topic.%06d", i), ID: id(int(i) + 1), Partitions: perTopic})
		for p := range perTopic {
			records = append(records, PartitionRecord{id(int(i) + 1), wire.PartitionIndex(p), fullState})
		}
	}
	return must(new(Image).With(records...))
}

// moved gives the record that changes a partition's epoch by n.
func moved(topic int, p wire.PartitionIndex, n int) PartitionRecord {
	s := fullState
	s.PartitionEpoch += wire.PartitionEpoch(n)
	return PartitionRecord{id(topic), p, s}
}

func TestOnePartitionChangedIsCheap(t *testing.T) {
	for _, perTopic := range []int32{1, 100_000} {
		m := manyPartitions(perTopic)
		before := allocated()
		for i := range 100 {
			next := must(m.With(moved(1, 0, i+1)))
			if d := Diff(m, next); len(d.Changed) != 1 {
				t.Errorf("%+v", d)
			}
			m = next
		}
		// Measured: 11 to 65 KiB each, most of it the order's spine at 100,000 topics. A copy of all states would be 800.
		if grown := (allocated() - before) / 100; grown > 100<<10 {
			t.Errorf("%d bytes for one partition of topics of %d", grown, perTopic)
		}
	}
}

func BenchmarkOnePartitionChanged(b *testing.B) {
	m := manyPartitions(10)
	b.ReportAllocs()
	for i := 1; b.Loop(); i++ {
		next := must(m.With(moved(500, 3, i)))
		Diff(m, next)
		m = next
	}
}

// A node with 10,000 partitions is fenced.
func BenchmarkTenThousandPartitionsChanged(b *testing.B) {
	m := manyPartitions(10)
	b.ReportAllocs()
	for i := 1; b.Loop(); i++ {
		records := make([]Record, 10_000)
		for at := range records {
			records[at] = moved(at+1, 0, i)
		}
		next := must(m.With(records...))
		Diff(m, next)
		m = next
	}
}

func BenchmarkEntryOfTenThousandPartitions(b *testing.B) {
	records := make([]Record, 10_000)
	for at := range records {
		records[at] = moved(at+1, 0, 1)
	}
	var entry []byte
	b.Run("append", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			entry = AppendRecords(entry[:0], 0, records)
		}
		b.SetBytes(int64(len(entry)))
	})
	b.Run("read", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, _, err := ReadRecords(entry); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkSnapshotOfManyPartitions(b *testing.B) {
	m := manyPartitions(10)
	var s []byte
	b.Run("append", func(b *testing.B) {
		for b.Loop() {
			s = m.AppendSnapshot(s[:0])
		}
		b.SetBytes(int64(len(s)))
	})
	b.Run("read", func(b *testing.B) {
		for b.Loop() {
			if _, err := ReadSnapshot(s); err != nil {
				b.Fatal(err)
			}
		}
	})
}
