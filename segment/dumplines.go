package segment

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ringmill/ringmill/wire"
)

// A DumpLine is one thing that Dump found. Its text is what Kafka's DumpLogSegments prints for it, where that knows the thing;
// as JSON it is an object with its fields and "type", its kind.
type DumpLine interface {
	// Kind is the line's "type" in JSON.
	Kind() string
	// AppendText appends the line without its end.
	AppendText(dst []byte) []byte
}

// DumpFile opens the lines of a file.
type DumpFile struct {
	File       string       `json:"file"`
	BaseOffset *wire.Offset `json:"baseOffset,omitempty"` // of a segment's file, from its name
}

// DumpBatch is a record batch in a .log.
type DumpBatch struct {
	BaseOffset           wire.Offset        `json:"baseOffset"`
	LastOffset           wire.Offset        `json:"lastOffset"`
	Count                int32              `json:"count"`
	BaseSequence         wire.Sequence      `json:"baseSequence"`
	LastSequence         wire.Sequence      `json:"lastSequence"`
	ProducerID           wire.ProducerID    `json:"producerId"`
	ProducerEpoch        wire.ProducerEpoch `json:"producerEpoch"`
	PartitionLeaderEpoch wire.LeaderEpoch   `json:"partitionLeaderEpoch"`
	IsTransactional      bool               `json:"isTransactional"`
	IsControl            bool               `json:"isControl"`
	DeleteHorizonMS      *wire.Timestamp    `json:"deleteHorizonMs"`
	Position             wire.Position      `json:"position"`
	TimestampType        string             `json:"timestampType"`
	MaxTimestamp         wire.Timestamp     `json:"maxTimestamp"`
	Size                 int                `json:"size"`
	Magic                int8               `json:"magic"`
	CompressCodec        string             `json:"compresscodec"`
	CRC                  uint32             `json:"crc"`
	IsValid              bool               `json:"isvalid"`
}

// DumpRecord is a record of the batch before it.
type DumpRecord struct {
	Offset        wire.Offset    `json:"offset"`
	TimestampType string         `json:"timestampType"`
	Timestamp     wire.Timestamp `json:"timestamp"`
	KeySize       int            `json:"keySize"`   // -1: null
	ValueSize     int            `json:"valueSize"` // -1: null
	Sequence      wire.Sequence  `json:"sequence"`
	HeaderKeys    []string       `json:"headerKeys"`
	Control       *DumpControl   `json:"control,omitempty"`
	Key           DumpBytes      `json:"key,omitzero"`
	Payload       DumpBytes      `json:"payload,omitzero"`
}

// DumpControl is what a control record says.
type DumpControl struct {
	Type             string `json:"type"` // COMMIT, ABORT, or another of Kafka's ControlRecordType
	ID               int16  `json:"id"`
	CoordinatorEpoch int32  `json:"coordinatorEpoch,omitempty"`
}

// DumpTail is what follows the last batch of a .log.
type DumpTail struct {
	File  string `json:"file"`
	Bytes int64  `json:"invalidBytes"`
}

// DumpOffsetEntry is an entry of an .index.
type DumpOffsetEntry struct {
	Offset   wire.Offset   `json:"offset"`
	Position wire.Position `json:"position"`
}

// DumpTimeEntry is an entry of a .timeindex.
type DumpTimeEntry struct {
	Timestamp wire.Timestamp `json:"timestamp"`
	Offset    wire.Offset    `json:"offset"`
}

// DumpAbortedTransaction is an entry of a .txnindex.
type DumpAbortedTransaction struct {
	Version          int16           `json:"version"`
	ProducerID       wire.ProducerID `json:"producerId"`
	FirstOffset      wire.Offset     `json:"firstOffset"`
	LastOffset       wire.Offset     `json:"lastOffset"`
	LastStableOffset wire.Offset     `json:"lastStableOffset"`
}

// DumpProducer is an entry of a .snapshot.
type DumpProducer struct {
	ProducerID            wire.ProducerID    `json:"producerId"`
	ProducerEpoch         wire.ProducerEpoch `json:"producerEpoch"`
	CoordinatorEpoch      int32              `json:"coordinatorEpoch"`
	CurrentTxnFirstOffset *wire.Offset       `json:"currentTxnFirstOffset"`
	LastTimestamp         wire.Timestamp     `json:"lastTimestamp"`
	LastBatch             *DumpProducerBatch `json:"lastBatch"`
}

// DumpProducerBatch is the last batch that a producer is remembered with.
type DumpProducerBatch struct {
	FirstSequence wire.Sequence  `json:"firstSequence"`
	LastSequence  wire.Sequence  `json:"lastSequence"`
	LastOffset    wire.Offset    `json:"lastOffset"`
	OffsetDelta   int32          `json:"offsetDelta"`
	Timestamp     wire.Timestamp `json:"timestamp"`
}

