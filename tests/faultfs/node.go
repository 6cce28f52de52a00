package faultfs

import (
	"context"
	"fmt"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// node is a file or a folder of a disk: the library's loopback, and the disk's say in what changes.
type node struct {
	*fs.LoopbackNode
	disk *Disk
}

var (
	_ fs.NodeWrapChilder = (*node)(nil)
	_ fs.NodeCreater     = (*node)(nil)
	_ fs.NodeOpener      = (*node)(nil)
	_ fs.NodeFsyncer     = (*node)(nil)
	_ fs.NodeSetattrer   = (*node)(nil)
	_ fs.NodeMkdirer     = (*node)(nil)
	_ fs.NodeRmdirer     = (*node)(nil)
	_ fs.NodeUnlinker    = (*node)(nil)
	_ fs.NodeRenamer     = (*node)(nil)
)

func newRoot(d *Disk) (fs.InodeEmbedder, error) {
	root, err := fs.NewLoopbackRoot(d.Backing)
	if err != nil {
		return nil, fmt.Errorf("faultfs: %s: %w", d.Backing, err)
	}
	loopback := root.(*fs.LoopbackNode)
	n := &node{loopback, d}
	loopback.RootData.RootNode = n
	return n, nil
}

// WrapChild has the disk a say in what is below a folder.
func (n *node) WrapChild(_ context.Context, child fs.InodeEmbedder) fs.InodeEmbedder {
	return &node{child.(*fs.LoopbackNode), n.disk}
}

// path is the node's own below the mount point.
func (n *node) path() string { return n.Path(n.Root()) }

func (n *node) Create(ctx context.Context, name string, flags, mode uint32, out *fuse.EntryOut) (*fs.Inode, fs.FileHandle, uint32, syscall.Errno) {
	n.disk.still.RLock()
	defer n.disk.still.RUnlock()
	inode, handle, fuseFlags, errno := n.LoopbackNode.Create(ctx, name, flags, mode, out)
	return inode, n.wrap(inode, handle), fuseFlags, errno
}

func (n *node) Open(ctx context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	n.disk.still.RLock() // O_TRUNC
	defer n.disk.still.RUnlock()
	handle, fuseFlags, errno := n.LoopbackNode.Open(ctx, flags)
	return n.wrap(n.EmbeddedInode(), handle), fuseFlags, errno
}

func (n *node) wrap(inode *fs.Inode, handle fs.FileHandle) fs.FileHandle {
	if handle == nil {
		return nil
	}
	return &file{loopback: handle.(*fs.LoopbackFile), inode: inode, disk: n.disk}
}

// Fsync of a folder has no file.
func (n *node) Fsync(ctx context.Context, handle fs.FileHandle, flags uint32) syscall.Errno {
	return n.disk.sync(n.path())
}

func (n *node) Setattr(ctx context.Context, handle fs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	if _, sized := in.GetSize(); sized {
		if errno := n.disk.write(n.path()); errno != fs.OK {
			return errno
		}
	}
	n.disk.still.RLock()
	defer n.disk.still.RUnlock()
	return n.LoopbackNode.Setattr(ctx, handle, in, out)
}

func (n *node) Mkdir(ctx context.Context, name string, mode uint32, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	n.disk.still.RLock()
	defer n.disk.still.RUnlock()
	return n.LoopbackNode.Mkdir(ctx, name, mode, out)
}

func (n *node) Rmdir(ctx context.Context, name string) syscall.Errno {
	n.disk.still.RLock()
	defer n.disk.still.RUnlock()
	return n.LoopbackNode.Rmdir(ctx, name)
}

func (n *node) Unlink(ctx context.Context, name string) syscall.Errno {
	n.disk.still.RLock()
	defer n.disk.still.RUnlock()
	return n.LoopbackNode.Unlink(ctx, name)
}

func (n *node) Rename(ctx context.Context, name string, parent fs.InodeEmbedder, newName string, flags uint32) syscall.Errno {
	n.disk.still.RLock()
	defer n.disk.still.RUnlock()
	return n.LoopbackNode.Rename(ctx, name, parent, newName, flags)
}

// file is an open file. It embeds nothing: what the loopback can do besides (Writev, passthrough) would go around the disk.
type file struct {
	loopback *fs.LoopbackFile
	inode    *fs.Inode
	disk     *Disk
}

var (
	_ fs.FileReader    = (*file)(nil)
	_ fs.FileWriter    = (*file)(nil)
	_ fs.FileFsyncer   = (*file)(nil)
	_ fs.FileAllocater = (*file)(nil)
	_ fs.FileSetattrer = (*file)(nil)
	_ fs.FileGetattrer = (*file)(nil)
	_ fs.FileLseeker   = (*file)(nil)
	_ fs.FileFlusher   = (*file)(nil)
	_ fs.FileReleaser  = (*file)(nil)
)

func (f *file) path() string { return f.inode.Path(f.inode.Root()) }

func (f *file) Write(ctx context.Context, data []byte, at int64) (uint32, syscall.Errno) {
	if errno := f.disk.write(f.path()); errno != fs.OK {
		return 0, errno
	}
	f.disk.still.RLock()
	defer f.disk.still.RUnlock()
	return f.loopback.Write(ctx, data, at)
}

func (f *file) Allocate(ctx context.Context, at, size uint64, mode uint32) syscall.Errno {
	if errno := f.disk.write(f.path()); errno != fs.OK {
		return errno
	}
	f.disk.still.RLock()
	defer f.disk.still.RUnlock()
	return f.loopback.Allocate(ctx, at, size, mode)
}

func (f *file) Fsync(context.Context, uint32) syscall.Errno { return f.disk.sync(f.path()) }

func (f *file) Read(ctx context.Context, buf []byte, at int64) (fuse.ReadResult, syscall.Errno) {
	return f.loopback.Read(ctx, buf, at)
}

// Setattr is reached through the node's, which has asked the disk.
func (f *file) Setattr(ctx context.Context, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	return f.loopback.Setattr(ctx, in, out)
}

func (f *file) Getattr(ctx context.Context, out *fuse.AttrOut) syscall.Errno {
	return f.loopback.Getattr(ctx, out)
}

func (f *file) Lseek(ctx context.Context, at uint64, whence uint32) (uint64, syscall.Errno) {
	return f.loopback.Lseek(ctx, at, whence)
}

// Flush asks the kernel for no more of these: it sends one for each file that is closed, and waits for it without end even in a process
// that is dying, which is the server's own if a test times out.
func (f *file) Flush(context.Context) syscall.Errno { return syscall.ENOSYS }

func (f *file) Release(ctx context.Context) syscall.Errno { return f.loopback.Release(ctx) }
