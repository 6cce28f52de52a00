package wire

// The keys of the requests that clients, administrators and other nodes send to a broker. The keys that only Kafka's own
// quorum exchanges (Vote and its like) are left out.
const (
	KeyProduce                      APIKey = 0
	KeyFetch                        APIKey = 1
	KeyListOffsets                  APIKey = 2
	KeyMetadata                     APIKey = 3
	KeyOffsetCommit                 APIKey = 8
	KeyOffsetFetch                  APIKey = 9
	KeyFindCoordinator              APIKey = 10
	KeyJoinGroup                    APIKey = 11
	KeyHeartbeat                    APIKey = 12
	KeyLeaveGroup                   APIKey = 13
	KeySyncGroup                    APIKey = 14
	KeyDescribeGroups               APIKey = 15
	KeyListGroups                   APIKey = 16
	KeySASLHandshake                APIKey = 17
	KeyApiVersions                  APIKey = 18
	KeyCreateTopics                 APIKey = 19
	KeyDeleteTopics                 APIKey = 20
	KeyDeleteRecords                APIKey = 21
	KeyInitProducerID               APIKey = 22
	KeyOffsetForLeaderEpoch         APIKey = 23
	KeyAddPartitionsToTxn           APIKey = 24
	KeyAddOffsetsToTxn              APIKey = 25
	KeyEndTxn                       APIKey = 26
	KeyWriteTxnMarkers              APIKey = 27
	KeyTxnOffsetCommit              APIKey = 28
	KeyDescribeACLs                 APIKey = 29
	KeyCreateACLs                   APIKey = 30
	KeyDeleteACLs                   APIKey = 31
	KeyDescribeConfigs              APIKey = 32
	KeyAlterConfigs                 APIKey = 33
	KeyAlterReplicaLogDirs          APIKey = 34
	KeyDescribeLogDirs              APIKey = 35
	KeySASLAuthenticate             APIKey = 36
	KeyCreatePartitions             APIKey = 37
	KeyCreateDelegationToken        APIKey = 38
	KeyRenewDelegationToken         APIKey = 39
	KeyExpireDelegationToken        APIKey = 40
	KeyDescribeDelegationToken      APIKey = 41
	KeyDeleteGroups                 APIKey = 42
	KeyElectLeaders                 APIKey = 43
	KeyIncrementalAlterConfigs      APIKey = 44
	KeyAlterPartitionReassignments  APIKey = 45
	KeyListPartitionReassignments   APIKey = 46
	KeyOffsetDelete                 APIKey = 47
	KeyDescribeClientQuotas         APIKey = 48
	KeyAlterClientQuotas            APIKey = 49
	KeyDescribeUserSCRAMCredentials APIKey = 50
	KeyAlterUserSCRAMCredentials    APIKey = 51
	KeyDescribeQuorum               APIKey = 55
	KeyAlterPartition               APIKey = 56
	KeyUpdateFeatures               APIKey = 57
	KeyDescribeCluster              APIKey = 60
	KeyDescribeProducers            APIKey = 61
	KeyBrokerRegistration           APIKey = 62
	KeyBrokerHeartbeat              APIKey = 63
	KeyUnregisterBroker             APIKey = 64
	KeyDescribeTransactions         APIKey = 65
	KeyListTransactions             APIKey = 66
	KeyAllocateProducerIDs          APIKey = 67
	KeyConsumerGroupHeartbeat       APIKey = 68
	KeyConsumerGroupDescribe        APIKey = 69
	KeyGetTelemetrySubscriptions    APIKey = 71
	KeyPushTelemetry                APIKey = 72
	KeyListConfigResources          APIKey = 74
	KeyDescribeTopicPartitions      APIKey = 75
	KeyShareGroupHeartbeat          APIKey = 76
	KeyShareGroupDescribe           APIKey = 77
	KeyShareFetch                   APIKey = 78
	KeyShareAcknowledge             APIKey = 79
	KeyAddRaftVoter                 APIKey = 80
	KeyRemoveRaftVoter              APIKey = 81
	KeyInitializeShareGroupState    APIKey = 83
	KeyReadShareGroupState          APIKey = 84
	KeyWriteShareGroupState         APIKey = 85
	KeyDeleteShareGroupState        APIKey = 86
	KeyReadShareGroupStateSummary   APIKey = 87
	KeyDescribeShareGroupOffsets    APIKey = 90
	KeyAlterShareGroupOffsets       APIKey = 91
	KeyDeleteShareGroupOffsets      APIKey = 92
)

