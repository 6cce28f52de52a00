package image

import "github.com/ringmill/ringmill/wire"

// Record is one change of the metadata: TopicRecord, RemoveTopicRecord, PartitionsRecord, ConfigRecord, ProducerIDsRecord,
// ClusterRecord, FeatureLevelRecord, ClientQuotaRecord, UserSCRAMCredentialRecord, RemoveUserSCRAMCredentialRecord,
// AccessControlEntryRecord, RemoveAccessControlEntryRecord, LeaderEpochRecord, BrokerRecord, RemoveBrokerRecord or PartitionRecord.
type Record interface{ kind() string }

// TopicRecord creates a topic. Its name must be legal and free, its id new and not zero, its partitions at least one.
type TopicRecord struct {
	Name       string       `json:"name"`
	ID         wire.TopicID `json:"topicId"`
	Partitions int32        `json:"partitions"`
}

// RemoveTopicRecord removes a topic with its partitions and overrides.
type RemoveTopicRecord struct {
	ID wire.TopicID `json:"topicId"`
}

// PartitionsRecord sets a topic's partition count, which must not fall.
type PartitionsRecord struct {
	ID         wire.TopicID `json:"topicId"`
	Partitions int32        `json:"partitions"`
}

// ConfigRecord sets one override of a resource, or removes it where Value is nil. Keys and values are not judged here, but
// must be UTF-8.
type ConfigRecord struct {
	Resource Resource `json:"resource"`
	Key      string   `json:"key"`
	Value    *string  `json:"value"`
}

// ProducerIDsRecord says that all producer ids below Next may have been handed out. Next must not fall.
type ProducerIDsRecord struct {
	Next wire.ProducerID `json:"nextProducerId"`
}

// ClusterRecord gives the log its cluster and node. A log has one cluster for ever.
type ClusterRecord struct {
	ClusterID string      `json:"clusterId"`
	NodeID    wire.NodeID `json:"nodeId"`
}

// FeatureLevelRecord finalizes a feature of the cluster (KIP-584) at a level. Names and levels are not judged here.
type FeatureLevelRecord struct {
	Name  string `json:"name"`
	Level int16  `json:"featureLevel"`
}

// ClientQuotaRecord sets one value of an entity, or takes it away where Remove is set. Keys are not judged here; a value must
// be greater than 0.
type ClientQuotaRecord struct {
	Entity QuotaEntity `json:"entity"`
	Key    string      `json:"key"`
	Value  float64     `json:"value"` // 0 beside Remove
	Remove bool        `json:"remove"`
}

// UserSCRAMCredentialRecord gives a user a credential in the place of the one that it has for the mechanism. Its keys must be as long
// as the mechanism's hash, its iterations no fewer than SCRAMIterationsMin.
type UserSCRAMCredentialRecord struct {
	SCRAMUser
	SCRAMCredential
}

// RemoveUserSCRAMCredentialRecord takes a credential away, which must be there.
type RemoveUserSCRAMCredentialRecord struct{ SCRAMUser }

// AccessControlEntryRecord makes an ACL. Its id must be new and not zero, and there must be no other ACL that says the same.
type AccessControlEntryRecord struct {
	ID wire.UUID `json:"id"`
	ACL
}

// RemoveAccessControlEntryRecord takes an ACL away, which must be there.
type RemoveAccessControlEntryRecord struct {
	ID wire.UUID `json:"id"`
}

// LeaderEpochRecord sets the node's leader epoch, which must not fall: partitions lead under it, see Image.LeaderEpochOf.
type LeaderEpochRecord struct {
	Epoch int64 `json:"leaderEpoch"`
}

// The kinds as they stand in the file, in the form of Kafka's own metadata records.
const (
	kindTopic       = "TOPIC_RECORD"
	kindRemoveTopic = "REMOVE_TOPIC_RECORD"
	kindPartitions  = "PARTITIONS_RECORD"
	kindConfig      = "CONFIG_RECORD"
	kindProducerIDs = "PRODUCER_IDS_RECORD"
	kindCluster     = "CLUSTER_RECORD"
	kindFeature     = "FEATURE_LEVEL_RECORD"
	kindClientQuota = "CLIENT_QUOTA_RECORD"
	kindLeaderEpoch = "LEADER_EPOCH_RECORD"

	kindSCRAM       = "USER_SCRAM_CREDENTIAL_RECORD"
	kindRemoveSCRAM = "REMOVE_USER_SCRAM_CREDENTIAL_RECORD"

	kindACL       = "ACCESS_CONTROL_ENTRY_RECORD"
	kindRemoveACL = "REMOVE_ACCESS_CONTROL_ENTRY_RECORD"

	kindBroker       = "REGISTER_BROKER_RECORD"
	kindRemoveBroker = "UNREGISTER_BROKER_RECORD"
	kindPartition    = "PARTITION_RECORD"
)

func (TopicRecord) kind() string        { return kindTopic }
func (RemoveTopicRecord) kind() string  { return kindRemoveTopic }
func (PartitionsRecord) kind() string   { return kindPartitions }
func (ConfigRecord) kind() string       { return kindConfig }
func (ProducerIDsRecord) kind() string  { return kindProducerIDs }
func (ClusterRecord) kind() string      { return kindCluster }
func (FeatureLevelRecord) kind() string { return kindFeature }
func (ClientQuotaRecord) kind() string  { return kindClientQuota }
func (LeaderEpochRecord) kind() string  { return kindLeaderEpoch }
func (BrokerRecord) kind() string       { return kindBroker }
func (RemoveBrokerRecord) kind() string { return kindRemoveBroker }
func (PartitionRecord) kind() string    { return kindPartition }

func (AccessControlEntryRecord) kind() string       { return kindACL }
func (RemoveAccessControlEntryRecord) kind() string { return kindRemoveACL }

func (UserSCRAMCredentialRecord) kind() string       { return kindSCRAM }
func (RemoveUserSCRAMCredentialRecord) kind() string { return kindRemoveSCRAM }
