package image

import (
	"errors"
	"fmt"

	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/wire"
)

// LogName is the metadata log below a node's state directory.
const LogName = "metadata/00000000000000000000.log"

// ErrStoreFailed means that an earlier write or fsync failed in a way that leaves the file unknown. Nothing is written any
// more; opening the store anew tells what is there.
var ErrStoreFailed = errors.New("image: the metadata log failed earlier")

// Store owns the metadata log and the newest Image. It belongs to one goroutine at a time, and blocks.
type Store struct {
	fs     segment.FS
	name   string       // of the log file
	file   segment.File // nil until there is a batch
	end    int64        // bytes of the file that are whole batches, all of them durable
	image  *Image
	report OpenReport
	failed bool
	batch  []byte // reused
}

// OpenReport says what OpenStore found.
type OpenReport struct {
	Records        int   // replayed
	TruncatedBytes int64 // of a batch that a crash cut short
	Compacted      bool
	Bytes          int64 // of the file, as it is now
}

// Image is the newest Image.
func (s *Store) Image() *Image { return s.image }

// Report says what OpenStore found.
func (s *Store) Report() OpenReport { return s.report }

// Apply makes records one durable batch and gives the Image that they lead to. A record that does not fit is a *RecordError
// and nothing is written. If the write fails the file is as it was and Apply may be tried again (a full disk); after a
// failed fsync the Store answers ErrStoreFailed for ever. No records: no write.
func (s *Store) Apply(records ...Record) (*Image, error) {
	if s.failed {
		return nil, ErrStoreFailed
	}
	if len(records) == 0 {
		return s.image, nil
	}
	next, err := s.image.With(records...)
	if err != nil {
		return nil, err
	}
	s.batch = appendBatch(s.batch[:0], wire.Offset(s.image.version), records)
	if err := s.write(s.batch); err != nil {
		return nil, fmt.Errorf("image: %s: append %d bytes at %d: %w", s.name, len(s.batch), s.end, err)
	}
	s.end += int64(len(s.batch))
	s.image = next
	return next, nil
}

// Close closes the file. Everything that Apply returned for is durable already.
func (s *Store) Close() error {
	s.failed = true
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}

// write makes p durable at the file's end.
func (s *Store) write(p []byte) error {
	if s.file == nil {
		return s.writeFirst(p)
	}
	if _, err := s.file.WriteAt(p, s.end); err != nil {
		if cut := s.file.Truncate(s.end); cut != nil {
			s.failed = true
			return errors.Join(err, cut)
		}
		return err
	}
	if err := s.file.Sync(); err != nil {
		s.failed = true
		return err
	}
	return nil
}

// writeFirst makes the file with its first batch, whole: a log whose first batch is bad is never a torn one, and is not taken
// for a new one.
func (s *Store) writeFirst(p []byte) error {
	if err := s.fs.WriteFileAtomic(s.name, p); err != nil {
		return err
	}
	if err := s.openFile(); err != nil {
		s.failed = true
		return err
	}
	return nil
}

// appendBatch appends records as one batch. The log has no clock, so its timestamps are "none".
func appendBatch(dst []byte, base wire.Offset, records []Record) []byte {
	h := wire.BatchHeader{BaseOffset: base, BaseTimestamp: wire.NoTimestamp}
	recs, values := make([]wire.Record, len(records)), []byte(nil)
	for i, r := range records {
		at := len(values)
		values = appendRecord(values, r)
		recs[i].Value = values[at:len(values):len(values)]
	}
	return wire.AppendRecordBatch(dst, h, recs)
}
