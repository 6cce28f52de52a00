package wire

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// kmsg and kerr are the second opinion: other people's reading of the same protocol.

func TestErrorNamesAgreeWithKerr(t *testing.T) {
	for code := UnknownServerError; int(code)+1 < len(errorNames); code++ {
		if code == None {
			continue
		}
		other := kerr.TypedErrorForCode(int16(code))
		if other == nil {
			t.Errorf("kerr has no %d %s", code, code)
		} else if other.Message != code.String() && code != NotLeaderOrFollower { // kerr keeps its name from before KIP-392
			t.Errorf("%d: %s, kerr says %s", code, code, other.Message)
		}
	}
	equal(t, "none", None.String(), "NONE")
	equal(t, "unknown", ErrorCode(-2).String()+ErrorCode(1000).String(), "ERROR_CODE(-2)ERROR_CODE(1000)")
}

func TestAPITableAgreesWithKmsg(t *testing.T) {
	for k := APIKey(0); k < 200; k++ {
		api, ok := LookupAPI(k)
		if !ok {
			equal(t, "unknown key", k.String(), "Unknown")
			continue
		}
		// kmsg keeps a name of its own for one key.
		if api.Key != k || !strings.EqualFold(api.Name, kmsg.NameForKey(int16(k))) && k != KeyAlterPartitionReassignments {
			t.Errorf("key %d: %+v, kmsg says %s", k, api, kmsg.NameForKey(int16(k)))
		}
		req := kmsg.RequestForKey(int16(k))
		if req == nil {
			t.Errorf("kmsg has no %s", api.Name)
			continue
		}
		if int16(api.Max) > req.MaxVersion() {
			t.Errorf("%s: Max %d, kmsg's %d", api.Name, api.Max, req.MaxVersion())
		}
		for v := api.Min; v <= api.Max; v++ {
			if req.SetVersion(int16(v)); api.Flexible(v) != req.IsFlexible() {
				t.Errorf("%s v%d: flexible %v, kmsg says %v", api.Name, v, api.Flexible(v), req.IsFlexible())
			}
		}
	}
	for _, k := range []APIKey{-1, 200, math.MinInt16, math.MaxInt16} {
		if _, ok := LookupAPI(k); ok {
			t.Errorf("key %d is known", k)
		}
	}
}

// random makes message contents; every call gives other ones.
type random struct{ *rand.Rand }

func (r random) text() string { return strings.Repeat("n-ö", r.IntN(80)) }
func (r random) count() int   { return []int{0, 1, 2, 5, 130}[r.IntN(5)] }
func (r random) coin() bool   { return r.IntN(2) == 0 }
func (r random) int64() int64 { return int64(r.Uint64()) }
func (r random) int32() int32 { return int32(r.Uint32()) }
func (r random) int16() int16 { return int16(r.Uint32()) }
func (r random) id() (id [16]byte) {
	for i := range id {
		id[i] = byte(r.Uint32())
	}
	return id
}

