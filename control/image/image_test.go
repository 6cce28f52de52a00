package image

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/ringmill/ringmill/wire"
)

// id gives a topic id that is like a random one in that its last bytes differ.
func id(n int) (id wire.TopicID) {
	binary.BigEndian.PutUint64(id[8:], uint64(n))
	return id
}

func topic(name string, n int) TopicRecord { return TopicRecord{Name: name, ID: id(n), Partitions: 1} }

func config(t ResourceType, name, key, value string) ConfigRecord {
	return ConfigRecord{Resource: Resource{t, name}, Key: key, Value: &value}
}

func noConfig(t ResourceType, name, key string) ConfigRecord {
	return ConfigRecord{Resource: Resource{t, name}, Key: key}
}

func must(m *Image, err error) *Image {
	if err != nil {
		panic(err)
	}
	return m
}

// content is all that an Image says, in a form that can be compared.
type content struct {
	Version     uint64
	Cluster     ClusterRecord
	Next        wire.ProducerID
	LeaderEpoch int64
	Topics      []Topic
	Partitions  int64
	Configs     map[Resource]map[string]string
	Features    map[string]int16
	Quotas      map[QuotaEntity]map[string]float64
	SCRAM       map[SCRAMUser]SCRAMCredential
	ACLs        map[wire.UUID]ACL
	States      map[wire.TopicPartition]PartitionState
	Brokers     []Broker
}

// contentOf reads m, and fails if its views of the topics differ (I2).
func contentOf(t testing.TB, m *Image) content {
	t.Helper()
	c := content{Version: m.Version(), Cluster: ClusterRecord{m.ClusterID(), m.NodeID()}, Next: m.NextProducerID(), LeaderEpoch: m.LeaderEpoch(),
		Configs: map[Resource]map[string]string{}, Quotas: map[QuotaEntity]map[string]float64{}, SCRAM: map[SCRAMUser]SCRAMCredential{}, ACLs: map[wire.UUID]ACL{},
		States: map[wire.TopicPartition]PartitionState{}}
	for b := range m.Brokers() {
		if m.Broker(b.ID) != b {
			t.Errorf("broker %d differs by id and order", b.ID)
		}
		c.Brokers = append(c.Brokers, *b)
	}
	for topic := range m.Topics() {
		if m.ByName(topic.Name) != topic || m.ByID(topic.ID) != topic {
			t.Errorf("I2: topic %s differs by name, id and order", topic.Name)
		}
		for i, s := range topic.States() {
			c.States[wire.TopicPartition{Topic: topic.Name, Partition: i}] = *s
		}
		flat := *topic
		flat.states = nil // its chunks depend on the history
		c.Topics = append(c.Topics, flat)
		c.Partitions += int64(topic.Partitions)
	}
	for r := range m.Resources() {
		c.Configs[r] = m.Configs(r)
	}
	if level, set := m.FeatureLevel("share.version"); set {
		c.Features = map[string]int16{"share.version": level}
	}
	for _, e := range m.QuotaEntities() {
		c.Quotas[e] = m.ClientQuotas(e)
	}
	for _, u := range m.SCRAMUsers() {
		c.SCRAM[u] = *m.SCRAMCredential(u)
	}
	for id, a := range m.ACLs() {
		c.ACLs[id] = a
		if found, ok := m.ACLID(a); !ok || found != id {
			t.Errorf("I2: ACL %s differs by id and content", id)
		}
	}
	if m.TopicCount() != len(c.Topics) || m.PartitionCount() != c.Partitions || m.ids.count != len(c.Topics) {
		t.Errorf("counts: %d topics, %d ids, %d partitions; found %d, %d", m.TopicCount(), m.ids.count, m.PartitionCount(), len(c.Topics), c.Partitions)
	}
	if !slices.IsSortedFunc(c.Topics, func(a, b Topic) int { return compareResources(Resource{Name: a.Name}, Resource{Name: b.Name}) }) {
		t.Error("topics are not in order")
	}
	return c
}

