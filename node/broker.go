package node

import (
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"
	"golang.org/x/sys/unix"

	"github.com/ringmill/ringmill/control/group"
	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/control/txn"
	"github.com/ringmill/ringmill/node/api"
	"github.com/ringmill/ringmill/node/config"
	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/wire"
)

// The node is the api room's Broker.
var _ api.Broker = (*Node)(nil)

// Config is the configuration in force.
func (n *Node) Config() *config.Config { return n.cfg.Load() }

// Image is the metadata.
func (n *Node) Image() *image.Image { return n.image.Load() }

// Advertised is the address that clients of a listener are told.
func (n *Node) Advertised(name string) (host string, port int32) {
	for i, l := range n.listeners {
		if l.name == name {
			a := n.Config().AdvertisedListeners[i]
			if a.Port == 0 {
				return a.Host, int32(l.addr.Port())
			}
			return a.Host, int32(a.Port)
		}
	}
	return "", 0
}

// errDirOffline is the refusal of a log directory that failed.
var errDirOffline = errors.New("the log directory is offline")

// storageCode is what a client is told of a failed change of the metadata or the directories.
func storageCode(err error) (wire.ErrorCode, string) {
	var record *image.RecordError
	switch {
	case errors.Is(err, image.ErrTopicExists):
		return wire.TopicAlreadyExists, ""
	case errors.Is(err, image.ErrNoTopic):
		return wire.UnknownTopicOrPartition, ""
	case errors.As(err, &record):
		return wire.InvalidRequest, err.Error()
	case errors.Is(err, unix.ENOSPC):
		return wire.KafkaStorageError, "the disk is full"
	}
	return wire.KafkaStorageError, err.Error()
}

// NewTopicID is a random one, as CreateTopic gives.
func (n *Node) NewTopicID() wire.TopicID { return newUUID() }

// CreateTopic makes a topic durable and serves it.
func (n *Node) CreateTopic(spec api.NewTopic) (wire.TopicID, wire.ErrorCode, string) {
	if n.cluster != nil {
		return n.cluster.createTopic(spec)
	}
	n.metaMu.Lock()
	defer n.metaMu.Unlock()
	if n.topics.named([]byte(spec.Name)) != nil {
		return wire.TopicID{}, wire.TopicAlreadyExists, "Topic '" + spec.Name + "' already exists."
	}
	t, err := n.createTopic(spec.Name, spec.Partitions, spec.Configs)
	if err != nil {
		code, message := storageCode(err)
		return wire.TopicID{}, code, message
	}
	return t.id, wire.None, ""
}

// CheckTopic has a controller judge a topic; a node of its own has nobody to ask.
func (n *Node) CheckTopic(spec api.NewTopic) (wire.ErrorCode, string) {
	if n.cluster != nil {
		return n.cluster.checkTopic(spec)
	}
	return wire.None, ""
}

// CheckGrowth is CheckTopic for more partitions of a topic.
func (n *Node) CheckGrowth(name string, count int32, assignment [][]wire.NodeID) (wire.ErrorCode, string) {
	if n.cluster != nil {
		return n.cluster.checkGrowth(name, count, assignment)
	}
	return wire.None, ""
}

// DeleteTopic forgets a topic durably.
func (n *Node) DeleteTopic(name string, id wire.TopicID) wire.ErrorCode {
	if n.cluster != nil {
		return n.cluster.deleteTopic(name, id)
	}
	n.metaMu.Lock()
	defer n.metaMu.Unlock()
	t := n.topics.named([]byte(name))
	if t == nil || !id.IsZero() && id != t.id {
		return wire.UnknownTopicOrPartition
	}
	if err := n.deleteTopic(t); err != nil {
		code, _ := storageCode(err)
		return code
	}
	n.groups.topicDeleted(name)
	n.shareLog.topicDeleted(t.id)
	n.shares.topicDeleted(t.id)
	return wire.None
}

// GrowTopic raises a topic's partition count.
func (n *Node) GrowTopic(name string, count int32, assignment [][]wire.NodeID) (wire.ErrorCode, string) {
	if n.cluster != nil {
		return n.cluster.growTopic(name, count, assignment)
	}
	n.metaMu.Lock()
	defer n.metaMu.Unlock()
	t := n.topics.named([]byte(name))
	switch {
	case t == nil:
		return wire.UnknownTopicOrPartition, ""
	case int(count) <= len(t.parts):
		return wire.InvalidPartitions, ""
	}
	if err := n.growTopic(t, count); err != nil {
		return storageCode(err)
	}
	return wire.None, ""
}

