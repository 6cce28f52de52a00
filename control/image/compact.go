package image

import (
	"cmp"
	"maps"
	"slices"

	"github.com/ringmill/ringmill/wire"
)

// compactMin is the size below which a log is never rewritten: replaying 64 KiB takes about a millisecond.
const compactMin = 64 << 10

// compacted gives the log that leads to the Image by the shortest way, or nil if rewriting the file does not pay. A log
// without live records is not rewritten, for its last offset would be lost (I6).
func (s *Store) compacted() []byte {
	if s.end <= compactMin {
		return nil
	}
	if live := appendLive(nil, s.image); len(live) > 0 && s.end > 2*int64(len(live)) {
		return live
	}
	return nil
}

// liveBatchRecords is how many records a batch of a compacted log has at most.
const liveBatchRecords = 1000

// appendLive appends a log that leads to m: as few records as possible, in batches that end at m's version. There is room
// for them below it, because each stands for at least one record that was applied.
func appendLive(dst []byte, m *Image) []byte {
	records := liveRecords(m)
	offset := wire.Offset(m.version) - wire.Offset(len(records))
	for chunk := range slices.Chunk(records, liveBatchRecords) {
		dst = appendBatch(dst, offset, chunk)
		offset += wire.Offset(len(chunk))
	}
	return dst
}

// liveRecords gives the shortest change that leads from nothing to m, always in the same order.
func liveRecords(m *Image) (records []Record) {
	if m.cluster != (ClusterRecord{}) {
		records = append(records, m.cluster)
	}
	if m.nextProducerID > 0 {
		records = append(records, ProducerIDsRecord{Next: m.nextProducerID})
	}
	for _, name := range slices.Sorted(maps.Keys(m.features)) {
		records = append(records, FeatureLevelRecord{Name: name, Level: m.features[name]})
	}
	for _, b := range m.brokers {
		records = append(records, BrokerRecord{*b})
	}
	records = appendTopics(records, m)
	for _, r := range slices.SortedFunc(m.Resources(), compareResources) {
		records = appendConfigs(records, r, m.configs[r])
	}
	for _, e := range m.QuotaEntities() {
		records = appendQuotas(records, e, m.quotas[e])
	}
	for _, u := range m.SCRAMUsers() {
		records = append(records, UserSCRAMCredentialRecord{u, *m.scram[u]})
	}
	return append(records, aclRecords(m)...)
}

// appendTopics creates the topics in the order of their leader epochs' bases, each after the record that leads to it.
func appendTopics(records []Record, m *Image) []Record {
	epoch := int64(0)
	rise := func(to int64) {
		if to > epoch {
			records, epoch = append(records, LeaderEpochRecord{to}), to
		}
	}
	topics := slices.SortedStableFunc(m.Topics(), func(a, b *Topic) int { return cmp.Compare(a.LeaderEpochBase, b.LeaderEpochBase) })
	for _, t := range topics {
		rise(t.LeaderEpochBase)
		records = append(records, TopicRecord{Name: t.Name, ID: t.ID, Partitions: t.Partitions})
		for i, s := range t.States() {
			records = append(records, PartitionRecord{t.ID, i, *s})
		}
		records = appendConfigs(records, Resource{TopicResource, t.Name}, t.Configs)
	}
	rise(m.leaderEpoch)
	return records
}

func appendQuotas(records []Record, e QuotaEntity, values map[string]float64) []Record {
	for _, key := range slices.Sorted(maps.Keys(values)) {
		records = append(records, ClientQuotaRecord{Entity: e, Key: key, Value: values[key]})
	}
	return records
}

func appendConfigs(records []Record, r Resource, entries map[string]string) []Record {
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		value := entries[key]
		records = append(records, ConfigRecord{Resource: r, Key: key, Value: &value})
	}
	return records
}

func compareResources(a, b Resource) int {
	return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Name, b.Name))
}