func sameContent(t testing.TB, got, want *Image) {
	t.Helper()
	if g, w := contentOf(t, got), contentOf(t, want); !reflect.DeepEqual(g, w) {
		t.Errorf("got  %+v\nwant %+v", g, w)
	}
}

func TestEmptyImage(t *testing.T) {
	var m Image
	if m.ByName("a") != nil || m.ByID(id(1)) != nil || m.BrokerConfigs("") != nil ||
		m.Configs(Resource{TopicResource, "a"}) != nil || m.CheckNewTopicName("a.b") != nil {
		t.Error("the empty image holds something")
	}
	contentOf(t, &m)
}

func TestRefusedRecords(t *testing.T) {
	m := must(new(Image).With(topic("a", 1), PartitionsRecord{id(1), 5}, ProducerIDsRecord{1000}, ClusterRecord{"c", 1}, LeaderEpochRecord{5}))
	before := contentOf(t, m)
	invalid := "\xff"
	for _, c := range []struct {
		record Record
		err    error
	}{
		{topic("a", 2), ErrTopicExists}, {topic("b", 1), ErrTopicExists}, {topic("b", 0), ErrTopicID},
		{TopicRecord{"b", id(2), 0}, ErrPartitionsFall}, {PartitionsRecord{id(1), 4}, ErrPartitionsFall},
		{PartitionsRecord{id(9), 4}, ErrNoTopic}, {RemoveTopicRecord{id(9)}, ErrNoTopic},
		{config(TopicResource, "z", "k", "v"), ErrNoTopic}, {config(8, "1", "k", "v"), ErrResourceType},
		{config(BrokerResource, invalid, "k", "v"), ErrNotUTF8}, {config(BrokerResource, "", invalid, "v"), ErrNotUTF8},
		{config(BrokerResource, "", "k", invalid), ErrNotUTF8}, {ClusterRecord{invalid, 1}, ErrNotUTF8},
		{LeaderEpochRecord{4}, ErrLeaderEpochFalls}, {ProducerIDsRecord{999}, ErrProducerIDsFall}, {ClusterRecord{"other", 1}, ErrOtherCluster},
		{quota(QuotaEntity{}, "k", 1), ErrQuotaEntity}, {quota(QuotaEntity{User: QuotaName{Given: true}}, "k", 1), ErrQuotaEntity},
		{quota(QuotaEntity{User: NamedQuota("u"), IP: DefaultQuota}, "k", 1), ErrQuotaEntity},
		{quota(QuotaEntity{User: NamedQuota(invalid)}, "k", 1), ErrNotUTF8}, {quota(QuotaEntity{User: DefaultQuota}, invalid, 1), ErrNotUTF8},
		{quota(QuotaEntity{User: DefaultQuota}, "k", 0), ErrQuotaValue}, {quota(QuotaEntity{User: DefaultQuota}, "k", math.Inf(1)), ErrQuotaValue},
		{scram("", SCRAMSHA256, 32, 4096), ErrSCRAMUser}, {scram("u", 3, 32, 4096), ErrSCRAMUser}, {scram(invalid, SCRAMSHA256, 32, 4096), ErrNotUTF8},
		{scram("u", SCRAMSHA512, 32, 4096), ErrSCRAMCredential}, {scram("u", SCRAMSHA256, 32, 4095), ErrSCRAMCredential},
		{noSCRAM("u", SCRAMSHA256), ErrNoCredential}, {RemoveAccessControlEntryRecord{id(5)}, ErrNoACL}, {AccessControlEntryRecord{ACL: someACL}, ErrACLID},
	} {
		next, err := m.With(topic("fine", 7), c.record)
		var e *RecordError
		if next != nil || !errors.Is(err, c.err) || !errors.As(err, &e) || e.Index != 1 || !reflect.DeepEqual(e.Record, c.record) {
			t.Errorf("%+v: %v, want %v", c.record, err, c.err)
		}
	}
	var nameError *wire.TopicNameError
	if _, err := m.With(topic("a b", 2)); !errors.As(err, &nameError) {
		t.Errorf("illegal name: %v", err)
	}
	if after := contentOf(t, m); !reflect.DeepEqual(before, after) {
		t.Error("a refused change changed the image")
	}
}

