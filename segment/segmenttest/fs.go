package segmenttest

import (
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
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

func (f *FS) ReadDir(name string) ([]segment.DirEntry, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	dir, err := f.lookup(name)
	if err == nil && !dir.isDir() {
		err = syscall.ENOTDIR
	}
	if err == nil {
		_, err = f.begin(Op{Kind: OpReadDir, Name: name})
	}
	if err != nil {
		return nil, pathError("readdir", name, err)
	}
	var entries []segment.DirEntry
	for _, n := range slices.Sorted(maps.Keys(dir.children)) {
		entries = append(entries, segment.DirEntry{Name: n, IsDir: dir.children[n].isDir()})
	}
	return entries, nil
}

func (f *FS) Rename(oldName, newName string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	from, err := f.place(oldName)
	if err != nil {
		return pathError("rename", oldName, err)
	}
	to, err := f.place(newName)
	child, ok := from.dir.children[from.name]
	if err == nil && !ok {
		err = fs.ErrNotExist
	}
	if old := to.dir; err == nil && old.children[to.name] != nil && len(old.children[to.name].children) > 0 {
		err = syscall.ENOTEMPTY
	}
	if err == nil {
		_, err = f.begin(Op{Kind: OpRename, Name: oldName})
	}
	if err != nil {
		return pathError("rename", oldName, err)
	}
	f.apply(nameOp{from: from, at: to, child: child})
	return nil
}

func (f *FS) Remove(name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return pathError("remove", name, f.remove(name))
}

func (f *FS) remove(name string) error {
	at, err := f.place(name)
	if err != nil {
		return err
	}
	n, ok := at.dir.children[at.name]
	if !ok {
		return fs.ErrNotExist
	}
	if len(n.children) > 0 {
		return syscall.ENOTEMPTY
	}
	if _, err := f.begin(Op{Kind: OpRemove, Name: name}); err != nil {
		return err
	}
	f.apply(nameOp{at: at})
	return nil
}

func (f *FS) RemoveAll(name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return pathError("remove", name, f.removeAll(name))
}

func (f *FS) removeAll(name string) error {
	n, err := f.lookup(name)
	if err != nil {
		return nil // that it is not there is no error
	}
	for _, child := range slices.Sorted(maps.Keys(n.children)) {
		if err := f.removeAll(path.Join(name, child)); err != nil {
			return err
		}
	}
	return f.remove(name)
}

func (f *FS) MkdirAll(name string, _ fs.FileMode) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	at := f.root
	for _, part := range split(name) {
		child, ok := at.children[part]
		if !ok {
			if _, err := f.begin(Op{Kind: OpMkdir, Name: name}); err != nil {
				return pathError("mkdir", name, err)
			}
			child = newDir()
			f.apply(nameOp{at: entry{at, part}, child: child})
		}
		if !child.isDir() {
			return pathError("mkdir", name, syscall.ENOTDIR)
		}
		at = child
	}
	return nil
}

func (f *FS) SyncDir(name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	dir, err := f.lookup(name)
	if err == nil {
		_, err = f.begin(Op{Kind: OpSyncDir, Name: name})
	}
	if err != nil {
		return pathError("fsync", name, err)
	}
	f.syncDir(dir)
	return nil
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
