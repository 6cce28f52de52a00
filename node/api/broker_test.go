package api

import (
	"fmt"
	"log/slog"
	"strconv"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/acl"
	"github.com/ringmill/ringmill/control/group"
	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/control/quota"
	"github.com/ringmill/ringmill/control/share"
	"github.com/ringmill/ringmill/control/txn"
	"github.com/ringmill/ringmill/node/config"
	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/wire"
)

// fakeBroker keeps its metadata in an Image and its groups in a real Coordinator whose records are durable at once. Its
// partitions are what a test says they are.
type fakeBroker struct {
	cfg        *config.Config
	image      *image.Image
	authorizer *acl.Authorizer
	// authorizations counts how often it was asked for.
	authorizations int
	// denied are the refusals that it was told of.
	denied     []string
	partitions map[wire.TopicPartition]*fakePartition
	followed   map[wire.TopicPartition]*fakePartition // replicas that follow another node
	offline    map[wire.TopicPartition]bool
	clustered  bool
	producer   wire.ProducerID
	logDirs    []LogDir
	moved      []string

	mutations *quota.Mutations
	// notController: another node decides, see ChangeMetadata.
	notController bool
	txns          *txn.Coordinator
	groups        *group.Coordinator
	nowMS         int64
	handle        group.Handle
	notReady      bool // the offsets topic cannot be made
	asked         []kmsg.Request
	createCode    wire.ErrorCode // what CreateTopic refuses with
	logLevel      slog.Level
}

func (b *fakeBroker) Denied(_ *Client, key wire.APIKey, op image.ACLOperation, t image.ACLResourceType, name string) {
	b.denied = append(b.denied, fmt.Sprint(key, " ", op, " ", t, " ", name))
}

func (b *fakeBroker) Authorizer() *acl.Authorizer {
	b.authorizations++
	return b.authorizer
}

func (b *fakeBroker) ShareState(req kmsg.Request) kmsg.Response {
	return share.Refuse(req, wire.CoordinatorNotAvailable, "there is none")
}

func (b *fakeBroker) ShareStateTopicReady() bool { return !b.notReady }

func (b *fakeBroker) ShareFetch(_ Client, req *kmsg.ShareFetchRequest) *kmsg.ShareFetchResponse {
	b.asked = append(b.asked, req)
	return kmsg.NewPtrShareFetchResponse()
}

func (b *fakeBroker) ShareAcknowledge(_ Client, req *kmsg.ShareAcknowledgeRequest) *kmsg.ShareAcknowledgeResponse {
	b.asked = append(b.asked, req)
	return kmsg.NewPtrShareAcknowledgeResponse()
}

func (b *fakeBroker) LogLevel() slog.Level     { return b.logLevel }
func (b *fakeBroker) SetLogLevel(l slog.Level) { b.logLevel = l }

func newFakeBroker(t testing.TB, set ...string) *fakeBroker {
	t.Helper()
	cfg, _, err := config.Load(config.Source{Set: append([]string{"broker.rack=rack-1"}, set...)})
	if err != nil {
		t.Fatal(err)
	}
	b := &fakeBroker{cfg: cfg, image: new(image.Image), partitions: map[wire.TopicPartition]*fakePartition{},
		offline: map[wire.TopicPartition]bool{}, groups: group.New(group.DefaultConfig(), 1)}
	b.groups.Loaded(0)
	b.mutations = quota.NewMutations(quota.Windows{Count: 11, SizeMS: 1000})
	cfgTxn := txn.DefaultConfig()
	cfgTxn.NewProducerID = func() (wire.ProducerID, bool) { b.producer++; return b.producer, true }
	b.txns = txn.New(cfgTxn)
	b.txns.Loaded(0, 0)
	b.apply(t, image.ClusterRecord{ClusterID: "EWQSy0NlTDyqwnN72eXERg", NodeID: cfg.NodeID})
	return b
}

func (b *fakeBroker) apply(t testing.TB, records ...image.Record) {
	t.Helper()
	if err := b.change(records...); err != nil {
		t.Fatal(err)
	}
}

func (b *fakeBroker) change(records ...image.Record) error {
	next, err := b.image.With(records...)
	if err == nil {
		b.image = next
	}
	return err
}

// follow has partition 0 of a topic follow another node.
func (b *fakeBroker) follow(topic string, p *fakePartition) {
	b.followed = map[wire.TopicPartition]*fakePartition{{Topic: topic}: p}
}

