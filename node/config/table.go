package config

import "slices"

// Reasons that rows of more than one area share.
const (
	reasonCleaner     = "one goroutine of the node cleans, with buffers of its own; log.cleaner.io.max.bytes.per.second bounds what it takes"
	reasonCompression = "record batches are stored as they were produced; the node does not recompress"
	reasonFiles       = "log directories are filled and watched in ringmill's own way: files grow by appends, a failed directory stops at once, and moves between directories have one bound on their rate"
	reasonRemote      = "tiered storage is not built yet"
	reasonReplication = "what nodes do between them goes by times of their own"
)

// table holds every property: the broker's, then the topics', the groups' and the client metrics', each sorted by name.
var table = buildTable()

// The tables by scope find a row by name. ringmill.flush.policy is in the first two.
var (
	brokerTable        = index(BrokerScope)
	topicTable         = index(TopicScope)
	groupTable         = index(GroupScope)
	clientMetricsTable = index(ClientMetricsScope)
)

func buildTable() []Property {
	broker := slices.Concat(
		identityProperties, networkProperties, creationProperties, logProperties, producerProperties, groupProperties,
		securityProperties,
		remoteStorageProperties, cleanerProperties, fixedCleanerProperties, compressionProperties, fileProperties, moveProperties,
		quorumProperties, clusterProperties, replicationProperties, fixedReplicationProperties, unreplicatedProperties,
		transactionProperties, fixedTransactionProperties, shareGroupProperties, shareStateProperties, fixedShareStateProperties, sharePartitionProperties, fixedSharePartitionProperties,
		newGroupProperties, coordinatorProperties,
		threadProperties, receiveProperties, quotaProperties, metricProperties, policyProperties,
		ringmillProperties,
	)
	topic := inScope(TopicScope, slices.Clone(topicProperties))
	group := inScope(GroupScope, slices.Clone(groupOverrideProperties))
	metrics := inScope(ClientMetricsScope, slices.Clone(clientMetricsProperties))
	for _, rows := range [][]Property{broker, topic, group, metrics} {
		slices.SortFunc(rows, func(a, b Property) int { return compareNames(a.Name, b.Name) })
	}
	return slices.Concat(broker, topic, group, metrics)
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

func index(scope Scope) map[string]*Property {
	m := make(map[string]*Property)
	for i := range table {
		if table[i].In(scope) {
			m[table[i].Name] = &table[i]
		}
	}
	return m
}

// Properties returns the whole table: the properties of brokers, topics, groups and client metrics, each sorted by name.
func Properties() []Property { return slices.Clone(table) }

// LookupBroker finds a broker property.
func LookupBroker(name string) (Property, bool) { return lookup(brokerTable, name) }

// IsList reports whether values can be added to and taken from what a resource of that scope has for a property. Of groups
// and client metrics nothing can, as in Kafka, though client metrics have lists.
func IsList(scope Scope, name string) bool {
	p, known := map[Scope]map[string]*Property{BrokerScope: brokerTable, TopicScope: topicTable}[scope][name]
	return known && p.Type == List
}

func lookup(m map[string]*Property, name string) (Property, bool) {
	p, ok := m[name]
	if !ok {
		return Property{}, false
	}
	return *p, true
}