// DumpEpoch is an entry of leader-epoch-checkpoint.
type DumpEpoch struct {
	Epoch       wire.LeaderEpoch `json:"epoch"`
	StartOffset wire.Offset      `json:"startOffset"`
}

// DumpCheckpoint is an entry of one of the offset checkpoints at a log directory's root.
type DumpCheckpoint struct {
	Topic     string              `json:"topic"`
	Partition wire.PartitionIndex `json:"partition"`
	Offset    wire.Offset         `json:"offset"`
}

// DumpPartitionMetadata is a partition.metadata file.
type DumpPartitionMetadata struct {
	TopicID string `json:"topicId"`
}

// DumpJournalHead is a journal's head.
type DumpJournalHead struct {
	Incarnation uint32 `json:"incarnation"`
	Serial      uint64 `json:"serial"`
	TrackBytes  int64  `json:"trackBytes"`
	Tracks      int    `json:"tracks"`
	Floor       uint64 `json:"floor"`
}

// DumpJournalEntry is an entry of a journal since its last checkpoint; the lines of its batch follow.
type DumpJournalEntry struct {
	Sequence    uint64              `json:"sequence"`
	Position    int64               `json:"journalPosition"`
	TopicID     string              `json:"topicId"`
	Partition   wire.PartitionIndex `json:"partition"`
	BaseOffset  wire.Offset         `json:"baseOffset"`
	LeaderEpoch wire.LeaderEpoch    `json:"leaderEpoch"`
	Size        int                 `json:"size"`
	Truncation  bool                `json:"truncation,omitempty"` // earlier entries of the partition that reach BaseOffset are void
	Void        bool                `json:"void,omitempty"`       // a later truncation says so
}

func (DumpFile) Kind() string               { return "file" }
func (DumpBatch) Kind() string              { return "batch" }
func (DumpRecord) Kind() string             { return "record" }
func (DumpTail) Kind() string               { return "tail" }
func (DumpOffsetEntry) Kind() string        { return "offsetIndexEntry" }
func (DumpTimeEntry) Kind() string          { return "timeIndexEntry" }
func (DumpAbortedTransaction) Kind() string { return "abortedTransaction" }
func (DumpProducer) Kind() string           { return "producer" }
func (DumpDirectory) Kind() string          { return "directory" }
func (DumpEpoch) Kind() string              { return "leaderEpoch" }
func (DumpCheckpoint) Kind() string         { return "offsetCheckpoint" }
func (DumpPartitionMetadata) Kind() string  { return "partitionMetadata" }
func (DumpJournalHead) Kind() string        { return "journal" }
func (DumpJournalEntry) Kind() string       { return "journalEntry" }
func (Problem) Kind() string                { return "problem" }

func (l DumpFile) AppendText(dst []byte) []byte {
	dst = append(append(dst, "Dumping "...), l.File...)
	if l.BaseOffset != nil {
		dst = fmt.Appendf(dst, "\nLog starting offset: %d", *l.BaseOffset)
	}
	return dst
}

func (l DumpBatch) AppendText(dst []byte) []byte {
	return fmt.Appendf(dst, "baseOffset: %d lastOffset: %d count: %d baseSequence: %d lastSequence: %d producerId: %d producerEpoch: %d "+
		"partitionLeaderEpoch: %d isTransactional: %t isControl: %t deleteHorizonMs: %s position: %d %s: %d size: %d magic: %d "+
		"compresscodec: %s crc: %d isvalid: %t",
		l.BaseOffset, l.LastOffset, l.Count, l.BaseSequence, l.LastSequence, l.ProducerID, l.ProducerEpoch,
		l.PartitionLeaderEpoch, l.IsTransactional, l.IsControl, optionalLong(l.DeleteHorizonMS), l.Position, l.TimestampType,
		l.MaxTimestamp, l.Size, l.Magic, l.CompressCodec, l.CRC, l.IsValid)
}

func (l DumpRecord) AppendText(dst []byte) []byte {
	dst = fmt.Appendf(dst, "| offset: %d %s: %d keySize: %d valueSize: %d sequence: %d headerKeys: [%s]",
		l.Offset, l.TimestampType, l.Timestamp, l.KeySize, l.ValueSize, l.Sequence, printable(strings.Join(l.HeaderKeys, ",")))
	if c := l.Control; c != nil {
		return c.appendText(dst)
	}
	if l.Key.Shown && l.Key.Bytes != nil {
		dst = fmt.Appendf(dst, " key: %s", printable(string(l.Key.Bytes)))
	}
	if l.Payload.Shown && l.Payload.Bytes != nil {
		dst = fmt.Appendf(dst, " payload: %s", printable(string(l.Payload.Bytes)))
	}
	return dst
}

func (c *DumpControl) appendText(dst []byte) []byte {
	if c.endsTxn() {
		return fmt.Appendf(dst, " endTxnMarker: %s coordinatorEpoch: %d", c.Type, c.CoordinatorEpoch)
	}
	return fmt.Appendf(dst, " controlType: %s(%d)", c.Type, c.ID)
}