// withTopic makes a topic before the test asks anything.
func (b *fakeBroker) withTopic(t testing.TB, name string, partitions int32, configs ...string) wire.TopicID {
	t.Helper()
	set := map[string]string{}
	for i := 0; i < len(configs); i += 2 {
		set[configs[i]] = configs[i+1]
	}
	id, code, message := b.CreateTopic(NewTopic{Name: name, Partitions: partitions, Configs: set})
	if code != wire.None {
		t.Fatal(code, message)
	}
	return id
}

func (b *fakeBroker) SetFeatures(levels map[string]int16) (wire.ErrorCode, string) {
	for name, level := range levels {
		if err := b.change(image.FeatureLevelRecord{Name: name, Level: level}); err != nil {
			return wire.InvalidRequest, err.Error()
		}
	}
	return wire.None, ""
}

func (b *fakeBroker) Config() *config.Config { return b.cfg }
func (b *fakeBroker) Image() *image.Image    { return b.image }

func (b *fakeBroker) Advertised(string) (string, int32) { return "127.0.0.1", 9092 }

func (b *fakeBroker) NewTopicID() wire.TopicID {
	return wire.TopicID{1, byte(b.image.Version() >> 8), byte(b.image.Version()), 9}
}

func (b *fakeBroker) Clustered() bool { return b.clustered }

func (b *fakeBroker) Controller() wire.NodeID { return b.Config().NodeID }

func (b *fakeBroker) Control(req kmsg.Request) kmsg.Response { return req.ResponseKind() }

func (b *fakeBroker) CreateTopic(t NewTopic) (wire.TopicID, wire.ErrorCode, string) {
	name, partitions, configs := t.Name, t.Partitions, t.Configs
	if b.createCode != wire.None {
		return wire.TopicID{}, b.createCode, "not today"
	}
	id := b.NewTopicID()
	records := []image.Record{image.TopicRecord{Name: name, ID: id, Partitions: partitions}}
	for k, v := range configs {
		records = append(records, image.ConfigRecord{Resource: image.Resource{Type: image.TopicResource, Name: name}, Key: k, Value: &v})
	}
	if err := b.change(records...); err != nil {
		return wire.TopicID{}, wire.TopicAlreadyExists, err.Error()
	}
	return id, wire.None, ""
}

func (b *fakeBroker) CheckTopic(NewTopic) (wire.ErrorCode, string) {
	if b.createCode != wire.None {
		return b.createCode, "not today"
	}
	return wire.None, ""
}

func (b *fakeBroker) CheckGrowth(string, int32, [][]wire.NodeID) (wire.ErrorCode, string) {
	return b.createCode, ""
}

func (b *fakeBroker) DeleteTopic(name string, id wire.TopicID) wire.ErrorCode {
	t := b.image.ByName(name)
	if t == nil || !id.IsZero() && id != t.ID || b.change(image.RemoveTopicRecord{ID: t.ID}) != nil {
		return wire.UnknownTopicOrPartition
	}
	return wire.None
}

func (b *fakeBroker) GrowTopic(name string, count int32, _ [][]wire.NodeID) (wire.ErrorCode, string) {
	if err := b.change(image.PartitionsRecord{ID: b.image.ByName(name).ID, Partitions: count}); err != nil {
		return wire.InvalidPartitions, err.Error()
	}
	return wire.None, ""
}

func (b *fakeBroker) AlterConfigs(r image.Resource, changes map[string]*string) (wire.ErrorCode, string) {
	for k, v := range changes {
		if err := b.change(image.ConfigRecord{Resource: r, Key: k, Value: v}); err != nil {
			return wire.InvalidRequest, err.Error()
		}
	}
	next, err := b.cfg.WithDynamic(b.image.BrokerConfigs(strconv.Itoa(int(b.cfg.NodeID))), b.image.BrokerConfigs(""))
	if err != nil {
		return wire.InvalidRequest, err.Error()
	}
	b.cfg = next
	return wire.None, ""
}

func (b *fakeBroker) Partition(topic string, index wire.PartitionIndex) (Partition, wire.ErrorCode) {
	at := wire.TopicPartition{Topic: topic, Partition: index}
	t := b.image.ByName(topic)
	switch {
	case t == nil || index < 0 || int32(index) >= t.Partitions:
		return nil, wire.UnknownTopicOrPartition
	case b.followed[at] != nil:
		return nil, wire.NotLeaderOrFollower
	case b.offline[at]:
		return nil, wire.KafkaStorageError
	case b.partitions[at] != nil:
		return b.partitions[at], wire.None
	}
	return &fakePartition{}, wire.None
}

