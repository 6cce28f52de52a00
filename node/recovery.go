package node

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"io/fs"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/wire"
)

// loadTopics opens every partition that the metadata has on this node, creating what a crash between the metadata and the
// directories left out, and replays the journals into them.
func (n *Node) loadTopics() error {
	if err := n.takeFutures(); err != nil {
		return err
	}
	dirs := maps.Clone(n.scan.logs)
	var topics []*topic
	var jobs []*openJob
	for t := range n.Image().Topics() {
		topic, err := n.newTopic(t)
		if err != nil {
			return &StartError{Path: "topic " + t.Name, Problem: err.Error(), Cure: "mend the property in the configuration"}
		}
		topics = append(topics, topic)
		for i := range t.Partitions {
			tp := wire.TopicPartition{Topic: t.Name, Partition: wire.PartitionIndex(i)}
			if !n.holds(t, tp.Partition) {
				continue
			}
			f, ok := dirs[tp]
			if !ok {
				n.noteMissing(tp)
			}
			delete(dirs, tp)
			if !ok || readTopicID(f.dir.fs, f.path) != t.ID && !readTopicID(f.dir.fs, f.path).IsZero() {
				f = foundPartition{dir: n.dirFor(nil), tp: tp}
			}
			jobs = append(jobs, &openJob{topic: topic, found: f, fresh: f.path == ""})
		}
	}
	for _, f := range dirs {
		n.log.throttled("directory of no topic: left alone", "directory", f.path)
	}
	n.noteStrays()
	if err := n.noteLost(jobs); err != nil {
		return err
	}
	if err := n.runOpenJobs(jobs); err != nil {
		return err
	}
	for _, t := range topics {
		n.topics.put(t)
	}
	return nil
}

// holds says whether this node has a replica of a partition. A node of its own has one of each.
func (n *Node) holds(t *image.Topic, index wire.PartitionIndex) bool {
	state := t.State(index)
	return state == nil && n.cluster == nil || state != nil && state.HasReplica(n.Config().NodeID)
}

// noteStrays tells of logs that were set aside because their topic was no more, or another one of that name: they are an operator's to
// remove.
func (n *Node) noteStrays() {
	for _, d := range n.dirs {
		if found := n.scan.strays[d]; len(found) > 0 {
			slog.Warn("logs of topics that are no more: left alone, remove them when nobody wants them", "directory", d.path, "logs", len(found), "first", found[0])
		}
	}
}

// noteMissing reports a partition whose directory is gone though a checkpoint says that it had records. It is made anew, as a
// crash may have left it out when the topic was made.
func (n *Node) noteMissing(tp wire.TopicPartition) {
	for _, d := range n.dirs {
		if d.recovery[tp] > 0 || d.starts[tp] > 0 {
			slog.Error("directory of a partition is missing: it begins anew, empty", "partition", segment.PartitionDir(tp),
				"directory", d.path, "recoveryPoint", int64(d.recovery[tp]))
		}
	}
}

// noteLost writes down, before a log is made anew, that the replica which others count on has lost it.
func (n *Node) noteLost(jobs []*openJob) error {
	if n.cluster == nil {
		return nil
	}
	if err := n.lacking.load(jobs); err != nil {
		return err
	}
	var missing []*openJob
	m := n.Image()
	for _, j := range jobs {
		state := m.ByID(j.topic.id).State(j.found.tp.Partition)
		switch mine, others := n.countedOn(state); {
		case !j.fresh || !mine:
			continue
		case others:
			slog.Warn("the log of a replica is missing: it is fetched from its leader", "partition", segment.PartitionDir(j.found.tp))
		case n.dirGone != "" && len(state.Replicas) > 1:
			slog.Error("the log of a replica is missing, and nobody else has all that was acknowledged: another one may be elected uncleanly",
				"partition", segment.PartitionDir(j.found.tp))
		default:
			continue
		}
		missing = append(missing, j)
	}
	if n.dirGone == "" { // a crash may have come before they were made at all, on every node that was to have one: somebody has to lead
		return n.lackJobs(missing)
	}
	return n.forsakeJobs(missing)
}

// forsakeJobs writes down that nothing is left of replicas, before their logs are made anew.
func (n *Node) forsakeJobs(jobs []*openJob) error {
	if len(jobs) == 0 {
		return nil
	}
	n.lacking.beginAnew(jobs)
	return n.saveLacking()
}

