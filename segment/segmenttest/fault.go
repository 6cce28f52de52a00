package segmenttest

import (
	"errors"
	"strings"
)

// ErrPowerCut is what every operation answers after the power went; only Crash goes on from there.
var ErrPowerCut = errors.New("segmenttest: the power is off")

// OpKind is a kind of operation that a fault can be injected into.
type OpKind uint8

// The kinds of operations. All but OpOpen, OpRead and OpReadDir change something and are counted (FS.Ops).
const (
	OpOpen    OpKind = iota // OpenFile of a file that is there
	OpRead                  // ReadAt, ReadFile
	OpReadDir               // ReadDir
	OpCreate                // OpenFile of a new file
	OpWrite                 // WriteAt
	OpTruncate
	OpSync
	OpRename // Name is the old name
	OpRemove // Remove; RemoveAll for each name
	OpMkdir
	OpSyncDir
)

func (k OpKind) changes() bool { return k >= OpCreate }

// Op is an operation that is about to happen.
type Op struct {
	Kind OpKind
	Name string
	Off  int64 // OpWrite, OpRead: the position; OpTruncate: the new size
	Len  int   // OpWrite, OpRead: the number of bytes
}

// An Injector sees each operation before it happens. If err is not nil the operation fails with it; of an OpWrite the
// first written bytes arrive all the same (a short write).
type Injector func(op Op) (written int, err error)

// Inject sets the fault injector; nil removes it. It is called under the FS's lock and must not call the FS.
func (f *FS) Inject(injector Injector) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.inject = injector
}

// FailNth fails the nth operation (counted from 0) of that kind on a name that contains part, and after it all if sticky.
func FailNth(kind OpKind, part string, n int, sticky bool, err error) Injector {
	return func(op Op) (int, error) {
		if op.Kind != kind || !strings.Contains(op.Name, part) {
			return 0, nil
		}
		n--
		if n == -1 || sticky && n < 0 {
			return 0, err
		}
		return 0, nil
	}
}

// ShortNth lets written bytes of the nth write to a name that contains part arrive, then fails it with err.
func ShortNth(part string, n, written int, err error) Injector {
	fail := FailNth(OpWrite, part, n, false, err)
	return func(op Op) (int, error) {
		_, err := fail(op)
		return min(written, op.Len), err
	}
}

// SetCapacity bounds the sum of all files' bytes: a write past it is short with ENOSPC, as a full disk answers. 0 is no bound.
func (f *FS) SetCapacity(bytes int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.capacity = bytes
}

// begin is the gate of every operation: power, count, injected fault. written counts only with an error.
func (f *FS) begin(op Op) (written int, err error) {
	if op.Kind.changes() {
		if f.ops == f.cutAt {
			f.dead = true
		}
		f.ops++
	}
	if f.dead {
		return 0, ErrPowerCut
	}
	if f.inject == nil {
		return 0, nil
	}
	return f.inject(op)
}
