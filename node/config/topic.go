package config

import (
	"maps"
	"slices"
	"strconv"
	"time"
)

// FlushPolicy says when a write with acks=all is acknowledged.
type FlushPolicy string

// The flush policies; see ringmill.flush.policy.
const (
	FlushCommit   FlushPolicy = "commit"
	FlushInterval FlushPolicy = "interval"
	FlushCache    FlushPolicy = "cache"
)

// TopicConfig holds one topic's values of every topic property: its own, or the broker's, or the default.
// Units are in the fields' names.
type TopicConfig struct {
	CleanupPolicy                []string    `property:"cleanup.policy"`
	CompressionGzipLevel         int         `property:"compression.gzip.level"`
	CompressionLZ4Level          int         `property:"compression.lz4.level"`
	CompressionType              string      `property:"compression.type"`
	CompressionZstdLevel         int         `property:"compression.zstd.level"`
	DeleteRetentionMS            int64       `property:"delete.retention.ms"`
	FileDeleteDelayMS            int64       `property:"file.delete.delay.ms"`
	FlushMessages                int64       `property:"flush.messages"`
	FlushMS                      int64       `property:"flush.ms"`
	FlushPolicy                  FlushPolicy `property:"ringmill.flush.policy"`
	FollowerThrottledReplicas    []string    `property:"follower.replication.throttled.replicas"`
	IndexIntervalBytes           int         `property:"index.interval.bytes"`
	InternalSegmentBytes         int64       `property:"internal.segment.bytes"` // 0 if unset; see SegmentSize
	LeaderThrottledReplicas      []string    `property:"leader.replication.throttled.replicas"`
	LocalRetentionBytes          int64       `property:"local.retention.bytes"`
	LocalRetentionMS             int64       `property:"local.retention.ms"`
	MaxCompactionLagMS           int64       `property:"max.compaction.lag.ms"`
	MaxMessageBytes              int         `property:"max.message.bytes"`
	MessageTimestampAfterMaxMS   int64       `property:"message.timestamp.after.max.ms"`
	MessageTimestampBeforeMaxMS  int64       `property:"message.timestamp.before.max.ms"`
	MessageTimestampType         string      `property:"message.timestamp.type"`
	MinCleanableDirtyRatio       float64     `property:"min.cleanable.dirty.ratio"`
	MinCompactionLagMS           int64       `property:"min.compaction.lag.ms"`
	MinInSyncReplicas            int         `property:"min.insync.replicas"`
	Preallocate                  bool        `property:"preallocate"`
	RemoteLogCopyDisable         bool        `property:"remote.log.copy.disable"`
	RemoteLogDeleteOnDisable     bool        `property:"remote.log.delete.on.disable"`
	RemoteStorageEnable          bool        `property:"remote.storage.enable"`
	RetentionBytes               int64       `property:"retention.bytes"` // negative: no bound
	RetentionMS                  int64       `property:"retention.ms"`    // -1: for ever
	SegmentBytes                 int64       `property:"segment.bytes"`
	SegmentIndexBytes            int         `property:"segment.index.bytes"`
	SegmentJitterMS              int64       `property:"segment.jitter.ms"`
	SegmentMS                    int64       `property:"segment.ms"`
	UncleanLeaderElectionEnabled bool        `property:"unclean.leader.election.enable"`
}

// Compact reports whether cleanup.policy holds compact.
func (t *TopicConfig) Compact() bool { return slices.Contains(t.CleanupPolicy, "compact") }

// Delete reports whether cleanup.policy holds delete.
func (t *TopicConfig) Delete() bool { return slices.Contains(t.CleanupPolicy, "delete") }

// LogAppendTime reports whether records get the time of their append.
func (t *TopicConfig) LogAppendTime() bool { return t.MessageTimestampType == "LogAppendTime" }

// SegmentSize is the size at which a segment is closed: internal.segment.bytes if that is set, else segment.bytes.
func (t *TopicConfig) SegmentSize() int64 {
	if t.InternalSegmentBytes > 0 {
		return t.InternalSegmentBytes
	}
	return t.SegmentBytes
}

