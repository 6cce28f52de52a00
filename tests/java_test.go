package tests

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ringmill/ringmill/tests/harness"
)

const javaTools = "org.apache.kafka.tools."

// java runs one of Apache Kafka 4.1.1's own programs.
func java(t *testing.T, class string, args ...string) string {
	t.Helper()
	return harness.Command{Argv: harness.Java(t, class, args...), Timeout: 2 * time.Minute}.Output(t)
}

// TestJavaVerifiableClients: 5,000 records acknowledged by all, then read by a classic group that commits.
func TestJavaVerifiableClients(t *testing.T) {
	t.Parallel()
	node := harness.Shared(t)
	topic, group := node.CreateTopic(t, "java-verifiable", 4), harness.Name("java-verifiable")
	sent := java(t, javaTools+"VerifiableProducer", "--bootstrap-server", node.Address, "--topic", topic,
		"--max-messages", "5000", "--throughput", "-1", "--acks", "-1")
	if got := strings.Count(sent, "producer_send_success"); got != 5000 {
		t.Fatalf("%d of 5000 records were acknowledged", got)
	}
	read := java(t, javaTools+"VerifiableConsumer", "--bootstrap-server", node.Address, "--topic", topic,
		"--group-id", group, "--max-messages", "5000", "--reset-policy", "earliest", "--group-protocol", "classic")
	if got := recordsConsumed(t, read); got != 5000 {
		t.Errorf("%d of 5000 records were consumed", got)
	}
	described := java(t, javaTools+"consumer.group.ConsumerGroupCommand", "--bootstrap-server", node.Address, "--describe", "--group", group)
	if committed, lag := sumLag(described, topic); committed != 5000 || lag != 0 {
		t.Errorf("committed %d of 5000, lag %d:\n%s", committed, lag, described)
	}
}

// sumLag adds up the columns CURRENT-OFFSET and LAG of a described group: GROUP TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG.
func sumLag(described, topic string) (committed, lag int) {
	for line := range strings.Lines(described) {
		columns := strings.Fields(line)
		if len(columns) < 6 || columns[1] != topic {
			continue
		}
		var current, behind int
		fmt.Sscan(columns[3], &current)
		fmt.Sscan(columns[5], &behind)
		committed, lag = committed+current, lag+behind
	}
	return committed, lag
}

// recordsConsumed adds up what VerifiableConsumer says in its JSON lines.
func recordsConsumed(t *testing.T, output string) int {
	t.Helper()
	total := 0
	for line := range strings.Lines(output) {
		var event struct {
			Name  string
			Count int
		}
		if json.Unmarshal([]byte(line), &event) == nil && event.Name == "records_consumed" {
			total += event.Count
		}
	}
	return total
}

// TestJavaReadsConsumerOffsets: other programs read __consumer_offsets themselves (MirrorMaker, Burrow, Lenses), so its records
// are Kafka's: redpanda-data/redpanda#3106.
func TestJavaReadsConsumerOffsets(t *testing.T) {
	t.Parallel()
	harness.Apt(t, "kcat", "kcat")
	node, topic, group := harness.Shared(t), harness.Name("java-offsets"), harness.Name("java-offsets")
	kcat(t, node, numbers(50), "-P", "-t", topic, "-p", "0")
	kcat(t, node, "", "-G", group, "-X", "auto.offset.reset=earliest", "-c", "50", "-q", topic)
	formatted := func(formatter string) string {
		stdout, _, _ := harness.Command{Timeout: time.Minute, Argv: harness.Java(t, javaTools+"consumer.ConsoleConsumer", "--bootstrap-server", node.Address,
			"--topic", "__consumer_offsets", "--from-beginning", "--timeout-ms", "8000", "--formatter", javaTools+"consumer."+formatter)}.Try()
		return stdout
	}
	if offsets := formatted("OffsetsMessageFormatter"); !strings.Contains(offsets, group) || !strings.Contains(offsets, `"offset":50`) {
		t.Errorf("no commit of offset 50 by %s in\n%s", group, offsets)
	}
	if groups := formatted("GroupMetadataMessageFormatter"); !strings.Contains(groups, group) || !strings.Contains(groups, `"protocolType":"consumer"`) {
		t.Errorf("no metadata of %s in\n%s", group, groups)
	}
}