// Replica knows of partitions that follow another node, too.
func (b *fakeBroker) Replica(topic string, index wire.PartitionIndex) (Partition, wire.ErrorCode) {
	if p := b.followed[wire.TopicPartition{Topic: topic, Partition: index}]; p != nil {
		return p, wire.None
	}
	return b.Partition(topic, index)
}

func (b *fakeBroker) AlterClientQuotas(records []image.ClientQuotaRecord) (wire.ErrorCode, string) {
	for _, r := range records {
		if err := b.change(r); err != nil {
			return wire.InvalidRequest, err.Error()
		}
	}
	b.mutations.SetLimits(quota.LimitsOf(b.image, quota.ControllerMutationRate))
	return wire.None, ""
}

func (b *fakeBroker) ChangeMetadata(decide func(*image.Image) []image.Record) (wire.ErrorCode, string) {
	if b.notController {
		return wire.NotController, ""
	}
	if err := b.change(decide(b.image)...); err != nil {
		return wire.InvalidRequest, err.Error()
	}
	return wire.None, ""
}

func (b *fakeBroker) ChargeMutations(c Client, partitions int32, strict bool) (int32, bool) {
	wait, ok := b.mutations.Charge(quota.Client{User: c.User, ClientID: c.ID}, float64(partitions), strict, b.nowMS)
	return int32(wait), ok
}

// DeleteRecords says of each partition that it starts at the offset asked for, if that is not above 9.
func (b *fakeBroker) DeleteRecords(upTo map[wire.TopicPartition]wire.Offset) map[wire.TopicPartition]DeletedRecords {
	out := map[wire.TopicPartition]DeletedRecords{}
	for tp, off := range upTo {
		if _, code := b.Partition(tp.Topic, tp.Partition); code != wire.None {
			out[tp] = DeletedRecords{code, wire.NoOffset}
		} else if off > 9 {
			out[tp] = DeletedRecords{wire.OffsetOutOfRange, wire.NoOffset}
		} else {
			out[tp] = DeletedRecords{wire.None, off}
		}
	}
	return out
}

func (b *fakeBroker) LogDirs() []LogDir { return b.logDirs }

func (b *fakeBroker) MoveLog(p wire.TopicPartition, dir string) wire.ErrorCode {
	b.moved = append(b.moved, fmt.Sprintf("%s-%d to %s", p.Topic, p.Partition, dir))
	if _, code := b.Partition(p.Topic, p.Partition); code != wire.None {
		return code
	}
	return wire.None
}

func (b *fakeBroker) NewProducerID() (wire.ProducerID, wire.ErrorCode) {
	b.producer++
	return b.producer, wire.None
}

// Coordinate has the one coordinator answer, and lets time pass until it does.
func (b *fakeBroker) Coordinate(_ string, c Client, req kmsg.Request) kmsg.Response {
	b.asked = append(b.asked, req)
	b.handle++
	fx := b.groups.Handle(b.nowMS, wire.Timestamp(b.nowMS), b.handle, group.Client{ID: c.ID, Host: c.Host}, req)
	for range 1000 {
		for len(fx.Appends) > 0 {
			next := b.groups.Appended(b.nowMS, fx.Appends[0].ID, wire.None)
			next.Appends = append(fx.Appends[1:], next.Appends...)
			next.Replies = append(fx.Replies, next.Replies...)
			fx = next
		}
		for _, r := range fx.Replies {
			if r.Handle == b.handle {
				return r.Response
			}
		}
		b.nowMS = max(b.nowMS, fx.NextTickMS)
		fx = b.groups.Tick(b.nowMS, wire.Timestamp(b.nowMS))
	}
	panic(fmt.Sprintf("no answer to %T", req))
}

func (b *fakeBroker) CoordinateAll(c Client, req kmsg.Request) []kmsg.Response {
	if b.image.ByName(image.ConsumerOffsetsTopic) == nil {
		return nil
	}
	return []kmsg.Response{b.Coordinate("", c, req)}
}

func (b *fakeBroker) OffsetsTopicReady() bool {
	if b.image.ByName(image.ConsumerOffsetsTopic) == nil && !b.notReady {
		_, _, _ = b.CreateTopic(NewTopic{Name: image.ConsumerOffsetsTopic, Partitions: 10})
	}
	return !b.notReady
}