func (r random) bytes() []byte {
	b := make([]byte, r.IntN(300))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

func (r random) nullable() *string {
	if r.coin() {
		return nil
	}
	s := r.text() + "."
	return &s
}

// rounds is how many random messages each version gets.
const rounds = 40

// eachVersion calls check with fresh random contents, rounds times for each version.
func eachVersion(t *testing.T, k APIKey, check func(t *testing.T, v APIVersion, r random)) {
	api, _ := LookupAPI(k)
	for v := api.Min; v <= api.Max; v++ {
		for i := range rounds {
			check(t, v, random{rand.New(rand.NewPCG(uint64(v), uint64(i)))})
			if t.Failed() {
				t.Fatalf("%s v%d, round %d", api.Name, v, i)
			}
		}
	}
}

func view(s *string) []byte {
	if s == nil {
		return nil
	}
	return []byte(*s)
}

func TestProduceRequestAgreesWithKmsg(t *testing.T) {
	var got ProduceRequest // one for all, so that reuse is tested too
	eachVersion(t, KeyProduce, func(t *testing.T, v APIVersion, r random) {
		k := kmsg.NewProduceRequest()
		k.Version, k.Acks, k.TimeoutMillis, k.TransactionID = int16(v), r.int16(), r.int32(), r.nullable()
		for range r.count() {
			topic := kmsg.NewProduceRequestTopic()
			topic.Topic, topic.TopicID = r.text(), r.id()
			for range r.count() % 7 {
				p := kmsg.NewProduceRequestTopicPartition()
				p.Partition = r.int32()
				if r.coin() {
					p.Records = r.bytes()
				}
				topic.Partitions = append(topic.Partitions, p)
			}
			k.Topics = append(k.Topics, topic)
		}
		if err := got.Read(k.AppendTo(nil), v); err != nil {
			t.Fatal(err)
		}
		compareProduceRequest(t, &got, &k, v)
	})
}

func compareProduceRequest(t *testing.T, got *ProduceRequest, k *kmsg.ProduceRequest, v APIVersion) {
	if v >= 3 {
		equal(t, "transactional id", got.TransactionalID, view(k.TransactionID))
	}
	equal(t, "acks", got.Acks, k.Acks)
	equal(t, "timeout", got.TimeoutMS, k.TimeoutMillis)
	equal(t, "topics", len(got.Topics), len(k.Topics))
	for i := range min(len(got.Topics), len(k.Topics)) {
		g, w := &got.Topics[i], &k.Topics[i]
		compareTopic(t, g.Name, g.ID, w.Topic, w.TopicID, v >= 13)
		equal(t, "partitions", len(g.Partitions), len(w.Partitions))
		for j := range g.Partitions {
			equal(t, "index", int32(g.Partitions[j].Index), w.Partitions[j].Partition)
			equal(t, "records", g.Partitions[j].Records, w.Partitions[j].Records)
		}
	}
}

func compareTopic(t *testing.T, name []byte, id TopicID, wantName string, wantID [16]byte, byID bool) {
	if byID {
		equal(t, "topic id", [16]byte(id), wantID)
		return
	}
	equal(t, "topic", string(name), wantName)
}

func TestProduceResponseAgreesWithKmsg(t *testing.T) {
	eachVersion(t, KeyProduce, func(t *testing.T, v APIVersion, r random) {
		k := kmsg.NewProduceResponse()
		k.Version, k.ThrottleMillis = int16(v), r.int32()
		ours := ProduceResponse{ThrottleMS: k.ThrottleMillis}
		for range r.count() {
			kt, ot := randomProduceTopic(r, v)
			k.Topics, ours.Topics = append(k.Topics, kt), append(ours.Topics, ot)
		}
		if v >= 10 {
			for range r.count() % 3 {
				b := kmsg.NewProduceResponseBroker()
				b.NodeID, b.Host, b.Port, b.Rack = r.int32(), r.text(), r.int32(), r.nullable()
				k.Brokers = append(k.Brokers, b)
				ours.NodeEndpoints = append(ours.NodeEndpoints, NodeEndpoint{NodeID(b.NodeID), b.Host, b.Port, string(view(b.Rack))})
			}
		}
		equalBytes(t, ours.AppendTo(nil, v), k.AppendTo(nil))
	})
}

func randomProduceTopic(r random, v APIVersion) (kmsg.ProduceResponseTopic, ProduceTopicResponse) {
	kt := kmsg.NewProduceResponseTopic()
	kt.Topic, kt.TopicID = r.text(), r.id()
	ot := ProduceTopicResponse{Name: []byte(kt.Topic), ID: kt.TopicID}
	for range r.count() % 7 {
		kp := kmsg.NewProduceResponseTopicPartition()
		kp.Partition, kp.ErrorCode, kp.BaseOffset, kp.LogAppendTime, kp.LogStartOffset = r.int32(), r.int16(), r.int64(), r.int64(), r.int64()
		kp.ErrorMessage = r.nullable()
		op := ProducePartitionResponse{Index: PartitionIndex(kp.Partition), ErrorCode: ErrorCode(kp.ErrorCode), BaseOffset: Offset(kp.BaseOffset),
			LogAppendTime: Timestamp(kp.LogAppendTime), LogStartOffset: Offset(kp.LogStartOffset), ErrorMessage: string(view(kp.ErrorMessage))}
		for range r.count() % 3 {
			e := kmsg.NewProduceResponseTopicPartitionErrorRecord()
			e.RelativeOffset, e.ErrorMessage = r.int32(), r.nullable()
			kp.ErrorRecords = append(kp.ErrorRecords, e)
			op.RecordErrors = append(op.RecordErrors, ProduceRecordError{e.RelativeOffset, string(view(e.ErrorMessage))})
		}
		if v >= 10 && r.coin() {
			kp.CurrentLeader.LeaderID, kp.CurrentLeader.LeaderEpoch = r.Int32(), r.Int32()
			op.CurrentLeader = CurrentLeader{true, NodeID(kp.CurrentLeader.LeaderID), LeaderEpoch(kp.CurrentLeader.LeaderEpoch)}
		}
		kt.Partitions, ot.Partitions = append(kt.Partitions, kp), append(ot.Partitions, op)
	}
	return kt, ot
}

func TestFetchRequestAgreesWithKmsg(t *testing.T) {
	var got FetchRequest
	eachVersion(t, KeyFetch, func(t *testing.T, v APIVersion, r random) {
		k := randomFetchRequest(r, v)
		if err := got.Read(k.AppendTo(nil), v); err != nil {
			t.Fatal(err)
		}
		// What kmsg reads back has the version's defaults.
		back := kmsg.NewFetchRequest()
		back.Version = int16(v)
		if err := back.ReadFrom(k.AppendTo(nil)); err != nil {
			t.Fatal(err)
		}
		compareFetchRequest(t, &got, &back, v)
		equalBytes(t, got.AppendTo(nil, v), back.AppendTo(nil))
	})
}

func randomFetchRequest(r random, v APIVersion) *kmsg.FetchRequest {
	k := kmsg.NewFetchRequest()
	k.Version, k.ReplicaID, k.MaxWaitMillis, k.MinBytes, k.MaxBytes = int16(v), r.int32(), r.int32(), r.int32(), r.int32()
	k.IsolationLevel, k.SessionID, k.SessionEpoch, k.Rack = int8(r.IntN(2)), r.int32(), r.int32(), r.text()
	k.ClusterID = r.nullable()
	if v >= 15 {
		k.ReplicaState.ID, k.ReplicaState.Epoch = r.int32(), r.int64()
	}
	for range r.count() {
		topic := kmsg.NewFetchRequestTopic()
		topic.Topic, topic.TopicID = r.text(), r.id()
		for range r.count() % 7 {
			p := kmsg.NewFetchRequestTopicPartition()
			p.Partition, p.CurrentLeaderEpoch, p.FetchOffset, p.LastFetchedEpoch = r.int32(), r.int32(), r.int64(), r.int32()
			p.LogStartOffset, p.PartitionMaxBytes = r.int64(), r.int32()
			if v >= 17 && r.coin() {
				p.ReplicaDirectoryID = r.id()
			}
			if v >= 18 && r.coin() {
				p.HighWatermark = r.int64()
			}
			topic.Partitions = append(topic.Partitions, p)
		}
		k.Topics = append(k.Topics, topic)
	}
	for range r.count() {
		f := kmsg.NewFetchRequestForgottenTopic()
		f.Topic, f.TopicID = r.text(), r.id()
		for range r.count() {
			f.Partitions = append(f.Partitions, r.int32())
		}
		k.ForgottenTopics = append(k.ForgottenTopics, f)
	}
	return &k
}

func compareFetchRequest(t *testing.T, got *FetchRequest, k *kmsg.FetchRequest, v APIVersion) {
	replica, epoch := k.ReplicaID, int64(NoBrokerEpoch)
	if v >= 15 {
		replica, epoch = k.ReplicaState.ID, k.ReplicaState.Epoch
	}
	equal(t, "replica", []int64{int64(got.ReplicaID), int64(got.ReplicaEpoch)}, []int64{int64(replica), epoch})
	equal(t, "limits", [...]int32{got.MaxWaitMS, got.MinBytes, got.MaxBytes, int32(got.IsolationLevel), got.SessionID, got.SessionEpoch},
		[...]int32{k.MaxWaitMillis, k.MinBytes, k.MaxBytes, int32(k.IsolationLevel), k.SessionID, k.SessionEpoch})
	equal(t, "rack", string(got.RackID), k.Rack)
	equal(t, "cluster", got.ClusterID, view(k.ClusterID))
	equal(t, "topics", len(got.Topics), len(k.Topics))
	for i := range got.Topics {
		g, w := &got.Topics[i], &k.Topics[i]
		compareTopic(t, g.Name, g.ID, w.Topic, w.TopicID, v >= 13)
		equal(t, "partitions", len(g.Partitions), len(w.Partitions))
		for j := range g.Partitions {
			p := &w.Partitions[j]
			equal(t, "partition", g.Partitions[j], FetchPartition{PartitionIndex(p.Partition), LeaderEpoch(p.CurrentLeaderEpoch),
				Offset(p.FetchOffset), LeaderEpoch(p.LastFetchedEpoch), Offset(p.LogStartOffset), p.PartitionMaxBytes,
				p.ReplicaDirectoryID, Offset(p.HighWatermark)})
		}
	}
	equal(t, "forgotten", len(got.Forgotten), len(k.ForgottenTopics))
	for i := range got.Forgotten {
		g, w := &got.Forgotten[i], &k.ForgottenTopics[i]
		compareTopic(t, g.Name, g.ID, w.Topic, w.TopicID, v >= 13)
		equal(t, "forgotten partitions", len(g.Partitions), len(w.Partitions))
		for j := range g.Partitions {
			equal(t, "forgotten partition", int32(g.Partitions[j]), w.Partitions[j])
		}
	}
}

func TestFetchResponseAgreesWithKmsg(t *testing.T) {
	var read FetchResponseView
	eachVersion(t, KeyFetch, func(t *testing.T, v APIVersion, r random) {
		k := kmsg.NewFetchResponse()
		k.Version, k.ThrottleMillis, k.ErrorCode, k.SessionID = int16(v), r.int32(), r.int16(), r.int32()
		ours := FetchResponse{ThrottleMS: k.ThrottleMillis, ErrorCode: ErrorCode(k.ErrorCode), SessionID: k.SessionID}
		for range r.count() {
			kt, ot := randomFetchTopic(r, v)
			k.Topics, ours.Topics = append(k.Topics, kt), append(ours.Topics, ot)
		}
		if v >= 16 && r.coin() {
			b := kmsg.NewFetchResponseBroker()
			b.NodeID, b.Host, b.Port, b.Rack = r.int32(), r.text(), r.int32(), r.nullable()
			k.Brokers = append(k.Brokers, b)
			ours.NodeEndpoints = append(ours.NodeEndpoints, NodeEndpoint{NodeID(b.NodeID), b.Host, b.Port, string(view(b.Rack))})
		}
		dst, pieces := ours.AppendTo(nil, v, nil)
		equalBytes(t, interleave(dst, pieces, counting), k.AppendTo(nil))
		if err := read.Read(k.AppendTo(nil), v); err != nil {
			t.Fatal(err)
		}
		compareFetchView(t, &read, &ours, v)
	})
}

func randomFetchTopic(r random, v APIVersion) (kmsg.FetchResponseTopic, FetchTopicResponse) {
	kt := kmsg.NewFetchResponseTopic()
	kt.Topic, kt.TopicID = r.text(), r.id()
	ot := FetchTopicResponse{Name: []byte(kt.Topic), ID: kt.TopicID}
	for range r.count() % 7 {
		kp := kmsg.NewFetchResponseTopicPartition()
		kp.Partition, kp.ErrorCode, kp.HighWatermark, kp.LastStableOffset = r.int32(), r.int16(), r.int64(), r.int64()
		kp.LogStartOffset, kp.PreferredReadReplica, kp.RecordBatches = r.int64(), r.int32(), counting(r.IntN(300)*r.IntN(2))
		op := FetchPartitionResponse{Index: PartitionIndex(kp.Partition), ErrorCode: ErrorCode(kp.ErrorCode), HighWatermark: Offset(kp.HighWatermark),
			LastStableOffset: Offset(kp.LastStableOffset), LogStartOffset: Offset(kp.LogStartOffset),
			PreferredReadReplica: NodeID(kp.PreferredReadReplica), RecordsLength: int32(len(kp.RecordBatches))}
		if r.coin() {
			kp.AbortedTransactions, op.Aborted = []kmsg.FetchResponseTopicPartitionAbortedTransaction{}, []AbortedTransaction{}
		}
		for range r.count() * r.IntN(2) {
			a := kmsg.NewFetchResponseTopicPartitionAbortedTransaction()
			a.ProducerID, a.FirstOffset = r.int64(), r.int64()
			kp.AbortedTransactions = append(kp.AbortedTransactions, a)
			op.Aborted = append(op.Aborted, AbortedTransaction{ProducerID(a.ProducerID), Offset(a.FirstOffset)})
		}
		randomFetchTags(r, v, &kp, &op)
		kt.Partitions, ot.Partitions = append(kt.Partitions, kp), append(ot.Partitions, op)
	}
	return kt, ot
}

func randomFetchTags(r random, v APIVersion, kp *kmsg.FetchResponseTopicPartition, op *FetchPartitionResponse) {
	if v < 12 {
		return
	}
	if r.coin() {
		kp.DivergingEpoch.Epoch, kp.DivergingEpoch.EndOffset = r.Int32(), r.int64()
		op.DivergingEpoch = EpochEndOffset{true, LeaderEpoch(kp.DivergingEpoch.Epoch), Offset(kp.DivergingEpoch.EndOffset)}
	}
	if r.coin() {
		kp.CurrentLeader.LeaderID, kp.CurrentLeader.LeaderEpoch = r.Int32(), r.int32()
		op.CurrentLeader = CurrentLeader{true, NodeID(kp.CurrentLeader.LeaderID), LeaderEpoch(kp.CurrentLeader.LeaderEpoch)}
	}
	if r.coin() {
		kp.SnapshotID.EndOffset, kp.SnapshotID.Epoch = r.int64(), r.Int32()
		op.SnapshotID = EpochEndOffset{true, LeaderEpoch(kp.SnapshotID.Epoch), Offset(kp.SnapshotID.EndOffset)}
	}
}
