package quorum

import (
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/ringmill/ringmill/segment"
)

// lostName is the file that says that a directory's log has lost entries: it may have lost votes with them. No member starts with it.
const lostName = "lost"

// lostVersion is the version of that file.
const lostVersion = 1

// loss is what a leader and a member have found out about the member's log.
type loss struct {
	term         uint64 // the leader's
	leader       uint64 // its raft id
	acknowledged uint64 // the member has told it that it has the entry at this index
	last         uint64 // the last entry that it has, or its snapshot's
}

// stop notes durably that the directory is of no use any more, and gives the error that the member ends with. Until the note is on disk
// nothing but this process's memory and the leader's keeps the member out.
func (l loss) stop(fsys segment.FS, dir string) error {
	err := l.err()
	if failed := fsys.WriteFileAtomic(path.Join(dir, lostName), l.appendTo(nil)); failed != nil {
		return fmt.Errorf("%w; that cannot be noted in %s: %w", err, dir, failed)
	}
	return err
}

func (l loss) err() error {
	return fmt.Errorf("%w: entry %d, and the log ends at %d (term %d, leader %x)", ErrLostEntries, l.acknowledged, l.last, l.term, l.leader)
}

func (l loss) appendTo(dst []byte) []byte {
	return sealLines(fmt.Appendf(dst, "version=%d\nterm=%d\nleader=%016x\nacknowledged=%d\nlast=%d\n", lostVersion, l.term, l.leader, l.acknowledged, l.last))
}

// readLoss reads what appendTo wrote, to the letter.
func readLoss(data []byte) (l loss, err error) {
	text, err := unsealLines(data)
	if err != nil {
		return l, err
	}
	lines := strings.Split(text, "\n")
	if lines[0] != fmt.Sprintf("version=%d", lostVersion) {
		return l, fmt.Errorf("%w: %q", ErrNewerFormat, lines[0])
	}
	if len(lines) != 6 {
		return l, fmt.Errorf("%w: %d lines", errFormat, len(lines))
	}
	number := func(line, name string, base int) uint64 {
		n, failed := strconv.ParseUint(strings.TrimPrefix(line, name), base, 64)
		err = errors.Join(err, failed)
		return n
	}
	l = loss{term: number(lines[1], "term=", 10), leader: number(lines[2], "leader=", 16), acknowledged: number(lines[3], "acknowledged=", 10), last: number(lines[4], "last=", 10)}
	if err != nil || string(l.appendTo(nil)) != string(data) {
		return loss{}, fmt.Errorf("%w: not as it is written", errFormat)
	}
	return l, nil
}

// lostAt gives the *CorruptionError of a directory in which lostName is, whatever it says: who wrote it meant that nobody starts there. It wraps
// ErrLostEntries.
func lostAt(fsys segment.FS, dir string) error {
	name := path.Join(dir, lostName)
	data, err := fsys.ReadFile(name)
	if err != nil {
		return err
	}
	l, err := readLoss(data)
	if err != nil {
		return &CorruptionError{File: name, Err: fmt.Errorf("%w; what it says of that cannot be read: %w", ErrLostEntries, err)}
	}
	return &CorruptionError{File: name, Err: l.err()}
}
