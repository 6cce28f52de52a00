package node

import (
	"log/slog"
	"path/filepath"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/wire"
)

// topicsFound gives the topics of log directories that Apache Kafka wrote, as records: asked for once, when the node's own
// metadata is new. Later a directory that no topic has is a leftover, not a topic.
func (n *Node) topicsFound() (records []image.Record, err error) {
	topics := make(map[string]*image.TopicRecord)
	var order []string
	for _, f := range n.scan.inOrder() {
		t := topics[f.tp.Topic]
		if t == nil {
			t = &image.TopicRecord{Name: f.tp.Topic}
			topics[f.tp.Topic] = t
			order = append(order, f.tp.Topic)
		}
		t.Partitions = max(t.Partitions, int32(f.tp.Partition)+1)
		if t.ID.IsZero() {
			t.ID = readTopicID(f.dir.fs, f.path)
		}
	}
	configs, err := n.takeoverConfigs()
	if err != nil {
		return nil, err
	}
	for _, name := range order {
		t := topics[name]
		if t.ID.IsZero() {
			t.ID = newUUID()
		}
		records = append(append(records, *t), configRecords(name, n.validConfigs(name, configs[name]))...)
	}
	if len(order) > 0 {
		slog.Info("topics taken up from the log directories", "topics", len(order), "configured", len(configs))
	}
	return records, nil
}

func readTopicID(fsys segment.FS, dir string) wire.TopicID {
	data, err := fsys.ReadFile(filepath.Join(dir, segment.PartitionMetadataFile))
	if err != nil {
		return wire.TopicID{}
	}
	id, _ := segment.ReadPartitionMetadata(data)
	return id
}
