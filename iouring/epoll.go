package iouring

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// epoll is the Engine where io_uring is refused. It keeps the ring's shape: operations are started, tried when their
// socket is ready, and end in events; file operations run on a filePool.
//
// Sockets are watched edge-triggered, in and out at once, from their first operation until CancelFD: one epoll_ctl a
// connection. What an edge told is remembered in the socket's state until a call finds the contrary.
type epoll struct {
	bell     *doorbell
	files    *filePool
	bufs     *bufferPool
	free     []uint16 // receive buffers; the last released is taken first, for it is still in the CPU's cache
	ops      opTable
	sockets  []socketState // by descriptor
	ready    []userData    // socket operations to try, oldest first
	done     []Event       // ended without a call: cancelled, or refused when started
	kernel   []unix.EpollEvent
	jobs     []fileJob
	features Features
	counters Counters
	owner    owner
	closed   bool
	ts       unix.Timespec // what epoll_pwait2 is pointed at
	fd       int
	lost     error
	spin     spinner
	raw      bool
}

// socketState is what the engine knows of one descriptor. The zero value: nothing, not watched.
type socketState struct {
	reader, writer userData // the armed operations; 0 is none, as no user data is 0
	watched        bool
	refused        unix.Errno // why epoll does not watch it (ENOSPC: max_user_watches); no edge will come
	readable       bool       // an edge came and no call has found the socket empty since
	hangup         bool       // the peer closed or the socket failed: readable for ever, for no further edge will tell
}

var _ Engine = (*epoll)(nil)

func openEpoll(cfg Config) (*epoll, error) {
	e := &epoll{raw: rawWaitAllowed(), owner: newOwner(), spin: spinner{budget: cfg.Spin}, kernel: make([]unix.EpollEvent, 256), jobs: make([]fileJob, 64)}
	var err error
	if e.fd, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, fmt.Errorf("iouring: open an epoll: %w", err)
	}
	if err := e.equip(cfg); err != nil {
		e.release()
		return nil, err
	}
	e.features = Features{RawWait: e.raw, Cachestat: cachestatWorks(), FineWait: e.waitsFine()}
	return e, nil
}

func (e *epoll) equip(cfg Config) error {
	var err error
	if e.bufs, err = newBufferPool(cfg.Buffers, cfg.BufferSize); err != nil {
		return err
	}
	for id := cfg.Buffers - 1; id >= 0; id-- {
		e.free = append(e.free, uint16(id))
	}
	if e.bell, err = openDoorbell(); err != nil {
		return err
	}
	e.files = startFilePool(cfg.FilePool, e.fileDone)
	return e.control(unix.EPOLL_CTL_ADD, e.bell.fd, unix.EPOLLIN|unix.EPOLLET)
}

// fileDone is called by the pool's workers. It ends the loop's sleep but is no Wake.
func (e *epoll) fileDone() {
	if e.bell.claim() {
		e.bell.strike()
	}
}

func (e *epoll) control(op, fd int, mask uint32) error {
	if err := unix.EpollCtl(e.fd, op, fd, &unix.EpollEvent{Events: mask, Fd: int32(fd)}); err != nil {
		return fmt.Errorf("iouring: epoll_ctl %d of descriptor %d: %w", op, fd, err)
	}
	return nil
}

func (e *epoll) Name() string       { return "epoll" }
func (e *epoll) Features() Features { return e.features }
func (e *epoll) Counters() Counters { return e.counters }

// socket returns fd's state. The pointer is good until the next call.
func (e *epoll) socket(fd int) *socketState {
	if fd < 0 {
		return &socketState{watched: true} // the operation will find EBADF by itself
	}
	if fd >= len(e.sockets) {
		e.sockets = append(e.sockets, make([]socketState, fd+1-len(e.sockets))...)
	}
	return &e.sockets[fd]
}

// watch registers fd at its first operation. A descriptor that epoll refuses is treated as ready once: either the
// operation's own call tells what is wrong with it, or, if it would have to wait, epoll's error ends it.
func (e *epoll) watch(fd int, s *socketState) {
	if s.watched {
		return
	}
	s.watched = true
	err := e.control(unix.EPOLL_CTL_ADD, fd, unix.EPOLLIN|unix.EPOLLOUT|unix.EPOLLRDHUP|unix.EPOLLET)
	if errors.As(err, &s.refused) {
		s.readable = true
	}
}

