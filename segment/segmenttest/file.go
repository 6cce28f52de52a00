package segmenttest

import (
	"io"
	"io/fs"
	"syscall"
)

// file is an open file of FS.
type file struct {
	fs       *FS
	node     *node
	name     string
	life     int
	writable bool
	closed   bool
}

// begin checks the handle and passes the operation through the FS's gate; the caller holds the lock.
func (h *file) begin(op Op) (int, error) {
	if h.closed || h.life != h.fs.life {
		return 0, fs.ErrClosed
	}
	if op.Kind.changes() && op.Kind != OpSync && !h.writable {
		return 0, syscall.EBADF
	}
	op.Name = h.name
	return h.fs.begin(op)
}

func (h *file) ReadAt(p []byte, off int64) (int, error) {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	if _, err := h.begin(Op{Kind: OpRead, Off: off, Len: len(p)}); err != nil {
		return 0, pathError("read", h.name, err)
	}
	if off >= int64(len(h.node.data)) {
		if len(p) == 0 {
			return 0, nil
		}
		return 0, io.EOF
	}
	n := copy(p, h.node.data[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (h *file) WriteAt(p []byte, off int64) (int, error) {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	n, err := h.begin(Op{Kind: OpWrite, Off: off, Len: len(p)})
	if err == nil {
		n, err = h.fs.room(h.node, off, len(p))
	}
	h.node.write(p[:n], off)
	return n, pathError("write", h.name, err)
}

func (h *file) Truncate(size int64) error {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	if _, err := h.begin(Op{Kind: OpTruncate, Off: size}); err != nil {
		return pathError("truncate", h.name, err)
	}
	h.node.truncate(size)
	return nil
}

func (h *file) Sync() error {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	_, err := h.begin(Op{Kind: OpSync})
	switch err {
	case nil:
		h.node.sync()
	case ErrPowerCut, fs.ErrClosed:
	default:
		h.node.syncFailed()
	}
	return pathError("fdatasync", h.name, err)
}

func (h *file) Size() (int64, error) {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	return int64(len(h.node.data)), nil
}

func (h *file) Close() error {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	if h.closed {
		return pathError("close", h.name, fs.ErrClosed)
	}
	h.closed = true
	return nil
}

// Fd is -1: there is no descriptor.
func (h *file) Fd() int { return -1 }

// room gives how much of a write fits under the capacity; holes cost nothing but are counted, as a strict disk would.
func (f *FS) room(n *node, off int64, length int) (int, error) {
	growth := off + int64(length) - int64(len(n.data))
	free := f.capacity - f.root.bytes()
	if f.capacity == 0 || growth <= free {
		return length, nil
	}
	return int(max(0, int64(length)-(growth-max(0, free)))), syscall.ENOSPC
}

// bytes sums the sizes of the files below n; an open file without a name is not counted.
func (n *node) bytes() int64 {
	sum := int64(len(n.data))
	for _, child := range n.children {
		sum += child.bytes()
	}
	return sum
}
