package protocol

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/tests/harness"
)

// commit is OffsetCommit of one partition.
func (c *conn) commit(group, member string, generation int32, topic string, partition int32, offset int64, metadata string) int16 {
	c.t.Helper()
	return c.commitAt(8, group, member, generation, topic, partition, offset, metadata)
}

func (c *conn) commitAt(version int16, group, member string, generation int32, topic string, partition int32, offset int64, metadata string) int16 {
	c.t.Helper()
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group, req.MemberID, req.Generation, req.RetentionTimeMillis = group, member, generation, -1
	p := kmsg.NewOffsetCommitRequestTopicPartition()
	p.Partition, p.Offset, p.Metadata = partition, offset, &metadata
	req.Topics = []kmsg.OffsetCommitRequestTopic{{Topic: topic, Partitions: []kmsg.OffsetCommitRequestTopicPartition{p}}}
	return ask[*kmsg.OffsetCommitResponse](c, version, req).Topics[0].Partitions[0].ErrorCode
}

// committed is OffsetFetch of everything that a group has.
func (c *conn) committed(group string) []kmsg.OffsetFetchResponseTopic {
	c.t.Helper()
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Group, req.Topics = group, nil
	res := ask[*kmsg.OffsetFetchResponse](c, 7, req)
	wantCode(c.t, "OffsetFetch", res.ErrorCode, nil)
	return res.Topics
}

func TestOffsetCommitAndFetch(t *testing.T) {
	t.Parallel()
	c, topic := fresh(t)
	for version := int16(2); version <= 9; version++ {
		group := harness.Name("simple")
		c.findCoordinator(group)
		wantCode(t, "commit without members", c.commitAt(version, group, "", -1, topic, 0, 42, "note"), nil)
		all := c.committed(group)
		if len(all) != 1 || len(all[0].Partitions) != 1 {
			t.Fatalf("v%d: committed %+v", version, all)
		}
		want(t, "topic", all[0].Topic, topic)
		want(t, "offset", all[0].Partitions[0].Offset, 42)
		want(t, "metadata", text(all[0].Partitions[0].Metadata), "note")
	}
}

// The group without a name is a group like another for offsets: old tools use it.
func TestOffsetCommitEmptyGroupName(t *testing.T) {
	t.Parallel()
	c, topic := fresh(t)
	c.findCoordinator("")
	wantCode(t, "commit", c.commit("", "", -1, topic, 0, 7, ""), nil)
	for _, committed := range c.committed("") {
		if committed.Topic == topic {
			want(t, "offset", committed.Partitions[0].Offset, 7)
			return
		}
	}
	t.Error("not committed")
}

func TestOffsetCommitRefusals(t *testing.T) {
	t.Parallel()
	c, topic := fresh(t)
	_, group := groupConn(t)
	wantCode(t, "generation of a group that is not there", c.commit(group, "somebody", 3, topic, 0, 1, ""), kerr.IllegalGeneration)
	wantCode(t, "unknown topic", c.commit(group, "", -1, "no-such-topic", 0, 1, ""), kerr.UnknownTopicOrPartition)
	wantCode(t, "unknown partition", c.commit(group, "", -1, topic, 7, 1, ""), kerr.UnknownTopicOrPartition)
	wantCode(t, "metadata above 4096 bytes", c.commit(group, "", -1, topic, 0, 1, string(make([]byte, 4097))), kerr.OffsetMetadataTooLarge)
	want(t, "committed", len(c.committed(group)), 0)
}

func TestOffsetFetchUnknown(t *testing.T) {
	t.Parallel()
	c, topic := fresh(t)
	_, group := groupConn(t)
	want(t, "unknown group: nothing and no error", len(c.committed(group)), 0)
	for version := int16(1); version <= 9; version++ {
		req := kmsg.NewPtrOffsetFetchRequest()
		req.Group, req.Topics = group, []kmsg.OffsetFetchRequestTopic{{Topic: topic, Partitions: []int32{0, 5}}}
		req.Groups = []kmsg.OffsetFetchRequestGroup{{Group: group, MemberEpoch: -1,
			Topics: []kmsg.OffsetFetchRequestGroupTopic{{Topic: topic, Partitions: []int32{0, 5}}}}}
		res := ask[*kmsg.OffsetFetchResponse](c, version, req)
		if version >= 8 {
			wantCode(t, "group", res.Groups[0].ErrorCode, nil)
			for _, p := range res.Groups[0].Topics[0].Partitions {
				wantCode(t, "partition", p.ErrorCode, nil)
				want(t, "offset", p.Offset, -1)
			}
			continue
		}
		for _, p := range res.Topics[0].Partitions {
			wantCode(t, "partition", p.ErrorCode, nil)
			want(t, "offset", p.Offset, -1)
			want(t, "metadata", text(p.Metadata), "")
		}
	}
}

func TestOffsetDelete(t *testing.T) {
	t.Parallel()
	c, topic := fresh(t)
	_, group := groupConn(t)
	remove := func(topic string) *kmsg.OffsetDeleteResponse {
		req := kmsg.NewPtrOffsetDeleteRequest()
		req.Group = group
		req.Topics = []kmsg.OffsetDeleteRequestTopic{{Topic: topic, Partitions: []kmsg.OffsetDeleteRequestTopicPartition{{Partition: 0}}}}
		return ask[*kmsg.OffsetDeleteResponse](c, 0, req)
	}
	wantCode(t, "unknown group", remove(topic).ErrorCode, kerr.GroupIDNotFound)
	wantCode(t, "commit", c.commit(group, "", -1, topic, 0, 1, ""), nil)
	wantCode(t, "delete", remove(topic).Topics[0].Partitions[0].ErrorCode, nil)
	want(t, "offsets after", len(c.committed(group)), 0)
}
