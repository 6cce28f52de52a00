package config

import (
	"errors"
	"maps"
	"math"
	"slices"
	"strings"
)

// MoveRate is the property that bounds moves between log directories. Apache Kafka has it, and a few that go with replication, as
// dynamic values alone: no file sets it, and it is listed only where it is set.
const MoveRate = "replica.alter.log.dirs.io.max.bytes.per.second"

// The properties of that kind that bound what throttled replicas copy between nodes: as leaders, and as followers.
const (
	LeaderRate   = "leader.replication.throttled.rate"
	FollowerRate = "follower.replication.throttled.rate"
)

// Drain is the property by which an operator takes leaders, and replicas, from a node: the controller does so. It is a node's own, and
// set while nodes run.
const Drain = "ringmill.drain"

// Values of Drain.
const (
	DrainNone     = "none"
	DrainLeaders  = "leaders"
	DrainReplicas = "replicas"
)

// dynamicTable holds the broker properties that are no part of Kafka's static configuration (QuotaConfig.brokerQuotaConfigs), and ours.
var dynamicTable = map[string]*Property{
	Drain:        {Name: Drain, Type: String, Default: DrainNone, Check: oneOf(DrainNone, DrainLeaders, DrainReplicas), Update: PerBroker},
	MoveRate:     dynamicRate(MoveRate),
	LeaderRate:   dynamicRate(LeaderRate),
	FollowerRate: dynamicRate(FollowerRate),
}

// dynamicRate is a property in bytes a second.
func dynamicRate(name string) *Property {
	return &Property{Name: name, Type: Long, Default: maxLong, Check: atLeast(0), Update: ClusterWide}
}

// MoveBytesPerSecondMax is how many bytes a second moves between log directories may copy, together.
func (c *Config) MoveBytesPerSecondMax() int64 { return c.rate(MoveRate) }

// LeaderThrottleBytesPerSecond is how many bytes a second this node's throttled leaders may serve to followers, together.
func (c *Config) LeaderThrottleBytesPerSecond() int64 { return c.rate(LeaderRate) }

// FollowerThrottleBytesPerSecond is how many bytes a second this node's throttled followers may fetch, together.
func (c *Config) FollowerThrottleBytesPerSecond() int64 { return c.rate(FollowerRate) }

// rate is a dynamic property in bytes a second; one that is not set is no bound.
func (c *Config) rate(name string) int64 {
	for _, layer := range []map[string]string{c.node, c.cluster} {
		if text, set := layer[name]; set {
			v, _ := parseValue(Long, text)
			return v.(int64)
		}
	}
	return math.MaxInt64
}

// MovesAtOnce is how many partitions may move between log directories at once.
func (c *Config) MovesAtOnce() int {
	if c.MoveThreads > 0 {
		return c.MoveThreads
	}
	return len(c.LogDirs)
}

// ValidateDynamic says whether the properties may be set on a running node (perNode) or on all nodes, in the words of
// Apache Kafka's refusal (INVALID_REQUEST). A name that is not in the table is let through, as there: it may be a
// plug-in's, and has no effect. The error is a *TopicError.
func ValidateDynamic(values map[string]string, perNode bool) error {
	keys := slices.Sorted(maps.Keys(values))
	if refused := namesWith(keys, ReadOnly); len(refused) > 0 {
		return refusal("Cannot update these configs dynamically: ", refused)
	}
	if refused := namesWith(keys, PerBroker); !perNode && len(refused) > 0 {
		return refusal("Cannot update these configs at default cluster level, broker id must be specified: ", refused)
	}
	for _, key := range keys {
		p := settable(key)
		if p == nil {
			p = dynamicTable[key]
		}
		if p == nil {
			continue
		}
		if problem, offending := p.problemWith(values[key]); problem != "" {
			return &TopicError{Key: key, Value: offending, Problem: problem}
		}
	}
	return nil
}

func namesWith(keys []string, u Update) []string {
	var found []string
	for _, key := range keys {
		p, known := brokerTable[key]
		if !known {
			p, known = dynamicTable[key]
		}
		if known && p.Update == u {
			found = append(found, key)
		}
	}
	return found
}

func refusal(words string, keys []string) error {
	return &TopicError{Key: keys[0], Problem: words, message: words + "Set(" + strings.Join(keys, ", ") + ")"}
}

// asTopicError turns what Config.build found into the error that goes over the wire.
func asTopicError(err error) error {
	var e *Error
	if !errors.As(err, &e) {
		return err
	}
	return &TopicError{Key: e.Key, Value: e.Value, Problem: e.Problem, message: "requirement failed: " + e.Problem}
}
