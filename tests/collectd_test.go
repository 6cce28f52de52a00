package tests

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/ringmill/ringmill/tests/harness"
)

const collectdConfig = `
Hostname "host"
FQDNLookup false
BaseDir "%[1]s"
PIDFile "%[1]s/pid"
PluginDir "/usr/lib/collectd"
TypesDB "/usr/share/collectd/types.db"
Interval 0.2
LoadPlugin memory
LoadPlugin write_kafka
<Plugin write_kafka>
  Property "metadata.broker.list" "%[2]s"
  <Topic "%[3]s">
    Format JSON
    Key "host"
  </Topic>
</Plugin>
`

// TestCollectd has metrics sent as JSON into a topic that the first of them makes.
func TestCollectd(t *testing.T) {
	t.Parallel()
	harness.Apt(t, "/usr/lib/collectd/write_kafka.so", "collectd-core", "librdkafka1")
	harness.Apt(t, "/usr/lib/x86_64-linux-gnu/libyajl.so.2", "libyajl2") // what the plugin is linked with, but its package does not ask for
	node := harness.Start(t, harness.Options{})
	dir, topic := t.TempDir(), harness.Name("collectd")
	config := filepath.Join(dir, "collectd.conf")
	write(t, config, fmt.Sprintf(collectdConfig, dir, node.Address, topic))
	harness.Daemon(t, nil, "/usr/sbin/collectd", "-f", "-C", config)
	for _, r := range node.Consume(t, topic, 20) {
		var metrics []struct{ Host, Plugin string }
		if err := json.Unmarshal(r.Value, &metrics); err != nil {
			t.Fatalf("offset %d: %v in %q", r.Offset, err, r.Value)
		}
		if len(metrics) == 0 || metrics[0].Host != "host" || metrics[0].Plugin != "memory" || string(r.Key) != "host" {
			t.Errorf("offset %d: key %q, %q", r.Offset, r.Key, r.Value)
		}
	}
}
