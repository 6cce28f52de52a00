package config

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// The file holds what Apache Kafka 4.1.1 answered to IncrementalAlterConfigs of a group with these properties.
func TestGroupRefusalsAreKafkas(t *testing.T) {
	c := load(t, Source{})
	for _, r := range rows(t, "refused-group.tsv") {
		compareRefusal(t, r, c.ValidateGroup(parsed(r[0])))
	}
}

// The file holds what Apache Kafka 4.1.1 answered for a subscription to clients' metrics with one property each.
func TestClientMetricsRefusalsAreKafkas(t *testing.T) {
	for _, r := range rows(t, "refused-clientmetrics.tsv") {
		key, value, _ := strings.Cut(r[0], "=")
		compareRefusal(t, r, ValidateClientMetrics(map[string]string{key: value}))
	}
}

// compareRefusal holds an error against a recorded row: properties, error code, message.
func compareRefusal(t *testing.T, row []string, err error) {
	t.Helper()
	code, message := row[1], row[2]
	var e *TopicError
	switch {
	case code == "0" && err != nil:
		t.Errorf("%s: Kafka takes it, got %v", row[0], err)
	case code == "0":
	case !errors.As(err, &e) || err.Error() != message || e.InvalidRequest != (code == "42"):
		t.Errorf("%s\ngot  %v\nwant %s %s", row[0], err, code, message)
	}
}

// The messages are those of Apache Kafka 4.1.1 with such bounds, which it held against its defaults for share and streams
// groups, and we against the node's values.
func TestGroupSessionsAreLongerThanHeartbeats(t *testing.T) {
	c := load(t, Source{Set: []string{"group.consumer.min.session.timeout.ms=4000", "group.share.min.session.timeout.ms=4000",
		"group.streams.min.session.timeout.ms=4000", "group.share.heartbeat.interval.ms=6000"}})
	for key, value := range map[string]string{"consumer.session.timeout.ms": "5000", "share.session.timeout.ms": "6000", "streams.session.timeout.ms": "5000"} {
		kind, _, _ := strings.Cut(key, ".")
		want := key + " must be greater than " + kind + ".heartbeat.interval.ms"
		if err := c.ValidateGroup(map[string]string{key: value}); err == nil || err.Error() != want {
			t.Errorf("%s=%s: %v", key, value, err)
		}
	}
}

func TestDescribeGroupIsKafkas(t *testing.T) {
	c := load(t, Source{})
	compareDescription(t, c.DescribeGroup(nil), rows(t, "describe-group-plain.tsv"))
	compareDescription(t, c.DescribeGroup(map[string]string{
		"consumer.session.timeout.ms": " 50000 ", "consumer.heartbeat.interval.ms": "6000", "streams.num.standby.replicas": "2",
		"share.auto.offset.reset": "by_duration:PT1H",
	}), rows(t, "describe-group-set.tsv"))
}

func TestDescribeClientMetricsIsKafkas(t *testing.T) {
	compareDescription(t, DescribeClientMetrics(nil), rows(t, "describe-clientmetrics-plain.tsv"))
	compareDescription(t, DescribeClientMetrics(map[string]string{
		"interval.ms": "1000", "match": "client_id=.*", "metrics": "org.apache.kafka.",
	}), rows(t, "describe-clientmetrics-set.tsv"))
}

func TestGroupConfigHasEveryGroupProperty(t *testing.T) {
	fields := propertiesOf(reflect.TypeFor[GroupConfig]())
	slices.Sort(fields)
	var names []string
	for name := range groupTable {
		names = append(names, name)
	}
	slices.Sort(names)
	if !slices.Equal(fields, names) {
		t.Errorf("fields %q\nproperties %q", fields, names)
	}
}

// A group goes by its own values, else by the node's, and by the node's where a newer release left what cannot be read.
func TestGroupConfig(t *testing.T) {
	c := load(t, Source{Set: []string{"group.consumer.session.timeout.ms=46000", "group.share.record.lock.duration.ms=20000"}})
	g := c.Group(map[string]string{"consumer.heartbeat.interval.ms": " 6000 ", "share.auto.offset.reset": "some_day", "share.isolation.level": "read_committed"})
	want := GroupConfig{
		ConsumerSessionTimeoutMS: 46_000, ConsumerHeartbeatIntervalMS: 6_000,
		ShareSessionTimeoutMS: 45_000, ShareHeartbeatIntervalMS: 5_000, ShareRecordLockDurationMS: 20_000,
		ShareAutoOffsetReset: "latest", ShareIsolationLevel: "read_committed",
		StreamsSessionTimeoutMS: 45_000, StreamsHeartbeatIntervalMS: 5_000, StreamsNumStandbyReplicas: 0,
	}
	if g != want {
		t.Errorf("got  %+v\nwant %+v", g, want)
	}
}

// What was accepted stays in force with narrower bounds, as in Apache Kafka 4.1.1, which looks at them in alterations alone.
func TestGroupValuesOutliveTheirBounds(t *testing.T) {
	c := load(t, Source{Set: []string{"group.consumer.max.session.timeout.ms=50000"}})
	own := map[string]string{"consumer.session.timeout.ms": "55000"}
	if g := c.Group(own); g.ConsumerSessionTimeoutMS != 55_000 {
		t.Errorf("%d", g.ConsumerSessionTimeoutMS)
	}
	if err := c.ValidateGroup(own); err == nil {
		t.Error("it can be set anew")
	}
}

func TestParseOffsetReset(t *testing.T) {
	for text, want := range map[string]OffsetReset{
		"latest":                        {},
		"earliest":                      {Earliest: true},
		"by_duration:PT1H":              {ByDuration: true, DurationMS: 3_600_000},
		"by_duration:p1dt1h2m3.5s":      {ByDuration: true, DurationMS: 90_123_500},
		"by_duration:PT1H-30M":          {ByDuration: true, DurationMS: 1_800_000},
		"by_duration:-PT-1.25S":         {ByDuration: true, DurationMS: 1_250},
		"by_duration:PT0.0009S":         {ByDuration: true, DurationMS: 0},
		"by_duration:P106751991167300D": {ByDuration: true, DurationMS: 1<<63 - 1},
	} {
		if got, ok := ParseOffsetReset(text); !ok || got != want {
			t.Errorf("%s: %+v %v", text, got, ok)
		}
	}
}

// The first is Kafka's refusal to start too; all name what is wrong and where.
func TestGroupBoundsOfTheNode(t *testing.T) {
	for set, want := range map[string]string{
		"group.consumer.session.timeout.ms=70000":    "not within group.consumer.min.session.timeout.ms=45000 and group.consumer.max.session.timeout.ms=60000",
		"group.share.record.lock.duration.ms=70000":  "not within group.share.min.record.lock.duration.ms=15000",
		"group.streams.heartbeat.interval.ms=1000":   "not within group.streams.min.heartbeat.interval.ms=5000",
		"group.consumer.max.heartbeat.interval.ms=3": "not within",
	} {
		if _, _, err := Load(Source{Set: []string{set}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", set, err)
		}
	}
}
