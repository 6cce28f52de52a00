package controller

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/wire"
)

// FuzzRequests looks for requests of nodes and clients that panic, or give records that do not fit.
func FuzzRequests(f *testing.F) {
	add := func(req kmsg.Request) {
		req.SetVersion(req.MaxVersion())
		f.Add(req.Key(), req.MaxVersion(), req.AppendTo(nil))
	}
	register := kmsg.NewPtrBrokerRegistrationRequest()
	register.ClusterID, register.BrokerID, register.LogDirs = clusterID, 9, [][16]byte{uuid(9)}
	register.Listeners = []kmsg.BrokerRegistrationRequestListener{{Name: "\xff", Host: "h"}}
	heartbeat := kmsg.NewPtrBrokerHeartbeatRequest()
	heartbeat.BrokerID, heartbeat.BrokerEpoch, heartbeat.WantShutdown = 1, 1, true
	alter := kmsg.NewPtrAlterPartitionRequest()
	alter.BrokerID, alter.BrokerEpoch = 1, 1
	alter.Topics = []kmsg.AlterPartitionRequestTopic{{TopicID: uuid(1), Partitions: []kmsg.AlterPartitionRequestTopicPartition{
		{NewEpochISR: []kmsg.AlterPartitionRequestTopicPartitionNewEpochISR{{BrokerID: 1, BrokerEpoch: 1}}}, {Partition: -1}}}}
	twice := kmsg.NewPtrAlterPartitionRequest()
	twice.BrokerID, twice.BrokerEpoch = 1, 1
	part := kmsg.AlterPartitionRequestTopicPartition{NewEpochISR: []kmsg.AlterPartitionRequestTopicPartitionNewEpochISR{{BrokerID: 1, BrokerEpoch: 1}}}
	twice.Topics = []kmsg.AlterPartitionRequestTopic{{TopicID: uuid(1), Partitions: []kmsg.AlterPartitionRequestTopicPartition{part, part}}}
	elect := kmsg.NewPtrElectLeadersRequest()
	elect.Topics = []kmsg.ElectLeadersRequestTopic{{Topic: "foo", Partitions: []int32{0, 0, -1, math.MaxInt32}}}
	reassign := kmsg.NewPtrAlterPartitionAssignmentsRequest()
	reassign.Topics = []kmsg.AlterPartitionAssignmentsRequestTopic{{Topic: "foo", Partitions: []kmsg.AlterPartitionAssignmentsRequestTopicPartition{
		{Replicas: []int32{3, 2}}, {Replicas: []int32{-1}}, {Partition: -1}, {}}}}
	list := kmsg.NewPtrListPartitionReassignmentsRequest()
	list.Topics = []kmsg.ListPartitionReassignmentsRequestTopic{{Topic: "foo", Partitions: []int32{-1, 0, 9}}}
	unregister := kmsg.NewPtrUnregisterBrokerRequest()
	unregister.BrokerID = 2
	ids := kmsg.NewPtrAllocateProducerIDsRequest()
	ids.BrokerID, ids.BrokerEpoch = 1, 1
	for _, req := range []kmsg.Request{register, heartbeat, alter, twice, elect, reassign, list, unregister, ids} {
		add(req)
	}
	f.Fuzz(func(t *testing.T, key, version int16, body []byte) {
		req := kmsg.RequestForKey(key)
		if req == nil || version < 0 || version > req.MaxVersion() {
			return
		}
		req.SetVersion(version)
		if req.ReadFrom(body) != nil {
			return
		}
		p := newPlay(t)
		p.hostile()
		records := p.answer(req)
		if _, err := p.m.With(records...); err != nil {
			t.Errorf("%v", err)
		}
	})
}

// hostile makes three nodes and a topic.
func (p *play) hostile() {
	for id := range wire.NodeID(3) {
		if p.m.Broker(id+1) != nil {
			continue
		}
		m, err := p.m.With(image.BrokerRecord{Broker: image.Broker{ID: id + 1, Epoch: wire.BrokerEpoch(id + 1), LogDirs: []wire.UUID{uuid(int(id) + 1)}}})
		if err != nil {
			p.t.Fatal(err)
		}
		p.m = m
	}
	records, _ := p.c.CreateTopic(p.m, TopicSpec{Name: "foo", ID: uuid(1), Partitions: -1, ReplicationFactor: -1, Assignment: [][]wire.NodeID{{1, 2, 3}}})
	p.apply(records)
}

