package group

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/ringmill/ringmill/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// sharerActor is a share consumer: it reads what it was last told to, rejoins under another id when it is fenced, and may go
// silent.
type sharerActor struct {
	id     string
	topics []string
	epoch  int32
	missed bool // its last request had no answer: the next tells its topics again
}

// shareWorld is a share group of actors, with a coordinator that loses answers, fails to write and restarts, and with share
// coordinators that take their time, or refuse.
type shareWorld struct {
	*machine
	t      *testing.T
	r      *rand.Rand
	actors []*sharerActor
	made   int
	epochs map[string]int32 // the highest epoch that was told of the group, and of each member
}

// TestSharedPartitionsAreRead: epochs never fall, what the log says is what the coordinator knows, and once nothing happens
// any longer each partition of each topic that is subscribed to has a reader, and readers have nothing else.
func TestSharedPartitionsAreRead(t *testing.T) {
	for seed := range uint64(200) {
		w := &shareWorld{machine: newMachine(measuredConfig()), t: t, r: rand.New(rand.NewPCG(seed, 5)), epochs: map[string]int32{}}
		w.setTopic("t1", 4)
		for range 250 {
			w.step()
			w.c.checkAll()
		}
		w.calm()
		w.checkReaders()
		w.checkReplay()
	}
}

func (w *shareWorld) step() {
	switch n := w.r.IntN(24); {
	case n == 0 && len(w.actors) < 6 || len(w.actors) == 0:
		w.join()
	case n == 1:
		w.leave()
	case n == 2:
		w.changeTopic()
	case n == 3:
		w.advance(int64(w.r.IntN(30_000)))
	case n == 4:
		w.crash()
	case n == 5:
		w.hold = true
	case n == 6:
		w.holdCalls = true
	case n == 7:
		w.finishAppends(true)
	case n == 8:
		w.answerCalls(true)
	case n == 9:
		w.administer()
	default:
		a := w.actors[w.r.IntN(len(w.actors))]
		if w.r.IntN(6) == 0 {
			a.topics, a.missed = w.subscription(), true
		}
		w.beat(a, w.r.IntN(8) == 0)
		w.advance(int64(w.r.IntN(2_000)))
	}
}

func (w *shareWorld) join() {
	w.made++
	w.actors = append(w.actors, &sharerActor{id: fmt.Sprintf("m%d", w.made), topics: w.subscription()})
}

func (w *shareWorld) subscription() []string {
	return [][]string{{"t1"}, {"t1", "t2"}, {"t2"}, {"t1", "t2", "t3"}}[w.r.IntN(4)]
}

// leave has an actor go, with a word or without.
func (w *shareWorld) leave() {
	if len(w.actors) == 0 {
		return
	}
	i := w.r.IntN(len(w.actors))
	a := w.actors[i]
	w.actors = slices.Delete(w.actors, i, i+1)
	if w.r.IntN(3) > 0 {
		a.epoch = memberLeaves
		w.beat(a, true)
	}
}

func (w *shareWorld) changeTopic() {
	name := []string{"t1", "t2", "t3"}[w.r.IntN(3)]
	switch t := w.topics.ByName(name); {
	case t == nil:
		w.setTopic(name, int32(w.r.IntN(5)+1))
	case w.r.IntN(4) == 0:
		w.dropTopic(name)
	case t.Partitions < 9:
		w.setTopic(name, t.Partitions+1)
	}
}

// crash restarts the coordinator: what was under way is lost, or was written and its answers are lost.
func (w *shareWorld) crash() {
	for len(w.held) > 0 && w.r.IntN(3) > 0 {
		w.log = append(w.log, w.held[0].Records...)
		w.held = w.held[1:]
	}
	if err := w.restart(); err != nil {
		w.t.Fatal(err)
	}
	clear(w.epochs) // what was told of was durable; what was not told of may be gone
}

// finishAppends gives appends under way their outcomes, in their order; what they set off waits behind them.
func (w *shareWorld) finishAppends(someFail bool) {
	w.hold = true
	for len(w.held) > 0 {
		first := w.held[0]
		w.held = w.held[1:]
		if someFail && w.r.IntN(4) == 0 {
			w.take(w.c.Appended(w.nowMS, first.ID, wire.NotEnoughReplicas))
		} else {
			w.durable(first)
		}
	}
	w.hold = false
	w.settle()
}

func (w *shareWorld) answerCalls(someFail bool) {
	w.holdCalls = true
	for len(w.heldCalls) > 0 {
		first := w.heldCalls[0]
		w.heldCalls = w.heldCalls[1:]
		if someFail && w.r.IntN(4) == 0 {
			w.answerCall(first, RefuseState(first.Request, wire.CoordinatorNotAvailable))
		} else {
			w.answerCall(first, w.states.answer(first.Request))
		}
	}
	w.holdCalls = false
	w.settle()
}

