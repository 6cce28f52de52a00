package config

import (
	"errors"
	"maps"
	"strconv"
	"strings"
	"testing"
)

// parsed reads "a=1,b=2": the properties of a recorded refusal. Only keys hold "=" after a comma.
func parsed(text string) map[string]string {
	m := make(map[string]string)
	key := ""
	for i, part := range strings.Split(text, ",") {
		k, v, ok := strings.Cut(part, "=")
		if ok {
			key = k
			m[key] = v
		} else if i > 0 {
			m[key] += "," + part
		}
	}
	return m
}

// The file holds what Apache Kafka 4.1.1 answered to CreateTopics with one bad property each (INVALID_CONFIG is 40).
func TestTopicRefusalsAreKafkas(t *testing.T) {
	c := load(t, Source{})
	for _, r := range rows(t, "refused-topic.tsv") {
		code, message := r[1], r[2]
		err := c.ValidateTopicConfig(parsed(r[0]))
		var e *TopicError
		switch {
		case code == "0" && err != nil:
			t.Errorf("%s: Kafka takes it, got %v", r[0], err)
		case code != "0" && (!errors.As(err, &e) || err.Error() != message):
			t.Errorf("%s\ngot  %v\nwant %s", r[0], err, message)
		}
	}
}

// The file holds what ConfigDef of Apache Kafka 4.1.1 makes of awkward values, for a property of each type and validator.
func TestValuesAreReadAsKafkaDoes(t *testing.T) {
	for _, r := range rows(t, "values.tsv") {
		name, value, want := r[0], r[1], r[2]
		p := brokerTable[name]
		if p.Type == Double && value == "NaN" { // which Kafka takes (docs/compatibility.md)
			want = "Invalid value NaN for configuration " + name + ": Not a number of type DOUBLE"
		}
		got := "OK " + canonical(p.Type, value)
		if problem, offending := p.problemWith(value); problem != "" {
			got = (&TopicError{Key: name, Value: offending, Problem: problem}).Error()
		}
		if got != want {
			t.Errorf("%s=%q\ngot  %s\nwant %s", name, value, got, want)
		}
	}
}

func TestDynamicRefusalsAreKafkas(t *testing.T) {
	c := load(t, Source{})
	for _, r := range rows(t, "refused-broker.tsv") {
		node, values, code, message := r[0], parsed(r[1]), r[2], r[3]
		var err error
		if node == "-" {
			_, err = c.WithDynamic(nil, values)
		} else {
			_, err = c.WithDynamic(values, nil)
		}
		var e *TopicError
		switch {
		case r[1] == "log.retention.ms=-5" || code == "0":
			if err != nil {
				t.Errorf("%s %s: Kafka takes it, got %v", node, r[1], err)
			}
		case !errors.As(err, &e) || err.Error() != message:
			t.Errorf("%s %s\ngot  %v\nwant %s", node, r[1], err, message)
		}
	}
}

// The recorded node had these in its file, and min.insync.replicas for all nodes from eligible leader replicas.
var recordedNode = []string{
	"process.roles=broker,controller", "node.id=1", "broker.rack=rack-1", "controller.quorum.voters=1@127.0.0.1:9093",
	"controller.listener.names=CONTROLLER", "inter.broker.listener.name=PLAINTEXT",
	"listeners=PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093", "advertised.listeners=PLAINTEXT://127.0.0.1:9092",
	"listener.security.protocol.map=PLAINTEXT:PLAINTEXT,INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT,SSL:SSL,SASL_SSL:SASL_SSL",
	"log.dirs=/var/lib/kafka", "num.partitions=1", "default.replication.factor=1", "offsets.topic.replication.factor=1",
	"offsets.topic.num.partitions=10", "transaction.state.log.replication.factor=1", "transaction.state.log.min.isr=1",
	"transaction.state.log.num.partitions=10", "share.coordinator.state.topic.replication.factor=1",
	"share.coordinator.state.topic.min.isr=1", "share.coordinator.state.topic.num.partitions=5",
	"group.initial.rebalance.delay.ms=0", "auto.create.topics.enable=true",
	"replica.selector.class=org.apache.kafka.common.replica.RackAwareReplicaSelector", "num.network.threads=2", "num.io.threads=4",
	"log.cleaner.dedupe.buffer.size=33554432", "offsets.topic.segment.bytes=10485760", "transaction.state.log.segment.bytes=10485760",
}

