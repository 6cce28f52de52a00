package segment

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ringmill/ringmill/wire"
)

// Names of the files at a log directory's root, as Kafka has them.
const (
	RecoveryPointCheckpoint  = "recovery-point-offset-checkpoint"
	LogStartCheckpoint       = "log-start-offset-checkpoint"
	HighWatermarkCheckpoint  = "replication-offset-checkpoint"
	CleanerCheckpoint        = "cleaner-offset-checkpoint"
	MetaPropertiesFile       = "meta.properties"
	CleanShutdownFile        = ".kafka_cleanshutdown"
	checkpointVersion        = 0
	checkpointErrorTextBytes = 80
)

// CheckpointError says what is wrong with a checkpoint file, meta.properties or the clean-shutdown mark.
type CheckpointError struct {
	Line    int    // counted from 1; 0: the file as a whole
	Text    string // the line, cut to 80 bytes
	Problem string
}

func (e *CheckpointError) Error() string {
	if e.Line == 0 {
		return "checkpoint: " + e.Problem
	}
	return fmt.Sprintf("checkpoint: line %d %q: %s", e.Line, e.Text, e.Problem)
}

func checkpointError(line int, text, problem string) error {
	return &CheckpointError{Line: line, Text: text[:min(len(text), checkpointErrorTextBytes)], Problem: problem}
}

// ReadOffsetCheckpoint reads a file of offsets by partition (Kafka's OffsetCheckpointFile): the version 0, the number of
// entries, and a line "topic partition offset" for each, the last of which may be a checksum (sealTopic). As in Kafka an empty file has no
// entries, and of two entries for a partition the later one holds. The error is a *CheckpointError.
func ReadOffsetCheckpoint(src []byte) (map[wire.TopicPartition]wire.Offset, error) {
	offsets := map[wire.TopicPartition]wire.Offset{}
	err := readCheckpoint(src, func(fields []string) string {
		if len(fields) != 3 {
			return "want a topic, a partition and an offset"
		}
		partition, err := strconv.ParseInt(fields[1], 10, 32)
		if err != nil || partition < 0 {
			return "the partition is no number"
		}
		offset, err := strconv.ParseInt(fields[2], 10, 64)
		if err != nil {
			return "the offset is no number"
		}
		if fields[0] == sealTopic {
			return checkOffsetsSeal(src, fields[2])
		}
		offsets[wire.TopicPartition{Topic: fields[0], Partition: wire.PartitionIndex(partition)}] = wire.Offset(offset)
		return ""
	})
	if err != nil {
		return nil, err
	}
	return offsets, nil
}

// AppendOffsetCheckpoint appends the file that ReadOffsetCheckpoint reads, in the order of topics and partitions, with a checksum if it has any.
func AppendOffsetCheckpoint(dst []byte, offsets map[wire.TopicPartition]wire.Offset) []byte {
	if len(offsets) == 0 {
		return appendCheckpointHead(dst, 0)
	}
	file := appendCheckpointHead(nil, len(offsets)+1)
	for _, tp := range slices.SortedFunc(maps.Keys(offsets), compareTopicPartitions) {
		file = append(file, tp.Topic...)
		file = append(file, ' ')
		file = strconv.AppendInt(file, int64(tp.Partition), 10)
		file = append(file, ' ')
		file = strconv.AppendInt(file, int64(offsets[tp]), 10)
		file = append(file, '\n')
	}
	return append(dst, sealOffsets(file)...)
}

func compareTopicPartitions(a, b wire.TopicPartition) int {
	return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
}

func appendCheckpointHead(dst []byte, entries int) []byte {
	dst = strconv.AppendInt(dst, checkpointVersion, 10)
	dst = append(dst, '\n')
	dst = strconv.AppendInt(dst, int64(entries), 10)
	return append(dst, '\n')
}

// readCheckpoint reads the frame that Kafka's CheckpointFile gives all its files, and hands each entry's fields to entry,
// which answers what is wrong with them.
func readCheckpoint(src []byte, entry func(fields []string) (problem string)) error {
	lines := checkpointLines(string(src))
	if len(lines) > 0 && lines[0] != strconv.Itoa(checkpointVersion) {
		return checkpointError(1, lines[0], "unknown version, want 0")
	}
	if len(lines) < 2 { // a crash of Kafka before the first write leaves an empty file
		return nil
	}
	want, err := strconv.ParseInt(lines[1], 10, 32)
	if err != nil {
		return checkpointError(2, lines[1], "the number of entries is no number")
	}
	for i, line := range lines[2:] {
		if problem := entry(checkpointFields(line)); problem != "" {
			return checkpointError(i+3, line, problem)
		}
	}
	if got := len(lines) - 2; int64(got) != want {
		return checkpointError(0, "", fmt.Sprintf("%d entries announced, %d found", want, got))
	}
	return nil
}

// checkpointLines splits as Java's BufferedReader does: at \n, \r\n or \r, with no empty line after the last one.
func checkpointLines(s string) []string {
	s = strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
	if s == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(s, "\n"), "\n")
}

// checkpointFields splits at runs of white space; white space in front makes an empty first field, so that the count is wrong.
func checkpointFields(line string) []string {
	fields := strings.FieldsFunc(line, isJavaSpace)
	if line != "" && isJavaSpace(rune(line[0])) {
		return append([]string{""}, fields...)
	}
	return fields
}

// isJavaSpace is \s of java.util.regex.
func isJavaSpace(r rune) bool { return r == ' ' || r >= '\t' && r <= '\r' }