// lackJobs writes down that replicas lack something, before their logs go on without it.
func (n *Node) lackJobs(jobs []*openJob) error {
	if len(jobs) == 0 {
		return nil
	}
	n.lacking.add(jobs)
	return n.saveLacking()
}

func (n *Node) saveLacking() error {
	if err := n.lacking.save(); err != nil {
		return startError(n.state.path, err)
	}
	return nil
}

// openJob opens one partition's log.
type openJob struct {
	topic  *topic
	found  foundPartition
	log    *segment.Log
	report segment.RecoveryReport
	// fresh says that there was no log: it is made anew.
	fresh bool
	err   error
}

// runOpenJobs recovers logs side by side (num.recovery.threads.per.data.dir), replays the journals into them and deals
// the partitions to the loops.
func (n *Node) runOpenJobs(jobs []*openJob) error {
	work := make(chan *openJob)
	var done sync.WaitGroup
	for range max(1, n.Config().RecoveryThreads) * len(n.dirs) {
		done.Add(1)
		go func() {
			defer done.Done()
			for j := range work {
				j.run(n)
			}
		}()
	}
	for _, j := range jobs {
		work <- j
	}
	close(work)
	done.Wait()
	for _, j := range jobs {
		if j.err != nil {
			n.begunAnew(j)
		}
		if j.err != nil {
			return &StartError{Path: j.found.path, Problem: j.err.Error(), Cure: "see docs/reliability.md, recovery"}
		}
	}
	if err := n.replayJournals(jobs); err != nil {
		return err
	}
	if n.cluster == nil { // of a cluster the controller says both
		if err := errors.Join(n.raiseProducerIDs(jobs), n.raiseLeaderEpoch(jobs)); err != nil {
			return startError(n.state.path, err)
		}
	}
	m := n.Image()
	for _, j := range jobs {
		j.topic.parts[j.found.tp.Partition] = n.newPartition(j.topic, j.found.tp.Partition, j.found.dir, j.log, m)
	}
	return nil
}

// begunAnew begins a log anew whose files do not say what they are any more, if other nodes have all that it had: the old one is set aside.
func (n *Node) begunAnew(j *openJob) {
	var disk unix.Errno
	if errors.As(j.err, &disk) || !n.replaceable([]*openJob{j}) {
		return
	}
	slog.Error("a replica's log cannot be opened: it is set aside, and fetched from its leader", "directory", j.found.path, "error", j.err)
	if err := n.forsakeJobs([]*openJob{j}); err != nil {
		j.err = err
		return
	}
	j.report = segment.RecoveryReport{}
	j.create(n)
}

// create makes the log anew. What the journal has of it may be missing before its first batch: of a log with other replicas that is damage,
// and no reason not to start.
func (j *openJob) create(n *Node) {
	d := j.found.dir
	if j.log, j.err = createLog(d, j.found.path, segmentConfig(n.Config(), &j.topic.config), j.topic.id); j.err == nil {
		j.log.SetReplicated(n.replicated(j.topic.id, j.found.tp.Partition))
		j.err = d.fs.SyncDir(d.path)
	}
}

// raiseProducerIDs sees to it that no id is handed out which a log knows: one of a directory that Apache Kafka wrote, or of
// metadata that was lost. A new producer of that id would have its first records taken for repetitions and dropped.
func (n *Node) raiseProducerIDs(jobs []*openJob) error {
	next := n.Image().NextProducerID()
	for _, j := range jobs {
		next = max(next, j.log.ProducerIDsEnd())
	}
	if next == n.Image().NextProducerID() {
		return nil
	}
	_, err := n.applyMeta(image.ProducerIDsRecord{Next: next})
	return err
}

// raiseLeaderEpoch raises the node's leader epoch, and so that of every partition, after a stop that was not clean: under a relaxed
// flush policy records of the last one may be gone, and clients are to look (KIP-320). It is above what the logs have: those of a
// directory that Apache Kafka wrote, or of metadata that was lost. Kafka raises it at every start.
func (n *Node) raiseLeaderEpoch(jobs []*openJob) error {
	m := n.Image()
	next := m.LeaderEpoch()
	for _, j := range jobs {
		lowest := int64(max(m.LeaderEpochOf(m.ByID(j.topic.id)), j.log.LatestEpoch()))
		if !j.found.dir.clean {
			lowest++
		}
		next = max(next, m.ByID(j.topic.id).LeaderEpochBase+lowest)
	}
	if next == m.LeaderEpoch() {
		return nil
	}
	_, err := n.applyMeta(image.LeaderEpochRecord{Epoch: next})
	return err
}

