package segment

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/ringmill/ringmill/wire"
)

// ErrDumpKind is wrapped by Dump for a file whose name says nothing about its content.
var ErrDumpKind = errors.New("no file of a log: want a name such as 00000000000000000000.log, .index, .timeindex, .txnindex, " +
	".snapshot, leader-epoch-checkpoint, partition.metadata, an offset checkpoint or a journal")

// DumpOptions says what Dump writes.
type DumpOptions struct {
	JSON    bool // JSON lines instead of text
	Records bool // each record of each batch (DumpLogSegments --deep-iteration)
	Data    bool // their keys and values (--print-data-log); implies Records
	// ProblemsOnly leaves out all but what is wrong.
	ProblemsOnly bool
}

// Dump decodes a file of a log, its kind told by its name, and writes what it holds to w, a line for each thing: .log (and
// KRaft's .checkpoint), .index, .timeindex, .txnindex, .snapshot, leader-epoch-checkpoint, the offset checkpoints,
// partition.metadata, a journal. Checksums and the order of offsets and index entries are verified, indexes against the .log
// beside them; what is wrong comes as lines of kind problem, and problems counts them. The error is the file system's, w's, or
// wraps ErrDumpKind.
func Dump(w io.Writer, fsys FS, name string, opt DumpOptions) (problems int, err error) {
	d := &dumper{w: w, fs: fsys, name: name, opt: opt}
	dump, err := d.kind()
	if err == nil {
		err = dump()
	}
	if err == nil {
		err = d.failed
	}
	if err != nil {
		return d.problems, fmt.Errorf("segment: dump %s: %w", name, err)
	}
	return d.problems, nil
}

// dumper carries a Dump. A failed write ends it at the next step.
type dumper struct {
	w        io.Writer
	fs       FS
	name     string
	base     wire.Offset // of a segment's file
	opt      DumpOptions
	line     []byte
	problems int
	failed   error // of w
}

// kind gives what dumps a file of this name.
func (d *dumper) kind() (func() error, error) {
	name := path.Base(d.name)
	for _, suffix := range []string{deletedSuffix, cleanedSuffix, swapSuffix} {
		name = strings.TrimSuffix(name, suffix)
	}
	switch name {
	case LeaderEpochCheckpoint:
		return d.dumpEpochs, nil
	case RecoveryPointCheckpoint, LogStartCheckpoint, HighWatermarkCheckpoint, CleanerCheckpoint:
		return d.dumpOffsets, nil
	case PartitionMetadataFile:
		return d.dumpMetadata, nil
	}
	if strings.HasPrefix(name, "journal-") {
		return d.dumpJournal, nil
	}
	if path.Ext(name) == ".checkpoint" { // KRaft's snapshots: batches too, but no segment of a log
		return d.dumpLog, nil
	}
	base, suffix, ok := parseFileName(name)
	kinds := map[string]func() error{
		logSuffix: d.dumpLog, indexSuffix: d.dumpIndex, timeIndexSuffix: d.dumpTimeIndex,
		txnIndexSuffix: d.dumpAborted, snapshotSuffix: d.dumpProducers,
	}
	if d.base = base; !ok || kinds[suffix] == nil {
		return nil, ErrDumpKind
	}
	return kinds[suffix], nil
}

// emit writes a line that is asked for.
func (d *dumper) emit(l DumpLine) {
	if _, wrong := l.(Problem); wrong || !d.opt.ProblemsOnly {
		d.write(l)
	}
}

func (d *dumper) write(l DumpLine) {
	if d.failed != nil {
		return
	}
	if d.opt.JSON {
		d.line = appendJSONLine(d.line[:0], l)
	} else {
		d.line = l.AppendText(d.line[:0])
	}
	_, d.failed = d.w.Write(append(d.line, '\n'))
}

// appendJSONLine puts "type" in front of the line's own fields.
func appendJSONLine(dst []byte, l DumpLine) []byte {
	fields, err := json.Marshal(l)
	if err != nil {
		panic("BUG: dump line: " + err.Error())
	}
	dst = append(append(append(dst, `{"type":"`...), l.Kind()...), '"')
	if len(fields) > len("{}") {
		dst = append(dst, ',')
	}
	return append(dst, fields[1:]...)
}

func (d *dumper) problem(p Problem) {
	d.problems++
	d.emit(p)
}

// broken reports that the file as a whole cannot be decoded.
func (d *dumper) broken(err error) { d.problem(Problem{path.Base(d.name), -1, err.Error()}) }

// heading opens the dump.
func (d *dumper) heading() { d.emit(DumpFile{File: d.name}) }

// sibling gives the name of a file of the same segment.
func (d *dumper) sibling(suffix string) string { return fileName(path.Dir(d.name), d.base, suffix) }
