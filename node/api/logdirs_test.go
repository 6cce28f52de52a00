package api

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

func logDirsRequest(topics ...kmsg.DescribeLogDirsRequestTopic) *kmsg.DescribeLogDirsRequest {
	req := kmsg.NewPtrDescribeLogDirsRequest()
	req.Topics = topics
	return req
}

func logDirsTopic(name string, partitions ...int32) kmsg.DescribeLogDirsRequestTopic {
	t := kmsg.NewDescribeLogDirsRequestTopic()
	t.Topic, t.Partitions = name, partitions
	return t
}

// toldDirs prints an answer: "DIR(CODE,TOTAL,USABLE) TOPIC-PARTITION=SIZE ...; ...".
func toldDirs(r *kmsg.DescribeLogDirsResponse) string {
	var dirs []string
	for _, d := range r.Dirs {
		words := []string{fmt.Sprintf("%s(%d,%d,%d)", d.Dir, d.ErrorCode, d.TotalBytes, d.UsableBytes)}
		for _, t := range d.Topics {
			for _, p := range t.Partitions {
				words = append(words, fmt.Sprintf("%s-%d=%d", t.Topic, p.Partition, p.Size))
				if p.OffsetLag != 0 || p.IsFuture {
					words = append(words, fmt.Sprintf("(future %t, lag %d)", p.IsFuture, p.OffsetLag))
				}
			}
		}
		dirs = append(dirs, strings.Join(words, " "))
	}
	return strings.Join(dirs, "; ")
}

func twoDirs(t *testing.T) *fakeBroker {
	b := newFakeBroker(t)
	b.logDirs = []LogDir{{Path: "/d1", TotalBytes: 100, UsableBytes: 40}, {Path: "/d2", TotalBytes: -1, UsableBytes: -1, Offline: true}}
	b.withTopic(t, "v", 3)
	b.withTopic(t, "w", 1)
	for topic, partitions := range map[string]int{"v": 3, "w": 1} {
		for i := range partitions {
			b.partitions[wire.TopicPartition{Topic: topic, Partition: wire.PartitionIndex(i)}] = &fakePartition{dir: "/d1", size: int64(10 + i)}
		}
	}
	b.offline[wire.TopicPartition{Topic: "v", Partition: 1}] = true
	return b
}

// TestDescribeLogDirsOfFollowers: replicas that follow lie in a directory as those that lead do.
func TestDescribeLogDirsOfFollowers(t *testing.T) {
	b := twoDirs(t)
	b.follow("w", &fakePartition{dir: "/d1", size: 99})
	const want = "/d1(0,100,40) v-0=10 v-2=12 w-0=99; /d2(56,-1,-1)"
	if got := toldDirs(ask[*kmsg.DescribeLogDirsResponse](t, b, 4, logDirsRequest())); got != want {
		t.Error(got)
	}
}

func TestDescribeLogDirs(t *testing.T) {
	b := twoDirs(t)
	const room, offline = "/d1(0,100,40)", "; /d2(56,-1,-1)"
	for _, c := range []struct {
		what string
		req  *kmsg.DescribeLogDirsRequest
		want string
	}{
		{"all", logDirsRequest(), room + " v-0=10 v-2=12 w-0=10" + offline},
		{"empty", &kmsg.DescribeLogDirsRequest{Topics: []kmsg.DescribeLogDirsRequestTopic{}}, room + offline},
		{"some", logDirsRequest(logDirsTopic("w", 0), logDirsTopic("v", 2, 7, -1), logDirsTopic("nope", 0)), room + " w-0=10 v-2=12" + offline},
		{"twice", logDirsRequest(logDirsTopic("v", 0, 0), logDirsTopic("v", 0)), room + " v-0=10" + offline},
		{"no partitions", logDirsRequest(logDirsTopic("v")), room + offline},
	} {
		if got := ask[*kmsg.DescribeLogDirsResponse](t, b, 4, c.req); got.ErrorCode != 0 || toldDirs(got) != c.want {
			t.Errorf("%s: %s", c.what, toldDirs(got))
		}
	}
	for v := int16(1); v < 4; v++ { // the room is told from version 4 on
		if got := toldDirs(ask[*kmsg.DescribeLogDirsResponse](t, b, v, logDirsRequest(logDirsTopic("v", 0)))); got != "/d1(0,-1,-1) v-0=10"+offline {
			t.Errorf("version %d: %s", v, got)
		}
	}
}

// TestDescribeLogDirsTellsOfMoves: the copy is in its directory, beside the log in its own.
func TestDescribeLogDirsTellsOfMoves(t *testing.T) {
	b := twoDirs(t)
	b.partitions[wire.TopicPartition{Topic: "w"}].future = FutureReplica{LogDir: "/d2", Size: 4, OffsetLag: 7}
	got := toldDirs(ask[*kmsg.DescribeLogDirsResponse](t, b, 4, logDirsRequest(logDirsTopic("w", 0))))
	if want := "/d1(0,100,40) w-0=10; /d2(56,-1,-1) w-0=4 (future true, lag 7)"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestAlterReplicaLogDirs(t *testing.T) {
	b := twoDirs(t)
	dir := func(path string, topics ...string) kmsg.AlterReplicaLogDirsRequestDir {
		d := kmsg.NewAlterReplicaLogDirsRequestDir()
		d.Dir = path
		for _, name := range topics {
			topic := kmsg.NewAlterReplicaLogDirsRequestDirTopic()
			topic.Topic, topic.Partitions = name, []int32{0, 1, 0}
			d.Topics = append(d.Topics, topic)
		}
		return d
	}
	req := kmsg.NewPtrAlterReplicaLogDirsRequest()
	req.Dirs = []kmsg.AlterReplicaLogDirsRequestDir{dir("/d1", "v", "nope"), dir("/d2", "v")}
	for v := int16(1); v <= 2; v++ {
		b.moved = nil
		resp := ask[*kmsg.AlterReplicaLogDirsResponse](t, b, v, req)
		var told []string
		for _, topic := range resp.Topics {
			for _, p := range topic.Partitions {
				told = append(told, fmt.Sprintf("%s-%d %s", topic.Topic, p.Partition, wire.ErrorCode(p.ErrorCode)))
			}
		}
		if got, want := strings.Join(b.moved, ", "), "v-0 to /d2, v-1 to /d2, nope-0 to /d1, nope-1 to /d1"; got != want {
			t.Errorf("version %d: moved %s, want %s", v, got, want)
		}
		want := "v-0 NONE, v-1 KAFKA_STORAGE_ERROR, nope-0 UNKNOWN_TOPIC_OR_PARTITION, nope-1 UNKNOWN_TOPIC_OR_PARTITION"
		if got := strings.Join(told, ", "); got != want {
			t.Errorf("version %d: %s, want %s", v, got, want)
		}
	}
}
