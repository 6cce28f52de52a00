package image

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ringmill/ringmill/wire"
)

// The reasons of a *RecordError.
var (
	ErrTopicExists      = errors.New("a topic of that name or id exists")
	ErrNoTopic          = errors.New("no such topic")
	ErrPartitionsFall   = errors.New("the partition count is below the present one or below 1")
	ErrResourceType     = errors.New("no configuration is kept for resources of that type")
	ErrLeaderEpochFalls = errors.New("the leader epoch is below the present one")
	ErrProducerIDsFall  = errors.New("the next producer id is below the present one")
	ErrOtherCluster     = errors.New("the log belongs to another cluster")
	ErrTopicID          = errors.New("the zero topic id means none")
	ErrNotUTF8          = errors.New("names, keys and values must be UTF-8")
)

// RecordError says which record of a change does not fit the Image. Nothing of the change was kept.
type RecordError struct {
	Index  int    // of the record in the change
	Record Record // as it was given
	Err    error  // one of this package's reasons, or a *wire.TopicNameError
}

func (e *RecordError) Error() string {
	return fmt.Sprintf("image: record %d (%s): %v", e.Index, e.Record.kind(), e.Err)
}

func (e *RecordError) Unwrap() error { return e.Err }

// With gives the Image that follows m by records; m stays as it is. It is all or nothing: the error is a *RecordError.
func (m *Image) With(records ...Record) (*Image, error) {
	e := newEditor(m)
	for i, r := range records {
		if err := e.apply(r); err != nil {
			return nil, &RecordError{Index: i, Record: r, Err: err}
		}
	}
	return e.finish(), nil
}

// editor builds one Image from another. It copies shards on their first change, so a long change costs little more a record
// than a map's.
type editor struct {
	next   Image
	names  shardsEdit[string, *Topic]
	ids    shardsEdit[wire.TopicID, *Topic]
	folded shardsEdit[string, []string]

	states       map[wire.TopicID]*statesEdit // topics whose states may be changed in place
	configsOwned bool
	quotasOwned  bool
	scramOwned   bool
	aclsOwned    bool
	touched      map[string]struct{} // names whose place in the order must be brought up to date
}

func newEditor(m *Image) *editor {
	return &editor{next: *m, names: edit(m.names), ids: edit(m.ids), folded: edit(m.folded),
		touched: make(map[string]struct{})}
}

func (e *editor) apply(r Record) error {
	err := e.applyKind(r)
	if err == nil {
		e.next.version++
	}
	return err
}

func (e *editor) applyKind(r Record) error {
	switch r := r.(type) {
	case TopicRecord:
		return e.createTopic(r)
	case RemoveTopicRecord:
		return e.removeTopic(r.ID)
	case PartitionsRecord:
		return e.setPartitions(r)
	case ConfigRecord:
		return e.setConfig(r)
	case ProducerIDsRecord:
		return e.setProducerIDs(r.Next)
	case ClusterRecord:
		return e.setCluster(r)
	case FeatureLevelRecord:
		return e.setFeature(r)
	case ClientQuotaRecord:
		return e.setQuota(r)
	case UserSCRAMCredentialRecord:
		return e.setSCRAM(r)
	case RemoveUserSCRAMCredentialRecord:
		return e.removeSCRAM(r.SCRAMUser)
	case AccessControlEntryRecord:
		return e.addACL(r)
	case RemoveAccessControlEntryRecord:
		return e.removeACL(r.ID)
	case LeaderEpochRecord:
		return e.setLeaderEpoch(r.Epoch)
	case BrokerRecord:
		return e.setBroker(r.Broker)
	case RemoveBrokerRecord:
		return e.removeBroker(r.ID)
	case PartitionRecord:
		return e.setPartition(r)
	}
	panic(fmt.Sprintf("BUG: unknown record %T", r))
}

func (e *editor) createTopic(r TopicRecord) error {
	if err := wire.CheckTopicName(r.Name); err != nil {
		return err
	}
	_, nameTaken := e.names.get(nameShard(r.Name), r.Name)
	_, idTaken := e.ids.get(idShard(r.ID), r.ID)
	switch {
	case r.ID.IsZero():
		return ErrTopicID
	case nameTaken || idTaken:
		return ErrTopicExists
	case r.Partitions < 1:
		return ErrPartitionsFall
	}
	e.put(&Topic{Name: r.Name, ID: r.ID, Partitions: r.Partitions, Internal: IsInternal(r.Name), LeaderEpochBase: e.next.leaderEpoch})
	e.next.partitions += int64(r.Partitions)
	e.fold(r.Name, func(names []string) []string { return append(slices.Clip(names), r.Name) })
	return nil
}

func (e *editor) removeTopic(id wire.TopicID) error {
	t, ok := e.ids.get(idShard(id), id)
	if !ok {
		return ErrNoTopic
	}
	e.names.remove(nameShard(t.Name), t.Name)
	e.ids.remove(idShard(id), id)
	e.touched[t.Name] = struct{}{}
	e.next.partitions -= int64(t.Partitions)
	e.fold(t.Name, func(names []string) []string {
		return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == t.Name })
	})
	return nil
}

