package config

// GroupConfig holds one group's values of every group property: its own, or the broker's, or the default.
type GroupConfig struct {
	ConsumerSessionTimeoutMS    int32  `property:"consumer.session.timeout.ms"`
	ConsumerHeartbeatIntervalMS int32  `property:"consumer.heartbeat.interval.ms"`
	ShareSessionTimeoutMS       int32  `property:"share.session.timeout.ms"`
	ShareHeartbeatIntervalMS    int32  `property:"share.heartbeat.interval.ms"`
	ShareRecordLockDurationMS   int32  `property:"share.record.lock.duration.ms"`
	ShareAutoOffsetReset        string `property:"share.auto.offset.reset"` // see ParseOffsetReset
	ShareIsolationLevel         string `property:"share.isolation.level"`   // read_committed or read_uncommitted
	StreamsSessionTimeoutMS     int32  `property:"streams.session.timeout.ms"`
	StreamsHeartbeatIntervalMS  int32  `property:"streams.heartbeat.interval.ms"`
	StreamsNumStandbyReplicas   int32  `property:"streams.num.standby.replicas"`
}

// Group returns what a group goes by, given what is set on it. Values that were accepted stay in force if the node's bounds
// are narrower now, as in Kafka 4.1.1; what this release cannot read does not count.
func (c *Config) Group(overrides map[string]string) GroupConfig {
	var g GroupConfig
	fill(&g, func(name string) (string, bool) { return c.groupText(overrides, name), true })
	return g
}

// groupText is a group property's value: the group's own, or that of the broker's property, or the default.
func (c *Config) groupText(overrides map[string]string, name string) string {
	p := groupTable[name]
	if v, ok := overrides[name]; ok {
		if problem, _ := p.problemWith(v); problem == "" {
			return v
		}
	}
	if p.BrokerSynonym != "" {
		v, _ := c.text(p.BrokerSynonym)
		return v
	}
	return p.Default
}

// groupBounds are the group properties that the node's properties bound, in the order in which Kafka looks at them.
var groupBounds = []struct {
	name string
	of   func(*GroupConfig) int32
	min  string // the broker property; "" for none
	max  string
}{
	{"consumer.heartbeat.interval.ms", func(g *GroupConfig) int32 { return g.ConsumerHeartbeatIntervalMS },
		"group.consumer.min.heartbeat.interval.ms", "group.consumer.max.heartbeat.interval.ms"},
	{"consumer.session.timeout.ms", func(g *GroupConfig) int32 { return g.ConsumerSessionTimeoutMS },
		"group.consumer.min.session.timeout.ms", "group.consumer.max.session.timeout.ms"},
	{"share.heartbeat.interval.ms", func(g *GroupConfig) int32 { return g.ShareHeartbeatIntervalMS },
		"group.share.min.heartbeat.interval.ms", "group.share.max.heartbeat.interval.ms"},
	{"share.session.timeout.ms", func(g *GroupConfig) int32 { return g.ShareSessionTimeoutMS },
		"group.share.min.session.timeout.ms", "group.share.max.session.timeout.ms"},
	{"share.record.lock.duration.ms", func(g *GroupConfig) int32 { return g.ShareRecordLockDurationMS },
		"group.share.min.record.lock.duration.ms", "group.share.max.record.lock.duration.ms"},
	{"streams.heartbeat.interval.ms", func(g *GroupConfig) int32 { return g.StreamsHeartbeatIntervalMS },
		"group.streams.min.heartbeat.interval.ms", "group.streams.max.heartbeat.interval.ms"},
	{"streams.session.timeout.ms", func(g *GroupConfig) int32 { return g.StreamsSessionTimeoutMS },
		"group.streams.min.session.timeout.ms", "group.streams.max.session.timeout.ms"},
	{"streams.num.standby.replicas", func(g *GroupConfig) int32 { return g.StreamsNumStandbyReplicas },
		"", "group.streams.max.standby.replicas"},
}

// ValidateGroup says whether the properties may be set on a group, in the words of Apache Kafka's refusal (INVALID_CONFIG).
// What is not set counts with the node's value. The error is a *TopicError.
func (c *Config) ValidateGroup(overrides map[string]string) error {
	if err := validateEach(groupTable, "group", overrides); err != nil {
		return err
	}
	g := c.Group(overrides)
	for i := range groupBounds {
		b := &groupBounds[i]
		if _, own := overrides[b.name]; !own {
			continue // the node's own values have been checked with the node's configuration
		}
		if b.min != "" && int64(b.of(&g)) < c.bound(b.min) {
			return groupRefusal(b.name, "must be greater than or equal to "+b.min)
		}
		if int64(b.of(&g)) > c.bound(b.max) {
			return groupRefusal(b.name, "must be less than or equal to "+b.max)
		}
	}
	return g.checkHeartbeats()
}

// bound is a whole-number property that is never null.
func (c *Config) bound(key string) int64 {
	n, ok := c.number(key)
	if !ok {
		panic("BUG: " + key + " is null")
	}
	return n
}

// checkHeartbeats: a member that is told to be silent for its whole session would be lost in between.
func (g *GroupConfig) checkHeartbeats() error {
	switch {
	case g.ConsumerSessionTimeoutMS <= g.ConsumerHeartbeatIntervalMS:
		return groupRefusal("consumer.session.timeout.ms", "must be greater than consumer.heartbeat.interval.ms")
	case g.ShareSessionTimeoutMS <= g.ShareHeartbeatIntervalMS:
		return groupRefusal("share.session.timeout.ms", "must be greater than share.heartbeat.interval.ms")
	case g.StreamsSessionTimeoutMS <= g.StreamsHeartbeatIntervalMS:
		return groupRefusal("streams.session.timeout.ms", "must be greater than streams.heartbeat.interval.ms")
	}
	return nil
}

func groupRefusal(key, problem string) error {
	return &TopicError{Key: key, Problem: problem, message: key + " " + problem}
}

// DescribeGroup lists a group's properties in the order of their names, given those set on it. Where it has none, the node's
// value is shown as the default, as Kafka does.
func (c *Config) DescribeGroup(overrides map[string]string) []Entry {
	return describeScope(GroupScope, func(p *Property) Entry {
		source := DefaultConfig
		if _, own := overrides[p.Name]; own {
			source = DynamicGroupConfig
		}
		text := c.groupText(overrides, p.Name)
		return p.entry(text, true, []Synonym{p.synonymAt(source, text)})
	})
}

func describeScope(scope Scope, describe func(*Property) Entry) (entries []Entry) {
	for i := range table {
		if table[i].In(scope) {
			entries = append(entries, describe(&table[i]))
		}
	}
	return entries
}