func (l DumpTail) AppendText(dst []byte) []byte {
	return fmt.Appendf(dst, "Found %d invalid bytes at the end of %s", l.Bytes, l.File)
}

func (l DumpOffsetEntry) AppendText(dst []byte) []byte {
	return fmt.Appendf(dst, "offset: %d position: %d", l.Offset, l.Position)
}

func (l DumpTimeEntry) AppendText(dst []byte) []byte {
	return fmt.Appendf(dst, "timestamp: %d offset: %d", l.Timestamp, l.Offset)
}

func (l DumpAbortedTransaction) AppendText(dst []byte) []byte {
	return fmt.Appendf(dst, "version: %d producerId: %d firstOffset: %d lastOffset: %d lastStableOffset: %d",
		l.Version, l.ProducerID, l.FirstOffset, l.LastOffset, l.LastStableOffset)
}

func (l DumpProducer) AppendText(dst []byte) []byte {
	dst = fmt.Appendf(dst, "producerId: %d producerEpoch: %d coordinatorEpoch: %d currentTxnFirstOffset: %s lastTimestamp: %d ",
		l.ProducerID, l.ProducerEpoch, l.CoordinatorEpoch, optionalLong(l.CurrentTxnFirstOffset), l.LastTimestamp)
	if b := l.LastBatch; b != nil {
		dst = fmt.Appendf(dst, "firstSequence: %d lastSequence: %d lastOffset: %d offsetDelta: %d timestamp: %d",
			b.FirstSequence, b.LastSequence, b.LastOffset, b.OffsetDelta, b.Timestamp)
	}
	return dst
}

func (l DumpDirectory) AppendText(dst []byte) []byte {
	return fmt.Appendf(dst, "Verified %s segments: %d batches: %d records: %d bytes: %d startOffset: %d endOffset: %d problems: %d", printable(l.Directory), l.Segments, l.Batches, l.Records, l.Bytes,
		l.StartOffset, l.EndOffset, l.Problems)
}

func (l DumpEpoch) AppendText(dst []byte) []byte {
	return fmt.Appendf(dst, "epoch: %d startOffset: %d", l.Epoch, l.StartOffset)
}

func (l DumpCheckpoint) AppendText(dst []byte) []byte {
	return fmt.Appendf(dst, "topic: %s partition: %d offset: %d", printable(l.Topic), l.Partition, l.Offset)
}

func (l DumpPartitionMetadata) AppendText(dst []byte) []byte {
	return fmt.Appendf(dst, "version: 0 topicId: %s", l.TopicID)
}

func (l DumpJournalHead) AppendText(dst []byte) []byte {
	return fmt.Appendf(dst, "incarnation: %d serial: %d trackBytes: %d tracks: %d floor: %d",
		l.Incarnation, l.Serial, l.TrackBytes, l.Tracks, l.Floor)
}

func (l DumpJournalEntry) AppendText(dst []byte) []byte {
	dst = fmt.Appendf(dst, "sequence: %d journalPosition: %d topicId: %s partition: %d baseOffset: %d leaderEpoch: %d size: %d",
		l.Sequence, l.Position, l.TopicID, l.Partition, l.BaseOffset, l.LeaderEpoch, l.Size)
	if l.Truncation {
		dst = append(dst, " truncation"...)
	}
	if l.Void {
		dst = append(dst, " void"...)
	}
	return dst
}

func (p Problem) AppendText(dst []byte) []byte {
	return append(append(dst, "PROBLEM: "...), p.String()...)
}

// optionalLong prints as Java's OptionalLong does.
func optionalLong[T ~int64](v *T) string {
	if v == nil {
		return "OptionalLong.empty"
	}
	return "OptionalLong[" + strconv.FormatInt(int64(*v), 10) + "]"
}

// printable leaves text as it is, makes each byte that is no UTF-8 U+FFFD as Java does, and escapes what could steer a terminal
// or look like another line, which Kafka's tool prints as it is.
func printable(s string) string {
	if utf8.ValidString(s) && strings.IndexFunc(s, unicode.IsControl) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if !unicode.IsControl(r) {
			b.WriteRune(r)
			continue
		}
		q := strconv.QuoteRune(r)
		b.WriteString(q[1 : len(q)-1])
	}
	return b.String()
}

// DumpBytes is a key or a value: in JSON a string if it is text, else an object {"base64": …}; null if it is null.
type DumpBytes struct {
	Bytes []byte
	Shown bool // else it is left out
}

// IsZero is for the tag omitzero.
func (d DumpBytes) IsZero() bool { return !d.Shown }

// MarshalJSON never fails.
func (d DumpBytes) MarshalJSON() ([]byte, error) {
	if d.Bytes == nil {
		return []byte("null"), nil
	}
	if utf8.Valid(d.Bytes) {
		return json.Marshal(string(d.Bytes))
	}
	return json.Marshal(map[string]string{"base64": base64.StdEncoding.EncodeToString(d.Bytes)})
}
