package protocol

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/tests/harness"
)

// logSize is what a node says of the partition 0 of a topic; -1 if it names none.
func (c *conn) logSize(version int16, topic string) int64 {
	c.t.Helper()
	req := kmsg.NewPtrDescribeLogDirsRequest()
	req.Topics = []kmsg.DescribeLogDirsRequestTopic{{Topic: topic, Partitions: []int32{0, 9}}}
	res := ask[*kmsg.DescribeLogDirsResponse](c, version, req)
	want(c.t, "directories", len(res.Dirs), 1)
	wantCode(c.t, "directory", res.Dirs[0].ErrorCode, nil)
	if d := res.Dirs[0]; (d.TotalBytes > 0 && d.UsableBytes > 0) != (version >= 4) {
		c.t.Errorf("v%d: %d of %d bytes usable", version, d.UsableBytes, d.TotalBytes)
	}
	if len(res.Dirs[0].Topics) == 0 {
		return -1
	}
	want(c.t, "partitions", len(res.Dirs[0].Topics[0].Partitions), 1)
	return res.Dirs[0].Topics[0].Partitions[0].Size
}

func TestDescribeLogDirs(t *testing.T) {
	t.Parallel()
	c, topic := fresh(t)
	c.mustProduce(topic, newBatch(keyedAll(1, "v")...))
	size := c.logSize(4, topic)
	for version := int16(1); version <= 4; version++ {
		want(t, "size", c.logSize(version, topic), size)
		want(t, "size of none", c.logSize(version, harness.Name("nope")), -1)
	}
	c.mustProduce(topic, newBatch(keyedAll(1, "v")...))
	want(t, "size of two batches", c.logSize(4, topic), 2*size)
}

func TestElectLeadersWhereNoneIsNeeded(t *testing.T) {
	t.Parallel()
	c, topic := fresh(t)
	for version := int16(0); version <= 2; version++ {
		req := kmsg.NewPtrElectLeadersRequest()
		req.TimeoutMillis = 10000
		req.Topics = []kmsg.ElectLeadersRequestTopic{{Topic: topic, Partitions: []int32{0, 9}}}
		res := ask[*kmsg.ElectLeadersResponse](c, version, req)
		wantCode(t, "the whole", res.ErrorCode, nil)
		wantCode(t, "led", res.Topics[0].Partitions[0].ErrorCode, kerr.ElectionNotNeeded)
		want(t, "message", text(res.Topics[0].Partitions[0].ErrorMessage), "Leader election not needed for topic partition.")
		wantCode(t, "missing", res.Topics[0].Partitions[1].ErrorCode, kerr.UnknownTopicOrPartition)
		want(t, "message", text(res.Topics[0].Partitions[1].ErrorMessage), "No such partition as "+topic+"-9")
	}
}

func TestReassignPartitionsOfOneNode(t *testing.T) {
	t.Parallel()
	c, topic := fresh(t)
	for _, row := range []struct {
		name     string
		replicas []int32
		code     *kerr.Error
		message  string
	}{
		{"here", []int32{1}, nil, ""},
		{"elsewhere", []int32{77}, kerr.InvalidReplicaAssignment, "The manual partition assignment includes broker 77, but no such broker is registered."},
		{"nowhere", []int32{}, kerr.InvalidReplicaAssignment, "The manual partition assignment includes an empty replica list."},
		{"cancelled", nil, kerr.NoReassignmentInProgress, ""},
	} {
		req := kmsg.NewPtrAlterPartitionAssignmentsRequest()
		req.Topics = []kmsg.AlterPartitionAssignmentsRequestTopic{{Topic: topic,
			Partitions: []kmsg.AlterPartitionAssignmentsRequestTopicPartition{{Partition: 0, Replicas: row.replicas}}}}
		p := ask[*kmsg.AlterPartitionAssignmentsResponse](c, 1, req).Topics[0].Partitions[0]
		wantCode(t, row.name, p.ErrorCode, row.code)
		if row.message != "" {
			want(t, row.name, text(p.ErrorMessage), row.message)
		}
	}
	want(t, "under way", len(ask[*kmsg.ListPartitionReassignmentsResponse](c, 0, kmsg.NewPtrListPartitionReassignmentsRequest()).Topics), 0)
}

