package protocol

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/tests/harness"
)

// TestOldSaramaConsumer is the whole conversation of Telegraf's Kafka input with its default configuration: Sarama told to speak
// to a 0.10.2 broker. Apache Kafka 4 ends it at Fetch v3 (influxdata/telegraf#17570); here it gets its records.
func TestOldSaramaConsumer(t *testing.T) {
	t.Parallel()
	node := harness.Shared(t)
	c, topic := fresh(t)
	_, group := groupConn(t)
	c.mustProduce(topic, newBatch(record("a"), record("b"), record("c")))

	find := kmsg.NewPtrFindCoordinatorRequest()
	find.CoordinatorKey = group
	wantCode(t, "FindCoordinator v0", ask[*kmsg.FindCoordinatorResponse](c, 0, find).ErrorCode, nil)
	want(t, "topics of Metadata v2", lists(ask[*kmsg.MetadataResponse](c, 2, &kmsg.MetadataRequest{}), topic), true)
	joined := ask[*kmsg.JoinGroupResponse](c, 1, joinRequest(group, ""))
	wantCode(t, "JoinGroup v1", joined.ErrorCode, nil)
	sync := kmsg.NewPtrSyncGroupRequest()
	sync.Group, sync.MemberID, sync.Generation = group, joined.MemberID, joined.Generation
	sync.GroupAssignment = []kmsg.SyncGroupRequestGroupAssignment{{MemberID: joined.MemberID, MemberAssignment: []byte("all")}}
	want(t, "SyncGroup v0", string(ask[*kmsg.SyncGroupResponse](c, 0, sync).MemberAssignment), "all")
	beat := &kmsg.HeartbeatRequest{Group: group, MemberID: joined.MemberID, Generation: joined.Generation}
	wantCode(t, "Heartbeat v0", ask[*kmsg.HeartbeatResponse](c, 0, beat).ErrorCode, nil)
	committed := kmsg.NewPtrOffsetFetchRequest()
	committed.Group, committed.Topics = group, []kmsg.OffsetFetchRequestTopic{{Topic: topic, Partitions: []int32{0}}}
	want(t, "OffsetFetch v2", ask[*kmsg.OffsetFetchResponse](c, 2, committed).Topics[0].Partitions[0].Offset, -1)
	want(t, "ListOffsets v1", c.listOffset(1, topic, 0, -2).Offset, 0)

	fetch := fetchRequest(topic, 0, 0)
	if node.IsKafka() {
		fetch.SetVersion(3)
		c.send(fetch)
		c.closed()
		return
	}
	got := batches(t, c.fetch(3, fetch).RecordBatches)
	if len(got) != 1 || got[0].NumRecords != 3 || got[0].Magic != 2 {
		t.Fatalf("Fetch v3: %+v", got)
	}
	wantCode(t, "OffsetCommit v2", c.commitAt(2, group, joined.MemberID, joined.Generation, topic, 0, 3, ""), nil)
	want(t, "committed", ask[*kmsg.OffsetFetchResponse](c, 2, committed).Topics[0].Partitions[0].Offset, 3)
	leave := &kmsg.LeaveGroupRequest{Group: group, MemberID: joined.MemberID}
	wantCode(t, "LeaveGroup v0", ask[*kmsg.LeaveGroupResponse](c, 0, leave).ErrorCode, nil)
}
