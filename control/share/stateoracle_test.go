package share

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/ringmill/ringmill/wire"
)

// TestStateSurvivesPruning runs random operations, some of whose records fail, prunes the log as it is told and loads it
// again: what was durable is there, and nothing else.
func TestStateSurvivesPruning(t *testing.T) {
	for seed := range uint64(200) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := &stateRun{stateScript: newStateScript(), random: rand.New(rand.NewPCG(seed, 7))}
			r.cfg.ColdSnapshotIntervalMS, r.cfg.PruneIntervalMS = 50, 30
			r.stateScript.restart()
			for range 300 {
				r.step(t)
			}
		})
	}
}

// stateRun is a random run whose log may be cut at its beginning.
type stateRun struct {
	*stateScript
	random *rand.Rand
	start  int
}

func (r *stateRun) step(t *testing.T) {
	r.nowMS += r.random.Int64N(20)
	r.next++
	switch r.random.IntN(12) {
	case 0:
		r.apply(r.coordinator.Tick(r.nowMS, r.wall()))
	case 1:
		r.reload(t)
	case 2:
		r.apply(r.coordinator.TopicDeleted(r.nowMS, r.wall(), wire.TopicID{byte('a' + r.random.IntN(2))}))
	default:
		r.apply(r.coordinator.Handle(r.nowMS, r.wall(), r.next, r.operation()))
	}
}

func (r *stateRun) operation() Operation {
	op := Operation{
		Kind: OperationKind(r.random.IntN(5)), StateEpoch: int32(r.random.IntN(4) - 1), LeaderEpoch: int32(r.random.IntN(4) - 1),
		StartOffset: wire.Offset(r.random.IntN(20) - 1),
	}
	op.Key = Key{Group: "g", Topic: wire.TopicID{byte('a' + r.random.IntN(2))}, Partition: wire.PartitionIndex(r.random.IntN(2))}
	for range r.random.IntN(3) {
		first := wire.Offset(r.random.IntN(30))
		op.Batches = append(op.Batches, StateBatch{first, first + wire.Offset(r.random.IntN(4)), Archived, int16(1 + r.random.IntN(3))})
	}
	return op
}

// apply does what the coordinator wants; one append in eight fails.
func (r *stateRun) apply(fx StateEffects) {
	if fx.PruneTo >= 0 {
		r.start = int(fx.PruneTo)
	}
	for _, a := range fx.Appends {
		at, code := wire.NoOffset, wire.KafkaStorageError
		if r.random.IntN(8) > 0 {
			at, code = wire.Offset(len(r.log)), wire.None
			r.log = append(r.log, a.Record)
		}
		r.apply(r.coordinator.Appended(r.nowMS, r.wall(), a.ID, at, code))
	}
}

// reload compares the coordinator with one that has only read what is left of the log.
func (r *stateRun) reload(t *testing.T) {
	fresh := NewStateCoordinator(r.cfg)
	for i := r.start; i < len(r.log); i++ {
		if err := fresh.Load(wire.Offset(i), r.log[i]); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := durable(fresh), durable(r.coordinator); !reflect.DeepEqual(got, want) {
		t.Fatalf("read from %d:\n%v, want\n%v", r.start, got, want)
	}
	if fresh.memory != r.coordinator.memory {
		t.Fatalf("%d bytes, want %d", fresh.memory, r.coordinator.memory)
	}
	fresh.Loaded(r.nowMS, r.wall())
	r.coordinator = fresh
}

// durable is what the log has of each key. How an older leader is fenced may be pruned with the records that said so.
func durable(c *StateCoordinator) map[Key]keyState {
	all := make(map[Key]keyState)
	for key, k := range c.keys {
		state := *k
		state.highestLeaderEpoch, state.highestStateEpoch = 0, 0
		state.waiting = nil
		if len(state.batches) == 0 {
			state.batches = nil
		}
		all[key] = state
	}
	return all
}
