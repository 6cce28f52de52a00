package segment

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ringmill/ringmill/wire"
)

// VerifyOptions says what VerifyDir may take for granted.
type VerifyOptions struct {
	Compacted bool // offsets may be missing (cleanup.policy=compact)
	Live      bool // a node has the log open: writes are in flight, the active segment's indexes are not written yet, old files go
	Records   bool // decode every record too
}

// VerifyReport is what VerifyDir found.
type VerifyReport struct {
	Segments     int
	Batches      int64
	Records      int64
	Bytes        int64       // of batches
	StartOffset  wire.Offset // of the first batch
	EndOffset    wire.Offset // behind the last batch
	Problems     []Problem   // the first hundred
	ProblemCount int
}

// verifyProblemsMax bounds what a report keeps: a log that is no good at all has a problem a batch.
const verifyProblemsMax = 100

// VerifyDir reads all files of a partition's directory, changes none, and reports what should not be so: a batch whose
// checksum or header is wrong, an offset that is missing or comes twice, within a segment or between two; a leader epoch that
// falls or that leader-epoch-checkpoint does not know; an index entry that names no batch; an aborted transaction that its
// index does not have, or that is none; a producer snapshot, a checkpoint or a
// partition.metadata that cannot be read; bytes after the last batch; a file that is none of a log. The error is the file
// system's. It is for ringmill dump and tests; recovery (OpenLog) repairs, and reads less.
func VerifyDir(fsys FS, dir string, opt VerifyOptions) (VerifyReport, error) {
	v := &verifier{fs: fsys, dir: dir, opt: opt, epoch: wire.NoLeaderEpoch, openTxns: map[wire.ProducerID]wire.Offset{}}
	err := v.list()
	if err == nil {
		err = v.readEpochs()
	}
	for i := 0; i < len(v.segments) && err == nil; i++ {
		err = v.verifySegment(i)
	}
	if err != nil {
		return v.report, fmt.Errorf("segment: verify %s: %w", dir, err)
	}
	return v.report, nil
}

// verifier carries a VerifyDir.
type verifier struct {
	fs       FS
	dir      string
	opt      VerifyOptions
	segments []wire.Offset      // base offsets of the .log files, in order
	indexes  map[string]bool    // names of the .index, .timeindex and .txnindex files
	epochs   *LeaderEpochCache  // nil: there is no file, or it cannot be read
	epoch    wire.LeaderEpoch   // of the last batch
	next     wire.Offset        // the offset that is due
	dec      *wire.Decompressor // while a segment is read
	openTxns map[wire.ProducerID]wire.Offset
	report   VerifyReport
}

func (v *verifier) problem(p Problem) {
	v.report.ProblemCount++
	if len(v.report.Problems) < verifyProblemsMax {
		v.report.Problems = append(v.report.Problems, p)
	}
}

func (v *verifier) problemf(file string, position wire.Position, format string, args ...any) {
	v.problem(Problem{file, int64(position), fmt.Sprintf(format, args...)})
}

// list sorts the directory's files by kind and reads the small ones.
func (v *verifier) list() error {
	entries, err := v.fs.ReadDir(v.dir)
	if err != nil {
		return err
	}
	v.indexes = map[string]bool{}
	for _, e := range entries {
		if err := v.listFile(e); err != nil {
			return err
		}
	}
	slices.Sort(v.segments)
	v.report.Segments = len(v.segments)
	if len(v.segments) == 0 {
		v.problemf(v.dir, -1, "there is no .log")
	} else {
		v.next = v.segments[0]
	}
	v.report.StartOffset, v.report.EndOffset = v.next, v.next
	return nil
}

func (v *verifier) listFile(e DirEntry) error {
	base, suffix, ok := parseFileName(e.Name)
	switch {
	case ok && suffix == logSuffix:
		v.segments = append(v.segments, base)
		return nil
	case ok && (suffix == indexSuffix || suffix == timeIndexSuffix || suffix == txnIndexSuffix):
		v.indexes[e.Name] = true
		return nil
	case ok && suffix == snapshotSuffix, e.Name == PartitionMetadataFile:
		return v.verifySmall(e.Name)
	case ok && strings.HasSuffix(suffix, deletedSuffix), v.opt.Live && ok && isBeingCleaned(suffix), e.Name == LeaderEpochCheckpoint:
		return nil
	}
	v.problemf(e.Name, -1, "it is no file of a log")
	return nil
}

// wentMeanwhile tells that a file is gone which was there when the directory was listed, as the node that has the log open removes old ones.
func (v *verifier) wentMeanwhile(err error) bool { return v.opt.Live && isMissing(err) }

// isBeingCleaned reports whether a file is of a segment that compaction has not put in place yet.
func isBeingCleaned(suffix string) bool {
	return strings.HasSuffix(suffix, cleanedSuffix) || strings.HasSuffix(suffix, swapSuffix)
}

// verifySmall decodes a producer snapshot or partition.metadata.
func (v *verifier) verifySmall(name string) error {
	data, err := v.fs.ReadFile(v.dir + "/" + name)
	if v.wentMeanwhile(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if name == PartitionMetadataFile {
		_, err = ReadPartitionMetadata(data)
	} else {
		_, err = ReadProducerSnapshot(data)
	}
	if err != nil {
		v.problemf(name, -1, "%v", err)
	}
	return nil
}

func (v *verifier) readEpochs() error {
	data, err := v.fs.ReadFile(v.dir + "/" + LeaderEpochCheckpoint)
	if isMissing(err) {
		return nil
	}
	if err != nil {
		return err
	}
	cache, err := ReadLeaderEpochCache(data)
	if err != nil {
		v.problemf(LeaderEpochCheckpoint, -1, "%v", err)
		return nil
	}
	v.epochs = &cache
	return nil
}
