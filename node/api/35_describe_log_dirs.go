package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/wire"
)

var describeLogDirsRow = row{key: wire.KeyDescribeLogDirs, min: 1, max: 4, handle: on(describeLogDirs), authorize: inCluster(describeClusterNeed, refusedWhole)}

// describeLogDirs tells where the partitions that have a replica here lie, how long their logs are, and how far those are that move. A partition of an offline directory is not told
// of, as in Kafka: the directory's error stands for all of them.
func describeLogDirs(b Broker, _ *Request, req *kmsg.DescribeLogDirsRequest) *kmsg.DescribeLogDirsResponse {
	resp := kmsg.NewPtrDescribeLogDirsResponse()
	at := make(map[string]int)
	for _, d := range b.LogDirs() {
		out := kmsg.NewDescribeLogDirsResponseDir()
		out.Dir, out.TotalBytes, out.UsableBytes = d.Path, d.TotalBytes, d.UsableBytes
		if d.Offline {
			out.ErrorCode = int16(wire.KafkaStorageError)
		}
		at[d.Path] = len(resp.Dirs)
		resp.Dirs = append(resp.Dirs, out)
	}
	list := func(topic string, index int32) {
		if p, code := b.Replica(topic, wire.PartitionIndex(index)); code == wire.None {
			if dir, known := at[p.LogDir()]; known {
				addReplica(&resp.Dirs[dir], topic, index).Size = p.Size()
			}
			if f, moving := p.Future(); moving {
				r := addReplica(&resp.Dirs[at[f.LogDir]], topic, index)
				r.Size, r.OffsetLag, r.IsFuture = f.Size, f.OffsetLag, true
			}
		}
	}
	if req.Topics == nil {
		forAllPartitions(b.Image(), list)
	} else {
		forNamedPartitions(req.Topics, list)
	}
	return resp
}

// addReplica puts a partition under its topic, which is the one before it or a new one.
func addReplica(dir *kmsg.DescribeLogDirsResponseDir, topic string, index int32) *kmsg.DescribeLogDirsResponseDirTopicPartition {
	if n := len(dir.Topics); n == 0 || dir.Topics[n-1].Topic != topic {
		t := kmsg.NewDescribeLogDirsResponseDirTopic()
		t.Topic = topic
		dir.Topics = append(dir.Topics, t)
	}
	t := &dir.Topics[len(dir.Topics)-1]
	p := kmsg.NewDescribeLogDirsResponseDirTopicPartition()
	p.Partition = index
	t.Partitions = append(t.Partitions, p)
	return &t.Partitions[len(t.Partitions)-1]
}

func forAllPartitions(m *image.Image, list func(topic string, index int32)) {
	for t := range m.Topics() {
		for i := range t.Partitions {
			list(t.Name, i)
		}
	}
}

// forNamedPartitions calls list once for each partition that is named.
func forNamedPartitions(topics []kmsg.DescribeLogDirsRequestTopic, list func(topic string, index int32)) {
	seen := make(map[wire.TopicPartition]struct{})
	for i := range topics {
		for _, index := range topics[i].Partitions {
			p := wire.TopicPartition{Topic: topics[i].Topic, Partition: wire.PartitionIndex(index)}
			if _, again := seen[p]; !again {
				seen[p] = struct{}{}
				list(p.Topic, index)
			}
		}
	}
}
