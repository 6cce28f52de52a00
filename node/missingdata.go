package node

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/node/config"
	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/wire"
)

// knownDirsName is the file in state/ that names the log directories which the node had at its last start: a version, and a line
// "directory.id path" for each. Without it nobody would know that one is missing whose partitions would come back empty.
const (
	knownDirsName = "log-directories"
	knownDirsHead = "version: 0\n"
)

// cureMissing is what an operator may do about data that is missing.
const cureMissing = "or start with --set ringmill.missing.data=begin to go on without it"

// beginsWithout says that the node was told to go on where data is missing.
func (n *Node) beginsWithout() bool { return n.Config().MissingData == config.MissingBegin }

// checkLogDirs refuses to start if partitions have no log and a log directory that may have them is not there: one of the last start,
// or one that has lost what was in it, as a mount point has where the disk is not mounted. Apache Kafka refuses a directory without
// meta.properties as well, partitions or not. What other nodes of a cluster have is fetched from them.
func (n *Node) checkLogDirs() error {
	if n.dirGone == "" {
		return nil
	}
	lost, elsewhere := n.logsMissing()
	if elsewhere > 0 {
		slog.Warn("a log directory is missing, or new: replicas without a log are fetched from other nodes", "directory", n.dirGone, "partitions", elsewhere)
	}
	if len(lost) == 0 {
		return nil
	}
	if n.beginsWithout() {
		slog.Error("partitions begin anew, empty: a log directory is missing", "directory", n.dirGone, "partitions", len(lost), "first", segment.PartitionDir(lost[0]))
		return nil
	}
	problem := fmt.Sprintf("%d partitions have no log, %s first, and this log directory ", len(lost), segment.PartitionDir(lost[0]))
	if n.cluster != nil {
		problem = fmt.Sprintf("%d partitions have no log, %s first, of which no other node has all that was acknowledged, and this log directory ",
			len(lost), segment.PartitionDir(lost[0]))
	}
	if slices.Contains(n.Config().LogDirs, n.dirGone) {
		return &StartError{Path: n.dirGone, Problem: problem + "is empty or new (it has no " + segment.MetaPropertiesFile + " of the last start)",
			Cure: "mount the disk that belongs there, " + cureMissing}
	}
	return &StartError{Path: n.dirGone, Problem: problem + "of the last start is not in log.dirs", Cure: "name it there again, " + cureMissing}
}

// logsMissing are the partitions that no log directory has: those that are lost with their log, and how many other nodes have.
func (n *Node) logsMissing() (lost []wire.TopicPartition, elsewhere int) {
	for t := range n.Image().Topics() {
		for i := range t.Partitions {
			tp := wire.TopicPartition{Topic: t.Name, Partition: wire.PartitionIndex(i)}
			if _, there := n.scan.logs[tp]; there || !n.holds(t, tp.Partition) {
				continue
			}
			if state := t.State(tp.Partition); state != nil {
				if mine, others := n.countedOn(state); !mine || others {
					elsewhere++
					continue
				}
			}
			lost = append(lost, tp)
		}
	}
	return lost, elsewhere
}

// dirMissing is a log directory that is not what it was at the last start; "" if there is none.
func (n *Node) dirMissing(formatted map[*logDir]*segment.MetaProperties) (path string, err error) {
	present := make(map[string]bool)
	for _, d := range n.dirs {
		if formatted[d] == nil {
			return d.path, nil
		}
		present[formatted[d].DirectoryID] = true
	}
	name := filepath.Join(n.state.path, knownDirsName)
	text, err := n.dirs[0].fs.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", startError(name, err)
	}
	lines, ok := strings.CutPrefix(string(text), knownDirsHead)
	if !ok {
		return "", &StartError{Path: name, Problem: "it does not say version: 0", Cure: "remove it: the start writes it anew"}
	}
	for line := range strings.Lines(lines) {
		if id, path, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " "); ok && !present[id] {
			return path, nil
		}
	}
	return "", nil
}

// writeKnownDirs notes the log directories for the next start.
func (n *Node) writeKnownDirs() error {
	text := []byte(knownDirsHead)
	for _, d := range n.dirs {
		props, err := readMetaProperties(d)
		if err != nil {
			return err
		}
		text = fmt.Appendf(text, "%s %s\n", props.DirectoryID, d.path)
	}
	name := filepath.Join(n.state.path, knownDirsName)
	if old, err := n.dirs[0].fs.ReadFile(name); err == nil && string(old) == string(text) {
		return nil
	}
	if err := n.dirs[0].fs.WriteFileAtomic(name, text); err != nil {
		return startError(name, err)
	}
	return nil
}

// checkState refuses to begin a metadata log for topics that had one: their configurations, the committed offsets' topics among them,
// would fall to the defaults, and with those records to the default retention. A log directory of Apache Kafka is told by its quorum log
// or by a meta.properties of before KRaft; one without meta.properties is nobody's.
func (n *Node) checkState(formatted map[*logDir]*segment.MetaProperties) error {
	if len(n.scan.logs) == 0 || n.beginsWithout() {
		return nil
	}
	ours := false
	for _, d := range n.dirs {
		if p := formatted[d]; p != nil && p.Version == 1 {
			ours = true
		}
		if _, err := d.fs.Stat(filepath.Join(d.path, image.ClusterMetadataTopic+"-0")); err == nil {
			return nil
		}
	}
	if !ours {
		return nil
	}
	return &StartError{Path: filepath.Join(n.state.path, image.LogName),
		Problem: fmt.Sprintf("the metadata of the %d partitions in the log directories is missing: their topics would come back without their configurations", len(n.scan.logs)),
		Cure:    "restore " + n.state.path + " from a copy, name the data directory that has it with --data, " + cureMissing}
}
