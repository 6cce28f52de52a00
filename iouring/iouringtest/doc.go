// Package iouringtest helps to test code that runs on an [iouring.Engine]: it runs a test on every engine of this
// kernel, and wraps an engine so that operations go wrong as disks and networks do.
//
// A [FaultEngine] asks its [Plan] about every operation before the wrapped engine sees it:
//
//	op ──> Plan ──┬─ Errno ──> not performed; its event carries the error
//	              ├─ Short ──> performed on a prefix of its memory: what it reports has really happened
//	              └─ Delay ──> performed at once; its event is held back for that many Polls
//
// Plans are written out ([Script]) or drawn from a seed ([Seeded]); the same seed and the same operations give the same
// faults.
package iouringtest
