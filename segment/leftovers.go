package segment

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"strings"

	"github.com/ringmill/ringmill/wire"
)

// dirFile is a file of a partition's directory whose name begins with an offset.
type dirFile struct {
	name   string // without the directory
	base   wire.Offset
	suffix string
}

// removeFile removes a file of the directory and reports it. That it is gone already is no error.
func (o *opener) removeFile(name string) error {
	if err := o.fs.Remove(o.dir + "/" + name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("segment: remove %s/%s: %w", o.dir, name, err)
	}
	o.report.RemovedFiles = append(o.report.RemovedFiles, name)
	o.namesChanged()
	return nil
}

// namesChanged notes that the directory is to be synced, and read again when its list is needed.
func (o *opener) namesChanged() { o.renamed, o.listed = true, false }

// list gives the directory's files, in the order of names. It is read once unless names change: opening 100,000 clean logs is
// little else than such reads.
func (o *opener) list() (numbered []dirFile, others []string, err error) {
	if o.listed {
		return o.numbered, o.others, nil
	}
	entries, err := o.fs.ReadDir(o.dir)
	if err != nil {
		return nil, nil, fmt.Errorf("segment: list %s: %w", o.dir, err)
	}
	for _, e := range entries {
		base, suffix, ok := parseFileName(e.Name)
		switch {
		case e.IsDir:
		case ok:
			numbered = append(numbered, dirFile{e.Name, base, suffix})
		default:
			others = append(others, e.Name)
		}
	}
	o.numbered, o.others, o.listed = numbered, others, true
	return numbered, others, nil
}

// removeLeftovers does what Kafka's LogLoader does first: .deleted and .cleaned files go; .swap files replace the segments
// that they were made of, unless they come from a split that a .cleaned file shows to be unfinished. Temporary files of
// WriteFileAtomic go too.
func (o *opener) removeLeftovers() error {
	files, others, err := o.list()
	if err != nil {
		return err
	}
	for _, name := range others {
		if strings.HasSuffix(name, TempSuffix) {
			if err := o.removeFile(name); err != nil {
				return err
			}
		}
	}
	cleaned := leastBase(files, cleanedSuffix)
	for _, f := range files {
		stale := strings.HasSuffix(f.suffix, deletedSuffix) || strings.HasSuffix(f.suffix, cleanedSuffix) ||
			strings.HasSuffix(f.suffix, TempSuffix) || strings.HasSuffix(f.suffix, swapSuffix) && f.base >= cleaned
		if !stale {
			continue
		}
		if err := o.removeFile(f.name); err != nil {
			return err
		}
	}
	return o.finishSwaps()
}

// leastBase is the least base offset of the files whose name ends so; the greatest offset if there is none.
func leastBase(files []dirFile, suffix string) wire.Offset {
	least := wire.Offset(math.MaxInt64)
	for _, f := range files {
		if strings.HasSuffix(f.suffix, suffix) {
			least = min(least, f.base)
		}
	}
	return least
}

// finishSwaps removes the segments between the first and the last offset of the .swap files, and renames these.
func (o *opener) finishSwaps() error {
	files, _, err := o.list()
	if err != nil {
		return err
	}
	first, end := wire.Offset(math.MaxInt64), wire.Offset(math.MinInt64)
	for _, f := range files {
		if f.suffix != logSuffix+swapSuffix {
			continue
		}
		next, err := o.nextOffsetIn(f)
		if err != nil {
			return err
		}
		first, end = min(first, f.base), max(end, next)
	}
	for _, f := range files {
		if strings.HasSuffix(f.suffix, swapSuffix) || f.base < first || f.base >= end {
			continue
		}
		if err := o.removeFile(f.name); err != nil {
			return err
		}
	}
	if first <= end && o.renamed { // before a new name stands for offsets that an old file may still have
		if err := o.fs.SyncDir(o.dir); err != nil {
			return fmt.Errorf("segment: sync directory %s: %w", o.dir, err)
		}
	}
	return o.renameSwaps(files)
}

func (o *opener) renameSwaps(files []dirFile) error {
	for _, f := range files {
		target, ok := strings.CutSuffix(f.name, swapSuffix)
		if !ok {
			continue
		}
		if err := o.fs.Rename(o.dir+"/"+f.name, o.dir+"/"+target); err != nil {
			return fmt.Errorf("segment: rename %s/%s: %w", o.dir, f.name, err)
		}
		o.namesChanged()
	}
	return nil
}

// nextOffsetIn walks a .log to its end.
func (o *opener) nextOffsetIn(f dirFile) (wire.Offset, error) {
	file, size, err := o.openFile(f.name)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	w := &o.walker
	w.start(o.dir, f.base, file, size)
	for ok := true; ok && err == nil; {
		_, _, ok, err = w.next()
	}
	return w.expected, err
}

// openFile opens a file of the directory to read, and gives its size.
func (o *opener) openFile(name string) (File, wire.Position, error) {
	f, err := o.fs.OpenFile(o.dir+"/"+name, ReadOnly, 0)
	if err != nil {
		return nil, 0, fmt.Errorf("segment: open %s/%s: %w", o.dir, name, err)
	}
	size, err := f.Size()
	if err != nil {
		f.Close()
		return nil, 0, fmt.Errorf("segment: size of %s/%s: %w", o.dir, name, err)
	}
	return f, wire.Position(size), nil
}
