package node

import (
	"math"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringmill/ringmill/iouring"
	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/segment/osfs"
)

// seams are what a node stands on and a test may replace before it starts: engines and files that fail, shorter waits.
type seams struct {
	fs        segment.FS
	newEngine func(kind string, cfg iouring.Config, loop int) (iouring.Engine, iouring.Probe, error)
	// engineWait is how long a loop waits for a ring that is refused for a passing reason.
	engineWait time.Duration
	// requestTimeout is how long a request's bytes may stay away, sweepInterval how often that is looked at, see sweep;
	// drainTimeout how long requests under way may take once the node is to stop.
	requestTimeout, sweepInterval, drainTimeout time.Duration
	// connDescriptors is from which descriptor on connections are refused.
	connDescriptors int
	// filesKept is how many segment files may stay open while nobody uses them.
	filesKept int
}

func defaultSeams() seams {
	return seams{
		fs: osfs.FS{},
		newEngine: func(kind string, cfg iouring.Config, _ int) (iouring.Engine, iouring.Probe, error) {
			return iouring.New(kind, cfg)
		},
		engineWait: engineWait, requestTimeout: requestTimeout, sweepInterval: sweepInterval, drainTimeout: drainTimeout,
		connDescriptors: connDescriptorsMax(), filesKept: fileDescriptors() / 2,
	}
}

// connDescriptorsMax leaves a part of the process's descriptors to files: a node that clients keep from opening its
// segments is of no use to anybody. The kernel gives the lowest number that is free, so a connection's number tells.
func connDescriptorsMax() int { return descriptors() - fileDescriptors() }

// fileDescriptors is the part of the descriptors that files have.
func fileDescriptors() int { return min(descriptors()/4, openFilesKeep) }

// descriptors is how many the process may have open (RLIMIT_NOFILE).
func descriptors() int {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil || limit.Cur > math.MaxInt32 {
		return math.MaxInt32
	}
	return int(limit.Cur)
}