// A topic's leader epoch is 0 when it is created, and rises with the node's from then on (I7).
func TestLeaderEpochs(t *testing.T) {
	m := must(new(Image).With(topic("old", 1), LeaderEpochRecord{3}, topic("new", 2), topic("dead", 3), LeaderEpochRecord{5},
		RemoveTopicRecord{id(3)}, topic("dead", 4), PartitionsRecord{id(2), 9}, config(TopicResource, "old", "k", "v")))
	for name, want := range map[string]wire.LeaderEpoch{"old": 5, "new": 2, "dead": 0} {
		if got := m.LeaderEpochOf(m.ByName(name)); got != want {
			t.Errorf("%s leads under %d, want %d", name, got, want)
		}
	}
	m = must(m.With(LeaderEpochRecord{math.MaxInt64}))
	if got := m.LeaderEpochOf(m.ByName("dead")); got != math.MaxInt32 {
		t.Errorf("beyond the last epoch: %d", got)
	}
}

func TestChangesLeaveOldImagesAlone(t *testing.T) {
	one := must(new(Image).With(topic("a", 1), config(TopicResource, "a", "k", "1"), config(BrokerResource, "", "k", "1")))
	before := contentOf(t, one)
	two := must(one.With(PartitionsRecord{id(1), 9}, config(TopicResource, "a", "k", "2"), config(TopicResource, "a", "l", "2"),
		noConfig(BrokerResource, "", "k"), topic("b", 2), ClusterRecord{"c", 3}, ProducerIDsRecord{5}))
	three := must(two.With(RemoveTopicRecord{id(1)}, topic("a", 4)))
	if after := contentOf(t, one); !reflect.DeepEqual(before, after) {
		t.Errorf("before %+v\nafter  %+v", before, after)
	}
	if a := two.ByName("a"); a.Partitions != 9 || !maps.Equal(a.Configs, map[string]string{"k": "2", "l": "2"}) ||
		two.BrokerConfigs("") != nil || two.ClusterID() != "c" || two.NodeID() != 3 || two.NextProducerID() != 5 {
		t.Errorf("second image: %+v", contentOf(t, two))
	}
	if a := three.ByName("a"); a.ID != id(4) || a.Configs != nil || three.ByID(id(1)) != nil {
		t.Errorf("third image: %+v", contentOf(t, three))
	}
	sameContent(t, must(two.With()), two)
}

func TestTopicsFrom(t *testing.T) {
	var m *Image = new(Image)
	for i := range 500 {
		m = must(m.With(topic(fmt.Sprintf("t%03d", (i*7)%500), i+1)))
	}
	for from, want := range map[string]int{"": 500, "t000": 500, "t0001": 499, "t250": 250, "t499": 1, "t4990": 0, "z": 0, "a": 500} {
		n := 0
		for topic := range m.TopicsFrom(from) {
			if topic.Name < from {
				t.Fatalf("%s from %s", topic.Name, from)
			}
			n++
		}
		if n != want {
			t.Errorf("from %q: %d topics, want %d", from, n, want)
		}
	}
	for topic := range m.TopicsFrom("t010") { // stopping early
		if topic.Name != "t010" {
			t.Errorf("first is %s", topic.Name)
		}
		break
	}
}

// history makes random records that fit the images they lead to, with names that often collide and come back.
type history struct {
	*rand.Rand
	image *Image
	ids   int
}

