package segment

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/ringmill/ringmill/wire"
)

// The journal's bytes; FORMAT.md has the same as tables. Numbers are big-endian, as in Kafka's files.
const (
	journalVersion            = 1 // record batches alone
	journalVersionTruncations = 2 // truncations too

	// Two slots of a page each hold the same head with different serial numbers; the valid one with the higher serial counts.
	// A page each, so that a torn write of one cannot reach the other.
	journalSlotBytes = 4096
	journalHeadBytes = 2 * journalSlotBytes
	journalSlotSize  = 52 // bytes of a slot that mean something

	journalEntryOverhead = 80
	journalAlignment     = 8 // entries begin at multiples; keeps a scan for the next one cheap

	journalSlotMagic      = 0x524d_4a48 // "RMJH"
	journalEntryMagic     = 0x524d_4a45 // "RMJE"
	journalBatchKind      = 1
	journalTruncationKind = 2
)

// ErrJournalVersion is wrapped when a journal was written by a later version of the format.
var ErrJournalVersion = errors.New("segment: unknown journal version")

// errJournalSlot and errJournalEntry say that bytes are none; what that means is for the reader to judge.
var (
	errJournalSlot  = errors.New("segment: no valid journal head")
	errJournalEntry = errors.New("segment: no valid journal entry")
)

// journalSlot is the head of a journal.
type journalSlot struct {
	serial      uint64 // grows with each write of a head
	incarnation uint32 // grows with each OpenJournal: entries of earlier ones are void
	salt        uint64 // chosen anew with it, and known to no client: what a batch holds can never be read as an entry
	trackBytes  int64
	floor       uint64 // entries with a sequence number below it are in synced segments
	truncations bool   // there may be entries of truncations: the format's version 2
}

func (s *journalSlot) version() uint32 {
	if s.truncations {
		return journalVersionTruncations
	}
	return journalVersion
}

func (s journalSlot) appendTo(dst []byte) []byte {
	start := len(dst)
	dst = binary.BigEndian.AppendUint32(dst, journalSlotMagic)
	dst = binary.BigEndian.AppendUint32(dst, 0) // CRC, set below
	dst = binary.BigEndian.AppendUint32(dst, s.version())
	dst = binary.BigEndian.AppendUint32(dst, s.incarnation)
	dst = binary.BigEndian.AppendUint64(dst, s.serial)
	dst = binary.BigEndian.AppendUint64(dst, uint64(s.trackBytes))
	dst = binary.BigEndian.AppendUint64(dst, s.floor)
	dst = binary.BigEndian.AppendUint64(dst, s.salt)
	dst = binary.BigEndian.AppendUint32(dst, 0) // reserved
	slot := dst[start:]
	binary.BigEndian.PutUint32(slot[4:], crc32.Checksum(slot[8:], castagnoli))
	return dst
}

// position gives where the slot of this serial number is: they take turns.
func (s journalSlot) position() int64 { return int64(s.serial%2) * journalSlotBytes }

func readJournalSlot(src []byte) (journalSlot, error) {
	if len(src) < journalSlotSize || binary.BigEndian.Uint32(src) != journalSlotMagic {
		return journalSlot{}, errJournalSlot
	}
	src = src[:journalSlotSize]
	if binary.BigEndian.Uint32(src[4:]) != crc32.Checksum(src[8:], castagnoli) {
		return journalSlot{}, errJournalSlot
	}
	v := binary.BigEndian.Uint32(src[8:])
	if v != journalVersion && v != journalVersionTruncations {
		return journalSlot{}, fmt.Errorf("%w %d, want %d or %d", ErrJournalVersion, v, journalVersion, journalVersionTruncations)
	}
	s := journalSlot{
		truncations: v == journalVersionTruncations,
		incarnation: binary.BigEndian.Uint32(src[12:]),
		serial:      binary.BigEndian.Uint64(src[16:]),
		trackBytes:  int64(binary.BigEndian.Uint64(src[24:])),
		floor:       binary.BigEndian.Uint64(src[32:]),
		salt:        binary.BigEndian.Uint64(src[40:]),
	}
	if s.trackBytes < journalTrackBytesMin || s.trackBytes > journalTrackBytesMax || s.trackBytes%journalSlotBytes != 0 {
		return journalSlot{}, errJournalSlot
	}
	return s, nil
}

// JournalEntry is one batch in the journal, or a truncation (see JournalTruncation).
type JournalEntry struct {
	TopicID     wire.TopicID
	Partition   wire.PartitionIndex
	BaseOffset  wire.Offset
	LeaderEpoch wire.LeaderEpoch
	Batch       wire.RecordBatch // as it stands in the segment: offset, epoch and time are set
	Truncation  bool             // the partition's earlier entries that reach BaseOffset are void; there is no Batch
	Void        bool             // set by JournalReader: a later truncation says that this batch is not to be replayed
}

