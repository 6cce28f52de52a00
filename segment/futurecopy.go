package segment

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/ringmill/ringmill/wire"
)

// copyChunk is how much is copied at a time.
const copyChunk = 1 << 20

// SegmentCopy is a segment whose files are open to be copied; the log may remove or rename them meanwhile.
type SegmentCopy struct {
	future *FutureLog
	source copySource
	files  []copyFile
	still  bool // as of the plan
	fresh  bool // nothing of it was copied in this run
	batch  batchWalk
}

// copyFile is one file of a segment.
type copyFile struct {
	File
	name string // without the directory
	from int64  // bytes that the copy has
	size int64
	// growing: the file changes while it is copied. What it was in between is put right by a later copy.
	growing bool
}

// Open opens the files of the first segment of which the copy lacks something; nil if it lacks nothing. The names of the log's files
// must not change meanwhile.
func (f *FutureLog) Open(p *CopyPlan) (*SegmentCopy, error) {
	for i := range p.segments {
		s := &p.segments[i]
		if have := f.have(s); have.whole || !s.sealed && !p.still && have.size == s.size {
			continue
		}
		c := &SegmentCopy{future: f, source: *s, still: p.still, batch: batchWalk{next: f.have(s).size}}
		err := c.open(p)
		if err != nil {
			c.close()
			return nil, err
		}
		return c, nil
	}
	return nil, nil
}

// open opens the .log first: retention removes that before the others.
func (c *SegmentCopy) open(p *CopyPlan) error {
	s := &c.source
	for _, suffix := range segmentSuffixes {
		if err := c.add(p.dir, s.base, suffix); err != nil {
			return err
		}
	}
	c.files[0].from, c.files[0].size, c.files[0].growing = int64(c.future.have(s).size), int64(s.size), false
	for i := 1; i < len(c.files); i++ {
		c.files[i].growing = !s.sealed && !p.still
	}
	if !s.sealed && p.snapshot > s.base {
		return c.add(p.dir, p.snapshot, snapshotSuffix)
	}
	return nil
}

// add opens a file; transaction indexes and snapshots need not be there.
func (c *SegmentCopy) add(dir string, base wire.Offset, suffix string) error {
	if suffix == snapshotSuffix {
		if c.future.snapshots[base] {
			return nil
		}
		c.future.unsynced = true
	}
	name := fileName("", base, suffix)[1:]
	file, err := c.future.fs.OpenFile(dir+"/"+name, ReadOnly, 0)
	if errors.Is(err, fs.ErrNotExist) && (suffix == txnIndexSuffix || suffix == snapshotSuffix) {
		return c.absent(name)
	}
	if err != nil {
		return fmt.Errorf("segment: open %s/%s: %w", dir, name, err)
	}
	c.files = append(c.files, copyFile{File: file, name: name})
	f := &c.files[len(c.files)-1]
	if f.size, err = file.Size(); err != nil {
		return fmt.Errorf("segment: size of %s/%s: %w", dir, name, err)
	}
	return nil
}

// absent removes a file from the copy that the log does not have, or not any more.
func (c *SegmentCopy) absent(name string) error {
	if err := c.future.fs.Remove(c.future.dir + "/" + name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return futureError("remove", c.future.dir+"/"+name, err)
	}
	return nil
}

// Last says whether it is the segment that was active.
func (c *SegmentCopy) Last() bool { return !c.source.sealed }

func (c *SegmentCopy) close() {
	for i := range c.files {
		_ = c.files[i].Close()
	}
}

// Run copies the files and makes their bytes durable; the names are by Finish. step is called after each piece of work with the
// number of bytes; it may sleep, to bound the rate, and its error ends the copy. Other errors: *FutureLogError, or the log could
// not be read.
func (c *SegmentCopy) Run(step func(bytes int) error) error {
	defer c.close()
	f, s := c.future, &c.source
	if was, now := f.copied[s.base], f.have(s); was.segment != s.segment {
		f.size -= was.size
		f.copied[s.base] = now
		c.fresh, f.unsynced = true, true
	}
	for i := range c.files {
		if err := c.mirror(&c.files[i], i == 0, step); err != nil {
			return err
		}
	}
	f.copied[s.base] = copiedSegment{segment: s.segment, size: s.size, whole: s.sealed || c.still}
	f.end = max(f.end, s.next)
	return nil
}