// Topic returns a topic's configuration, given the properties set on it. The error is a *TopicError.
func (c *Config) Topic(overrides map[string]string) (TopicConfig, error) {
	var t TopicConfig
	if err := validateEach(topicTable, "topic", overrides); err != nil {
		return t, err
	}
	fill(&t, func(name string) (string, bool) { return c.topicText(overrides, name) })
	return t, t.check()
}

// ValidateTopicConfig says whether the properties may be set on a topic, in the words of Apache Kafka's refusal
// (INVALID_CONFIG). The error is a *TopicError.
func (c *Config) ValidateTopicConfig(overrides map[string]string) error {
	_, err := c.Topic(overrides)
	return err
}

// validateEach looks at each value by itself; of names the kind of resource in Kafka's words.
func validateEach(table map[string]*Property, of string, overrides map[string]string) error {
	for _, key := range slices.Sorted(maps.Keys(overrides)) {
		p, known := table[key]
		if !known {
			return unknownName(of, key)
		}
		if problem, offending := p.problemWith(overrides[key]); problem != "" {
			return &TopicError{Key: key, Value: offending, Problem: problem}
		}
	}
	return nil
}

func unknownName(of, key string) error {
	if of == "client metrics" {
		return &TopicError{Key: key, Problem: "unknown", InvalidRequest: true, message: "Unknown client metrics configuration: " + key}
	}
	return &TopicError{Key: key, Problem: "unknown", message: "Unknown " + of + " config name: " + key}
}

// check looks at what no single property can tell.
func (t *TopicConfig) check() error {
	if t.MinCompactionLagMS > t.MaxCompactionLagMS {
		return &TopicError{Key: "min.compaction.lag.ms", Value: strconv.FormatInt(t.MinCompactionLagMS, 10), Problem: "more than max.compaction.lag.ms",
			message: "conflict topic config setting min.compaction.lag.ms (" + strconv.FormatInt(t.MinCompactionLagMS, 10) +
				") > max.compaction.lag.ms (" + strconv.FormatInt(t.MaxCompactionLagMS, 10) + ")"}
	}
	if t.RemoteStorageEnable {
		return &TopicError{Key: "remote.storage.enable", Value: "true", Problem: "tiered storage is not built yet",
			message: "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage."}
	}
	return nil
}

// topicText is a topic property's value: the topic's own, or the broker synonym's in the topic property's unit, or the
// default.
func (c *Config) topicText(overrides map[string]string, name string) (string, bool) {
	if v, ok := overrides[name]; ok {
		return v, true
	}
	p := topicTable[name]
	switch {
	case p.Scope == BothScopes:
		return c.text(name)
	case p.BrokerSynonym != "":
		return c.synonymText(p.BrokerSynonym)
	}
	return p.Default, !p.Nullable
}

// synonymText is a broker property's value, or that of the first property that can stand for it, converted.
func (c *Config) synonymText(name string) (string, bool) {
	for _, n := range alternativesOf(name) {
		if v, ok := c.text(n); ok {
			return converted(n, v), true
		}
	}
	return "", false
}

// units of the properties that are not in milliseconds but stand for ones that are.
var units = map[string]time.Duration{
	"log.retention.hours":   time.Hour,
	"log.retention.minutes": time.Minute,
	"log.roll.hours":        time.Hour,
	"log.roll.jitter.hours": time.Hour,
}

// converted turns hours and minutes into milliseconds, and every negative retention time into -1, "for ever".
func converted(name, text string) string {
	unit, hasUnit := units[name]
	if !hasUnit && name != "log.retention.ms" {
		return text
	}
	v, _ := parseValue(brokerTable[name].Type, text)
	n := v.(int64)
	switch {
	case n < 0:
		n = -1
	case hasUnit:
		n *= unit.Milliseconds()
	}
	return strconv.FormatInt(n, 10)
}