func (h *history) next() Record {
	topics := slices.Collect(h.image.Topics())
	if len(topics) == 0 || h.IntN(10) < 3 {
		h.ids++
		name := fmt.Sprintf("t%d%c%d", h.IntN(20), "._-x"[h.IntN(4)], h.IntN(20))
		if h.image.ByName(name) == nil {
			return TopicRecord{Name: name, ID: id(h.ids * 257), Partitions: h.Int32N(5) + 1}
		}
		if h.IntN(2) == 0 {
			return FeatureLevelRecord{"share.version", int16(h.IntN(2))}
		}
		return ProducerIDsRecord{h.image.NextProducerID() + wire.ProducerID(h.IntN(1000))}
	}
	if h.IntN(10) == 0 {
		return LeaderEpochRecord{h.image.LeaderEpoch() + h.Int64N(3)}
	}
	t := topics[h.IntN(len(topics))]
	key, value := fmt.Sprintf("key.%d", h.IntN(4)), fmt.Sprintf("value \"%d\" <&>\n", h.IntN(100))
	switch h.IntN(20) {
	case 7, 8:
		return h.quota()
	case 16, 17:
		return h.scram()
	case 18, 19:
		return h.acl()
	case 10, 11, 12, 13:
		return h.partition(t)
	case 14, 15:
		return h.broker()
	case 0:
		return RemoveTopicRecord{t.ID}
	case 1:
		return PartitionsRecord{t.ID, t.Partitions + h.Int32N(3)}
	case 2:
		return noConfig(TopicResource, t.Name, key)
	case 3, 4:
		return config(TopicResource, t.Name, key, value)
	case 5:
		return config(BrokerResource, []string{"", "1"}[h.IntN(2)], key, value)
	case 6:
		return noConfig(BrokerResource, []string{"", "1"}[h.IntN(2)], key)
	}
	return ClusterRecord{"cluster", wire.NodeID(h.IntN(3))}
}

// partition moves one partition on, from what it is.
func (h *history) partition(t *Topic) Record {
	i := wire.PartitionIndex(h.Int32N(t.Partitions))
	s := PartitionState{}
	if before := t.State(i); before != nil {
		s = PartitionState{LeaderEpoch: before.LeaderEpoch + 1, PartitionEpoch: before.PartitionEpoch + 1}
	}
	for _, n := range h.Perm(6)[:1+h.IntN(4)] {
		s.Replicas = append(s.Replicas, wire.NodeID(n))
	}
	cut := h.IntN(len(s.Replicas) + 1)
	s.ISR, s.ELR, s.Leader = s.Replicas[:cut], s.Replicas[cut:], wire.NoNode
	if cut > 0 && h.IntN(3) > 0 {
		s.Leader, s.Recovering = s.ISR[0], cut == 1
	}
	s.LastKnownELR, s.Adding, s.Removing = s.Replicas[:h.IntN(2)], s.Replicas[:h.IntN(2)], s.Replicas[:h.IntN(2)]
	return PartitionRecord{t.ID, i, s}
}

// broker registers one of a few nodes, changes it, or takes it away.
func (h *history) broker() Record {
	n := wire.NodeID(h.IntN(4))
	present := h.image.Broker(n)
	if present != nil && h.IntN(4) == 0 {
		return RemoveBrokerRecord{n}
	}
	b := Broker{ID: n, Epoch: wire.BrokerEpoch(h.image.Version()), Incarnation: id(h.IntN(9)), DirectoryID: id(int(n)),
		Endpoints: []Endpoint{{"PLAINTEXT", "host", 9092, "PLAINTEXT"}}, Rack: []string{"", "r"}[h.IntN(2)], Fenced: h.IntN(2) == 0,
		ShuttingDown: h.IntN(2) == 0, Draining: h.IntN(2) == 0, Version: "1", Features: map[string][2]int16{"f": {0, 1}}, LogDirs: []wire.UUID{id(7)}}
	return BrokerRecord{b}
}

// quota sets one value of a few entities, or takes it away.
func (h *history) quota() Record {
	entities := []QuotaEntity{
		{User: NamedQuota("u <&>")}, {User: DefaultQuota}, {ClientID: NamedQuota("c")}, {User: NamedQuota("u"), ClientID: DefaultQuota}, {IP: DefaultQuota},
	}
	r := quota(entities[h.IntN(len(entities))], fmt.Sprintf("key.%d", h.IntN(2)), float64(h.IntN(1000)+1)/8)
	if r.Remove = h.IntN(3) == 0; r.Remove {
		r.Value = 0
	}
	return r
}

func quota(e QuotaEntity, key string, value float64) ClientQuotaRecord {
	return ClientQuotaRecord{Entity: e, Key: key, Value: value}
}