// AlterConfigs sets or removes overrides of a resource.
func (n *Node) AlterConfigs(r image.Resource, changes map[string]*string) (wire.ErrorCode, string) {
	var records []image.Record
	for _, key := range slices.Sorted(maps.Keys(changes)) {
		records = append(records, image.ConfigRecord{Resource: r, Key: key, Value: changes[key]})
	}
	if n.cluster != nil {
		return n.cluster.change(records...)
	}
	n.metaMu.Lock()
	defer n.metaMu.Unlock()
	m, err := n.applyMeta(records...)
	if err == nil {
		err = n.reconfigure(r, m)
	}
	if err != nil {
		return storageCode(err)
	}
	return wire.None, ""
}

// SetFeatures finalizes features at these levels.
func (n *Node) SetFeatures(levels map[string]int16) (wire.ErrorCode, string) {
	var records []image.Record
	for _, name := range slices.Sorted(maps.Keys(levels)) {
		records = append(records, image.FeatureLevelRecord{Name: name, Level: levels[name]})
	}
	if n.cluster != nil {
		return n.cluster.change(records...)
	}
	n.metaMu.Lock()
	defer n.metaMu.Unlock()
	if _, err := n.applyMeta(records...); err != nil {
		return storageCode(err)
	}
	return wire.None, ""
}

// reconfigure applies a changed resource to what runs.
func (n *Node) reconfigure(r image.Resource, m *image.Image) error {
	switch r.Type {
	case image.TopicResource:
		return n.reconfigureTopic(n.topics.named([]byte(r.Name)), m.ByName(r.Name))
	case image.GroupResource:
		n.groups.configChanged(r.Name)
		return nil
	case image.ClientMetricsResource:
		return nil
	}
	if err := n.applyDynamicConfig(m); err != nil {
		return err
	}
	for t := range m.Topics() { // topics inherit what they do not override
		if err := n.reconfigureTopic(n.topics.named([]byte(t.Name)), t); err != nil {
			return err
		}
	}
	return nil
}

// applyDynamicConfig lays the metadata's broker overrides over the static configuration.
func (n *Node) applyDynamicConfig(m *image.Image) error {
	next, err := n.Config().WithDynamic(
		maps.Clone(m.BrokerConfigs(strconv.Itoa(int(n.Config().NodeID)))), maps.Clone(m.BrokerConfigs("")))
	if err != nil {
		return err
	}
	n.cfg.Store(next)
	n.connectionRates.set(next)
	return nil
}

// LogLevel is the least level that this process logs; ringmill serve gives it to the handler of its log.
var LogLevel slog.LevelVar

// LogLevel is the least level that the process of the node logs.
func (n *Node) LogLevel() slog.Level { return LogLevel.Level() }

// SetLogLevel changes it.
func (n *Node) SetLogLevel(l slog.Level) { LogLevel.Set(l) }

// NewProducerID hands out a producer id that was never used.
func (n *Node) NewProducerID() (wire.ProducerID, wire.ErrorCode) {
	b := &n.producerIDs
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next == b.end {
		first, end, err := n.newProducerIDs()
		if err != nil {
			return wire.NoProducerID, wire.CoordinatorLoadInProgress // clients retry it
		}
		b.next, b.end = first, end
	}
	b.next++
	return b.next - 1, wire.None
}

// newProducerIDs has the metadata give this node a block of producer ids.
func (n *Node) newProducerIDs() (first, end wire.ProducerID, err error) {
	if n.cluster != nil {
		return n.cluster.newProducerIDs()
	}
	n.metaMu.Lock()
	defer n.metaMu.Unlock()
	first = n.image.Load().NextProducerID()
	_, err = n.applyMeta(image.ProducerIDsRecord{Next: first + producerIDBlock})
	return first, first + producerIDBlock, err
}

// idBlock is a run of producer ids that the metadata has given to this node.
type idBlock struct {
	mu        sync.Mutex
	next, end wire.ProducerID
}

// producerIDBlock is Kafka's block size: a restart leaves at most so many ids unused.
const producerIDBlock = 1000

// Partition is the state of one partition that this node leads.
func (n *Node) Partition(topic string, index wire.PartitionIndex) (api.Partition, wire.ErrorCode) {
	return viewOf(n.topics.named([]byte(topic)).leaderOf(index))
}

// Replica is the state of this node's replica of one partition.
func (n *Node) Replica(topic string, index wire.PartitionIndex) (api.Partition, wire.ErrorCode) {
	return viewOf(n.topics.named([]byte(topic)).replicaOf(index))
}

func viewOf(p *partition, code wire.ErrorCode) (api.Partition, wire.ErrorCode) {
	if code != wire.None {
		return nil, code
	}
	if p.dir().offline.Load() {
		return nil, wire.KafkaStorageError
	}
	return partitionView{p}, wire.None
}

// partitionView reads a partition from other goroutines: offsets as its loop last published them, the rest through the
// loop's mailbox.
type partitionView struct{ p *partition }

func (v partitionView) LeaderEpoch() wire.LeaderEpoch {
	return wire.LeaderEpoch(v.p.published.leaderEpoch.Load())
}

