package node

import (
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/wire"
)

// topicConfigs are topics' overrides by topic and property.
type topicConfigs map[string]map[string]string

// Keys of Apache Kafka's metadata records (its metadata/src/main/resources/common/metadata), and the resource type of a
// topic in a ConfigRecord.
const (
	kraftTopicRecord       = 2
	kraftConfigRecord      = 4
	kraftRemoveTopicRecord = 9
	kraftTopicResource     = 2
)

// errKRaftRecord means that a metadata record is not of the form that Apache Kafka 3.3 to 4.1 writes.
var errKRaftRecord = errors.New("node: a metadata record of Apache Kafka cannot be read")

// takeoverConfigs reads the topics' configurations out of the quorum log that a combined Apache Kafka node keeps beside
// its topics. Without them a topic that is kept for ever would be cut to the default retention.
func (n *Node) takeoverConfigs() (topicConfigs, error) {
	configs := make(topicConfigs)
	ids := make(map[wire.TopicID]string)
	for _, d := range n.dirs {
		dir := filepath.Join(d.path, image.ClusterMetadataTopic+"-0")
		names, err := kraftFiles(d.fs, dir)
		if err != nil {
			return nil, startError(dir, err)
		}
		for _, name := range names {
			if err := configs.read(d.fs, name, ids); err != nil {
				return nil, &StartError{Path: name, Problem: err.Error(), Cure: "move the directory away to go on without the topics' configurations"}
			}
		}
	}
	return configs, nil
}

// kraftFiles lists the newest snapshot and then the segments of a quorum log; none if there is no such log. A snapshot
// may end inside the first segment: records that are read twice change nothing.
func kraftFiles(fsys segment.FS, dir string) ([]string, error) {
	if _, err := fsys.Stat(dir); err != nil {
		return nil, nil
	}
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var snapshot string
	var logs []string
	for _, e := range entries {
		switch {
		case strings.HasSuffix(e.Name, ".checkpoint"):
			snapshot = filepath.Join(dir, e.Name) // names sort by offset: the last is the newest
		case strings.HasSuffix(e.Name, ".log"):
			logs = append(logs, filepath.Join(dir, e.Name))
		}
	}
	if snapshot == "" {
		return logs, nil
	}
	return append([]string{snapshot}, logs...), nil
}

// read applies the records of one file. A torn end, as a crash leaves it, is where it stops.
func (c topicConfigs) read(fsys segment.FS, name string, ids map[wire.TopicID]string) error {
	data, err := fsys.ReadFile(name)
	if err != nil {
		return err
	}
	dec := wire.AcquireDecompressor()
	defer dec.Release()
	for len(data) > 0 {
		batch, tail, err := wire.ReadRecordBatch(data)
		if err != nil || batch.Check() != nil {
			return nil
		}
		if err := batchRecords(batch, dec, func(r wire.Record) error { return c.apply(r.Value, ids) }); err != nil {
			return err
		}
		data = tail
	}
	return nil
}

// apply applies one record: frame version, key and version as varints, then the fields.
func (c topicConfigs) apply(value []byte, ids map[wire.TopicID]string) error {
	r := kraftReader{value}
	if frame := r.uvarint(); frame != 1 {
		return fmt.Errorf("%w: frame version %d", errKRaftRecord, frame)
	}
	key := r.uvarint()
	r.uvarint() // version: the fields read here are the same in all
	switch key {
	case kraftTopicRecord:
		name := r.text()
		ids[r.id()] = name
	case kraftRemoveTopicRecord:
		delete(c, ids[r.id()])
	case kraftConfigRecord:
		c.applyConfig(&r)
	}
	if r.src == nil {
		return fmt.Errorf("%w: key %d ends early", errKRaftRecord, key)
	}
	return nil
}

func (c topicConfigs) applyConfig(r *kraftReader) {
	kind, topic, property := r.int8(), r.text(), r.text()
	value, set := r.nullableText()
	switch {
	case r.src == nil || kind != kraftTopicResource:
	case !set:
		delete(c[topic], property)
	default:
		if c[topic] == nil {
			c[topic] = make(map[string]string)
		}
		c[topic][property] = value
	}
}

// validConfigs drops properties that this node does not know, each with a line.
func (n *Node) validConfigs(topic string, configs map[string]string) map[string]string {
	for _, key := range slices.Sorted(maps.Keys(configs)) {
		if err := n.Config().ValidateTopicConfig(map[string]string{key: configs[key]}); err != nil {
			slog.Warn("a topic's property is left out", "topic", topic, "property", key, "value", configs[key], "error", err)
			delete(configs, key)
		}
	}
	return configs
}

// kraftReader reads a metadata record's fields; src is nil once they ended early.
type kraftReader struct{ src []byte }

func (r *kraftReader) take(n int) []byte {
	if n < 0 || n > len(r.src) || r.src == nil {
		r.src = nil
		return nil
	}
	b := r.src[:n]
	r.src = r.src[n:]
	return b
}

func (r *kraftReader) int8() int8 {
	if b := r.take(1); b != nil {
		return int8(b[0])
	}
	return 0
}

func (r *kraftReader) uvarint() uint64 {
	v, n := binary.Uvarint(r.src)
	if n <= 0 {
		r.src = nil
		return 0
	}
	r.take(n)
	return v
}

func (r *kraftReader) id() (id wire.TopicID) {
	copy(id[:], r.take(len(id)))
	return id
}

func (r *kraftReader) text() string {
	s, _ := r.nullableText()
	return s
}

func (r *kraftReader) nullableText() (s string, set bool) {
	n := r.uvarint()
	if n == 0 {
		return "", false
	}
	return string(r.take(int(min(n-1, 1<<31)))), true
}
