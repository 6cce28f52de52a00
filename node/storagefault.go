package node

import (
	"fmt"
	"log/slog"

	"github.com/ringmill/ringmill/wire"
)

// storageError is an environment past saving: what the disk holds is not known any more.
type storageError struct {
	doing, path string
	err         error
}

func (e *storageError) Error() string {
	return fmt.Sprintf("storage fault: %s: %s: %v", e.doing, e.path, e.err)
}

func (e *storageError) Unwrap() error { return e.err }

// storageFault takes a log directory out of service after the first failed write or sync in it: its partitions answer
// KAFKA_STORAGE_ERROR from then on. This loop's have stopped when it returns, so that the round of syncs that failed
// cannot acknowledge anything (N4). The last directory takes the node with it.
func (l *Loop) storageFault(d *logDir, doing string, err error) {
	n := l.node
	if d.offline.CompareAndSwap(false, true) {
		slog.Error("log directory goes offline", "directory", d.path, "while", doing, "error", err)
		n.metrics.offlineDirs.Add(1)
		for _, other := range n.loops {
			if other != l {
				l.post(other, messageFunc(func(l *Loop) { l.stopDir(d) }))
			}
		}
	}
	l.stopDir(d)
	for _, other := range n.dirs {
		if !other.offline.Load() {
			return
		}
	}
	n.fatal(&storageError{doing, d.path, err})
}

func (l *Loop) stopDir(d *logDir) {
	l.parts.all(func(p *partition) {
		if p.dir() == d && p.stopped == wire.None {
			l.stop(p, wire.KafkaStorageError)
			p.replica.Lack() // others lead what lay here, or have it
			l.noteLacking(p)
		}
	})
}
