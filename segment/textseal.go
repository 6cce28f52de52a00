package segment

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"strconv"
)

// Kafka's text files have no checksum, and a flipped digit is another number: a log start offset that hides records, the id of another topic.
// So ours end, or begin, with a line that has one and that Kafka passes over: a partition that nobody has, a third line, a comment. A file
// without it is Kafka's, or was edited, and is taken as it is; Kafka's next writing drops the line.

// sealTopic names, in an offset checkpoint, the entry whose offset is the CRC-32C of all bytes before it. No topic can be called that.
const sealTopic = "#crc32c"

// sealOffsets appends that entry as the last one.
func sealOffsets(file []byte) []byte {
	return fmt.Appendf(file, "%s 0 %d\n", sealTopic, crc32.Checksum(file, castagnoli))
}

// checkOffsetsSeal answers what is wrong with an entry of sealTopic in file.
func checkOffsetsSeal(file []byte, offset string) (problem string) {
	at := bytes.LastIndex(file, []byte("\n"+sealTopic)) + 1
	switch {
	case at == 0 || bytes.IndexByte(file[at:], '\n') != len(file)-at-1:
		return "the checksum is not in the last line"
	case offset != strconv.FormatUint(uint64(crc32.Checksum(file[:at], castagnoli)), 10):
		return "the checksum of the lines before does not match"
	}
	return ""
}

// sealLine is what a line with a checksum says beside its name: 8 hexadecimal digits.
func sealLine(name string, rest []byte) []byte {
	return fmt.Appendf(nil, "%s%08x", name, crc32.Checksum(rest, castagnoli))
}

const (
	// partitionSeal begins the third line of partition.metadata, whose checksum is of the two before, the line break between them included.
	partitionSeal = "crc32c: "
	// propertiesSeal begins the first line of meta.properties, whose checksum is of all behind it.
	propertiesSeal = "#crc32c="
)

// unsealProperties checks the first line, if it is a seal.
func unsealProperties(file []byte) error {
	line, rest, _ := bytes.Cut(file, []byte("\n"))
	if !bytes.HasPrefix(line, []byte(propertiesSeal)) || bytes.Equal(line, sealLine(propertiesSeal, rest)) {
		return nil
	}
	return checkpointError(1, string(line), "the checksum of the lines behind does not match")
}