// administer deletes the group, or its offsets, or moves them: refused unless it is empty.
func (w *shareWorld) administer() {
	var req kmsg.Request
	switch w.r.IntN(4) {
	case 0:
		req = &kmsg.DeleteGroupsRequest{Version: 2, Groups: []string{"g"}}
		clear(w.epochs)
	case 1:
		req = &kmsg.DeleteShareGroupOffsetsRequest{GroupID: "g", Topics: []kmsg.DeleteShareGroupOffsetsRequestTopic{{Topic: "t1"}, {Topic: "t2"}}}
	case 2:
		req = &kmsg.AlterShareGroupOffsetsRequest{GroupID: "g", Topics: []kmsg.AlterShareGroupOffsetsRequestTopic{
			{Topic: "t1", Partitions: []kmsg.AlterShareGroupOffsetsRequestTopicPartition{{Partition: 1, StartOffset: 5}}}}}
	default:
		req = &kmsg.DescribeShareGroupOffsetsRequest{Groups: []kmsg.DescribeShareGroupOffsetsRequestGroup{{GroupID: "g"}}}
	}
	w.send("admin", "c", req)
	w.settle()
}

// beat sends one heartbeat; lost: its answer never comes.
func (w *shareWorld) beat(a *sharerActor, lost bool) {
	req := kmsg.NewPtrShareGroupHeartbeatRequest()
	req.Version, req.GroupID, req.MemberID, req.MemberEpoch = 1, "g", a.id, a.epoch
	if a.epoch == 0 || a.missed {
		req.SubscribedTopicNames = a.topics
	}
	a.missed = true
	w.send(a.id, "c", req)
	for _, answer := range w.settle() {
		if resp, ok := answer.resp.(*kmsg.ShareGroupHeartbeatResponse); ok && answer.name == a.id && !lost {
			w.heard(a, resp)
		}
	}
}

func (w *shareWorld) heard(a *sharerActor, resp *kmsg.ShareGroupHeartbeatResponse) {
	switch wire.ErrorCode(resp.ErrorCode) {
	case wire.None:
	case wire.FencedMemberEpoch, wire.UnknownMemberID, wire.GroupIDNotFound:
		w.made++
		a.id, a.epoch, a.missed = fmt.Sprintf("m%d", w.made), 0, false
		return
	default: // not heard, or to be tried again
		return
	}
	if resp.MemberEpoch < w.epochs[a.id] && resp.MemberEpoch >= 0 {
		w.t.Fatalf("%s went from epoch %d to %d", a.id, w.epochs[a.id], resp.MemberEpoch)
	}
	w.epochs[a.id] = resp.MemberEpoch
	a.missed, a.epoch = false, resp.MemberEpoch
}

// calm lets the group come to rest.
func (w *shareWorld) calm() {
	for len(w.held)+len(w.heldCalls) > 0 {
		w.finishAppends(false)
		w.answerCalls(false)
	}
	w.hold, w.holdCalls = false, false
	if len(w.actors) == 0 {
		w.join()
	}
	for range 20 {
		for _, a := range w.actors {
			w.beat(a, false)
			w.c.checkAll()
		}
		w.advance(5_000)
	}
}

func (w *shareWorld) checkReaders() {
	g := w.c.groups["g"]
	if g == nil || len(g.share.members) != len(w.actors) {
		w.t.Fatalf("the group has not come to rest: %+v", g)
	}
	read := map[topicPartition]bool{}
	for _, m := range g.share.members {
		for _, of := range m.assigned {
			t := w.topics.ByID(of.Topic)
			if t == nil || !slices.Contains(m.topics, t.Name) {
				w.t.Fatalf("%s reads a topic that it does not subscribe to", m.id)
			}
			for _, p := range of.Partitions {
				read[topicPartition{of.Topic, p}] = true
			}
		}
	}
	for name := range g.share.names {
		if t := w.topics.ByName(name); t != nil {
			for p := range t.Partitions {
				if !read[topicPartition{t.ID, p}] {
					w.t.Fatalf("nobody reads partition %d of %s", p, name)
				}
			}
		}
	}
}

// checkReplay compares what the coordinator knows with what a new one makes of the log.
func (w *shareWorld) checkReplay() {
	before := knownOfShare(w.c)
	if err := w.restart(); err != nil {
		w.t.Fatal(err)
	}
	if after := knownOfShare(w.c); !reflect.DeepEqual(before, after) {
		w.t.Fatalf("the log says\n%+v, known was\n%+v", after, before)
	}
}

func knownOfShare(c *Coordinator) map[string]string {
	g := c.groups["g"]
	sg := g.share
	known := map[string]string{"group": fmt.Sprintf("%s %d %d %d", g.state, sg.epoch, sg.targetEpoch, sg.metadataHash)}
	known["topics"] = fmt.Sprintf("%v %v %v %v", sg.topics.initializing, sg.topics.initialized, sg.topics.deleting, slices.Sorted(maps.Values(sg.topics.names)))
	known["names"] = fmt.Sprint(countsOf(sg.names))
	for id, m := range sg.members {
		known[id] = fmt.Sprintf("%v %v %v", m.shareMetadata, m.shareCurrent, m.target)
	}
	return known
}
