package segment

import (
	"fmt"
	"strings"

	"github.com/ringmill/ringmill/wire"
)

// PartitionMetadataFile is the name of the file in a partition's directory that has its topic's id.
const PartitionMetadataFile = "partition.metadata"

// AppendPartitionMetadata appends the content of a partition.metadata file: two lines, the last without a line break.
func AppendPartitionMetadata(dst []byte, id wire.TopicID) []byte {
	dst = append(dst, "version: 0\ntopic_id: "...)
	return append(dst, id.String()...)
}

// ReadPartitionMetadata reads a partition.metadata file. Any fault is ErrTopicID, wrapped with what is wrong.
func ReadPartitionMetadata(data []byte) (wire.TopicID, error) {
	lines := strings.Split(strings.TrimRight(string(data), "\n"), "\n")
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
