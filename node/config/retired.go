package config

import "strings"

// retired are names that older server.properties files hold and Apache Kafka 4.1 itself no longer knows, and prefixes
// under which Kafka passes settings on to plug-ins. They are accepted, unchecked, without effect.
var retired = []struct {
	reason   string
	names    []string
	prefixes []string
}{
	{
		reason:   "Apache Kafka 4 has no ZooKeeper, and neither has ringmill",
		names:    []string{"broker.id.generation.enable", "reserved.broker.max.id", "control.plane.listener.name"},
		prefixes: []string{"zookeeper.", "password.encoder."},
	},
	{
		reason: "no longer a property of Apache Kafka 4: there is one message format and one protocol",
		names: []string{
			"inter.broker.protocol.version", "log.message.format.version", "log.message.downconversion.enable",
			"log.message.timestamp.difference.max.ms", "offsets.commit.required.acks",
		},
	},
	{
		reason: "no longer a property of Apache Kafka 4",
		names: []string{
			"port", "host.name", "advertised.port", "advertised.host.name", "delegation.token.master.key",
			"quota.producer.default", "quota.consumer.default", "controlled.shutdown.max.retries",
			"controlled.shutdown.retry.backoff.ms", "leader.imbalance.per.broker.percentage",
			"group.coordinator.new.enable", "eligible.leader.replicas.enable",
		},
	},
	{
		reason:   "settings of one listener, but for max.connection.creation.rate, are not built yet",
		prefixes: []string{"listener.name."},
	},
	{
		reason:   reasonRemote,
		prefixes: []string{"rsm.config.", "rlmm.config."},
	},
}

// retiredReason says why a name that is not in the table is accepted; ok is false if it is not.
func retiredReason(name string) (reason string, ok bool) {
	for _, group := range retired {
		for _, n := range group.names {
			if n == name {
				return group.reason, true
			}
		}
		for _, p := range group.prefixes {
			if strings.HasPrefix(name, p) {
				return group.reason, true
			}
		}
	}
	return "", false
}
