package iouring

// Counters are what an engine has counted since it was made: plain integers of the owner thread.
type Counters struct {
	// Polls is the number of calls of Poll, Events what they returned in all.
	Polls, Events uint64
	// Enters is the number of io_uring_enter or epoll_wait calls. Polls without work for the kernel make none;
	// a spin may make several.
	Enters uint64
	// Sleeps is how many of the enters might wait.
	Sleeps uint64
	// Spins is how many waits began with a spin, SpinHits how many of these ended with it.
	Spins, SpinHits uint64
	// EarlySubmits is how many enters were made outside of Poll: the submission queue was full, or CancelFD.
	EarlySubmits uint64
	// Wakes is the number of EventWake.
	Wakes uint64
	// NoBuffers is the number of receives that failed for want of a buffer.
	NoBuffers uint64
	// Overflows is how often a Poll found that completions had not fitted into the queue.
	Overflows uint64
}
