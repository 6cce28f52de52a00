package node

import (
	"golang.org/x/sys/unix"

	"github.com/ringmill/ringmill/node/api"
)

// LogDirs are the log directories with the room of their file systems.
func (n *Node) LogDirs() []api.LogDir {
	dirs := make([]api.LogDir, len(n.dirs))
	for i, d := range n.dirs {
		dirs[i] = api.LogDir{Path: d.absolute, TotalBytes: -1, UsableBytes: -1, Offline: d.offline.Load()}
		var st unix.Statfs_t
		if !dirs[i].Offline && unix.Statfs(d.path, &st) == nil {
			dirs[i].TotalBytes, dirs[i].UsableBytes = int64(st.Blocks)*st.Frsize, int64(st.Bavail)*st.Frsize
		}
	}
	return dirs
}

// LogDir is the absolute path of the log directory that a partition lies in.
func (v partitionView) LogDir() string { return v.p.dir().absolute }

// Size is the bytes of a log's segments as its loop last published them.
func (v partitionView) Size() int64 { return v.p.published.size.Load() }

// Future is the copy of a log that is being moved.
func (v partitionView) Future() (api.FutureReplica, bool) {
	m := v.p.loop.node.moves.under(v.p)
	if m == nil || m.to.offline.Load() || m.to == v.p.dir() {
		return api.FutureReplica{}, false
	}
	return api.FutureReplica{
		LogDir: m.to.absolute, Size: m.size.Load(), OffsetLag: max(v.p.published.logEnd.Load()-m.end.Load(), 0),
	}, true
}
