package group

import (
	"encoding/binary"
	"slices"
	"unicode/utf16"

	"github.com/ringmill/ringmill/control/image"
)

// SetTopics gives the coordinator the topics as they are now; created says that some were not there in the image before.
// Groups take note of it at their members' next heartbeats, as in Kafka. Until it is called there are no topics.
func (c *Coordinator) SetTopics(m *image.Image, created bool) {
	c.topics.image = m
	if created {
		c.topics.createdAt = m.Version()
	}
}

// topicView is what a coordinator knows of topics.
type topicView struct {
	image     *image.Image
	createdAt uint64 // version of the last image with new topics: regular expressions have to be resolved again
	rack      string // of this node, "" if it has none
	hashes    map[string]topicHash
}

// topicHash keeps the hash of a topic as long as that does not change.
type topicHash struct {
	topic *image.Topic
	hash  uint64
}

func (v *topicView) hashOf(t *image.Topic) uint64 {
	if known := v.hashes[t.Name]; known.topic == t {
		return known.hash
	}
	hash := hashTopic(t, v.rack)
	v.hashes[t.Name] = topicHash{t, hash}
	return hash
}

// hashTopic is the hash that Kafka makes of a topic (org.apache.kafka.coordinator.group.Utils.computeTopicHash): of a
// version byte, the id, the name, the count of partitions, and each partition with the racks of its replicas, which are all
// on this node. Numbers are little-endian, as hash4j has them.
func hashTopic(t *image.Topic, rack string) uint64 {
	b := make([]byte, 1, 32+2*len(t.Name)+int(t.Partitions)*(4+8+2*len(rack)))
	b = binary.LittleEndian.AppendUint64(b, binary.BigEndian.Uint64(t.ID[:8]))
	b = binary.LittleEndian.AppendUint64(b, binary.BigEndian.Uint64(t.ID[8:]))
	b = appendHashText(b, t.Name)
	b = binary.LittleEndian.AppendUint32(b, uint32(t.Partitions))
	for p := range t.Partitions {
		b = binary.LittleEndian.AppendUint32(b, uint32(p))
		if rack != "" {
			b = binary.LittleEndian.AppendUint32(b, uint32(javaLength(rack)))
			b = appendHashText(b, rack)
		}
	}
	return xxh3(b)
}

// appendHashText appends a string as hash4j hashes it: its UTF-16 units, then their count.
func appendHashText(b []byte, s string) []byte {
	units := utf16.Encode([]rune(s))
	for _, unit := range units {
		b = binary.LittleEndian.AppendUint16(b, unit)
	}
	return binary.LittleEndian.AppendUint32(b, uint32(len(units)))
}

// hashAll is the hash of those of the topics that exist, by name; 0 if none does.
func (v *topicView) hashAll(names []string) uint64 {
	var b []byte
	for _, name := range names {
		if t := v.image.ByName(name); t != nil {
			b = binary.LittleEndian.AppendUint64(b, v.hashOf(t))
		} else {
			delete(v.hashes, name)
		}
	}
	if b == nil {
		return 0
	}
	return xxh3(b)
}

// sortedSet puts names in order and leaves out what is there twice. It keeps the slice.
func sortedSet(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}