func TestQuorumOfOneNode(t *testing.T) {
	t.Parallel()
	c := dial(t, harness.Shared(t))
	for version := int16(0); version <= 2; version++ {
		req := kmsg.NewPtrDescribeQuorumRequest()
		req.Topics = []kmsg.DescribeQuorumRequestTopic{{Topic: "__cluster_metadata", Partitions: []kmsg.DescribeQuorumRequestTopicPartition{{Partition: 0}}}}
		p := ask[*kmsg.DescribeQuorumResponse](c, version, req).Topics[0].Partitions[0]
		wantCode(t, "quorum", p.ErrorCode, nil)
		want(t, "leader", p.LeaderID, 1)
		want(t, "voters", len(p.CurrentVoters), 1)
		want(t, "voter", p.CurrentVoters[0].ReplicaID, 1)
		want(t, "observers", len(p.Observers), 0)
	}
}

func TestFeaturesOfANewCluster(t *testing.T) {
	t.Parallel()
	c := dial(t, harness.Shared(t))
	levels := map[string]int16{}
	for _, f := range ask[*kmsg.ApiVersionsResponse](c, 4, apiVersionsRequest()).FinalizedFeatures {
		levels[f.Name] = f.MaxVersionLevel
	}
	for name, level := range map[string]int16{"metadata.version": 27, "group.version": 1, "transaction.version": 2} {
		want(t, name, levels[name], level)
		for version := int16(1); version <= 2; version++ {
			for to, code := range map[int16]*kerr.Error{level: nil, level - 1: kerr.InvalidUpdateVersion, level + 1: kerr.InvalidUpdateVersion} {
				req := kmsg.NewPtrUpdateFeaturesRequest()
				req.ValidateOnly = true
				req.FeatureUpdates = []kmsg.UpdateFeaturesRequestFeatureUpdate{{Feature: name, MaxVersionLevel: to, UpgradeType: 1}}
				wantCode(t, name, ask[*kmsg.UpdateFeaturesResponse](c, version, req).ErrorCode, code)
			}
		}
	}
}

func TestACLsWithoutAnAuthorizer(t *testing.T) {
	t.Parallel()
	c := dial(t, harness.Shared(t))
	for version := int16(1); version <= 3; version++ {
		req := kmsg.NewPtrDescribeACLsRequest()
		req.ResourceType, req.ResourcePatternType = kmsg.ACLResourceTypeAny, kmsg.ACLResourcePatternTypeAny
		req.Operation, req.PermissionType = kmsg.ACLOperationAny, kmsg.ACLPermissionTypeAny
		res := ask[*kmsg.DescribeACLsResponse](c, version, req)
		wantCode(t, "ACLs", res.ErrorCode, kerr.SecurityDisabled)
		want(t, "message", text(res.ErrorMessage), "No Authorizer is configured on the broker")
	}
}

// TestAlterConfigsReplaces: what the older of the two calls does not name is removed.
func TestAlterConfigsReplaces(t *testing.T) {
	t.Parallel()
	for version := int16(0); version <= 2; version++ {
		c, topic := fresh(t, "retention.ms=7654321")
		value := "7"
		req := kmsg.NewPtrAlterConfigsRequest()
		req.Resources = []kmsg.AlterConfigsRequestResource{{ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: topic,
			Configs: []kmsg.AlterConfigsRequestResourceConfig{{Name: "retention.bytes", Value: &value}}}}
		wantCode(t, "AlterConfigs", ask[*kmsg.AlterConfigsResponse](c, version, req).Resources[0].ErrorCode, nil)
		harness.Await(t, "retention.bytes is set", func() bool { return text(c.topicConfig(topic, "retention.bytes").Value) == "7" })
		want(t, "retention.ms", text(c.topicConfig(topic, "retention.ms").Value), "604800000")
	}
}

func TestListConfigResources(t *testing.T) {
	t.Parallel()
	c := dial(t, harness.Shared(t))
	for kind, names := range map[int8]int{4: 1, 8: 1} {
		req := kmsg.NewPtrListConfigResourcesRequest()
		req.ResourceTypes = []int8{kind}
		res := ask[*kmsg.ListConfigResourcesResponse](c, 1, req)
		wantCode(t, "ListConfigResources", res.ErrorCode, nil)
		want(t, "resources", len(res.ConfigResources), names)
		want(t, "name", res.ConfigResources[0].Name, "1")
	}
	req := kmsg.NewPtrListConfigResourcesRequest()
	req.ResourceTypes = []int8{3}
	wantCode(t, "unknown type", ask[*kmsg.ListConfigResourcesResponse](c, 1, req).ErrorCode, kerr.UnsupportedVersion)
}