// scram sets a credential of a few users, or takes one away that is there.
func (h *history) scram() Record {
	mechanism := SCRAMMechanisms[h.IntN(2)]
	u := SCRAMUser{[]string{"u <&>", "v"}[h.IntN(2)], mechanism}
	if h.image.SCRAMCredential(u) != nil && h.IntN(3) == 0 {
		return RemoveUserSCRAMCredentialRecord{u}
	}
	return scram(u.Name, mechanism, mechanism.keyBytes(), SCRAMIterationsMin+h.Int32N(2))
}

// scram is a credential with keys of so many bytes.
func scram(name string, mechanism SCRAMMechanism, keyBytes int, iterations int32) UserSCRAMCredentialRecord {
	key := bytes.Repeat([]byte{0xAB}, keyBytes)
	return UserSCRAMCredentialRecord{SCRAMUser{name, mechanism}, SCRAMCredential{Salt: []byte{1}, StoredKey: key, ServerKey: key, Iterations: iterations}}
}

func noSCRAM(name string, mechanism SCRAMMechanism) RemoveUserSCRAMCredentialRecord {
	return RemoveUserSCRAMCredentialRecord{SCRAMUser{name, mechanism}}
}

func TestCredentialsLeaveOldImagesAlone(t *testing.T) {
	u := SCRAMUser{"u", SCRAMSHA256}
	one := must(new(Image).With(scram("u", SCRAMSHA256, 32, 4096), scram("u", SCRAMSHA512, 64, 8192)))
	two := must(one.With(scram("u", SCRAMSHA256, 32, 5000), noSCRAM("u", SCRAMSHA512)))
	three := must(two.With(noSCRAM("u", SCRAMSHA256)))
	if c := one.SCRAMCredential(u); len(one.SCRAMUsers()) != 2 || c.Iterations != 4096 {
		t.Errorf("first image: %v, %v", one.SCRAMUsers(), c)
	}
	if users := two.SCRAMUsers(); !slices.Equal(users, []SCRAMUser{u}) || two.SCRAMCredential(u).Iterations != 5000 {
		t.Errorf("second image: %v", users)
	}
	if users := three.SCRAMUsers(); len(users) != 0 || three.SCRAMCredential(u) != nil {
		t.Errorf("third image: %v", users)
	}
}

// What fmt makes of a credential, or of something that holds one, is nothing that helps to guess a password.
func TestCredentialsAreNotPrinted(t *testing.T) {
	r := scram("u", SCRAMSHA256, 32, 4096)
	err := &RecordError{Record: r, Err: ErrSCRAMCredential}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x"} {
		for _, held := range []any{r, &r, r.SCRAMCredential, []Record{r}, *err} {
			got := fmt.Sprintf(verb, held)
			if strings.Contains(strings.ToLower(got), "abab") || strings.Contains(got, "171, 171") || strings.Contains(got, "171 171") {
				t.Errorf("%s of %T: %s", verb, held, got)
			}
		}
	}
}

func TestQuotasLeaveOldImagesAlone(t *testing.T) {
	user := QuotaEntity{User: NamedQuota("u")}
	one := must(new(Image).With(quota(user, "a", 1), quota(user, "b", 2)))
	two := must(one.With(quota(user, "a", 3), ClientQuotaRecord{Entity: user, Key: "b", Remove: true}, quota(QuotaEntity{IP: DefaultQuota}, "a", 4)))
	three := must(two.With(ClientQuotaRecord{Entity: user, Key: "a", Remove: true}, ClientQuotaRecord{Entity: user, Key: "z", Remove: true}))
	if q := one.ClientQuotas(user); !maps.Equal(q, map[string]float64{"a": 1, "b": 2}) {
		t.Errorf("first image: %v", q)
	}
	if q := two.ClientQuotas(user); !maps.Equal(q, map[string]float64{"a": 3}) || len(two.QuotaEntities()) != 2 {
		t.Errorf("second image: %v, %v", q, two.QuotaEntities())
	}
	if q := three.QuotaEntities(); three.ClientQuotas(user) != nil || !slices.Equal(q, []QuotaEntity{{IP: DefaultQuota}}) {
		t.Errorf("third image: %v", q)
	}
}