func (v partitionView) Offsets() (logStart, highWatermark, lastStable wire.Offset) {
	o := &v.p.published
	return wire.Offset(o.logStart.Load()), wire.Offset(o.highWatermark.Load()), wire.Offset(o.lastStable.Load())
}

func (v partitionView) WatermarkIsOld() bool { return v.p.published.watermarkOld.Load() }

func (v partitionView) Producers() (producers []segment.ActiveProducer) {
	v.p.loop.on(func(*Loop) { producers = v.p.log().Producers() })
	return producers
}

func (v partitionView) EpochAt(off wire.Offset) (epoch wire.LeaderEpoch) {
	v.p.loop.on(func(*Loop) { epoch = v.p.log().EpochAt(off) })
	return epoch
}

func (v partitionView) EndOffsetForEpoch(e wire.LeaderEpoch) (epoch wire.LeaderEpoch, end wire.Offset) {
	v.p.loop.on(func(*Loop) {
		// What was appended last was under latest; the epoch that the partition leads under begins at the log's end, or holds it.
		log, latest := v.p.log(), v.p.log().LatestEpoch()
		switch mine := v.p.replica.LeaderEpoch(); {
		case e == mine, e > latest && e < mine && latest < 0:
			epoch, end = e, log.LogEndOffset()
		case e > latest && e < mine:
			epoch, end = latest, log.LogEndOffset()
		default:
			epoch, end = log.EndOffsetForEpoch(e)
		}
	})
	return epoch, end
}

func (v partitionView) OffsetForTime(ts wire.Timestamp) (wire.Offset, wire.Timestamp, wire.LeaderEpoch, bool, error) {
	return v.lookup(func(l *segment.Log, bound wire.Offset) segment.TimePlan { return l.PlanTimeLookup(ts, bound) })
}

func (v partitionView) MaxTimestamp() (wire.Offset, wire.Timestamp, wire.LeaderEpoch, bool, error) {
	return v.lookup((*segment.Log).PlanMaxTimestamp)
}

func (v partitionView) lookup(plan func(*segment.Log, wire.Offset) segment.TimePlan) (wire.Offset, wire.Timestamp, wire.LeaderEpoch, bool, error) {
	var p segment.TimePlan
	release := v.p.holdNames(func() { p = plan(v.p.log(), v.p.replica.HighWatermark()) })
	defer release()
	fs := v.p.dir().fs
	return p.Run(func(name string) (segment.File, error) { return fs.OpenFile(name, segment.ReadOnly, 0) })
}

// Coordinate has the coordinator of a group answer req.
func (n *Node) Coordinate(id string, client api.Client, req kmsg.Request) kmsg.Response {
	return n.coordinate(id, client, req, func() {}, nil)
}

// coordinate is Coordinate; taken is called once the coordinator has taken req up, if the answer is not there by then. Nobody waits
// for the answer once gone is closed; the coordinator goes on.
func (n *Node) coordinate(id string, client api.Client, req kmsg.Request, taken func(), gone <-chan struct{}) kmsg.Response {
	t := n.topics.named([]byte(image.ConsumerOffsetsTopic))
	if t == nil {
		return group.Refuse(req, wire.CoordinatorNotAvailable)
	}
	return n.groups.call(group.PartitionFor(id, int32(len(t.parts))), client, req, taken, gone)
}

// CoordinateAll has every coordinator answer req; none if no group was ever made.
func (n *Node) CoordinateAll(client api.Client, req kmsg.Request) []kmsg.Response {
	t := n.topics.named([]byte(image.ConsumerOffsetsTopic))
	if t == nil {
		return nil
	}
	var all []kmsg.Response
	for _, i := range t.led() {
		all = append(all, n.groups.call(int32(i), client, req, func() {}, nil))
	}
	return all
}

// OffsetsTopicReady makes __consumer_offsets if it is not there yet.
func (n *Node) OffsetsTopicReady() bool { return n.groups.topicReady() }

// Transact has the transaction coordinator of an id answer req.
func (n *Node) Transact(id string, req kmsg.Request) kmsg.Response {
	if r, ok := req.(*kmsg.AddOffsetsToTxnRequest); ok {
		t := n.topics.named([]byte(image.ConsumerOffsetsTopic))
		if t == nil {
			return txn.Refuse(req, wire.CoordinatorNotAvailable)
		}
		return n.txns.addOffsets(r, wire.TopicPartition{
			Topic: t.name, Partition: wire.PartitionIndex(group.PartitionFor(r.Group, int32(len(t.parts)))),
		})
	}
	return n.txns.call(id, req)
}

// TransactAll has every transaction coordinator answer req; none if there was never a transaction.
func (n *Node) TransactAll(req kmsg.Request) []kmsg.Response { return n.txns.callAll(req) }

// TransactionsTopicReady makes __transaction_state if it is not there yet.
func (n *Node) TransactionsTopicReady() bool { return n.txns.topicReady() }
