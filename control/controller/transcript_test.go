package controller

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/wire"
)

// The transcripts of testdata/transcripts drive one controller by commands; each prints the answer and what the records say. The session
// timeout is 9 s, preferred leaders are looked for every 300 s, and so are leaderless partitions.
//
//	register N [incarnation=I] [rack=R] [clean] [durable] [tells-lost] [directory=D] [dirs=(D,..)] [cluster=C] [feature=(name,min,max)]
//	heartbeat N [behind] [want-fence] [want-shutdown] [epoch=E] [lacking=(TOPIC-N,..)] [gone] [since=E]
//	                                                                of a node that has applied everything, unless it is behind
//	start N.. [racks=(R,..)]                                        registers nodes and has them unfenced; prints nothing
//	tick [advance=D] [alive=(N,..)]                                 time passes, heartbeats of those alive with it
//	create NAME [partitions=N] [factor=N]                           the lines are a manual assignment, a partition each
//	grow NAME to=N                                                  likewise
//	delete NAME
//	config NAME key=K [value=V]
//	alter-isr TOPIC-N by=LEADER isr=(..) [epochs=(..)] [leader-epoch=E] [partition-epoch=E] [broker-epoch=E] [recovering] [version=2]
//	elect [unclean] [TOPIC-N ..]
//	reassign TOPIC-N to=(..)|cancel [fixed-factor]
//	reassignments [TOPIC-N ..]
//	unregister N
//	finalize FEATURE level=N                                        where every node knows it
//	producer-ids N [epoch=E]
//	reign                                                           another controller takes over
//	show
func TestTranscripts(t *testing.T) {
	datadriven.Walk(t, "testdata/transcripts", func(t *testing.T, path string) {
		p := newPlay(t)
		datadriven.RunTest(t, path, p.run)
	})
}

const clusterID = "cluster"

type play struct {
	t     *testing.T
	c     *Controller
	m     *image.Image
	now   time.Duration
	made  int           // ids given
	asked []wire.NodeID // the in-sync set that a leader asks for, while it is answered
}

func newPlay(t *testing.T) *play {
	m, err := new(image.Image).With(image.ClusterRecord{ClusterID: clusterID, NodeID: wire.NoNode})
	if err != nil {
		t.Fatal(err)
	}
	p := &play{t: t, c: New(testConfig(rand.New(rand.NewPCG(1, 2)))), m: m}
	p.c.BecomeController(m, 0)
	return p
}

func testConfig(random *rand.Rand) Config {
	return Config{SessionTimeout: 9 * time.Second, NumPartitions: 1, DefaultReplicationFactor: 3, Random: random,
		LeaderRebalance: 300 * time.Second, UncleanCheck: 300 * time.Second,
		MinISR: func(_ *image.Image, t *image.Topic) int {
			if n, err := strconv.Atoi(t.Configs["min.insync.replicas"]); err == nil {
				return n
			}
			return 1
		},
		UncleanElection: func(_ *image.Image, t *image.Topic) bool {
			return t.Configs["unclean.leader.election.enable"] == "true"
		},
	}
}

func uuid(n int) (id wire.UUID) {
	binary.BigEndian.PutUint64(id[8:], uint64(n+1000)) // the first hundred are reserved
	return id
}

func (p *play) run(t *testing.T, d *datadriven.TestData) string {
	p.t = t
	commands := map[string]func(*args) string{
		"register": p.register, "heartbeat": p.heartbeat, "lost": p.lost, "start": p.start, "tick": p.tick, "create": p.create, "grow": p.grow, "delete": p.delete,
		"config": p.config, "alter-isr": p.alterISR, "elect": p.elect, "reassign": p.reassign, "reassignments": p.reassignments,
		"unregister": p.unregister, "finalize": p.finalize, "producer-ids": p.producerIDs, "reign": p.reign, "show": func(*args) string { return showImage(p.m) },
	}
	run, ok := commands[d.Cmd]
	if !ok {
		return "unknown command"
	}
	return run(&args{t, d})
}

