package group

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/ringmill/ringmill/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// actor is a consumer as the protocol has it: it uses what it is assigned and nothing else, gives up at once what is taken
// from it, tells what it holds in each heartbeat, and drops everything when it is fenced or could not reach the coordinator
// for a session.
type actor struct {
	id       string
	instance *string
	topics   []string
	epoch    int32
	holds    map[topicPartition]bool
	heardMS  int64 // of the last answer
	missed   bool  // its last request had no answer: the next tells everything again
}

// world is a group of actors with a coordinator that loses answers, fails to write and restarts.
type world struct {
	*machine
	t      *testing.T
	r      *rand.Rand
	actors []*actor
	made   int
}

// TestPartitionsHaveOneOwner: at no time do two consumers use a partition, whatever happens; and once nothing happens any
// longer all partitions that are read have an owner, by the target of the last epoch.
func TestPartitionsHaveOneOwner(t *testing.T) {
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 3))
		cfg := measuredConfig()
		if seed%2 == 1 {
			cfg.ConsumerAssignors = []string{"range", "uniform"}
		}
		w := &world{machine: newMachine(cfg), t: t, r: r}
		w.setTopic("t1", 4)
		for range 250 {
			w.step()
			w.check()
		}
		w.calm()
	}
}

func (w *world) step() {
	switch n := w.r.IntN(20); {
	case n == 0 && len(w.actors) < 6:
		w.join()
	case n == 1:
		w.leave()
	case n == 2:
		w.topicChange()
	case n == 3:
		w.pass(int64(w.r.IntN(30_000)))
	case n == 4:
		w.crash()
	case n == 5:
		w.hold = true
	case n == 6:
		w.hold = false
		w.finishAppends()
	case len(w.actors) > 0:
		w.beat(w.actors[w.r.IntN(len(w.actors))], w.r.IntN(8) == 0)
		w.pass(int64(w.r.IntN(2_000)))
	default:
		w.join()
	}
}

func (w *world) join() {
	w.made++
	a := &actor{id: fmt.Sprintf("m%d", w.made), topics: w.subscription(), holds: map[topicPartition]bool{}, heardMS: w.nowMS}
	if w.r.IntN(3) == 0 {
		a.instance = kmsg.StringPtr(fmt.Sprintf("i%d", w.r.IntN(3)))
	}
	w.actors = append(w.actors, a)
}

func (w *world) subscription() []string {
	return [][]string{{"t1"}, {"t1", "t2"}, {"t2"}, {"t1", "t2", "t3"}}[w.r.IntN(4)]
}

// leave has an actor go: with a word, for a while, or without.
func (w *world) leave() {
	if len(w.actors) == 0 {
		return
	}
	i := w.r.IntN(len(w.actors))
	a := w.actors[i]
	w.actors = append(w.actors[:i], w.actors[i+1:]...)
	if w.r.IntN(3) == 0 {
		return
	}
	req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	req.Version, req.Group, req.MemberID, req.InstanceID, req.MemberEpoch = 1, "g", a.id, a.instance, memberLeaves
	if a.instance != nil && w.r.IntN(2) == 0 {
		req.MemberEpoch = memberLeftForAWhile
	}
	w.send(a.id, "c", req)
	w.settle()
}

func (w *world) topicChange() {
	name := []string{"t1", "t2", "t3"}[w.r.IntN(3)]
	switch t := w.topics.ByName(name); {
	case t == nil:
		w.setTopic(name, int32(w.r.IntN(5)+1))
	case w.r.IntN(4) == 0 && name != "t1":
		w.dropTopic(name)
	case t.Partitions < 9:
		w.setTopic(name, t.Partitions+1)
	}
}

// pass lets time pass. Who was not answered for a session gives up.
func (w *world) pass(ms int64) {
	w.advance(ms)
	for _, a := range w.actors {
		if w.nowMS-a.heardMS >= int64(w.cfg.ConsumerSessionTimeoutMS) {
			clear(a.holds)
			a.epoch, a.missed = 0, false
		}
	}
}