// JournalBatch makes the entry of a batch that stands in its segment as it is. Its leader epoch is that of the batch, not the one that the
// partition has reached: a follower fetches what earlier leaders have written.
func JournalBatch(id wire.TopicID, partition wire.PartitionIndex, b wire.RecordBatch) JournalEntry {
	return JournalEntry{TopicID: id, Partition: partition, BaseOffset: b.BaseOffset(), LeaderEpoch: b.PartitionLeaderEpoch(), Batch: b}
}

// JournalTruncation makes the entry which says that all earlier ones of the partition are void that have records at from or after
// it: the log is about to be cut there (TruncatePlan), or, with from 0, has been in synced segments up to its end when it left this
// journal for another one, or is about to be made anew. It is on disk before the log is changed, and the log is changed, durably,
// before later entries of the partition are appended; so no later start needs to cut anything. Only a journal with
// JournalConfig.Truncations takes it.
func JournalTruncation(id wire.TopicID, partition wire.PartitionIndex, from wire.Offset) JournalEntry {
	return JournalEntry{TopicID: id, Partition: partition, BaseOffset: from, LeaderEpoch: wire.NoLeaderEpoch, Truncation: true}
}

func (e *JournalEntry) kind() uint32 {
	if e.Truncation {
		return journalTruncationKind
	}
	return journalBatchKind
}

// journalRecord is an entry with what its header says about the journal.
type journalRecord struct {
	sequence uint64
	synced   uint64 // all entries up to this one were on disk, and may have been acknowledged, when this one was planned
	entry    JournalEntry
}

// appendJournalHeader appends an entry's header with the checksum over it and the batch.
func appendJournalHeader(dst []byte, slot *journalSlot, sequence, synced uint64, e *JournalEntry) []byte {
	start := len(dst)
	dst = binary.BigEndian.AppendUint32(dst, journalEntryMagic)
	dst = binary.BigEndian.AppendUint32(dst, 0) // CRC, set below
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(e.Batch)))
	dst = binary.BigEndian.AppendUint32(dst, e.kind())
	dst = binary.BigEndian.AppendUint32(dst, slot.incarnation)
	dst = binary.BigEndian.AppendUint32(dst, uint32(e.LeaderEpoch))
	dst = binary.BigEndian.AppendUint64(dst, sequence)
	dst = binary.BigEndian.AppendUint64(dst, synced)
	dst = append(dst, e.TopicID[:]...)
	dst = binary.BigEndian.AppendUint64(dst, uint64(e.BaseOffset))
	dst = binary.BigEndian.AppendUint64(dst, slot.salt)
	dst = binary.BigEndian.AppendUint32(dst, uint32(e.Partition))
	dst = binary.BigEndian.AppendUint32(dst, 0) // reserved
	header := dst[start:]
	sum := crc32.Update(crc32.Checksum(header[8:], castagnoli), castagnoli, e.Batch)
	binary.BigEndian.PutUint32(header[4:], sum)
	return dst
}

// readJournalEntry reads the entry of slot's incarnation at the start of src and gives the bytes it takes with padding. Its
// batch is a view. Incarnation and salt are compared before the checksum is computed: a scan meets the magic in batches too,
// and must not compute a checksum over megabytes for each place where a client put it.
func readJournalEntry(src []byte, slot *journalSlot) (rec journalRecord, size int, err error) {
	if len(src) < journalEntryOverhead || binary.BigEndian.Uint32(src) != journalEntryMagic ||
		binary.BigEndian.Uint32(src[16:]) != slot.incarnation || binary.BigEndian.Uint64(src[64:]) != slot.salt {
		return rec, 0, errJournalEntry
	}
	length, kind := binary.BigEndian.Uint32(src[8:]), binary.BigEndian.Uint32(src[12:])
	truncation := kind == journalTruncationKind && slot.truncations && length == 0
	if kind != journalBatchKind && !truncation {
		return rec, 0, errJournalEntry
	}
	if uint64(length) > uint64(len(src)-journalEntryOverhead) {
		return rec, 0, errJournalEntry
	}
	end := journalEntryOverhead + int(length)
	if binary.BigEndian.Uint32(src[4:]) != crc32.Checksum(src[8:end], castagnoli) {
		return rec, 0, errJournalEntry
	}
	rec.sequence = binary.BigEndian.Uint64(src[24:])
	rec.synced = binary.BigEndian.Uint64(src[32:])
	rec.entry = JournalEntry{
		TopicID:     wire.TopicID(src[40:56]),
		Partition:   wire.PartitionIndex(binary.BigEndian.Uint32(src[72:])),
		BaseOffset:  wire.Offset(binary.BigEndian.Uint64(src[56:])),
		LeaderEpoch: wire.LeaderEpoch(binary.BigEndian.Uint32(src[20:])),
		Batch:       wire.RecordBatch(src[journalEntryOverhead:end:end]),
		Truncation:  truncation,
	}
	return rec, journalEntrySize(int(length)), nil
}

// journalEntrySize gives the bytes that an entry with a batch of that length takes.
func journalEntrySize(length int) int {
	return (journalEntryOverhead + length + journalAlignment - 1) &^ (journalAlignment - 1)
}