// apply makes records the next image, and prints what they say.
func (p *play) apply(records []image.Record) string {
	p.t.Helper()
	m, err := p.m.With(records...)
	if err != nil {
		p.t.Fatalf("a record does not fit: %v", err)
	}
	checkImage(p.t, p.m, m, p.asked)
	var out strings.Builder
	for _, r := range records {
		out.WriteString(showRecord(m, r))
	}
	p.m = m
	return out.String()
}

// answer prints a code and a message.
func answer(code int16, message string) string {
	if code == 0 {
		return "ok\n"
	}
	out := wire.ErrorCode(code).String()
	if message != "" {
		out += ": " + message
	}
	return out + "\n"
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func (p *play) register(a *args) string {
	id := a.position(0)
	req := kmsg.NewPtrBrokerRegistrationRequest()
	req.Version, req.BrokerID, req.ClusterID = 4, int32(id), a.text("cluster", clusterID)
	req.IncarnationID = uuid(int(id)*100 + a.number("incarnation", 1))
	req.LogDirs = [][16]byte{uuid(int(id))}
	if a.has("dirs") {
		req.LogDirs = nil
		for _, dir := range a.nodes("dirs") {
			req.LogDirs = append(req.LogDirs, uuid(int(dir)))
		}
	}
	req.Listeners = []kmsg.BrokerRegistrationRequestListener{{Name: "PLAINTEXT", Host: "h" + fmt.Sprint(id), Port: 9092, SecurityProtocol: int16(a.number("protocol", 0))}}
	if f := a.list("feature"); len(f) == 3 {
		low, _ := strconv.Atoi(f[1])
		high, _ := strconv.Atoi(f[2])
		req.Features = []kmsg.BrokerRegistrationRequestFeature{{Name: f[0], MinSupportedVersion: int16(low), MaxSupportedVersion: int16(high)}}
	}
	if rack := a.text("rack", ""); rack != "" {
		req.Rack = &rack
	}
	records, resp, why := p.c.RegisterBroker(p.m, p.now, Registration{Request: req, DirectoryID: uuid(a.number("directory", int(id))), Version: "1.0",
		CleanShutdown: a.has("clean"), Durable: a.has("durable"), Locked: a.has("locked"), TellsLost: a.has("tells-lost")})
	if why.Code != wire.ErrorCode(resp.ErrorCode) {
		p.t.Errorf("refusal %v beside code %d", why, resp.ErrorCode)
	}
	if resp.ErrorCode != 0 {
		return answer(resp.ErrorCode, why.Message)
	}
	return fmt.Sprintf("broker epoch %d\n", resp.BrokerEpoch) + p.apply(records)
}

func (p *play) heartbeat(a *args) string {
	id := a.position(0)
	req := kmsg.NewPtrBrokerHeartbeatRequest()
	req.BrokerID, req.BrokerEpoch = int32(id), -1
	if b := p.m.Broker(id); b != nil {
		req.BrokerEpoch = int64(b.Epoch)
	}
	req.BrokerEpoch = int64(a.number("epoch", int(req.BrokerEpoch)))
	req.CurrentMetadataOffset = int64(p.m.Version()) - 1
	if a.has("behind") {
		req.CurrentMetadataOffset = req.BrokerEpoch - 1
	}
	req.WantFence, req.WantShutdown = a.has("want-fence"), a.has("want-shutdown")
	var lacking []LackingReplica
	for _, name := range a.list("lacking") {
		topic, number, _ := strings.Cut(name, "-")
		index, _ := strconv.Atoi(number)
		t := p.m.ByName(topic)
		since := a.number("since", int(t.State(wire.PartitionIndex(index)).LeaderEpoch))
		lacking = append(lacking, LackingReplica{t.ID, wire.PartitionIndex(index), wire.LeaderEpoch(since), a.has("gone")})
	}
	records, resp := p.c.Heartbeat(p.m, p.now, req, lacking...)
	if resp.ErrorCode != 0 {
		return answer(resp.ErrorCode, "")
	}
	return fmt.Sprintf("caught-up=%v fenced=%v shut-down=%v\n", resp.IsCaughtUp, resp.IsFenced, resp.ShouldShutdown) + p.apply(records)
}

func (p *play) start(a *args) string {
	for i := range a.d.CmdArgs {
		if a.d.CmdArgs[i].Key == "racks" {
			continue
		}
		one := &datadriven.TestData{CmdArgs: []datadriven.CmdArg{{Key: a.d.CmdArgs[i].Key}}}
		if racks := a.list("racks"); racks != nil {
			one.CmdArgs = append(one.CmdArgs, datadriven.CmdArg{Key: "rack", Vals: []string{racks[i]}})
		}
		p.register(&args{a.t, one})
		p.heartbeat(&args{a.t, one})
	}
	return ""
}

func (p *play) lost(a *args) string { return p.apply(p.c.Lost(p.m, a.position(0))) }

func (p *play) tick(a *args) string {
	d, err := time.ParseDuration(a.text("advance", "1s"))
	if err != nil {
		p.t.Fatal(err)
	}
	p.now += d
	for _, id := range a.nodes("alive") {
		p.heartbeat(&args{a.t, &datadriven.TestData{CmdArgs: []datadriven.CmdArg{{Key: fmt.Sprint(id)}}}})
	}
	return p.apply(p.c.Tick(p.m, p.now))
}

// assignment reads a line a partition.
func (a *args) assignment() (assignment [][]wire.NodeID) {
	for line := range strings.Lines(a.d.Input) {
		replicas := []wire.NodeID{}
		for _, field := range strings.Fields(line) {
			n, err := strconv.Atoi(field)
			if err != nil && field != "-" {
				a.t.Fatal(err)
			}
			if err == nil {
				replicas = append(replicas, wire.NodeID(n))
			}
		}
		assignment = append(assignment, replicas)
	}
	return assignment
}

func (p *play) create(a *args) string {
	p.made++
	records, why := p.c.CreateTopic(p.m, TopicSpec{Name: a.d.CmdArgs[0].Key, ID: uuid(p.made), Partitions: int32(a.number("partitions", -1)),
		ReplicationFactor: int16(a.number("factor", -1)), Assignment: a.assignment()})
	return answer(int16(why.Code), why.Message) + p.apply(records)
}

func (p *play) grow(a *args) string {
	records, why := p.c.CreatePartitions(p.m, a.d.CmdArgs[0].Key, int32(a.number("to", 0)), a.assignment())
	return answer(int16(why.Code), why.Message) + p.apply(records)
}

func (p *play) delete(a *args) string {
	var id wire.TopicID
	if t := p.m.ByName(a.d.CmdArgs[0].Key); t != nil {
		id = t.ID
	}
	records, why := p.c.DeleteTopic(p.m, id)
	return answer(int16(why.Code), why.Message) + p.apply(records)
}

func (p *play) config(a *args) string {
	r := image.ConfigRecord{Resource: image.Resource{Type: image.TopicResource, Name: a.d.CmdArgs[0].Key}, Key: a.text("key", "")}
	if _, err := strconv.Atoi(r.Resource.Name); err == nil {
		r.Resource.Type = image.BrokerResource
	}
	if value := a.text("value", ""); value != "" {
		r.Value = &value
	}
	return p.apply(p.c.AlterConfigs(p.m, r))
}

func (p *play) alterISR(a *args) string {
	topic, index := a.partition(0)
	t := p.m.ByName(topic)
	req := kmsg.NewPtrAlterPartitionRequest()
	req.Version, req.BrokerID = int16(a.number("version", 3)), int32(a.number("by", 0))
	req.BrokerEpoch = int64(a.number("broker-epoch", int(brokerEpoch(p.m, wire.NodeID(req.BrokerID)))))
	part := kmsg.NewAlterPartitionRequestTopicPartition()
	part.Partition = index
	if t != nil && t.State(wire.PartitionIndex(index)) != nil {
		s := t.State(wire.PartitionIndex(index))
		part.LeaderEpoch, part.PartitionEpoch = int32(s.LeaderEpoch), int32(s.PartitionEpoch)
	}
	part.LeaderEpoch, part.PartitionEpoch = int32(a.number("leader-epoch", int(part.LeaderEpoch))), int32(a.number("partition-epoch", int(part.PartitionEpoch)))
	if a.has("recovering") {
		part.LeaderRecoveryState = recovering
	}
	epochs := a.nodes("epochs")
	for i, id := range a.nodes("isr") {
		epoch := brokerEpoch(p.m, id)
		if i < len(epochs) {
			epoch = wire.BrokerEpoch(epochs[i])
		}
		part.NewISR = append(part.NewISR, int32(id))
		part.NewEpochISR = append(part.NewEpochISR, kmsg.AlterPartitionRequestTopicPartitionNewEpochISR{BrokerID: int32(id), BrokerEpoch: int64(epoch)})
	}
	rt := kmsg.NewAlterPartitionRequestTopic()
	if t != nil {
		rt.TopicID = t.ID
	}
	rt.Partitions = append(rt.Partitions, part)
	req.Topics = append(req.Topics, rt)
	p.asked = a.nodes("isr")
	defer func() { p.asked = nil }()
	records, resp := p.c.AlterPartition(p.m, req)
	if resp.ErrorCode != 0 {
		return answer(resp.ErrorCode, "")
	}
	out := &resp.Topics[0].Partitions[0]
	if out.ErrorCode != 0 {
		return answer(out.ErrorCode, "") + p.apply(records)
	}
	return fmt.Sprintf("leader=%d epoch=%d/%d isr=%v recovering=%d\n", out.LeaderID, out.LeaderEpoch, out.PartitionEpoch, out.ISR, out.LeaderRecoveryState) + p.apply(records)
}

func brokerEpoch(m *image.Image, id wire.NodeID) wire.BrokerEpoch {
	if b := m.Broker(id); b != nil {
		return b.Epoch
	}
	return wire.NoBrokerEpoch
}

func (p *play) elect(a *args) string {
	req := kmsg.NewPtrElectLeadersRequest()
	req.Version, req.ElectionType = 2, int8(a.number("type", 0))
	for i := range a.d.CmdArgs {
		switch a.d.CmdArgs[i].Key {
		case "unclean":
			req.ElectionType = electUnclean
		case "type":
		default:
			topic, index := a.partition(i)
			req.Topics = append(req.Topics, kmsg.ElectLeadersRequestTopic{Topic: topic, Partitions: []int32{index}})
		}
	}
	records, resp := p.c.ElectLeaders(p.m, req)
	out := ""
	if resp.ErrorCode != 0 {
		out = answer(resp.ErrorCode, "")
	}
	for _, t := range resp.Topics {
		for _, r := range t.Partitions {
			out += fmt.Sprintf("%s-%d ", t.Topic, r.Partition) + answer(r.ErrorCode, text(r.ErrorMessage))
		}
	}
	return out + p.apply(records)
}

func (p *play) reassign(a *args) string {
	topic, index := a.partition(0)
	part := kmsg.NewAlterPartitionAssignmentsRequestTopicPartition()
	part.Partition = index
	if !a.has("cancel") {
		part.Replicas = append([]int32{}, wire.NodeNumbers(a.nodes("to"))...)
	}
	req := kmsg.NewPtrAlterPartitionAssignmentsRequest()
	req.Version, req.AllowReplicationFactorChange = 1, !a.has("fixed-factor")
	req.Topics = []kmsg.AlterPartitionAssignmentsRequestTopic{{Topic: topic, Partitions: []kmsg.AlterPartitionAssignmentsRequestTopicPartition{part}}}
	records, resp := p.c.AlterPartitionReassignments(p.m, req)
	out := &resp.Topics[0].Partitions[0]
	return answer(out.ErrorCode, text(out.ErrorMessage)) + p.apply(records)
}

func (p *play) reassignments(a *args) string {
	req := kmsg.NewPtrListPartitionReassignmentsRequest()
	for i := range a.d.CmdArgs {
		topic, index := a.partition(i)
		req.Topics = append(req.Topics, kmsg.ListPartitionReassignmentsRequestTopic{Topic: topic, Partitions: []int32{index}})
	}
	out := ""
	for _, t := range p.c.ListPartitionReassignments(p.m, req).Topics {
		for _, r := range t.Partitions {
			out += fmt.Sprintf("%s-%d replicas=%v adding=%v removing=%v\n", t.Topic, r.Partition, r.Replicas, r.AddingReplicas, r.RemovingReplicas)
		}
	}
	return out
}

func (p *play) unregister(a *args) string {
	req := kmsg.NewPtrUnregisterBrokerRequest()
	req.BrokerID = int32(a.position(0))
	records, resp := p.c.UnregisterBroker(p.m, req)
	return answer(resp.ErrorCode, text(resp.ErrorMessage)) + p.apply(records)
}

func (p *play) finalize(a *args) string {
	name, level := a.d.CmdArgs[0].Key, int16(a.number("level", 0))
	if why := CheckFeature(p.m, name, level); why.Code != wire.None {
		return answer(int16(why.Code), why.Message)
	}
	return p.apply([]image.Record{image.FeatureLevelRecord{Name: name, Level: level}})
}

func (p *play) producerIDs(a *args) string {
	req := kmsg.NewPtrAllocateProducerIDsRequest()
	req.BrokerID = int32(a.position(0))
	req.BrokerEpoch = int64(a.number("epoch", int(brokerEpoch(p.m, wire.NodeID(req.BrokerID)))))
	records, resp := p.c.AllocateProducerIDs(p.m, req)
	if resp.ErrorCode != 0 {
		return answer(resp.ErrorCode, "")
	}
	return fmt.Sprintf("%d from %d\n", resp.ProducerIDLen, resp.ProducerIDStart) + p.apply(records)
}

func (p *play) reign(*args) string {
	p.c = New(p.c.config)
	p.c.BecomeController(p.m, p.now)
	return ""
}

// showRecord prints what a record says, m being the image that it led to.
func showRecord(m *image.Image, r image.Record) string {
	switch r := r.(type) {
	case image.PartitionRecord:
		return fmt.Sprintf("%s-%d %s\n", m.ByID(r.Topic).Name, r.Partition, showState(&r.State))
	case image.BrokerRecord:
		return showBroker(&r.Broker)
	case image.ConfigRecord:
		return fmt.Sprintf("config %s %s=%s\n", r.Resource.Name, r.Key, text(r.Value))
	case image.TopicRecord:
		return fmt.Sprintf("topic %s of %d partitions\n", r.Name, r.Partitions)
	case image.FeatureLevelRecord:
		return fmt.Sprintf("feature %s at %d\n", r.Name, r.Level)
	case image.ProducerIDsRecord:
		return fmt.Sprintf("producer ids from %d\n", r.Next)
	case image.RemoveTopicRecord:
		return fmt.Sprintf("topic %s is gone\n", r.ID)
	case image.RemoveBrokerRecord:
		return fmt.Sprintf("broker %d is gone\n", r.ID)
	case image.PartitionsRecord:
		return fmt.Sprintf("topic %s of %d partitions\n", m.ByID(r.ID).Name, r.Partitions)
	}
	return fmt.Sprintf("%T %+v\n", r, r)
}

func showBroker(b *image.Broker) string {
	out := fmt.Sprintf("broker %d epoch %d", b.ID, b.Epoch)
	for _, flag := range []struct {
		name string
		set  bool
	}{{"fenced", b.Fenced}, {"shutting-down", b.ShuttingDown}, {"draining", b.Draining}, {"emptying", b.Emptying}, {"rack=" + b.Rack, b.Rack != ""}} {
		if flag.set {
			out += " " + flag.name
		}
	}
	return out + "\n"
}

func showState(s *image.PartitionState) string {
	out := fmt.Sprintf("%v isr=%v leader=%d epoch=%d/%d", s.Replicas, s.ISR, s.Leader, s.LeaderEpoch, s.PartitionEpoch)
	for _, list := range []struct {
		name string
		ids  []wire.NodeID
	}{{"elr", s.ELR}, {"last", s.LastKnownELR}, {"adding", s.Adding}, {"removing", s.Removing}} {
		if len(list.ids) > 0 {
			out += fmt.Sprintf(" %s=%v", list.name, list.ids)
		}
	}
	if s.Recovering {
		out += " recovering"
	}
	return out
}

func showImage(m *image.Image) string {
	var out strings.Builder
	for b := range m.Brokers() {
		out.WriteString(showBroker(b))
	}
	for t := range m.Topics() {
		for i, s := range t.States() {
			fmt.Fprintf(&out, "%s-%d %s\n", t.Name, i, showState(s))
		}
	}
	return out.String()
}

// checkImage is the invariants of doc.go.
func checkImage(t testing.TB, before, after *image.Image, asked []wire.NodeID) {
	t.Helper()
	for _, change := range image.Diff(before, after).Changed {
		for i, s := range change.Partitions() {
			checkStates(t, fmt.Sprintf("%s-%d", change.New.Name, i), s[0], s[1], asked)
		}
	}
	for topic := range after.Topics() {
		for i, s := range topic.States() {
			for _, id := range s.ISR {
				if b := after.Broker(id); b == nil || b.Fenced || b.ShuttingDown {
					t.Errorf("C3: %s-%d %s has %d in its ISR, which is %+v", topic.Name, i, showState(s), id, b)
				}
			}
		}
	}
}

func checkStates(t testing.TB, name string, old, new *image.PartitionState, asked []wire.NodeID) {
	t.Helper()
	if old == nil {
		return
	}
	hadAll := slices.Contains(slices.Concat(old.ISR, old.ELR, asked), new.Leader)
	if new.Leader != wire.NoNode && new.Leader != old.Leader && !hadAll && !new.Recovering {
		t.Errorf("C2: %s %s after %s", name, showState(new), showState(old))
	}
}

// args reads a command's arguments.
type args struct {
	t *testing.T
	d *datadriven.TestData
}

func (a *args) list(name string) []string {
	for _, c := range a.d.CmdArgs {
		if c.Key == name {
			return c.Vals
		}
	}
	return nil
}

func (a *args) has(name string) bool { return a.d.HasArg(name) }

func (a *args) text(name, otherwise string) string {
	if v := a.list(name); len(v) == 1 {
		return v[0]
	}
	return otherwise
}

func (a *args) nodes(name string) (ids []wire.NodeID) {
	for _, v := range a.list(name) {
		if v == "" {
			continue
		}
		n, err := strconv.Atoi(v)
		if err != nil {
			a.t.Fatal(err)
		}
		ids = append(ids, wire.NodeID(n))
	}
	return ids
}

func (a *args) number(name string, otherwise int) int {
	if ids := a.nodes(name); len(ids) == 1 {
		return int(ids[0])
	}
	return otherwise
}

func (a *args) position(i int) wire.NodeID {
	n, err := strconv.Atoi(a.d.CmdArgs[i].Key)
	if err != nil {
		a.t.Fatal(err)
	}
	return wire.NodeID(n)
}

// partition reads TOPIC-N.
func (a *args) partition(i int) (string, int32) {
	topic, number, _ := strings.Cut(a.d.CmdArgs[i].Key, "-")
	n, err := strconv.Atoi(number)
	if err != nil {
		a.t.Fatal(err)
	}
	return topic, int32(n)
}
