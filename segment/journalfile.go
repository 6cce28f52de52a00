package segment

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
)

// JournalConfig sizes a journal.
type JournalConfig struct {
	// TrackBytes is the size of a track, rounded up to a page; 0 is DefaultJournalTrackBytes, or what a batch of EntryMax bytes
	// needs, and no more than half of Bytes.
	TrackBytes int64
	EntryMax   int
	// Bytes is what the file's tracks may grow to; 0 is DefaultJournalBytes. At least two tracks are made.
	Bytes int64
	// Salt must be hard to guess and new with each start (crypto/rand): a client that knew it could write a batch that a
	// later recovery takes for journal entries.
	Salt uint64
	// Truncations says that the journal takes entries of truncations, as that of a node whose partitions have replicas must. It
	// has the format's version 2 then, which earlier builds refuse.
	Truncations bool
}

func (c JournalConfig) withDefaults() JournalConfig {
	if c.Bytes == 0 {
		c.Bytes = DefaultJournalBytes
	}
	if c.TrackBytes == 0 {
		c.TrackBytes = min(max(DefaultJournalTrackBytes, int64(c.EntryMax)+journalEntryOverhead), c.Bytes/2)
	}
	c.TrackBytes = (c.TrackBytes + journalSlotBytes - 1) &^ (journalSlotBytes - 1)
	c.TrackBytes = min(max(c.TrackBytes, journalTrackBytesMin), journalTrackBytesMax)
	return c
}

// CreateJournal makes a journal with two tracks under a name that must not exist, zero-filled and synced, its name too. It
// grows later, by a track at a time, if these do not suffice: a node is ready before 64 MiB of zeros a loop are written, and
// most never write them.
func CreateJournal(fsys FS, name string, cfg JournalConfig) (*Journal, File, error) {
	j, f, err := createJournal(fsys, name, cfg.withDefaults())
	if err != nil {
		return nil, nil, fmt.Errorf("create journal %s: %w", name, err)
	}
	return j, f, nil
}

// createJournal works under a temporary name: a journal under its own name has a head, or it is damaged.
func createJournal(fsys FS, name string, cfg JournalConfig) (*Journal, File, error) {
	if _, err := fsys.Stat(name); !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, errors.Join(fs.ErrExist, err)
	}
	temp := name + TempSuffix
	f, err := fsys.OpenFile(temp, ReadWrite|Create|Truncate, 0o644)
	if err != nil {
		return nil, nil, err
	}
	slot := journalSlot{
		serial: 1, incarnation: 1, salt: cfg.Salt, trackBytes: cfg.TrackBytes, floor: 1, truncations: cfg.Truncations,
	}
	if err := fillJournal(fsys, f, temp, name, slot); err != nil {
		fsys.Remove(temp)
		return nil, nil, errors.Join(err, f.Close())
	}
	return newJournal(slot, journalTracksMin, cfg.Bytes), f, nil
}

func fillJournal(fsys FS, f File, temp, name string, slot journalSlot) error {
	if err := zeroFill(f, 0, journalHeadBytes+journalTracksMin*slot.trackBytes); err != nil {
		return err
	}
	if err := writeJournalSlot(f, slot); err != nil {
		return err
	}
	if err := fsys.Rename(temp, name); err != nil {
		return err
	}
	return fsys.SyncDir(path.Dir(name))
}

// OpenJournal recovers from the journal and begins it anew: recover gets the entries since the last checkpoint and returns
// when all of them are in synced segment files; only then are they void. A journal that is not there is created; recover may
// be nil to refuse one that holds entries. Errors: *JournalError (wrapped) if entries that may have been acknowledged cannot
// be read, ErrJournalVersion, what recover returned, what the file system returned. After an error nothing is changed, and
// the same call may be tried again.
func OpenJournal(fsys FS, name string, cfg JournalConfig, recover func(*JournalReader) error) (*Journal, File, error) {
	cfg = cfg.withDefaults()
	f, err := fsys.OpenFile(name, ReadWrite, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return CreateJournal(fsys, name, cfg)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("open journal: %w", err)
	}
	j, err := openJournal(f, cfg, recover)
	if err != nil {
		return nil, nil, fmt.Errorf("open journal %s: %w", name, errors.Join(err, f.Close()))
	}
	return j, f, nil
}

// errJournalNotEmpty: somebody must decide what becomes of the entries.
var errJournalNotEmpty = errors.New("it holds entries and there is nobody to recover them")

func openJournal(f File, cfg JournalConfig, recover func(*JournalReader) error) (*Journal, error) {
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	r, err := ReadJournal(f, size)
	if err != nil {
		return nil, err
	}
	if recover == nil {
		recover = refuseEntries
	}
	if err := recover(r); err != nil {
		return nil, err
	}
	if err := r.drain(); err != nil {
		return nil, err
	}
	return renewJournal(f, size, r.slot, cfg)
}

func refuseEntries(r *JournalReader) error {
	if _, ok := r.Next(); ok {
		return errJournalNotEmpty
	}
	return nil
}

// renewJournal gives the file a size that suits the configuration, its blocks filled, and then the head of a new incarnation.
func renewJournal(f File, size int64, old journalSlot, cfg JournalConfig) (*Journal, error) {
	tracks := max(journalTracksMin, min(size-journalHeadBytes, cfg.Bytes)/cfg.TrackBytes)
	want := journalHeadBytes + tracks*cfg.TrackBytes
	if size < want {
		if err := zeroFill(f, size, want-size); err != nil {
			return nil, err
		}
	}
	slot := journalSlot{
		serial: old.serial + 1, incarnation: old.incarnation + 1,
		salt: cfg.Salt, trackBytes: cfg.TrackBytes, floor: 1, truncations: cfg.Truncations,
	}
	if err := writeJournalSlot(f, slot); err != nil {
		return nil, err
	}
	if size > want { // after the head: the old incarnation's entries are void now
		if err := f.Truncate(want); err != nil {
			return nil, err
		}
	}
	return newJournal(slot, int(tracks), cfg.Bytes), nil
}

// writeJournalSlot writes the head and syncs it.
func writeJournalSlot(f File, slot journalSlot) error {
	if _, err := f.WriteAt(slot.appendTo(nil), slot.position()); err != nil {
		return err
	}
	return f.Sync()
}

// zeroFillBytes is what one write of zeros covers: large enough for the disk, small enough to stay in the CPU's cache.
const zeroFillBytes = 256 << 10

func zeroFill(f File, off, length int64) error {
	zeros := make([]byte, min(length, zeroFillBytes))
	for length > 0 {
		n := min(length, int64(len(zeros)))
		if _, err := f.WriteAt(zeros[:n], off); err != nil {
			return err
		}
		off, length = off+n, length-n
	}
	return nil
}
