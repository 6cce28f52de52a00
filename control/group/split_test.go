package group

import (
	"fmt"
	"testing"

	"github.com/ringmill/ringmill/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestSplitMerge sends requests to the shards that Split names and compares the answers, put together, with those of one
// coordinator that holds everything.
func TestSplitMerge(t *testing.T) {
	const partitions = 5
	whole := newMachine(measuredConfig())
	shards := make([]*machine, partitions)
	for i := range shards {
		shards[i] = newMachine(measuredConfig())
	}
	var ids []string
	for i := range 12 {
		ids = append(ids, fmt.Sprintf("group-%d", i))
	}
	fetch := kmsg.NewPtrOffsetFetchRequest()
	fetch.Version = 8
	for _, id := range ids {
		commit := kmsg.NewPtrOffsetCommitRequest()
		commit.Version, commit.Group, commit.Generation = 9, id, -1
		commit.Topics = []kmsg.OffsetCommitRequestTopic{{Topic: "t", Partitions: []kmsg.OffsetCommitRequestTopicPartition{{Offset: 7}}}}
		ask(t, shards, whole, commit)
		g := kmsg.NewOffsetFetchRequestGroup()
		g.Group = id
		fetch.Groups = append(fetch.Groups, g)
	}
	list := kmsg.NewPtrListGroupsRequest()
	list.Version = 5
	describe := kmsg.NewPtrDescribeGroupsRequest()
	describe.Version, describe.Groups = 6, append(ids, "unknown")
	remove := kmsg.NewPtrDeleteGroupsRequest()
	remove.Version, remove.Groups = 2, append(ids[:3:3], "unknown")
	empty := kmsg.NewPtrDescribeGroupsRequest()
	single := kmsg.NewPtrOffsetFetchRequest()
	single.Version, single.Group = 7, ids[4]
	for _, req := range []kmsg.Request{fetch, list, describe, remove, list, empty, single} {
		ask(t, shards, whole, req)
	}
}

func ask(t *testing.T, shards []*machine, whole *machine, req kmsg.Request) {
	t.Helper()
	var answers []kmsg.Response
	for _, part := range Split(req, int32(len(shards))) {
		m := shards[part.Partition]
		m.send("part", "c", part.Request)
		answers = append(answers, m.settle()[0].resp)
	}
	whole.send("whole", "c", req)
	s := newScript(whole, "")
	got, want := s.format(Merge(answers)), s.format(whole.settle()[0].resp)
	if got != want {
		t.Errorf("%T: the shards say\n%s, one coordinator\n%s", req, got, want)
	}
}

// TestNotLoaded: until its log is read a shard refuses everything but heartbeats.
func TestNotLoaded(t *testing.T) {
	s := newScript(newMachine(measuredConfig()), "")
	heartbeat := kmsg.NewPtrHeartbeatRequest()
	heartbeat.Version = 4
	join := kmsg.NewPtrJoinGroupRequest()
	join.Version = 9
	for want, req := range map[string]kmsg.Request{
		"NONE": heartbeat,
		`COORDINATOR_LOAD_IN_PROGRESS gen=-1 type=null protocol=null leader="" member="" skip=false members=[]`: join,
	} {
		fx := New(DefaultConfig(), 1).Handle(0, 0, 1, Client{}, req)
		if got := s.format(fx.Replies[0].Response); got != want {
			t.Errorf("%T: %s, want %s", req, got, want)
		}
		if got := s.format(Refuse(req, wire.NotCoordinator)); got[:15] != "NOT_COORDINATOR" {
			t.Errorf("%T refused: %s", req, got)
		}
	}
}

// TestAnswerCode has the codes of Kafka's CoordinatorOperationExceptionHelper, and that of an append whose in-sync replicas became too few
// after it, which Kafka's coordinators do not meet and its clients would not retry.
func TestAnswerCode(t *testing.T) {
	for append, want := range map[wire.ErrorCode]wire.ErrorCode{
		wire.None:                         wire.None,
		wire.NetworkException:             wire.CoordinatorLoadInProgress,
		wire.UnknownTopicOrPartition:      wire.CoordinatorNotAvailable,
		wire.NotEnoughReplicas:            wire.CoordinatorNotAvailable,
		wire.RequestTimedOut:              wire.CoordinatorNotAvailable,
		wire.NotLeaderOrFollower:          wire.NotCoordinator,
		wire.KafkaStorageError:            wire.NotCoordinator,
		wire.MessageTooLarge:              wire.UnknownServerError,
		wire.RecordListTooLarge:           wire.UnknownServerError,
		wire.InvalidFetchSize:             wire.UnknownServerError,
		wire.NotEnoughReplicasAfterAppend: wire.CoordinatorNotAvailable,
		wire.InvalidRecord:                wire.InvalidRecord,
	} {
		if got := answerCode(append); got != want {
			t.Errorf("an append that failed with %s is answered with %s, want %s", append, got, want)
		}
	}
}
