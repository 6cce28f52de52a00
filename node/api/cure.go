package api

import (
	"strings"

	"github.com/ringmill/ringmill/wire"
)

// VersionCure names the setting that has a client send versions that are served, for the log line about one that did not.
// The client is known by its id alone: software that tells its name asks for ApiVersions 3 and has no such problem.
func VersionCure(h wire.RequestHeader) string {
	id := strings.ToLower(string(h.ClientID))
	for _, c := range versionCures {
		if strings.Contains(id, c.clientID) {
			return c.cure
		}
	}
	return "set the client's Kafka version to 2.1.0 or newer (librdkafka: api.version.request=true; Sarama: Config.Version; Telegraf, Filebeat: version), or upgrade it"
}

// versionCures are known by the ids that clients have by default.
var versionCures = [...]struct{ clientID, cure string }{
	{"telegraf", `Telegraf: set version = "2.1.0" or newer in the kafka plug-in`},
	{"beats", `Beats: set version: "2.1.0" or newer in output.kafka`},
	{"sarama", "Sarama: set Config.Version to sarama.V2_1_0_0 or newer"},
	{"rdkafka", "librdkafka: set api.version.request=true and unset broker.version.fallback"},
	{"kafka-python", "kafka-python: unset api_version or set it to (2, 1) or newer"},
}
