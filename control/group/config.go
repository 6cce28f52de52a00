package group

import (
	"github.com/ringmill/ringmill/control/group/assignor"
	"github.com/ringmill/ringmill/control/memory"
)

// Config holds what the coordinator needs to know of the broker's properties. The names in the comments are Kafka's.
type Config struct {
	MinSessionTimeoutMS     int32 // group.min.session.timeout.ms
	MaxSessionTimeoutMS     int32 // group.max.session.timeout.ms
	InitialRebalanceDelayMS int32 // group.initial.rebalance.delay.ms
	MaxSize                 int   // group.max.size: members of one group
	NewMemberJoinTimeoutMS  int32 // how long a new member may wait for its first rebalance without a heartbeat: 5 minutes in Kafka, not a property

	ConsumerSessionTimeoutMS    int32           // group.consumer.session.timeout.ms
	ConsumerHeartbeatIntervalMS int32           // group.consumer.heartbeat.interval.ms: what members are told
	ConsumerMaxSize             int             // group.consumer.max.size
	ConsumerAssignors           []string        // group.consumer.assignors: names that package assignor knows, at least one; the first is the default
	ConsumerMigration           MigrationPolicy // group.consumer.migration.policy
	ShareSessionTimeoutMS       int32           // group.share.session.timeout.ms
	ShareHeartbeatIntervalMS    int32           // group.share.heartbeat.interval.ms: what members are told
	ShareMaxSize                int             // group.share.max.size
	Rack                        string          // broker.rack; it is part of the hash of topics
	ConsumerRegexRefreshMS      int64           // group.consumer.regex.refresh.interval.ms

	OffsetMetadataMaxBytes        int   // offset.metadata.max.bytes, in UTF-16 units as Kafka counts them
	OffsetsRetentionMS            int64 // offsets.retention.minutes
	OffsetsRetentionCheckInterval int64 // offsets.retention.check.interval.ms

	// Bounds that Kafka has not, for one coordinator, but for Memory. What is over a bound is refused: a member with
	// GROUP_MAX_SIZE_REACHED, a group that an OffsetCommit would make with POLICY_VIOLATION, a commit that would start
	// one append too many with COORDINATOR_LOAD_IN_PROGRESS, which clients retry.
	MaxGroups   int   // groups, simple ones included
	MemoryBytes int64 // members' ids, metadata and assignments, pending ids, and committed offsets
	// Memory, if it is not nil, stands for MemoryBytes: a bound that the coordinator shares with others of its owner.
	Memory     *memory.Bound
	MaxAppends int // appends under way
}

// GroupConfig is what one group goes by if it has a configuration of its own. Each field is in force, whether the group's own
// value or the broker's.
type GroupConfig struct {
	ConsumerSessionTimeoutMS    int32 // consumer.session.timeout.ms
	ConsumerHeartbeatIntervalMS int32 // consumer.heartbeat.interval.ms
	ShareSessionTimeoutMS       int32 // share.session.timeout.ms
	ShareHeartbeatIntervalMS    int32 // share.heartbeat.interval.ms
}

// SetGroupConfig gives a group, which there need not be, a configuration of its own, or with nil takes that away. Members
// come under it with their next heartbeats, as in Kafka.
func (c *Coordinator) SetGroupConfig(id string, cfg *GroupConfig) {
	if cfg == nil {
		delete(c.groupConfigs, id)
		return
	}
	c.groupConfigs[id] = *cfg
}

// configOf is what a group goes by.
func (c *Coordinator) configOf(id string) GroupConfig {
	if own, ok := c.groupConfigs[id]; ok {
		return own
	}
	return GroupConfig{
		ConsumerSessionTimeoutMS: c.cfg.ConsumerSessionTimeoutMS, ConsumerHeartbeatIntervalMS: c.cfg.ConsumerHeartbeatIntervalMS,
		ShareSessionTimeoutMS: c.cfg.ShareSessionTimeoutMS, ShareHeartbeatIntervalMS: c.cfg.ShareHeartbeatIntervalMS,
	}
}

// DefaultConfig gives the defaults of Apache Kafka 4.1.1, and bounds that hold 100,000 consumers.
func DefaultConfig() Config {
	return Config{
		MinSessionTimeoutMS:     6_000,
		MaxSessionTimeoutMS:     1_800_000,
		InitialRebalanceDelayMS: 3_000,
		MaxSize:                 1<<31 - 1,
		NewMemberJoinTimeoutMS:  300_000,

		ConsumerSessionTimeoutMS:    45_000,
		ConsumerHeartbeatIntervalMS: 5_000,
		ConsumerMaxSize:             1<<31 - 1,
		ConsumerAssignors:           []string{assignor.UniformName, assignor.RangeName},
		ConsumerMigration:           MigrationPolicy{Upgrade: true, Downgrade: true},
		ConsumerRegexRefreshMS:      600_000,

		ShareSessionTimeoutMS:    45_000,
		ShareHeartbeatIntervalMS: 5_000,
		ShareMaxSize:             200,

		OffsetMetadataMaxBytes:        4_096,
		OffsetsRetentionMS:            7 * 24 * 60 * 60 * 1000,
		OffsetsRetentionCheckInterval: 600_000,

		MaxGroups:   100_000,
		MemoryBytes: 256 << 20,
		MaxAppends:  100_000,
	}
}
