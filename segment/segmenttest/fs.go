package segmenttest

import (
	"io"
	"io/fs"
	"math/rand/v2"
	"path"
	"sync"
	"syscall"

	"github.com/ringmill/ringmill/segment"
)

// FS is a file system in memory. It may be used by several goroutines; the order of their operations is then not the seed's.
type FS struct {
	mu       sync.Mutex
	rng      *rand.Rand
	root     *node
	pending  []nameOp // changes of names since they were last durable, in order
	inject   Injector
	capacity int64 // bytes; 0: no bound
	ops      int   // operations that change something, so far
	cutAt    int   // the operation at which the power goes; -1: none
	dead     bool  // the power went
	life     int   // process; files opened in another one are closed
}

var _ segment.FS = (*FS)(nil)

// New gives an empty file system whose power cuts are decided by seed.
func New(seed uint64) *FS {
	return &FS{rng: rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15)), root: newDir(), cutAt: -1}
}

// Ops counts the operations so far that change something.
func (f *FS) Ops() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ops
}

// CutAt cuts the power when the nth operation that changes something (counted from 0, see Ops) is about to happen.
func (f *FS) CutAt(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cutAt = n
}

// Crash cuts the power, if it is still there, and gives the file system that the next start finds. f answers ErrPowerCut from
// then on. Called again it gives another outcome of the same cut.
func (f *FS) Crash() *FS {
	f.mu.Lock()
	f.dead = true
	f.mu.Unlock()
	return f.Remains()
}

// Remains gives what a power cut now would leave, and goes on.
func (f *FS) Remains() *FS {
	f.mu.Lock()
	defer f.mu.Unlock()
	next := New(f.rng.Uint64())
	next.root = f.root.remains(f.rng, f.crashNames())
	return next
}

// Kill ends the process and not the machine: open files are gone, what was written stays, synced or not.
func (f *FS) Kill() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.life++
	f.inject = nil
}

// Damage flips bits of a durable byte, as rot does.
func (f *FS) Damage(name string, off int64, mask byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, err := f.lookup(name)
	if err == nil && off >= int64(len(n.data)) {
		err = io.EOF
	}
	if err != nil {
		return pathError("damage", name, err)
	}
	n.data[off] ^= mask
	if off < int64(len(n.synced)) {
		n.synced[off] ^= mask
	}
	return nil
}

func (f *FS) OpenFile(name string, flag segment.OpenFlag, _ fs.FileMode) (segment.File, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	at, err := f.place(name)
	if err != nil {
		return nil, pathError("open", name, err)
	}
	n, exists := at.dir.children[at.name]
	if err := f.beginOpen(name, exists, flag); err != nil {
		return nil, pathError("open", name, err)
	}
	if exists && n.isDir() {
		return nil, pathError("open", name, syscall.EISDIR)
	}
	if !exists {
		n = &node{}
		f.apply(nameOp{at: at, child: n})
	}
	if flag&segment.Truncate != 0 && len(n.data) > 0 {
		if _, err := f.begin(Op{Kind: OpTruncate, Name: name}); err != nil {
			return nil, pathError("truncate", name, err)
		}
		n.truncate(0)
	}
	return &file{fs: f, node: n, name: name, life: f.life, writable: flag&segment.ReadWrite != 0}, nil
}

func (f *FS) beginOpen(name string, exists bool, flag segment.OpenFlag) error {
	kind := OpOpen
	switch {
	case !exists && flag&segment.Create == 0:
		return fs.ErrNotExist
	case exists && flag&segment.Exclusive != 0:
		return fs.ErrExist
	case !exists:
		kind = OpCreate
	}
	_, err := f.begin(Op{Kind: kind, Name: name})
	return err
}

func (f *FS) Stat(name string) (int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, err := f.lookup(name)
	if err != nil {
		return 0, pathError("stat", name, err)
	}
	return int64(len(n.data)), nil
}

func (f *FS) ReadFile(name string) ([]byte, error) {
	file, err := f.OpenFile(name, segment.ReadOnly, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	size, err := file.Size()
	if err != nil {
		return nil, err
	}
	data := make([]byte, size)
	if _, err := file.ReadAt(data, 0); err != nil && err != io.EOF {
		return nil, err
	}
	return data, nil
}

// WriteFileAtomic takes the same steps as osfs, each of which can be cut or fail.
func (f *FS) WriteFileAtomic(name string, data []byte) error {
	temp := name + segment.TempSuffix
	err := f.writeSynced(temp, data)
	if err == nil {
		err = f.Rename(temp, name)
	}
	if err != nil {
		f.Remove(temp)
		return err
	}
	return f.SyncDir(path.Dir(name))
}

func (f *FS) writeSynced(name string, data []byte) error {
	file, err := f.OpenFile(name, segment.ReadWrite|segment.Create|segment.Truncate, 0o644)
	if err != nil {
		return err
	}
	defer file.Close()
	if _, err := file.WriteAt(data, 0); err != nil {
		return err
	}
	return file.Sync()
}

func pathError(op, name string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}