// The keys of ringmill's own requests, which its nodes send to each other and ApiVersions does not show. Their headers are those
// of a version without tagged fields; LookupAPI does not know them.
const (
	KeyQuorumMessage APIKey = 10000
	KeyForward       APIKey = 10001
	KeyJoin          APIKey = 10002
	KeyBootstrap     APIKey = 10003
	KeySuspect       APIKey = 10004
	KeyIdentify      APIKey = 10005
	KeyProve         APIKey = 10006
)

// VersionRange is what is defined for one key, not what a node advertises.
type VersionRange struct {
	Key  APIKey
	Name string
	// Min and Max bound the versions, inclusive, whose schema this room or kmsg can read.
	Min, Max APIVersion
	// FlexibleFrom is the first version with compact lengths and tagged fields (KIP-482); -1: no version has them.
	FlexibleFrom APIVersion
}

// Contains reports whether v is a defined version.
func (r VersionRange) Contains(v APIVersion) bool { return r.Min <= v && v <= r.Max }

// Flexible reports whether v has compact lengths and tagged fields. It answers for versions beyond Max too, because a
// header of an unknown version is still read.
func (r VersionRange) Flexible(v APIVersion) bool { return r.FlexibleFrom >= 0 && v >= r.FlexibleFrom }

// APIKeysMax bounds the keys: every key that LookupAPI knows is below it.
const APIKeysMax = len(apiTable)

// LookupAPI gives the versions of k that are defined, as Apache Kafka 4.1.1 has them, with Fetch from 0 and Produce from
// 0 on (Kafka defines Fetch from 4 and Produce from 3; see FetchRequest and ProduceRequest). ok is false for an unknown
// key.
func LookupAPI(k APIKey) (r VersionRange, ok bool) {
	if k < 0 || int(k) >= len(apiTable) {
		return VersionRange{}, false
	}
	r = apiTable[k]
	return r, r.Name != ""
}

// String gives the name of the key, "Produce", or "Unknown".
func (k APIKey) String() string {
	if r, ok := LookupAPI(k); ok {
		return r.Name
	}
	return "Unknown"
}

