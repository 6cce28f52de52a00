package iouring

import (
	"fmt"
	"strings"

	abi "github.com/iceber/iouring-go/syscall"
)

// Features is what an engine found on this kernel. Zero fields mean "not used", be it for want of kernel or of need.
type Features struct {
	// SetupFlags are the IORING_SETUP_* bits and KernelFeatures the IORING_FEAT_* bits of the ring.
	SetupFlags, KernelFeatures uint32
	// SQEntries and CQEntries are the queues' lengths as granted.
	SQEntries, CQEntries uint32
	// RegisteredRing: enter goes by index instead of descriptor (5.18).
	RegisteredRing bool
	// NoSQArray: the submission queue has no index array (6.6).
	NoSQArray bool
	// NoIOWait: waiting for requests is not accounted as waiting for a disk (6.15).
	NoIOWait bool
	// MessageRing: signals between loops travel as completions (MSG_RING) instead of eventfd writes.
	MessageRing bool
	// RawWait: short waits bypass the Go scheduler.
	RawWait bool
	// Cachestat: page-cache residency can be asked for (6.5 and no seccomp filter against it).
	Cachestat bool
	// FineWait: the epoll engine waits to the nanosecond (epoll_pwait2, 5.11) instead of to the millisecond.
	FineWait bool
}

func ringFeatures(r *ring, raw bool) Features {
	return Features{
		SetupFlags: r.params.Flags, KernelFeatures: r.params.Features,
		SQEntries: r.params.SQEntries, CQEntries: r.params.CQEntries,
		RegisteredRing: r.registered(),
		NoSQArray:      r.params.Flags&setupNoSQArray != 0,
		NoIOWait:       r.params.Features&featNoIOWait != 0,
		MessageRing:    true,
		RawWait:        raw,
		Cachestat:      cachestatWorks(),
	}
}

// String lists what is present, for one line of a start-up log.
func (f Features) String() string {
	var have []string
	for _, n := range []struct {
		on   bool
		name string
	}{
		{f.SetupFlags&setupDeferTaskrun != 0, "defer-taskrun"},
		{f.SetupFlags&abi.IORING_SETUP_COOP_TASKRUN != 0, "coop-taskrun"},
		{f.NoSQArray, "no-sq-array"}, {f.RegisteredRing, "registered-ring"}, {f.NoIOWait, "no-iowait"},
		{f.MessageRing, "message-ring"}, {f.RawWait, "raw-wait"}, {f.FineWait, "fine-wait"}, {f.Cachestat, "cachestat"},
	} {
		if n.on {
			have = append(have, n.name)
		}
	}
	if f.SQEntries != 0 {
		have = append(have, fmt.Sprintf("queues %d/%d", f.SQEntries, f.CQEntries))
	}
	return strings.Join(have, " ")
}
