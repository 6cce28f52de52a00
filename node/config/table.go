package config

import "slices"

// Reasons that rows of more than one area share.
const (
	reasonCleaner     = "one goroutine of the node cleans, with buffers of its own; log.cleaner.io.max.bytes.per.second bounds what it takes"
	reasonCompression = "record batches are stored as they were produced; the node does not recompress"
	reasonFiles       = "log directories are filled and watched in ringmill's own way: files grow by appends, a failed directory stops at once, and replicas are not moved between directories"
	reasonRemote      = "tiered storage is not built yet"
	reasonReplication = "replication between nodes is not built yet"
)

// table holds every property: the broker's, then the topics', each sorted by name.
var table = buildTable()

// brokerTable and topicTable find a row by name. ringmill.flush.policy is in both.
var (
	brokerTable = index(func(p *Property) bool { return p.Scope != TopicScope })
	topicTable  = index(func(p *Property) bool { return p.Scope != BrokerScope })
)

func buildTable() []Property {
	broker := slices.Concat(
		identityProperties, networkProperties, creationProperties, logProperties, producerProperties, groupProperties,
		securityProperties,
		remoteStorageProperties, cleanerProperties, fixedCleanerProperties, compressionProperties, fileProperties,
		quorumProperties, replicationProperties,
		transactionProperties, fixedTransactionProperties, shareProperties, newGroupProperties, groupBoundProperties, coordinatorProperties,
		threadProperties, receiveProperties, quotaProperties, metricProperties, policyProperties,
		ringmillProperties,
	)
	byName := func(a, b Property) int { return compareNames(a.Name, b.Name) }
	topic := inScope(TopicScope, slices.Clone(topicProperties))
	slices.SortFunc(broker, byName)
	slices.SortFunc(topic, byName)
	return slices.Concat(broker, topic)
}

func compareNames(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func index(in func(*Property) bool) map[string]*Property {
	m := make(map[string]*Property)
	for i := range table {
		if in(&table[i]) {
			m[table[i].Name] = &table[i]
		}
	}
	return m
}

// Properties returns the whole table: broker properties, then topic properties, each sorted by name.
func Properties() []Property { return slices.Clone(table) }

// LookupBroker finds a broker property.
func LookupBroker(name string) (Property, bool) { return lookup(brokerTable, name) }

// LookupTopic finds a topic property.
func LookupTopic(name string) (Property, bool) { return lookup(topicTable, name) }

func lookup(m map[string]*Property, name string) (Property, bool) {
	p, ok := m[name]
	if !ok {
		return Property{}, false
	}
	return *p, true
}