// apiTable is indexed by key. Versions that 4.1.1 marks unstable (OffsetCommit 10, OffsetFetch 10, InitProducerId 6) are
// not in it.
var apiTable = [...]VersionRange{
	KeyProduce:                      {KeyProduce, "Produce", 0, 13, 9},
	KeyFetch:                        {KeyFetch, "Fetch", 0, 18, 12},
	KeyListOffsets:                  {KeyListOffsets, "ListOffsets", 1, 10, 6},
	KeyMetadata:                     {KeyMetadata, "Metadata", 0, 13, 9},
	KeyOffsetCommit:                 {KeyOffsetCommit, "OffsetCommit", 2, 9, 8},
	KeyOffsetFetch:                  {KeyOffsetFetch, "OffsetFetch", 1, 9, 6},
	KeyFindCoordinator:              {KeyFindCoordinator, "FindCoordinator", 0, 6, 3},
	KeyJoinGroup:                    {KeyJoinGroup, "JoinGroup", 0, 9, 6},
	KeyHeartbeat:                    {KeyHeartbeat, "Heartbeat", 0, 4, 4},
	KeyLeaveGroup:                   {KeyLeaveGroup, "LeaveGroup", 0, 5, 4},
	KeySyncGroup:                    {KeySyncGroup, "SyncGroup", 0, 5, 4},
	KeyDescribeGroups:               {KeyDescribeGroups, "DescribeGroups", 0, 6, 5},
	KeyListGroups:                   {KeyListGroups, "ListGroups", 0, 5, 3},
	KeySASLHandshake:                {KeySASLHandshake, "SaslHandshake", 0, 1, -1},
	KeyApiVersions:                  {KeyApiVersions, "ApiVersions", 0, 4, 3},
	KeyCreateTopics:                 {KeyCreateTopics, "CreateTopics", 2, 7, 5},
	KeyDeleteTopics:                 {KeyDeleteTopics, "DeleteTopics", 1, 6, 4},
	KeyDeleteRecords:                {KeyDeleteRecords, "DeleteRecords", 0, 2, 2},
	KeyInitProducerID:               {KeyInitProducerID, "InitProducerId", 0, 5, 2},
	KeyOffsetForLeaderEpoch:         {KeyOffsetForLeaderEpoch, "OffsetForLeaderEpoch", 2, 4, 4},
	KeyAddPartitionsToTxn:           {KeyAddPartitionsToTxn, "AddPartitionsToTxn", 0, 5, 3},
	KeyAddOffsetsToTxn:              {KeyAddOffsetsToTxn, "AddOffsetsToTxn", 0, 4, 3},
	KeyEndTxn:                       {KeyEndTxn, "EndTxn", 0, 5, 3},
	KeyWriteTxnMarkers:              {KeyWriteTxnMarkers, "WriteTxnMarkers", 1, 1, 1},
	KeyTxnOffsetCommit:              {KeyTxnOffsetCommit, "TxnOffsetCommit", 0, 5, 3},
	KeyDescribeACLs:                 {KeyDescribeACLs, "DescribeAcls", 1, 3, 2},
	KeyCreateACLs:                   {KeyCreateACLs, "CreateAcls", 1, 3, 2},
	KeyDeleteACLs:                   {KeyDeleteACLs, "DeleteAcls", 1, 3, 2},
	KeyDescribeConfigs:              {KeyDescribeConfigs, "DescribeConfigs", 1, 4, 4},
	KeyAlterConfigs:                 {KeyAlterConfigs, "AlterConfigs", 0, 2, 2},
	KeyAlterReplicaLogDirs:          {KeyAlterReplicaLogDirs, "AlterReplicaLogDirs", 1, 2, 2},
	KeyDescribeLogDirs:              {KeyDescribeLogDirs, "DescribeLogDirs", 1, 4, 2},
	KeySASLAuthenticate:             {KeySASLAuthenticate, "SaslAuthenticate", 0, 2, 2},
	KeyCreatePartitions:             {KeyCreatePartitions, "CreatePartitions", 0, 3, 2},
	KeyCreateDelegationToken:        {KeyCreateDelegationToken, "CreateDelegationToken", 1, 3, 2},
	KeyRenewDelegationToken:         {KeyRenewDelegationToken, "RenewDelegationToken", 1, 2, 2},
	KeyExpireDelegationToken:        {KeyExpireDelegationToken, "ExpireDelegationToken", 1, 2, 2},
	KeyDescribeDelegationToken:      {KeyDescribeDelegationToken, "DescribeDelegationToken", 1, 3, 2},
	KeyDeleteGroups:                 {KeyDeleteGroups, "DeleteGroups", 0, 2, 2},
	KeyElectLeaders:                 {KeyElectLeaders, "ElectLeaders", 0, 2, 2},
	KeyIncrementalAlterConfigs:      {KeyIncrementalAlterConfigs, "IncrementalAlterConfigs", 0, 1, 1},
	KeyAlterPartitionReassignments:  {KeyAlterPartitionReassignments, "AlterPartitionReassignments", 0, 1, 0},
	KeyListPartitionReassignments:   {KeyListPartitionReassignments, "ListPartitionReassignments", 0, 0, 0},
	KeyOffsetDelete:                 {KeyOffsetDelete, "OffsetDelete", 0, 0, -1},
	KeyDescribeClientQuotas:         {KeyDescribeClientQuotas, "DescribeClientQuotas", 0, 1, 1},
	KeyAlterClientQuotas:            {KeyAlterClientQuotas, "AlterClientQuotas", 0, 1, 1},
	KeyDescribeUserSCRAMCredentials: {KeyDescribeUserSCRAMCredentials, "DescribeUserScramCredentials", 0, 0, 0},
	KeyAlterUserSCRAMCredentials:    {KeyAlterUserSCRAMCredentials, "AlterUserScramCredentials", 0, 0, 0},
	KeyDescribeQuorum:               {KeyDescribeQuorum, "DescribeQuorum", 0, 2, 0},
	KeyAlterPartition:               {KeyAlterPartition, "AlterPartition", 2, 3, 0},
	KeyUpdateFeatures:               {KeyUpdateFeatures, "UpdateFeatures", 0, 2, 0},
	KeyDescribeCluster:              {KeyDescribeCluster, "DescribeCluster", 0, 2, 0},
	KeyDescribeProducers:            {KeyDescribeProducers, "DescribeProducers", 0, 0, 0},
	KeyBrokerRegistration:           {KeyBrokerRegistration, "BrokerRegistration", 0, 4, 0},
	KeyBrokerHeartbeat:              {KeyBrokerHeartbeat, "BrokerHeartbeat", 0, 1, 0},
	KeyUnregisterBroker:             {KeyUnregisterBroker, "UnregisterBroker", 0, 0, 0},
	KeyDescribeTransactions:         {KeyDescribeTransactions, "DescribeTransactions", 0, 0, 0},
	KeyListTransactions:             {KeyListTransactions, "ListTransactions", 0, 2, 0},
	KeyAllocateProducerIDs:          {KeyAllocateProducerIDs, "AllocateProducerIds", 0, 0, 0},
	KeyConsumerGroupHeartbeat:       {KeyConsumerGroupHeartbeat, "ConsumerGroupHeartbeat", 0, 1, 0},
	KeyConsumerGroupDescribe:        {KeyConsumerGroupDescribe, "ConsumerGroupDescribe", 0, 1, 0},
	KeyGetTelemetrySubscriptions:    {KeyGetTelemetrySubscriptions, "GetTelemetrySubscriptions", 0, 0, 0},
	KeyPushTelemetry:                {KeyPushTelemetry, "PushTelemetry", 0, 0, 0},
	KeyListConfigResources:          {KeyListConfigResources, "ListConfigResources", 0, 1, 0},
	KeyDescribeTopicPartitions:      {KeyDescribeTopicPartitions, "DescribeTopicPartitions", 0, 0, 0},
	KeyShareGroupHeartbeat:          {KeyShareGroupHeartbeat, "ShareGroupHeartbeat", 1, 1, 1},
	KeyShareGroupDescribe:           {KeyShareGroupDescribe, "ShareGroupDescribe", 1, 1, 1},
	KeyShareFetch:                   {KeyShareFetch, "ShareFetch", 1, 1, 1},
	KeyShareAcknowledge:             {KeyShareAcknowledge, "ShareAcknowledge", 1, 1, 1},
	KeyAddRaftVoter:                 {KeyAddRaftVoter, "AddRaftVoter", 0, 0, 0},
	KeyRemoveRaftVoter:              {KeyRemoveRaftVoter, "RemoveRaftVoter", 0, 0, 0},
	KeyInitializeShareGroupState:    {KeyInitializeShareGroupState, "InitializeShareGroupState", 0, 0, 0},
	KeyReadShareGroupState:          {KeyReadShareGroupState, "ReadShareGroupState", 0, 0, 0},
	KeyWriteShareGroupState:         {KeyWriteShareGroupState, "WriteShareGroupState", 0, 0, 0},
	KeyDeleteShareGroupState:        {KeyDeleteShareGroupState, "DeleteShareGroupState", 0, 0, 0},
	KeyReadShareGroupStateSummary:   {KeyReadShareGroupStateSummary, "ReadShareGroupStateSummary", 0, 0, 0},
	KeyDescribeShareGroupOffsets:    {KeyDescribeShareGroupOffsets, "DescribeShareGroupOffsets", 0, 0, 0},
	KeyAlterShareGroupOffsets:       {KeyAlterShareGroupOffsets, "AlterShareGroupOffsets", 0, 0, 0},
	KeyDeleteShareGroupOffsets:      {KeyDeleteShareGroupOffsets, "DeleteShareGroupOffsets", 0, 0, 0},
}
