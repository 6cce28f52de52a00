package iouring

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// fileJob is one file operation on its way through the pool. It holds its memory itself, for the worker must not look
// into the owner's slot table.
type fileJob struct {
	op  userData
	dst []byte
	iov []unix.Iovec
	off int64
	fd  int32
	res int32
}

// filePool runs the epoll engine's file operations, which block, on a bounded number of goroutines, as io-wq does for
// a ring. The queue itself has no bound of its own: the slot table has.
type filePool struct {
	done    atomic.Bool // finished is not empty
	onDone  func()      // called by a worker after done was set
	workers sync.WaitGroup

	mu       sync.Mutex
	queued   sync.Cond // queue has grown, or the pool was stopped
	ended    sync.Cond // running has shrunk
	queue    []fileJob
	running  map[userData]int32 // to the job's descriptor
	finished []fileJob
	stopped  bool
}

func startFilePool(n int, onDone func()) *filePool {
	p := &filePool{onDone: onDone, running: make(map[userData]int32, n)}
	p.queued.L, p.ended.L = &p.mu, &p.mu
	for range n {
		p.workers.Go(p.work)
	}
	return p
}

func (p *filePool) submit(j fileJob) {
	p.mu.Lock()
	p.queue = append(p.queue, j)
	p.mu.Unlock()
	p.queued.Signal()
}

func (p *filePool) work() {
	for {
		j, ok := p.take()
		if !ok {
			return
		}
		j.res = j.run()
		p.finish(j)
	}
}

func (p *filePool) take() (fileJob, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.queue) == 0 && !p.stopped {
		p.queued.Wait()
	}
	if len(p.queue) == 0 {
		return fileJob{}, false
	}
	j := p.queue[0]
	p.queue[0] = fileJob{}
	p.queue = p.queue[1:]
	p.running[j.op] = j.fd
	return j, true
}

func (p *filePool) finish(j fileJob) {
	p.mu.Lock()
	delete(p.running, j.op)
	p.finished = append(p.finished, j)
	p.done.Store(true)
	p.mu.Unlock()
	p.ended.Broadcast()
	p.onDone()
}

// run makes the system call and returns its count or -errno.
func (j *fileJob) run() int32 {
	for {
		n, errno := j.call()
		if errno == 0 {
			return int32(n)
		}
		if errno != unix.EINTR {
			return -int32(errno)
		}
	}
}

func (j *fileJob) call() (uintptr, unix.Errno) {
	var n uintptr
	var errno unix.Errno
	switch j.op.kind() {
	case EventRead:
		n, _, errno = unix.Syscall6(unix.SYS_PREAD64, uintptr(j.fd), uintptr(unsafe.Pointer(unsafe.SliceData(j.dst))), uintptr(len(j.dst)), uintptr(j.off), 0, 0)
	case EventWrite:
		n, _, errno = unix.Syscall6(unix.SYS_PWRITEV, uintptr(j.fd), uintptr(unsafe.Pointer(unsafe.SliceData(j.iov))), uintptr(len(j.iov)), uintptr(j.off), 0, 0)
	case EventSync:
		_, _, errno = unix.Syscall(unix.SYS_FDATASYNC, uintptr(j.fd), 0, 0)
	default:
		panic("BUG: iouring: " + j.op.kind().String() + " is no file operation")
	}
	return n, errno
}

// collect moves up to len(into) finished jobs out.
func (p *filePool) collect(into []fileJob) int {
	if !p.done.Load() {
		return 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	n := copy(into, p.finished)
	rest := copy(p.finished, p.finished[n:])
	clear(p.finished[rest:])
	p.finished = p.finished[:rest]
	p.done.Store(rest > 0)
	return n
}

// cancel takes fd's waiting jobs out of the queue, ending them with -ECANCELED, and returns when no worker is inside
// a call on fd: the number may belong to another file the moment the caller closes it.
func (p *filePool) cancel(fd int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	keep := p.queue[:0]
	for _, j := range p.queue {
		if j.fd != int32(fd) {
			keep = append(keep, j)
			continue
		}
		j.res = -int32(unix.ECANCELED)
		p.finished = append(p.finished, j)
		p.done.Store(true)
	}
	clear(p.queue[len(keep):])
	p.queue = keep
	for p.runs(int32(fd)) {
		p.ended.Wait()
	}
}

func (p *filePool) runs(fd int32) bool {
	for _, busy := range p.running {
		if busy == fd {
			return true
		}
	}
	return false
}

// stop drops what waits and returns when the workers have ended what they were at.
func (p *filePool) stop() {
	p.mu.Lock()
	p.stopped = true
	clear(p.queue)
	p.queue = nil
	p.mu.Unlock()
	p.queued.Broadcast()
	p.workers.Wait()
}
