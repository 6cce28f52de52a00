package node

import (
	"time"

	"github.com/ringmill/ringmill/iouring"
	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/segment/osfs"
)

// seams are what a node stands on and a test may replace before it starts: engines and files that fail, shorter waits.
type seams struct {
	fs        segment.FS
	newEngine func(kind string, loop int) (iouring.Engine, iouring.Probe, error)
	// requestTimeout is how long a request's bytes may stay away, sweepInterval how often that is looked at, see sweep;
	// drainTimeout how long requests under way may take once the node is to stop.
	requestTimeout, sweepInterval, drainTimeout time.Duration
}

func defaultSeams() seams {
	return seams{
		fs: osfs.FS{},
		newEngine: func(kind string, _ int) (iouring.Engine, iouring.Probe, error) {
			return iouring.New(kind, iouring.Config{})
		},
		requestTimeout: requestTimeout, sweepInterval: sweepInterval, drainTimeout: drainTimeout,
	}
}