func (j *openJob) run(n *Node) {
	d := j.found.dir
	cfg := segmentConfig(n.Config(), &j.topic.config)
	if j.found.path == "" {
		j.found.path = filepath.Join(d.path, segment.PartitionDir(j.found.tp))
		j.create(n)
		return
	}
	j.log, j.report, j.err = segment.OpenLog(d.fs, j.found.path, cfg, segment.OpenOptions{
		RecoveryPoint: d.recovery[j.found.tp], LogStartOffset: d.starts[j.found.tp], CleanerOffset: d.cleaned[j.found.tp],
		Clean: d.clean, NowMS: wallNow(), Replicated: n.replicated(j.topic.id, j.found.tp.Partition),
	})
	logRecovery(&j.report)
}

// replicated says whether other nodes have the partition too: what is damaged here is fetched again then.
func (n *Node) replicated(id wire.TopicID, index wire.PartitionIndex) bool {
	t := n.Image().ByID(id)
	if t == nil {
		return false
	}
	state := t.State(index)
	return state != nil && len(state.Replicas) > 1
}

// createLog makes a partition's directory; one of another topic of that name, left over from a deletion that a crash
// interrupted, is set aside first. The caller syncs the log directory, which holds its name.
func createLog(d *logDir, path string, cfg segment.Config, id wire.TopicID) (*segment.Log, error) {
	if _, err := d.fs.Stat(path); err == nil {
		if err := d.fs.Rename(path, segment.SetAside(path, newUUID(), segment.StrayDirSuffix)); err != nil {
			return nil, err
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	log, err := segment.CreateLog(d.fs, path, cfg, id, 0)
	if err != nil { // what is half there would be set aside by the next try
		return nil, errors.Join(err, d.fs.RemoveAll(path))
	}
	return log, nil
}

func logRecovery(r *segment.RecoveryReport) {
	if r.Damage != nil {
		slog.Error("damage below the recovery point: kept, nothing cut", "directory", r.Dir, "damage", r.Damage)
	}
	if r.TruncatedBytes > 0 {
		slog.Warn("torn tail cut", "directory", r.Dir, "bytes", r.TruncatedBytes, "logEndOffset", int64(r.TruncatedAt), "why", r.TruncatedWhy)
	}
	if r.Remarkable() {
		slog.Info("log recovered", "directory", r.Dir, "scannedBytes", r.ScannedBytes, "rebuilt", r.RebuiltIndexes, "removed", r.RemovedFiles)
	}
}

// replayJournals gives the batches that a power cut took from the segments back to them, and begins the journals anew.
// Journals of loops that are no longer configured are replayed and removed.
func (n *Node) replayJournals(jobs []*openJob) error {
	logs := make(map[journalTarget]*segment.Log, len(jobs))
	for _, j := range jobs {
		logs[journalTarget{j.topic.id, j.found.tp.Partition}] = j.log
	}
	if err := n.noteJournalMissing(jobs); err != nil {
		return err
	}
	for _, l := range n.loops {
		journal, file, err := n.openJournal(n.journalName(l.index), logs, jobs)
		if err != nil {
			return err
		}
		l.onOrNow(func(l *Loop) { l.sync.journal, l.sync.file = journal, file })
	}
	fsys := n.dirs[0].fs
	for i := len(n.loops); ; i++ {
		name := n.journalName(i)
		if _, err := fsys.Stat(name); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		_, file, err := n.openJournal(name, logs, jobs)
		if err != nil {
			return err
		}
		_ = file.Close()
		if err := fsys.Remove(name); err != nil {
			return startError(name, err)
		}
	}
}

// noteJournalMissing says that a node which did not stop cleanly has no journal: what only that had is gone.
func (n *Node) noteJournalMissing(jobs []*openJob) error {
	_, err := n.dirs[0].fs.Stat(n.journalName(0))
	unclean := slices.ContainsFunc(n.dirs, func(d *logDir) bool { return !d.clean })
	ranBefore := n.ranBefore || n.cluster != nil && slices.ContainsFunc(jobs, func(j *openJob) bool { return !j.fresh })
	if !ranBefore || !unclean || !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if n.replaceable(jobs) {
		slog.Error("the journal is missing after a stop that was not clean: what it may have had is fetched from other nodes", "journal", n.journalName(0))
		return n.lackJobs(jobs)
	}
	slog.Error("the journal is missing after a stop that was not clean: acknowledged records may be gone", "journal", n.journalName(0))
	return nil
}

// openJournal replays a journal and begins it anew. Damage in it ends the start, unless other nodes have all that it may have had.
func (n *Node) openJournal(name string, logs map[journalTarget]*segment.Log, jobs []*openJob) (*segment.Journal, segment.File, error) {
	fsys, replaceable := n.dirs[0].fs, n.replaceable(jobs)
	journal, file, err := segment.OpenJournal(fsys, name, n.journalConfig(), func(r *segment.JournalReader) error {
		if replaceable {
			r.AcceptDamage()
		}
		report, err := segment.ReplayJournal(fsys, r, wallNow(), func(id wire.TopicID, p wire.PartitionIndex) *segment.Log {
			return logs[journalTarget{id, p}]
		}, func(plans []segment.FlushPlan) error { return flushSideBySide(fsys, plans) })
		if bytes := r.Partial(); bytes > 0 {
			slog.Warn("the journal ends within a track: the node ended while it grew, or something cut it", "journal", name, "bytes", bytes)
		}
		if damage := r.Damage(); damage != nil && err == nil {
			slog.Error("the journal is damaged: what it may have had is fetched from other nodes", "journal", name, "damage", damage)
			err = n.lackJobs(jobs)
		}
		if report.Entries > 0 {
			slog.Info("journal replayed", "journal", name, "entries", report.Entries, "appended", report.Replayed,
				"orphans", report.Orphans, "void", report.Void, "refused", report.Refused,
				"behind", report.Behind)
		}
		return err
	})
	var head *segment.JournalError
	switch {
	case err == nil:
		return journal, file, nil
	case replaceable && errors.As(err, &head): // nothing of it can be read
		slog.Error("the journal is damaged: what it may have had is fetched from other nodes", "journal", name, "damage", head)
		if err := n.setAsideJournal(name, jobs); err != nil {
			return nil, nil, err
		}
		if journal, file, err = segment.CreateJournal(fsys, name, n.journalConfig()); err == nil {
			return journal, file, nil
		}
	}
	return nil, nil, journalError(name, err)
}

// damagedSuffix is of a journal that could not be read: it is left for an operator to look at until there is another such.
const damagedSuffix = ".damaged"

// setAsideJournal gives a journal up.
func (n *Node) setAsideJournal(name string, jobs []*openJob) error {
	fsys := n.dirs[0].fs
	if err := n.lackJobs(jobs); err != nil {
		return err
	}
	err := fsys.Rename(name, name+damagedSuffix)
	if err == nil {
		err = fsys.SyncDir(n.state.path)
	}
	if err != nil {
		return startError(name, err)
	}
	return nil
}

// flushesAtOnce is how many logs are made durable side by side: file systems put what waits together into one commit. 10,000
// small files took 0.3 to 0.6 of the time that they took one after the other (PERFORMANCE.md, 10,000 partitions).
const flushesAtOnce = 64

func flushSideBySide(fsys segment.FS, plans []segment.FlushPlan) error {
	var group errgroup.Group
	group.SetLimit(flushesAtOnce)
	for i := range plans {
		group.Go(func() error { return plans[i].Run(fsys) })
	}
	return group.Wait()
}

type journalTarget struct {
	id        wire.TopicID
	partition wire.PartitionIndex
}

func (n *Node) journalConfig() segment.JournalConfig {
	var salt [8]byte
	_, _ = rand.Read(salt[:])
	c := n.Config()
	return segment.JournalConfig{Bytes: c.JournalBytes, EntryMax: c.JournalRunBytesMax, Truncations: n.cluster != nil, Salt: binary.BigEndian.Uint64(salt[:])}
}

// journalError says what an operator can do about a journal that cannot be replayed.
func journalError(name string, err error) *StartError {
	var damaged *segment.JournalError
	var gap *segment.CorruptionError
	if errors.As(err, &damaged) || errors.As(err, &gap) {
		return &StartError{Path: name, Problem: err.Error(), Cure: "see docs/reliability.md, recovery"}
	}
	return startError(name, err)
}
