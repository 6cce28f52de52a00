package segment

import (
	"encoding/hex"
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/ringmill/ringmill/wire"
)

// PartitionDir gives the name of a partition's directory: "<topic>-<partition>".
func PartitionDir(tp wire.TopicPartition) string {
	return tp.Topic + "-" + strconv.Itoa(int(tp.Partition))
}

// fileNameMax is the longest file name in bytes (NAME_MAX of Linux).
const fileNameMax = 255

// SetAside gives the path that a partition's directory is renamed to when its log is deleted or disowned. As in Kafka the topic's
// name is cut where the whole would be longer than a file's name may be.
func SetAside(dir string, id wire.TopicID, suffix string) string {
	parent, name := path.Split(dir)
	dash := strings.LastIndexByte(name, '-')
	end := fmt.Sprintf("%s.%x%s", name[dash:], id[:], suffix)
	return parent + name[:min(dash, fileNameMax-len(end))] + end
}

// Suffixes of the directories that SetAside names.
const (
	DeleteDirSuffix = "-delete" // its topic was deleted, or its log has moved to another log directory: it is about to be removed
	FutureDirSuffix = "-future" // a copy of the log that is to take its place, see FutureLog
	StrayDirSuffix  = "-stray"  // of a topic that is no more
)

// ParseSetAside reads a directory's name that SetAside made for a name that need not be cut.
func ParseSetAside(name string) (tp wire.TopicPartition, id wire.TopicID, suffix string, ok bool) {
	dot := strings.LastIndexByte(name, '.')
	if dot < 0 {
		return tp, id, "", false
	}
	base, rest := name[:dot], name[dot+1:]
	dash := strings.IndexByte(rest, '-')
	if dash != hex.EncodedLen(len(id)) {
		return tp, id, "", false
	}
	if _, err := hex.Decode(id[:], []byte(rest[:dash])); err != nil {
		return tp, id, "", false
	}
	tp, ok = ParsePartitionDir(base)
	return tp, id, rest[dash:], ok
}

// ParsePartitionDir reads a directory's name that PartitionDir made. ok is false for any other: too for those that Kafka gives
// to logs which are being deleted, moved or disowned ("<topic>-<partition>.<uuid>-delete", "-future", "-stray").
func ParsePartitionDir(name string) (tp wire.TopicPartition, ok bool) {
	dash := strings.LastIndexByte(name, '-')
	if dash <= 0 || wire.CheckTopicName(name[:dash]) != nil {
		return wire.TopicPartition{}, false
	}
	digits := name[dash+1:]
	partition, err := strconv.ParseUint(digits, 10, 31)
	if err != nil || len(digits) > 1 && digits[0] == '0' {
		return wire.TopicPartition{}, false
	}
	return wire.TopicPartition{Topic: name[:dash], Partition: wire.PartitionIndex(partition)}, true
}
