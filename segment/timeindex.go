package segment

import (
	"encoding/binary"

	"github.com/ringmill/ringmill/wire"
)

// timeEntrySize is the size of an entry of a .timeindex file: int64 timestamp, int32 offset relative to the segment's base.
const timeEntrySize = 12

// TimeEntry says that no batch up to Offset, which is a batch's last, has a record later than Timestamp, and that this batch
// has one of it.
type TimeEntry struct {
	Timestamp wire.Timestamp // milliseconds
	Offset    wire.Offset
}

// TimeIndex is the sparse map from timestamps to offsets of one segment: Kafka's .timeindex file. Timestamps increase
// strictly. Lookups by time are cold and read the file, so memory holds only the entries that it lacks, and the last one.
type TimeIndex struct {
	base    wire.Offset
	flushed int32     // entries in the file
	tail    []byte    // entries that are not, in the file's format
	last    TimeEntry // of all; {NoTimestamp, base} if there is none
}

// Count is the number of entries, in memory or not.
func (x *TimeIndex) Count() int { return int(x.flushed) + len(x.tail)/timeEntrySize }

// maybeAppend adds an entry if its timestamp is later than the last one's, as Kafka's TimeIndex.maybeAppend does.
func (x *TimeIndex) maybeAppend(e TimeEntry) bool {
	if e.Timestamp <= x.last.Timestamp {
		return false
	}
	x.tail = appendTimeEntry(x.tail, x.base, e)
	x.last = e
	return true
}

// cut undoes the last append; last is the entry before it. The entry may be in the file by now: the next write goes over it.
func (x *TimeIndex) cut(last TimeEntry) {
	if len(x.tail) > 0 {
		x.tail = x.tail[:len(x.tail)-timeEntrySize]
	} else {
		x.flushed--
	}
	x.last = last
}

// closing gives what the file lacks when its segment is closed or sealed now: the tail, and an entry for the segment's
// greatest timestamp if the last entry is not it.
func (x *TimeIndex) closing(max TimeEntry) []byte {
	out := append([]byte(nil), x.tail...)
	if max.Timestamp > x.last.Timestamp {
		out = appendTimeEntry(out, x.base, max)
	}
	return out
}

func appendTimeEntry(dst []byte, base wire.Offset, e TimeEntry) []byte {
	dst = binary.BigEndian.AppendUint64(dst, uint64(e.Timestamp))
	return binary.BigEndian.AppendUint32(dst, uint32(e.Offset-base))
}

func readTimeEntry(base wire.Offset, entries []byte, i int) TimeEntry {
	e := entries[i*timeEntrySize:][:timeEntrySize]
	return TimeEntry{
		Timestamp: wire.Timestamp(binary.BigEndian.Uint64(e)),
		Offset:    base + wire.Offset(int32(binary.BigEndian.Uint32(e[8:]))),
	}
}

// soundTimeEntries gives the leading bytes of a .timeindex file that are entries: timestamps increase strictly, offsets do
// not fall and are below end. Preallocated zeros after them are no part of it.
func soundTimeEntries(base wire.Offset, data []byte, end wire.Offset) []byte {
	last := TimeEntry{Timestamp: wire.NoTimestamp, Offset: base}
	n := len(data) / timeEntrySize
	for i := 0; i < n; i++ {
		e := readTimeEntry(base, data, i)
		if e.Timestamp <= last.Timestamp || e.Offset < last.Offset || e.Offset >= end {
			return data[:i*timeEntrySize]
		}
		last = e
	}
	return data[:n*timeEntrySize]
}