// crash restarts the coordinator: what was under way is lost, or was written and its answers are lost.
func (w *world) crash() {
	for len(w.held) > 0 && w.r.IntN(3) > 0 {
		w.log = append(w.log, w.held[0].Records...)
		w.held = w.held[1:]
	}
	if err := w.restart(); err != nil {
		w.t.Fatal(err)
	}
}

// finishAppends gives appends under way their outcomes, most of them good.
func (w *world) finishAppends() {
	for len(w.held) > 0 {
		first := w.held[0]
		w.held = w.held[1:]
		if w.r.IntN(4) == 0 {
			w.take(w.c.Appended(w.nowMS, first.ID, wire.NotEnoughReplicas))
		} else {
			w.durable(first)
		}
	}
	w.settle() // whoever waited for these has given up
}

// beat sends one heartbeat; lost: its answer never comes.
func (w *world) beat(a *actor, lost bool) {
	req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	req.Version, req.Group, req.MemberID, req.InstanceID, req.MemberEpoch = 1, "g", a.id, a.instance, a.epoch
	req.Topics = a.owned()
	if a.epoch == 0 || a.missed {
		// More than a session: who is fenced for not having revoked may not know of it yet, here as in Kafka.
		req.RebalanceTimeoutMillis, req.SubscribedTopicNames = 60_000, a.topics
	}
	a.missed = true
	w.send(a.id, "c", req)
	for _, answer := range w.settle() {
		if resp, ok := answer.resp.(*kmsg.ConsumerGroupHeartbeatResponse); ok && answer.name == a.id && !lost {
			a.take(resp, w.nowMS)
		}
	}
}

func (a *actor) owned() []kmsg.ConsumerGroupHeartbeatRequestTopic {
	owned := []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	for at := range a.holds {
		owned = append(owned, kmsg.ConsumerGroupHeartbeatRequestTopic{TopicID: at.topic, Partitions: []int32{at.partition}})
	}
	return owned
}

func (a *actor) take(resp *kmsg.ConsumerGroupHeartbeatResponse, nowMS int64) {
	switch wire.ErrorCode(resp.ErrorCode) {
	case wire.None:
	case wire.FencedMemberEpoch, wire.UnknownMemberID, wire.FencedInstanceID, wire.GroupIDNotFound:
		clear(a.holds)
		a.epoch, a.missed = 0, false
		return
	default: // not heard, or to be tried again
		return
	}
	a.heardMS, a.missed, a.epoch = nowMS, false, resp.MemberEpoch
	if resp.Assignment == nil {
		return
	}
	clear(a.holds)
	for _, t := range resp.Assignment.Topics {
		for _, p := range t.Partitions {
			a.holds[topicPartition{t.TopicID, p}] = true
		}
	}
}

func (w *world) check() {
	w.c.checkAll()
	users := map[topicPartition]string{}
	for _, a := range w.actors {
		for at := range a.holds {
			if users[at] != "" {
				w.t.Fatalf("%s and %s use partition %d of %s", users[at], a.id, at.partition, at.topic)
			}
			users[at] = a.id
		}
	}
}

// calm lets the group come to rest.
func (w *world) calm() {
	w.hold = false
	for len(w.held) > 0 {
		first := w.held[0]
		w.held = w.held[1:]
		w.durable(first)
	}
	w.settle()
	if len(w.actors) == 0 {
		w.join()
	}
	for range 60 {
		for _, a := range w.actors {
			w.beat(a, false)
			w.check()
		}
		w.pass(5_000)
	}
	g := w.c.groups["g"]
	if g == nil || g.state != Stable {
		w.t.Fatalf("the group has not come to rest: %+v", g)
	}
	read := map[string]bool{}
	held := map[topicPartition]bool{}
	for _, m := range g.consumer.members {
		for _, name := range m.topics {
			read[name] = true
		}
	}
	for _, a := range w.actors {
		for at := range a.holds {
			held[at] = true
		}
	}
	for name := range read {
		if t := w.topics.ByName(name); t != nil {
			for p := range t.Partitions {
				if !held[topicPartition{t.ID, p}] {
					w.t.Fatalf("nobody reads partition %d of %s", p, name)
				}
			}
		}
	}
}
