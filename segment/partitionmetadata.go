package segment

import (
	"fmt"
	"strings"

	"github.com/ringmill/ringmill/wire"
)

// PartitionMetadataFile is the name of the file in a partition's directory that has its topic's id.
const PartitionMetadataFile = "partition.metadata"

// AppendPartitionMetadata appends the content of a partition.metadata file: Kafka's two lines and one with their checksum, the last without a
// line break.
func AppendPartitionMetadata(dst []byte, id wire.TopicID) []byte {
	lines := fmt.Appendf(nil, "version: 0\ntopic_id: %s", id)
	return append(append(append(dst, lines...), '\n'), sealLine(partitionSeal, lines)...)
}

// ReadPartitionMetadata reads a partition.metadata file, with a checksum or without one. Any fault is ErrTopicID, wrapped with what is wrong.
func ReadPartitionMetadata(data []byte) (wire.TopicID, error) {
	lines := strings.Split(strings.TrimRight(string(data), "\n"), "\n")
	if len(lines) == 3 {
		if sealed := lines[0] + "\n" + lines[1]; lines[2] != string(sealLine(partitionSeal, []byte(sealed))) {
			return wire.TopicID{}, fmt.Errorf("%w: the checksum does not match", ErrTopicID)
		}
		lines = lines[:2]
	}
	if len(lines) != 2 || lines[0] != "version: 0" {
		return wire.TopicID{}, fmt.Errorf("%w: not two lines of version 0", ErrTopicID)
	}
	text, found := strings.CutPrefix(lines[1], "topic_id: ")
	id, ok := wire.ParseUUID(text)
	if !found || !ok || id.IsZero() {
		return wire.TopicID{}, fmt.Errorf("%w: topic_id %q", ErrTopicID, text)
	}
	return id, nil
}