// startReader arms an operation of the reading side.
func (e *epoll) startReader(kind EventKind, tok Token, fd int, dst []byte) {
	e.owner.check()
	u, o := e.ops.add(kind, tok, fd)
	o.dst = dst
	s := e.socket(fd)
	if s.reader != 0 {
		panic(fmt.Sprintf("BUG: iouring: second reading operation (%s) on socket %d", kind, fd))
	}
	s.reader = u
	e.watch(fd, s)
	// No edge tells of a socket that can't accept at all, or that is not watched.
	if s.readable || kind == EventAccept || s.refused != 0 || fd < 0 {
		e.ready = append(e.ready, u)
	}
}

func (e *epoll) Accept(tok Token, fd int) {
	_ = unix.SetNonblock(fd, true) // a ring does not mind a blocking listener, accept4 would stop the loop
	e.startReader(EventAccept, tok, fd, nil)
}

func (e *epoll) Recv(tok Token, fd int) { e.startReader(EventRecv, tok, fd, nil) }

func (e *epoll) RecvInto(tok Token, fd int, dst []byte) {
	mustHaveRoom(dst)
	e.startReader(EventRecvInto, tok, fd, dst)
}

// PollOut asks the socket itself: the edge that told of its being writable may have come and gone before the caller
// met EAGAIN and before it decided to wait.
func (e *epoll) PollOut(tok Token, fd int) {
	u, _ := e.ops.add(EventPollOut, tok, fd)
	s := e.socket(fd)
	if s.writer != 0 {
		panic(fmt.Sprintf("BUG: iouring: second poll-out on socket %d", fd))
	}
	s.writer = u
	e.watch(fd, s)
	if pollOut(fd) != 0 || s.refused != 0 {
		e.ready = append(e.ready, u)
	}
}

// pollOut returns fd's poll mask, 0 if it can't be written yet, or -EBADF.
func pollOut(fd int) int32 {
	p := [1]unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}
	_, _ = unix.Poll(p[:], 0)
	if fd < 0 || p[0].Revents&unix.POLLNVAL != 0 {
		return -int32(unix.EBADF)
	}
	return int32(p[0].Revents)
}

func (e *epoll) ReadAt(tok Token, fd int, dst []byte, off int64) {
	u, _ := e.ops.add(EventRead, tok, fd)
	e.files.submit(fileJob{op: u, fd: int32(fd), dst: dst, off: off})
}

func (e *epoll) WriteAt(tok Token, fd int, bufs [][]byte, off int64) {
	u, o := e.ops.add(EventWrite, tok, fd)
	o.setBufs(bufs)
	e.files.submit(fileJob{op: u, fd: int32(fd), iov: o.iov, off: off})
}

func (e *epoll) Datasync(tok Token, fd int) {
	u, _ := e.ops.add(EventSync, tok, fd)
	e.files.submit(fileJob{op: u, fd: int32(fd)})
}

func (e *epoll) CancelFD(fd int) {
	e.files.cancel(fd)
	if fd < 0 || fd >= len(e.sockets) {
		return
	}
	s := e.sockets[fd]
	e.sockets[fd] = socketState{}
	if s.watched {
		_ = e.control(unix.EPOLL_CTL_DEL, fd, 0)
	}
	e.cancel(s.reader)
	e.cancel(s.writer)
}

func (e *epoll) cancel(u userData) {
	if u == 0 {
		return
	}
	o := e.ops.mustFind(u)
	e.done = append(e.done, Event{Token: o.token, Kind: o.kind, Res: -int32(unix.ECANCELED)})
	e.ops.remove(u)
}

func (e *epoll) ReleaseBuffer(id uint16) {
	e.bufs.takeBack(id)
	e.free = append(e.free, id)
}

func (e *epoll) Wake() { e.bell.ring() }

func (e *epoll) Signal(peer Engine) { peer.Wake() }

// Close waits for the calls that workers are in, however long a disk takes: their memory is the caller's.
func (e *epoll) Close() error {
	if !e.closed {
		e.closed = true
		e.release()
	}
	return nil
}

func (e *epoll) release() {
	if e.files != nil {
		e.files.stop()
	}
	if e.bell != nil {
		e.bell.close()
	}
	if e.bufs != nil {
		e.bufs.close()
	}
	_ = unix.Close(e.fd)
}

// millisecond is what epoll_wait's time is counted in.
const millisecond = time.Millisecond