// mirror makes a file of the copy equal to the log's. It writes only what differs, so that what an earlier run copied stays.
func (c *SegmentCopy) mirror(src *copyFile, isLog bool, step func(bytes int) error) (err error) {
	f := c.future
	name := f.dir + "/" + src.name
	dst, err := f.fs.OpenFile(name, ReadWrite|Create, filePerm)
	if err != nil {
		return futureError("open", name, err)
	}
	defer closeFile(dst, &err)
	there, err := dst.Size()
	if err != nil {
		return futureError("size of", name, err)
	}
	at, changed := src.from, c.fresh
	for at < src.size {
		chunk := f.chunk(src.size - at)
		if n, readErr := src.ReadAt(chunk, at); n < len(chunk) {
			if src.growing && errors.Is(readErr, io.EOF) {
				break // it was cut
			}
			return fmt.Errorf("segment: read %d bytes at %d of %s: %w", len(chunk), at, src.name, errors.Join(io.ErrUnexpectedEOF, readErr))
		}
		wrote, err := f.put(dst, name, chunk, at, there)
		if err != nil {
			return err
		}
		changed = changed || wrote
		at += int64(len(chunk))
		if isLog {
			f.size += wire.Position(len(chunk))
			f.end = max(f.end, c.batch.walk(chunk, wire.Position(at)))
		}
		if err := step(len(chunk)); err != nil {
			return err
		}
	}
	if there > at {
		if err := dst.Truncate(at); err != nil {
			return futureError("cut", name, err)
		}
		changed = true
	}
	if base, suffix, _ := parseFileName(src.name); suffix == snapshotSuffix {
		f.snapshots[base] = true
	}
	if !changed {
		return nil
	}
	return futureError("sync", name, dst.Sync())
}

// chunk is a buffer for the next piece of so many bytes.
func (f *FutureLog) chunk(left int64) []byte {
	if f.buf == nil {
		f.buf, f.old = make([]byte, copyChunk), make([]byte, copyChunk)
	}
	return f.buf[:min(left, copyChunk)]
}

// put writes a piece unless the file, of there bytes, has it already.
func (f *FutureLog) put(dst File, name string, chunk []byte, at, there int64) (wrote bool, err error) {
	if old := f.old[:len(chunk)]; at+int64(len(chunk)) <= there {
		if n, _ := dst.ReadAt(old, at); n == len(chunk) && bytes.Equal(old, chunk) {
			return false, nil
		}
	}
	if _, err := dst.WriteAt(chunk, at); err != nil {
		return true, futureError(fmt.Sprintf("write %d bytes at %d of", len(chunk), at), name, err)
	}
	return true, nil
}

// batchWalk finds the ends of batches in a .log that passes by in pieces.
type batchWalk struct {
	next wire.Position // of the batch that is looked for
	last wire.Offset   // of the batch before it; counts once that has passed whole
	head []byte        // what has passed of its header
	lost bool          // what is there is no batch
}

// walk takes the piece that ends at a position, and gives the offset after the last batch that has passed whole.
func (w *batchWalk) walk(piece []byte, end wire.Position) (passed wire.Offset) {
	at := end - wire.Position(len(piece))
	for !w.lost && w.next <= end {
		passed = max(passed, w.last)
		from := w.next + wire.Position(len(w.head)) - at
		if from >= wire.Position(len(piece)) {
			break
		}
		rest := piece[from:]
		w.head = append(w.head, rest[:min(len(rest), wire.RecordBatchOverhead-len(w.head))]...)
		if len(w.head) < wire.RecordBatchOverhead {
			break
		}
		b := wire.RecordBatch(w.head)
		length := b.Length()
		w.lost = length < wire.RecordBatchOverhead
		w.next, w.last, w.head = w.next+wire.Position(length), b.LastOffset()+1, w.head[:0]
	}
	return passed
}