func recordedConfig(t *testing.T) *Config {
	t.Helper()
	c, err := load(t, Source{Set: recordedNode}).WithDynamic(nil, map[string]string{"min.insync.replicas": "1"})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestDescribeTopicIsKafkas(t *testing.T) {
	c := recordedConfig(t)
	compareDescription(t, c.DescribeTopic(nil), rows(t, "describe-topic-plain.tsv"))
	compareDescription(t, c.DescribeTopic(map[string]string{
		"retention.ms": "1000", "cleanup.policy": "compact,delete", "segment.bytes": "2097152", "min.insync.replicas": "2", "compression.type": "zstd",
	}), rows(t, "describe-topic-set.tsv"))
}

func TestDescribeBrokerIsKafkas(t *testing.T) {
	compareDescription(t, recordedConfig(t).DescribeBroker(), rows(t, "describe-broker.tsv"))
}

// compareDescription holds entries against recorded rows; ringmill's own properties and departing defaults aside.
func compareDescription(t *testing.T, entries []Entry, recorded [][]string) {
	t.Helper()
	got := make(map[string]Entry)
	for _, e := range entries {
		got[e.Name] = e
		if e.Doc == "" {
			t.Errorf("%s has no documentation", e.Name)
		}
	}
	for _, want := range recorded {
		e, ok := got[want[0]]
		delete(got, want[0])
		if _, departs := departures[want[0]]; departs || want[0] == "log.dir" {
			continue
		}
		if line := described(e); !ok || line != strings.Join(want, "\t") {
			t.Errorf("\ngot  %s\nwant %s", line, strings.Join(want, "\t"))
		}
	}
	for name := range maps.Keys(got) {
		if !ringmills(name) {
			t.Errorf("%s is described, and Kafka does not", name)
		}
	}
}

func described(e Entry) string {
	var synonyms []string
	for _, s := range e.Synonyms {
		synonyms = append(synonyms, s.Name+"="+orNull(s.Value)+"@"+strconv.Itoa(int(s.Source)))
	}
	return strings.Join([]string{e.Name, orNull(e.Value), strconv.Itoa(int(e.Source)), strconv.Itoa(int(e.Type)),
		strconv.FormatBool(e.ReadOnly), strconv.FormatBool(e.Sensitive), strings.Join(synonyms, " ")}, "\t")
}

func orNull(s *string) string {
	if s == nil {
		return "null"
	}
	return `"` + *s + `"`
}

func TestTopicTakesTheBrokersValues(t *testing.T) {
	for _, tt := range []struct {
		set  []string
		read func(TopicConfig) int64
		want int64
	}{
		{nil, func(t TopicConfig) int64 { return t.RetentionMS }, 604800000},
		{[]string{"log.retention.hours=2"}, func(t TopicConfig) int64 { return t.RetentionMS }, 7200000},
		{[]string{"log.retention.hours=2", "log.retention.minutes=3"}, func(t TopicConfig) int64 { return t.RetentionMS }, 180000},
		{[]string{"log.retention.ms=4", "log.retention.minutes=3"}, func(t TopicConfig) int64 { return t.RetentionMS }, 4},
		{[]string{"log.retention.hours=-1"}, func(t TopicConfig) int64 { return t.RetentionMS }, -1},
		{[]string{"log.retention.ms=-7"}, func(t TopicConfig) int64 { return t.RetentionMS }, -1},
		{[]string{"log.roll.hours=1"}, func(t TopicConfig) int64 { return t.SegmentMS }, 3600000},
		{[]string{"log.roll.hours=1", "log.roll.ms=9"}, func(t TopicConfig) int64 { return t.SegmentMS }, 9},
		{[]string{"log.roll.jitter.hours=1"}, func(t TopicConfig) int64 { return t.SegmentJitterMS }, 3600000},
		{[]string{"log.flush.scheduler.interval.ms=8"}, func(t TopicConfig) int64 { return t.FlushMS }, 8},
		{[]string{"log.flush.scheduler.interval.ms=8", "log.flush.interval.ms=7"}, func(t TopicConfig) int64 { return t.FlushMS }, 7},
		{[]string{"message.max.bytes=100"}, func(t TopicConfig) int64 { return int64(t.MaxMessageBytes) }, 100},
		{[]string{"log.segment.bytes=1048576"}, func(t TopicConfig) int64 { return t.SegmentSize() }, 1048576},
	} {
		got, err := load(t, Source{Set: tt.set}).Topic(nil)
		if err != nil || tt.read(got) != tt.want {
			t.Errorf("%q: %d, want %d (%v)", tt.set, tt.read(got), tt.want, err)
		}
	}
}

func TestTopicsOwnValuesWin(t *testing.T) {
	c := load(t, Source{Set: []string{"log.retention.ms=5", "ringmill.flush.policy=cache"}})
	if topic, err := c.Topic(nil); err != nil || topic.FlushPolicy != FlushCache || !topic.Delete() || topic.Compact() || topic.LogAppendTime() {
		t.Errorf("%+v, %v", topic, err)
	}
	topic, err := c.Topic(map[string]string{
		"retention.ms": " 6 ", "ringmill.flush.policy": "interval", "cleanup.policy": "compact", "message.timestamp.type": "LogAppendTime",
		"internal.segment.bytes": "1000", "min.cleanable.dirty.ratio": "0.25f",
	})
	if err != nil || topic.RetentionMS != 6 || topic.FlushPolicy != FlushInterval || topic.Delete() || !topic.Compact() ||
		!topic.LogAppendTime() || topic.SegmentSize() != 1000 || topic.MinCleanableDirtyRatio != 0.25 {
		t.Errorf("%+v, %v", topic, err)
	}
}

// TestSynonymsBeginWithTheOwn: what stands for a property is listed below a value of its own, and not alone. The values are those of
// Apache Kafka 4.1.1.
func TestSynonymsBeginWithTheOwn(t *testing.T) {
	const retention, flush = "log.retention.ms", "log.flush.interval.ms"
	c := load(t, Source{Set: []string{"log.retention.hours=24"}})
	next, err := c.WithDynamic(nil, map[string]string{retention: "700000000"})
	if err != nil {
		t.Fatal(err)
	}
	want := `log.retention.ms="700000000"@3 log.retention.hours="24"@4 log.retention.hours="168"@5`
	for _, e := range append(next.DescribeBroker(), next.DescribeTopic(nil)...) {
		if got := described(e); (e.Name == retention || e.Name == "retention.ms") && !strings.HasSuffix(got, "\t"+want) {
			t.Errorf("\ngot  %s\nwant %s", got, want)
		}
	}
	for _, e := range append(c.DescribeBroker(), c.DescribeTopic(nil)...) {
		if (e.Name == retention || e.Name == "retention.ms" || e.Name == flush || e.Name == "flush.ms") && (len(e.Synonyms) > 0 || e.Source != DefaultConfig) {
			t.Errorf("%s", described(e))
		}
	}
}

func TestDynamicLayers(t *testing.T) {
	c := load(t, Source{Set: []string{"log.retention.ms=5", "log.retention.hours=1"}})
	next, err := c.WithDynamic(map[string]string{"log.retention.ms": "7"}, map[string]string{"log.retention.ms": "6", "message.max.bytes": "99", "plugin.secret": "x"})
	if err != nil {
		t.Fatal(err)
	}
	topic, _ := next.Topic(map[string]string{"retention.ms": "8"})
	if before, _ := c.Topic(nil); topic.RetentionMS != 8 || before.RetentionMS != 5 || topic.MaxMessageBytes != 99 {
		t.Errorf("topic %d, before %d, message %d", topic.RetentionMS, before.RetentionMS, topic.MaxMessageBytes)
	}
	for _, e := range next.DescribeTopic(map[string]string{"retention.ms": "8"}) {
		if want := "retention.ms\t\"8\"\t1\t5\tfalse\tfalse\tretention.ms=\"8\"@1 log.retention.ms=\"7\"@2 log.retention.ms=\"6\"@3 log.retention.ms=\"5\"@4 log.retention.hours=\"1\"@4 log.retention.hours=\"168\"@5"; e.Name == "retention.ms" && described(e) != want {
			t.Errorf("\ngot  %s\nwant %s", described(e), want)
		}
	}
	if cluster := next.DescribeCluster(); len(cluster) != 3 || described(cluster[1]) != "message.max.bytes\t\"99\"\t3\t3\tfalse\tfalse\tmessage.max.bytes=\"99\"@3" || cluster[2].Value != nil {
		t.Errorf("cluster %+v", cluster)
	}
	listed := map[string]string{}
	for _, e := range next.DescribeBroker() {
		listed[e.Name] = described(e)
	}
	if got, want := listed["plugin.secret"], "plugin.secret\tnull\t3\t0\ttrue\ttrue\tplugin.secret=null@3"; got != want {
		t.Errorf("\ngot  %s\nwant %s", got, want)
	}
	if last, err := next.WithDynamic(nil, nil); err != nil || len(last.DescribeCluster()) != 0 {
		t.Errorf("dynamic values stay: %v, %v", last, err)
	}
}

func TestSecretsAreNotDescribed(t *testing.T) {
	c := load(t, Source{Set: []string{"ssl.key.password=hunter2"}})
	for _, e := range c.DescribeBroker() {
		if e.Name == "ssl.key.password" && (e.Value != nil || !e.Sensitive || e.Source != StaticBrokerConfig || e.Synonyms[0].Value != nil) {
			t.Errorf("%+v", e)
		}
	}
}

func FuzzTopicConfig(f *testing.F) {
	for _, r := range []string{"retention.ms=1", "cleanup.policy=compact,delete", "min.cleanable.dirty.ratio=0x1p-2f", "segment.bytes=+2097152", "leader.replication.throttled.replicas=*"} {
		k, v, _ := strings.Cut(r, "=")
		f.Add(k, v)
	}
	c, _, err := Load(Source{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, key, value string) {
		overrides := map[string]string{key: value}
		if _, err := c.Topic(overrides); err != nil {
			var e *TopicError
			if !errors.As(err, &e) {
				t.Fatalf("error of type %T: %v", err, err)
			}
			return
		}
		c.DescribeTopic(overrides)
	})
}