// Every way to reach an Image leads to the same one (I4): record by record, in one change, from a log, from a compacted log.
func TestRandomHistories(t *testing.T) {
	for seed := range uint64(30) {
		h := history{Rand: rand.New(rand.NewPCG(seed, 3)), image: new(Image)}
		var all []Record
		var log []byte
		for range 300 {
			r := h.next()
			log = appendBatch(log, wire.Offset(h.image.Version()), []Record{r})
			h.image, all = must(h.image.With(r)), append(all, r)
		}
		sameContent(t, must(new(Image).With(all...)), h.image)
		checkReplay(t, log, h.image)
		checkReplay(t, appendLive(nil, h.image), h.image)
		checkReplay(t, appendBatch(nil, 0, all), h.image)
		checkSnapshot(t, h.image)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func checkReplay(t *testing.T, log []byte, want *Image) {
	t.Helper()
	r, err := replay("log", log)
	if err != nil || r.whole != int64(len(log)) {
		t.Fatalf("replayed %d of %d bytes, error %v", r.whole, len(log), err)
	}
	sameContent(t, r.image, want)
}

func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

func manyTopics(n int) *Image {
	records := make([]Record, n)
	for i := range records {
		records[i] = TopicRecord{Name: fmt.Sprintf("topic.%06d", i), ID: id(i + 1), Partitions: 10}
	}
	return must(new(Image).With(records...))
}

func TestOneTopicMoreIsCheap(t *testing.T) {
	m := manyTopics(10_000)
	before := allocated()
	for i := range 100 {
		m = must(m.With(topic(fmt.Sprintf("new.%d", i), 20_000+i)))
	}
	// Measured: 26 KiB each. A copy of everything would be a megabyte.
	if grown := (allocated() - before) / 100; grown > 64<<10 {
		t.Errorf("%d bytes for one topic", grown)
	}
	contentOf(t, m)
}

func TestLookupsDoNotAllocate(t *testing.T) {
	m := manyTopics(1000)
	name, topicID := "topic.000500", id(501)
	if n := testing.AllocsPerRun(100, func() {
		if m.ByName(name) == nil || m.ByID(topicID) == nil {
			t.Fatal("not found")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkByName(b *testing.B) {
	m, name := manyTopics(10_000), "topic.005000"
	b.ReportAllocs()
	for b.Loop() {
		m.ByName(name)
	}
}

func BenchmarkOneTopicMore(b *testing.B) {
	m := manyTopics(10_000)
	b.ReportAllocs()
	for b.Loop() {
		must(m.With(topic("one.more", 1_000_000)))
	}
}

func TestCollidingNames(t *testing.T) {
	m := must(new(Image).With(topic("wireroom.x_y", 1), topic("plain", 2)))
	const problem = "Topic 'wireroom_x.y' collides with existing topic: wireroom.x_y"
	if err := m.CheckNewTopicName("wireroom_x.y"); err == nil || err.Error() != problem {
		t.Errorf("got %v", err)
	}
	for _, name := range []string{"wireroom.x_y", "wireroom-x-y", "plain", "new"} {
		if err := m.CheckNewTopicName(name); err != nil {
			t.Error(err)
		}
	}
	if m.CheckNewTopicName("a b") == nil {
		t.Error("an illegal name passed")
	}
	// Kafka accepts colliding names that come in one request, so a log may hold them; each must go on its own.
	m = must(m.With(topic("wireroom_x_y", 3), RemoveTopicRecord{ID: id(1)}))
	if err := m.CheckNewTopicName("wireroom.x.y"); err == nil || !strings.HasSuffix(err.Error(), "wireroom_x_y") {
		t.Errorf("got %v", err)
	}
	m = must(m.With(RemoveTopicRecord{ID: id(3)}))
	if err := m.CheckNewTopicName("wireroom.x.y"); err != nil {
		t.Error(err)
	}
}

func TestInternalTopics(t *testing.T) {
	for name, want := range map[string]bool{ConsumerOffsetsTopic: true, TransactionStateTopic: true, ShareGroupStateTopic: true,
		"__cluster": false, "orders": false} {
		if IsInternal(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}
