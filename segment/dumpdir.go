package segment

import (
	"errors"
	"fmt"
	"io"
	"path"
	"slices"

	"github.com/ringmill/ringmill/wire"
)

// DumpDirOptions says what DumpDir writes, and what it may take for granted.
type DumpDirOptions struct {
	JSON bool // JSON lines instead of text
	// Compacted takes offsets that are missing for compacted away in all logs. Without it they are in those that cleaner-offset-checkpoint beside them names.
	Compacted bool
	// Live takes logs for open: a node writes them, or did not stop cleanly, and what it has not written is in its journal.
	Live bool
}

// DumpDirectory is what VerifyDir found of a partition's log. Its problems follow, up to the bound that VerifyReport has.
type DumpDirectory struct {
	Directory   string      `json:"directory"`
	Segments    int         `json:"segments"`
	Batches     int64       `json:"batches"`
	Records     int64       `json:"records"`
	Bytes       int64       `json:"bytes"` // of batches
	StartOffset wire.Offset `json:"startOffset"`
	EndOffset   wire.Offset `json:"endOffset"`
	Problems    int         `json:"problems"`
}

// DumpDir verifies a partition's directory, or those of all partitions in a log directory with the checkpoints beside them, and writes a line for each log
// to w, followed by what is wrong with it; problems counts that. Logs that are about to be deleted are left out, and one that cannot be read does not keep the
// others from being verified. The error is the file system's, of each log that could not be read, w's, or wraps ErrDumpKind for a directory that is neither.
func DumpDir(w io.Writer, fsys FS, dir string, opt DumpDirOptions) (problems int, err error) {
	d := &dirDumper{dumper: dumper{w: w, fs: fsys, name: dir, opt: DumpOptions{JSON: opt.JSON, ProblemsOnly: true}}, verify: opt}
	entries, err := fsys.ReadDir(dir)
	switch {
	case err != nil:
	case slices.ContainsFunc(entries, isLogFile):
		err = d.log(dir, "")
	default:
		err = d.logs(dir, entries)
	}
	if err = errors.Join(err, d.failed); err != nil {
		return d.problems, fmt.Errorf("segment: dump %s: %w", dir, err)
	}
	return d.problems, nil
}

// dirDumper carries a DumpDir.
type dirDumper struct {
	dumper
	verify DumpDirOptions
}

// isLogFile tells a file that only a partition's directory has.
func isLogFile(e DirEntry) bool {
	_, suffix, ok := parseFileName(e.Name)
	return !e.IsDir && (ok && suffix == logSuffix || e.Name == PartitionMetadataFile || e.Name == LeaderEpochCheckpoint)
}

// isPartitionDir tells a partition's directory by its name, that of a copy or of a stray log too.
func isPartitionDir(e DirEntry) bool {
	_, is := ParsePartitionDir(e.Name)
	_, _, suffix, aside := ParseSetAside(e.Name)
	return e.IsDir && (is || aside && suffix != DeleteDirSuffix)
}

// rootCheckpoints are the files at a log directory's root that Dump knows.
var rootCheckpoints = []string{RecoveryPointCheckpoint, LogStartCheckpoint, HighWatermarkCheckpoint, CleanerCheckpoint}

// logs verifies a log directory.
func (d *dirDumper) logs(dir string, entries []DirEntry) error {
	known := false
	var unread []error
	for _, e := range entries {
		file := dir + "/" + e.Name
		var err error
		switch {
		case isPartitionDir(e):
			known = true
			if err = d.log(file, e.Name+"/"); d.verify.Live && isMissing(err) {
				err = nil // its topic was deleted meanwhile
			}
		case !e.IsDir && slices.Contains(rootCheckpoints, e.Name):
			known = true
			var problems int
			problems, err = Dump(d.w, d.fs, file, d.opt)
			d.problems += problems
		}
		unread = append(unread, err)
		known = known || e.Name == MetaPropertiesFile
	}
	if !known {
		return ErrDumpKind
	}
	return errors.Join(unread...)
}

// log verifies one partition's directory. Of several the name is put before those of its files.
func (d *dirDumper) log(dir, name string) error {
	report, err := VerifyDir(d.fs, dir, VerifyOptions{Records: true, Live: d.verify.Live, Compacted: d.verify.Compacted || d.cleaned(dir)})
	if err != nil {
		return err
	}
	d.write(DumpDirectory{dir, report.Segments, report.Batches, report.Records, report.Bytes, report.StartOffset, report.EndOffset, report.ProblemCount})
	for _, p := range report.Problems {
		if p.File != dir {
			p.File = name + p.File
		}
		d.write(p)
	}
	d.problems += report.ProblemCount
	return nil
}

// cleaned tells whether the cleaner has been over a log, as its checkpoint says. One that cannot be read is told by itself.
func (d *dirDumper) cleaned(dir string) bool {
	text, err := d.fs.ReadFile(path.Dir(dir) + "/" + CleanerCheckpoint)
	if err != nil {
		return false
	}
	offsets, err := ReadOffsetCheckpoint(text)
	tp, is := ParsePartitionDir(path.Base(dir))
	if !is { // a copy has what the log has
		tp, _, _, is = ParseSetAside(path.Base(dir))
	}
	_, has := offsets[tp]
	return err == nil && is && has
}
