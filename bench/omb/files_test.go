package omb_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ringmill/ringmill/bench/omb"
)

// written puts files into a folder of their own.
func written(t *testing.T, files map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// The shapes that OpenMessaging Benchmark's own workloads have: payloads from a file beside the folder of workloads or from a pool, a rate or
// none, one topic or several, keys or none.
const (
	filePayload = `# comments
name: one topic, a file

topics: 1
partitionsPerTopic: 16
keyDistributor: "KEY_ROUND_ROBIN"
messageSize: 100
payloadFile: "payload/small.data"
subscriptionsPerTopic: 1
consumerPerSubscription: 1
producersPerTopic: 1
producerRate: 50000
consumerBacklogSizeGB: 0
testDurationMinutes: 15
`
	poolPayload = `name: many topics, a pool

topics: 100
partitionsPerTopic: 1

messageSize: 1024
useRandomizedPayloads: true
randomBytesRatio: 0.5
randomizedPayloadPoolSize: 1000

subscriptionsPerTopic: 2
consumerPerSubscription: 4
producersPerTopic: 3

producerRate: 0

consumerBacklogSizeGB: 0
backlogDrainRatio: 1.0
testDurationMinutes: 5
warmupDurationMinutes: 0
`
)

func readWorkload(t *testing.T, text string) (settings, notes []string, err error) {
	t.Helper()
	dir := written(t, map[string]string{"workloads/w.yaml": text, "payload/small.data": strings.Repeat("x", 100)})
	w, notes, err := omb.ReadWorkload(filepath.Join(dir, "workloads", "w.yaml"))
	if err != nil {
		return nil, nil, err
	}
	all, err := w.Settings()
	for _, s := range all {
		settings = append(settings, s.Name+" "+strings.ReplaceAll(s.Value, dir+"/", ""))
	}
	for i := range notes {
		notes[i] = strings.ReplaceAll(notes[i], dir+"/", "")
	}
	return settings, notes, err
}

func TestWorkload(t *testing.T) {
	for name, c := range map[string]struct {
		text     string
		settings []string
		notes    []string
	}{
		"a file": {filePayload, []string{"client franz", "topics 1", "partitions 16", "size payload:payload/small.data", "producers 1", "subscriptions 1",
			"consumers 1", "duration 15m0s", "warm-up 1m0s", "rate 50000", "keys 10000", "key-choice in-turn"}, nil},
		"a pool": {poolPayload, []string{"client franz", "topics 100", "partitions 1", "size pool:1024,0.5,1000", "producers 3", "subscriptions 2",
			"consumers 4", "duration 5m0s", "warm-up 0s"}, nil},
		"keys by the clock": {strings.Replace(poolPayload, "messageSize", "keyDistributor: RANDOM_NANO\nmessageSize", 1), []string{"client franz", "topics 100", "partitions 1",
			"size pool:1024,0.5,1000", "producers 3", "subscriptions 2", "consumers 4", "duration 5m0s", "warm-up 0s", "keys 10000", "key-choice uniform"}, nil},
		"nobody consumes": {strings.Replace(poolPayload, "subscriptionsPerTopic: 2", "subscriptionsPerTopic: 0", 1), []string{"client franz", "topics 100", "partitions 1",
			"size pool:1024,0.5,1000", "producers 3", "subscriptions 1", "consumers 0", "duration 5m0s", "warm-up 0s"},
			[]string{"workloads/w.yaml: subscriptionsPerTopic and consumerPerSubscription: no effect with one of them 0: nobody consumes"}},
		"a backlog": {strings.Replace(filePayload, "consumerBacklogSizeGB: 0", "consumerBacklogSizeGB: 100\nbacklogDrainRatio: 0.9", 1), []string{"client franz", "topics 1", "partitions 16", "size payload:payload/small.data",
			"producers 1", "subscriptions 1", "consumers 1", "duration 15m0s", "warm-up 1m0s", "backlog 107374182400", "backlog-drained 0.9", "rate 50000", "keys 10000", "key-choice in-turn"}, nil},
		"in vain": {strings.Replace(filePayload, "messageSize", "randomBytesRatio: 0.5\nbacklogDrainRatio: 0.9\nproducerRates: 1\nmessageSize", 1), []string{"client franz", "topics 1", "partitions 16",
			"size payload:payload/small.data", "producers 1", "subscriptions 1", "consumers 1", "duration 15m0s", "warm-up 1m0s", "rate 50000", "keys 10000", "key-choice in-turn"},
			[]string{"workloads/w.yaml:9: producerRates: no such field, passed over; did you mean producerRate?", "workloads/w.yaml: randomBytesRatio: no effect without useRandomizedPayloads",
				"workloads/w.yaml: backlogDrainRatio: no effect without consumerBacklogSizeGB"}},
	} {
		settings, notes, err := readWorkload(t, c.text)
		for i := range settings { // the file is found by way of the workload's folder
			settings[i] = strings.ReplaceAll(settings[i], "workloads/../", "")
		}
		if err != nil || !slices.Equal(settings, c.settings) || !slices.Equal(notes, c.notes) {
			t.Errorf("%s: %v\n%q\n%q", name, err, settings, notes)
		}
	}
}

// What cannot be run as it is said is refused in a line that names the field.
func TestUnusableWorkloads(t *testing.T) {
	for _, c := range []struct{ from, to, field string }{
		{"topics: 1\n", "topics: 0\n", "topics"},
		{"topics: 1\n", "topics: 1.5\n", "line 4: topics: 1.5 is no whole number"},
		{"topics: 1\n", "topics: [1]\n", "line 4: topics: cannot"},
		{"topics: 1\n", "topics:\n  one\n", "line 5: topics: cannot"},
		{"topics: 1\n", "topcis: 1\n", "w.yaml:4: topcis: no such field, passed over; did you mean topics?"},
		{"testDurationMinutes: 15", "testDurationMinute: 15", "w.yaml:14: testDurationMinute: no such field, passed over; did you mean testDurationMinutes?"},
		{"partitionsPerTopic: 16", "partitionsPerTopic: 0", "partitionsPerTopic"},
		{"KEY_ROUND_ROBIN", "ROUND_ROBIN", "keyDistributor"},
		{"messageSize: 100", "messageSize: 101", "payloadFile"},
		{"small.data", "none.data", "payloadFile"},
		{`payloadFile: "payload/small.data"`, "", "payloadFile"},
		{`payloadFile: "payload/small.data"`, "useRandomizedPayloads: true", "randomizedPayloadPoolSize"},
		{"subscriptionsPerTopic: 1", "subscriptionsPerTopic: -1", "subscriptionsPerTopic"},
		{"consumerPerSubscription: 1", "consumerPerSubscription: -1", "consumerPerSubscription"},
		{"producersPerTopic: 1", "producersPerTopic: 0", "producersPerTopic"},
		{"producerRate: 50000", "producerRate: -1", "producerRate"},
		{"consumerBacklogSizeGB: 0", "consumerBacklogSizeGB: -1", "consumerBacklogSizeGB"},
		{"consumerBacklogSizeGB: 0", "consumerBacklogSizeGB: 9000000000", "consumerBacklogSizeGB"},
		{"consumerPerSubscription: 1\nproducersPerTopic: 1\nproducerRate: 50000\nconsumerBacklogSizeGB: 0", "consumerPerSubscription: 0\nproducersPerTopic: 1\nproducerRate: 50000\nconsumerBacklogSizeGB: 1", "consumerBacklogSizeGB"},
		{"consumerBacklogSizeGB: 0", "consumerBacklogSizeGB: 1\nbacklogDrainRatio: 1.5", "backlogDrainRatio"},
		{"testDurationMinutes: 15", "testDurationMinutes: 0", "testDurationMinutes"},
		{"testDurationMinutes: 15", "", "testDurationMinutes"},
		{"testDurationMinutes: 15", "testDurationMinutes: 15\nwarmupDurationMinutes: -1", "warmupDurationMinutes"},
		{"name:", "\t", "w.yaml"},
		{filePayload, "", "no mapping"},
		{filePayload, "- a", "no mapping"},
		{filePayload, "{topics: 1, messageSize: x}", "w.yaml: line 1: cannot"},
	} {
		_, _, err := readWorkload(t, strings.Replace(filePayload, c.from, c.to, 1))
		if !errors.Is(err, omb.ErrFile) || !strings.Contains(err.Error(), c.field) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q in place of %q: %v", c.to, c.from, err)
		}
	}
	if _, _, err := omb.ReadWorkload("none.yaml"); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

const driver = `# a driver
name: Kafka
driverClass: io.openmessaging.benchmark.driver.kafka.KafkaBenchmarkDriver

replicationFactor: 3

topicConfig: |
  min.insync.replicas=2
  flush.messages=1

commonConfig: |
  bootstrap.servers=a:9092, b:9092
  default.api.timeout.ms=1200000
  request.timeout.ms=1200000
  client.id=bench

producerConfig: |
  acks=all
  linger.ms=1
  batch.size=131072
  compression.type=zstd

consumerConfig: |
  auto.offset.reset=earliest
  enable.auto.commit=false
  max.partition.fetch.bytes=10485760
`

func readDriver(t *testing.T, text string) (settings []string, access omb.Access, notes []string, err error) {
	t.Helper()
	dir := written(t, map[string]string{"d.yaml": text})
	d, notes, err := omb.ReadDriver(filepath.Join(dir, "d.yaml"))
	if err != nil {
		return nil, access, nil, err
	}
	all, access, more, err := d.Settings()
	for _, s := range all {
		settings = append(settings, s.Name+" "+s.Value)
	}
	for _, note := range append(notes, more...) {
		settings = append(settings, strings.ReplaceAll(note, dir+"/", ""))
	}
	return settings, access, nil, err
}

func TestDriver(t *testing.T) {
	for name, c := range map[string]struct {
		from, to string
		// gone and more are the differences to what the driver above stands for.
		gone, more []string
	}{
		"as it is":            {},
		"without acks of all": {"acks=all", "acks=1", []string{"acks all"}, []string{"acks 1", "producer-property max.in.flight.requests.per.connection=5"}},
		"exactly once": {"acks=all", "acks=all\n  enable.idempotence=true\n  max.in.flight.requests.per.connection=1\n  retries=2147483647", nil,
			[]string{"producer-property enable.idempotence=true", "producer-property retries=2147483647",
				"d.yaml: producerConfig: max.in.flight.requests.per.connection=1: not done: an idempotent producer of this client has 5 requests out, and keeps their order"}},
		"reset": {"replicationFactor: 3", "reset: true\nuseSpiders: true", []string{"replication-factor 3"}, []string{"replication-factor -1",
			"d.yaml:6: useSpiders: no such field, passed over", "d.yaml: reset: not done: no topic but the run's own is touched, which is made and removed"}},
		"latest": {"=earliest", "=latest\n  fetch.min.bytes=100\n  check.crcs=false", nil, []string{"consumer-property fetch.min.bytes=100",
			"d.yaml: consumerConfig: check.crcs=false: no setting of this client, passed over",
			"d.yaml: consumerConfig: auto.offset.reset=latest: no effect: the topic is new, and consumers read it from its beginning"}},
		"misspelt": {"batch.size=131072", "batch.sizes=131072\n  max.request.size=1\n  transaction.timeout.ms=1\n  metadata.max.age.ms=1", []string{"producer-property batch.size=131072"},
			[]string{"d.yaml: producerConfig: batch.sizes=131072: no setting of this client, passed over; did you mean batch.size?", "d.yaml: producerConfig: max.request.size=1: no setting of this client, passed over",
				"d.yaml: producerConfig: metadata.max.age.ms=1: no setting of this client, passed over", "d.yaml: producerConfig: transaction.timeout.ms=1: no setting of this client, passed over"}},
		"redpanda's": {"driver.kafka.KafkaBenchmarkDriver", "driver.redpanda.RedpandaBenchmarkDriver", nil, nil},
		"escapes":    {"linger.ms=1", "linger.ms : 7\n  ! not.a=property", []string{"linger 1ms"}, []string{"linger 7ms"}},
	} {
		want := []string{"client franz", "replication-factor 3", "topic-property flush.messages=1", "topic-property min.insync.replicas=2", "acks all", "bootstrap a:9092,b:9092", "linger 1ms", "codec zstd",
			"producer-property batch.size=131072", "producer-property client.id=bench", "producer-property request.timeout.ms=1200000", "consumer-property client.id=bench",
			"consumer-property max.partition.fetch.bytes=10485760", "d.yaml: commonConfig: default.api.timeout.ms=1200000: no setting of this client, passed over",
			"d.yaml: consumerConfig: enable.auto.commit=false: no effect: consumers are in no group, each reads its share of the partitions"}
		want = append(slices.DeleteFunc(want, func(s string) bool { return slices.Contains(c.gone, s) }), c.more...)
		got, _, _, err := readDriver(t, strings.Replace(driver, c.from, c.to, 1))
		slices.Sort(got)
		slices.Sort(want)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v\n%s\nwant\n%s", name, err, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

func TestAccess(t *testing.T) {
	common := func(lines ...string) string {
		return strings.Replace(driver, "  client.id=bench", "  "+strings.Join(lines, "\n  "), 1)
	}
	jaas := `sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required username="me" password="se;cr\\"et";`
	_, got, _, err := readDriver(t, common("security.protocol=SASL_SSL", "sasl.mechanism=SCRAM-SHA-512", jaas, "ssl.truststore.type=PEM", "ssl.truststore.location=ca.pem"))
	if want := (omb.Access{TLS: true, CA: "ca.pem", Mechanism: "SCRAM-SHA-512", User: "me", Password: `se;cr"et`}); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	if _, got, _, err = readDriver(t, common("security.protocol=PLAINTEXT", jaas)); err != nil || got != (omb.Access{}) {
		t.Errorf("%+v, %v", got, err)
	}
	for _, c := range []struct {
		field string
		lines []string
	}{
		{"security.protocol", []string{"security.protocol=TLS"}},
		{"sasl.mechanism", []string{"security.protocol=SASL_PLAINTEXT", "sasl.mechanism=GSSAPI"}},
		{"ssl.truststore.type", []string{"security.protocol=SSL", "ssl.truststore.location=a.jks"}},
		{"ssl.keystore.key", []string{"security.protocol=SSL", "ssl.keystore.key=x"}},
		{"ssl.endpoint.identification.algorithm", []string{"security.protocol=SSL", "ssl.endpoint.identification.algorithm="}},
	} {
		if _, _, _, err := readDriver(t, common(c.lines...)); !errors.Is(err, omb.ErrFile) || !strings.Contains(fmt.Sprint(err), c.field) {
			t.Errorf("%v: %v", c.lines, err)
		}
	}
}

func TestUnusableDrivers(t *testing.T) {
	for _, c := range []struct{ from, to, field string }{
		{"driver.kafka.KafkaBenchmarkDriver", "driver.pulsar.PulsarBenchmarkDriver", "driverClass"},
		{"replicationFactor: 3", "replicationFactor: 0", "replicationFactor"},
		{"name: Kafka\ndriverClass: io", "nome: Kafka\ndriverClass: oi", "d.yaml:2: nome: no such field, passed over; did you mean name?"},
		{"acks=all", "acks=0", "acks"},
		{"acks=all", "acks=all\n  transactional.id=x", "transactional.id"},
		{"commonConfig: |", "commonConfig:\n  a: |", "line"},
	} {
		if _, _, _, err := readDriver(t, strings.Replace(driver, c.from, c.to, 1)); !errors.Is(err, omb.ErrFile) || !strings.Contains(err.Error(), c.field) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q in place of %q: %v", c.to, c.from, err)
		}
	}
}

// A file that does not end is not read to its end.
func TestFilesWithoutEnd(t *testing.T) {
	if _, _, err := omb.ReadWorkload("/dev/zero"); err == nil || !strings.Contains(err.Error(), "more than 4194304 bytes") {
		t.Error(err)
	}
	if _, _, err := omb.ReadDriver("/dev/zero"); err == nil || !strings.Contains(err.Error(), "more than 4194304 bytes") {
		t.Error(err)
	}
}