// fold changes the list of names that share name's folded form. Names without '.' and '_' collide with none.
func (e *editor) fold(name string, change func([]string) []string) {
	if !strings.ContainsAny(name, "._") {
		return
	}
	folded := foldName(name)
	shard := nameShard(folded)
	names, _ := e.folded.get(shard, folded)
	if names = change(names); len(names) == 0 {
		e.folded.remove(shard, folded)
		return
	}
	e.folded.set(shard, folded, names)
}

// put makes t what its name and its id lead to.
func (e *editor) put(t *Topic) {
	e.names.set(nameShard(t.Name), t.Name, t)
	e.ids.set(idShard(t.ID), t.ID, t)
	e.touched[t.Name] = struct{}{}
}

func (e *editor) setPartitions(r PartitionsRecord) error {
	t, ok := e.ids.get(idShard(r.ID), r.ID)
	if !ok {
		return ErrNoTopic
	}
	if r.Partitions < t.Partitions {
		return ErrPartitionsFall
	}
	e.next.partitions += int64(r.Partitions - t.Partitions)
	e.put(t.withPartitions(r.Partitions))
	return nil
}

func (e *editor) setConfig(r ConfigRecord) error {
	switch {
	case !r.Resource.Type.known():
		return ErrResourceType
	case !utf8.ValidString(r.Resource.Name) || !utf8.ValidString(r.Key) || r.Value != nil && !utf8.ValidString(*r.Value):
		return ErrNotUTF8
	}
	if r.Resource.Type == TopicResource {
		t, ok := e.names.get(nameShard(r.Resource.Name), r.Resource.Name)
		if !ok {
			return ErrNoTopic
		}
		e.put(t.withConfig(r.Key, r.Value))
		return nil
	}
	e.setResource(r)
	return nil
}

func (e *editor) setResource(r ConfigRecord) {
	if !e.configsOwned {
		e.configsOwned = true
		if e.next.configs = maps.Clone(e.next.configs); e.next.configs == nil {
			e.next.configs = make(map[Resource]map[string]string)
		}
	}
	if entries := withEntry(e.next.configs[r.Resource], r.Key, r.Value); entries != nil {
		e.next.configs[r.Resource] = entries
		return
	}
	delete(e.next.configs, r.Resource)
}

func (e *editor) setProducerIDs(next wire.ProducerID) error {
	if next < e.next.nextProducerID {
		return ErrProducerIDsFall
	}
	e.next.nextProducerID = next
	return nil
}

func (e *editor) setLeaderEpoch(epoch int64) error {
	if epoch < e.next.leaderEpoch {
		return ErrLeaderEpochFalls
	}
	e.next.leaderEpoch = epoch
	return nil
}

func (e *editor) setFeature(r FeatureLevelRecord) error {
	if !utf8.ValidString(r.Name) {
		return ErrNotUTF8
	}
	features := maps.Clone(e.next.features)
	if features == nil {
		features = map[string]int16{}
	}
	features[r.Name] = r.Level
	e.next.features = features
	return nil
}

func (e *editor) setCluster(r ClusterRecord) error {
	if !utf8.ValidString(r.ClusterID) {
		return ErrNotUTF8
	}
	if present := e.next.cluster.ClusterID; present != "" && present != r.ClusterID {
		return ErrOtherCluster
	}
	e.next.cluster = r
	return nil
}

// reorderMax is how many topics a change may add and remove before the order is sorted anew instead of being brought up to date
// one by one, each of which copies the spine.
const reorderMax = 64

func (e *editor) finish() *Image {
	e.next.names, e.next.ids, e.next.folded = e.names.shards, e.ids.shards, e.folded.shards
	e.reorder()
	return &e.next
}

// reorder brings the order up to date: topics that stay in their places first, all in one copy of the spine.
func (e *editor) reorder() {
	moved := make([]string, 0, len(e.touched))
	replace := orderedEdit{ordered: e.next.order}
	for name := range e.touched {
		if t, ok := e.names.get(nameShard(name), name); !ok || !replace.replace(t) {
			moved = append(moved, name)
		}
	}
	e.next.order = replace.ordered
	if len(moved) > reorderMax {
		e.next.order = orderedOf(e.allTopics())
		return
	}
	slices.Sort(moved) // so that equal histories give equal chunks
	for _, name := range moved {
		if t, ok := e.names.get(nameShard(name), name); ok {
			e.next.order = e.next.order.with(t)
		} else {
			e.next.order = e.next.order.without(name)
		}
	}
}

func (e *editor) allTopics() []*Topic {
	topics := make([]*Topic, 0, e.names.count)
	for _, shard := range e.names.spine {
		topics = slices.AppendSeq(topics, maps.Values(shard))
	}
	return topics
}
