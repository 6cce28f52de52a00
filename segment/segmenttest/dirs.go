package segmenttest

import (
	"io/fs"
	"maps"
	"path"
	"slices"
	"syscall"

	"github.com/ringmill/ringmill/segment"
)

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