func (p *play) answer(req kmsg.Request) (records []image.Record) {
	switch r := req.(type) {
	case *kmsg.BrokerRegistrationRequest:
		records, _, _ = p.c.RegisterBroker(p.m, time.Second, Registration{Request: r})
	case *kmsg.BrokerHeartbeatRequest:
		records, _ = p.c.Heartbeat(p.m, time.Second, r)
	case *kmsg.AlterPartitionRequest:
		records, _ = p.c.AlterPartition(p.m, r)
	case *kmsg.ElectLeadersRequest:
		records, _ = p.c.ElectLeaders(p.m, r)
	case *kmsg.AlterPartitionAssignmentsRequest:
		records, _ = p.c.AlterPartitionReassignments(p.m, r)
	case *kmsg.ListPartitionReassignmentsRequest:
		p.c.ListPartitionReassignments(p.m, r)
	case *kmsg.UnregisterBrokerRequest:
		records, _ = p.c.UnregisterBroker(p.m, r)
	case *kmsg.AllocateProducerIDsRequest:
		records, _ = p.c.AllocateProducerIDs(p.m, r)
	}
	return records
}

func TestHostileTopics(t *testing.T) {
	p := newPlay(t)
	p.hostile()
	for _, c := range []struct {
		spec TopicSpec
		want wire.ErrorCode
	}{
		{TopicSpec{Name: "a", ID: uuid(2), Partitions: math.MaxInt32, ReplicationFactor: 1}, wire.PolicyViolation},
		{TopicSpec{Name: "a", ID: uuid(2), Partitions: 1, ReplicationFactor: math.MaxInt16}, wire.InvalidReplicationFactor},
		{TopicSpec{Name: "a", ID: uuid(2), Partitions: 1, ReplicationFactor: 1, Configs: map[string]string{"k": "\xff"}}, wire.InvalidConfig},
		{TopicSpec{Name: "a", ID: uuid(2), Partitions: -1, ReplicationFactor: -1, Assignment: [][]wire.NodeID{{-1}}}, wire.InvalidReplicaAssignment},
		{TopicSpec{Name: "a\xff", ID: uuid(2), Partitions: 1, ReplicationFactor: 1}, wire.InvalidTopicException},
	} {
		if records, why := p.c.CreateTopic(p.m, c.spec); why.Code != c.want || records != nil {
			t.Errorf("%+v: %v, want %s", c.spec, why, c.want)
		}
	}
	if _, why := p.c.CreatePartitions(p.m, "foo", math.MaxInt32, nil); why.Code != wire.PolicyViolation {
		t.Errorf("%v", why)
	}
}

// A step of a thousand partitions at most, whatever there is to do; what is left follows at once.
func TestPreferredLeadersAreElectedInSteps(t *testing.T) {
	p := newPlay(t)
	p.c = New(testConfig(rand.New(rand.NewPCG(1, 2))))
	p.c.BecomeController(p.m, 0)
	p.hostile()
	records, why := p.c.CreateTopic(p.m, TopicSpec{Name: "many", ID: uuid(7), Partitions: 2500, ReplicationFactor: 3})
	if why.Code != wire.None {
		t.Fatal(why)
	}
	m, err := p.m.With(records...)
	if err != nil {
		t.Fatal(err)
	}
	records = nil
	for i, s := range m.ByName("many").States() {
		other := *s
		other.Leader, other.LeaderEpoch, other.PartitionEpoch = s.Replicas[1], 1, 1
		records = append(records, image.PartitionRecord{Topic: uuid(7), Partition: i, State: other})
	}
	if m, err = m.With(records...); err != nil {
		t.Fatal(err)
	}
	now := 300 * time.Second
	for _, b := range []wire.NodeID{1, 2, 3} {
		p.c.session(b, now).lastContact = now
	}
	for _, want := range []int{1000, 1000, 500, 0} {
		records := p.c.Tick(m, now)
		if len(records) != want {
			t.Fatalf("%d records, want %d", len(records), want)
		}
		if m, err = m.With(records...); err != nil {
			t.Fatal(err)
		}
	}
}