// Transact has the one coordinator answer; its records and markers are durable at once.
func (b *fakeBroker) Transact(_ string, req kmsg.Request) kmsg.Response {
	now := wire.Timestamp(b.nowMS)
	var fx txn.Effects
	if r, ok := req.(*kmsg.AddOffsetsToTxnRequest); ok {
		fx = b.txns.AddOffsets(b.nowMS, now, 1, r, wire.TopicPartition{Topic: image.ConsumerOffsetsTopic})
	} else {
		fx = b.txns.Handle(b.nowMS, now, 1, req)
	}
	replies := fx.Replies
	for queue := []txn.Effects{fx}; len(queue) > 0; queue = queue[1:] {
		for _, a := range queue[0].Appends {
			queue = append(queue, b.txns.Appended(b.nowMS, now, a.ID, wire.None))
		}
		for _, m := range queue[0].Markers {
			for _, p := range m.Partitions {
				queue = append(queue, b.txns.Marked(b.nowMS, now, m.ID, p, wire.None))
			}
		}
		replies = append(replies, queue[0].Replies...)
	}
	return replies[len(replies)-1].Response
}

func (b *fakeBroker) TransactAll(req kmsg.Request) []kmsg.Response {
	return []kmsg.Response{b.Transact("", req)}
}

func (b *fakeBroker) TransactionsTopicReady() bool { return !b.notReady }

func (b *fakeBroker) WriteTxnMarkers(markers []TxnMarker) (codes []wire.ErrorCode) {
	for _, m := range markers {
		_, code := b.Partition(m.Partition.Topic, m.Partition.Partition)
		codes = append(codes, code)
	}
	return codes
}

// fakePartition is a log that was written by one leader.
type fakePartition struct {
	watermarkOld                        bool
	future                              FutureReplica
	epoch                               wire.LeaderEpoch
	logStart, highWatermark, lastStable wire.Offset
	times                               []wire.Timestamp // of the records from offset 0 on
	producers                           []segment.ActiveProducer
	err                                 error
	dir                                 string
	size                                int64
}

func (p *fakePartition) Future() (FutureReplica, bool) { return p.future, p.future.LogDir != "" }

func (p *fakePartition) LogDir() string { return p.dir }
func (p *fakePartition) Size() int64    { return p.size }

func (p *fakePartition) LeaderEpoch() wire.LeaderEpoch { return p.epoch }

func (p *fakePartition) Offsets() (wire.Offset, wire.Offset, wire.Offset) {
	return p.logStart, p.highWatermark, p.lastStable
}

func (p *fakePartition) WatermarkIsOld() bool { return p.watermarkOld }

func (p *fakePartition) Producers() []segment.ActiveProducer { return p.producers }

func (p *fakePartition) EpochAt(off wire.Offset) wire.LeaderEpoch {
	if off >= p.highWatermark {
		return wire.NoLeaderEpoch
	}
	return p.epoch
}

func (p *fakePartition) EndOffsetForEpoch(e wire.LeaderEpoch) (wire.LeaderEpoch, wire.Offset) {
	if e == p.epoch {
		return e, p.highWatermark
	}
	return wire.NoLeaderEpoch, wire.NoOffset
}

func (p *fakePartition) OffsetForTime(ts wire.Timestamp) (wire.Offset, wire.Timestamp, wire.LeaderEpoch, bool, error) {
	for i, at := range p.times {
		if at >= ts {
			return wire.Offset(i), at, p.epoch, true, p.err
		}
	}
	return 0, 0, 0, false, p.err
}

func (p *fakePartition) MaxTimestamp() (wire.Offset, wire.Timestamp, wire.LeaderEpoch, bool, error) {
	best := -1
	for i, at := range p.times {
		if best < 0 || at > p.times[best] {
			best = i
		}
	}
	if best < 0 {
		return 0, 0, 0, false, p.err
	}
	return wire.Offset(best), p.times[best], p.epoch, true, p.err
}

// ask sends a request of a version through its encoding, and gives the answer through its.
func ask[P kmsg.Response](t testing.TB, b Broker, version int16, req kmsg.Request) P {
	t.Helper()
	req.SetVersion(version)
	r := &Request{Header: wire.RequestHeader{Key: wire.APIKey(req.Key()), Version: wire.APIVersion(version)}, Body: req.AppendTo(nil),
		Client: Client{ID: "test", Host: "/127.0.0.1"}}
	body, err := Answer(nil, b, r)
	if err != nil {
		t.Fatal(err)
	}
	resp := req.ResponseKind()
	resp.SetVersion(version)
	if err := resp.ReadFrom(body); err != nil {
		t.Fatalf("%T version %d: %v", resp, version, err)
	}
	return resp.(P)
}

// text is what a nullable string holds, "<null>" for none.
func text(s *string) string {
	if s == nil {
		return "<null>"
	}
	return *s
}
