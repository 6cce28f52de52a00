package share

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/ringmill/ringmill/control/memory"
	"github.com/ringmill/ringmill/wire"
)

// stateScript runs the commands of a transcript about the share coordinator. Its log is a list.
type stateScript struct {
	coordinator *StateCoordinator
	cfg         StateConfig
	log         []wire.Record
	nowMS       int64
	next        Handle
	// held are appends whose outcome the transcript tells.
	held  []Append
	holds bool
	out   strings.Builder
}

func newStateScript() *stateScript {
	s := &stateScript{cfg: DefaultStateConfig()}
	s.cfg.UpdatesPerSnapshot = 3
	s.cfg.Exists = func(id wire.TopicID, index wire.PartitionIndex) bool { return id[0] < 'x' && index < 4 }
	s.restart()
	return s
}

func (s *stateScript) restart() {
	s.held = nil
	s.coordinator = NewStateCoordinator(s.cfg)
	for i, rec := range s.log {
		if err := s.coordinator.Load(wire.Offset(i), rec); err != nil {
			fmt.Fprintf(&s.out, "record %d: %v\n", i, err)
		}
	}
	s.apply(s.coordinator.Loaded(s.nowMS, s.wall()))
}

// limit changes the bound of what is held.
func (s *stateScript) limit(bytes int64) {
	c := s.coordinator
	c.account = memory.NewBound(bytes).Account()
	c.account.Tell(c.memory + c.promised)
}

func (s *stateScript) wall() wire.Timestamp { return wire.Timestamp(1_000_000 + s.nowMS) }

// apply shows what a coordinator wants, and does it unless appends are held.
func (s *stateScript) apply(fx StateEffects) {
	for _, r := range fx.Replies {
		fmt.Fprintf(&s.out, "#%d: %s\n", r.Handle, showResult(r.Result))
	}
	for _, a := range fx.Appends {
		s.held = append(s.held, a)
		fmt.Fprintf(&s.out, "append %d: %s\n", a.ID, showRecord(a.Record))
	}
	if fx.PruneTo >= 0 {
		fmt.Fprintf(&s.out, "prune to %d\n", fx.PruneTo)
	}
	for !s.holds && len(s.held) > 0 {
		s.end(wire.None)
	}
}

// end tells the outcome of the oldest append.
func (s *stateScript) end(code wire.ErrorCode) {
	a := s.held[0]
	s.held = s.held[1:]
	at := wire.NoOffset
	if code == wire.None {
		at = wire.Offset(len(s.log))
		s.log = append(s.log, a.Record)
	}
	s.apply(s.coordinator.Appended(s.nowMS, s.wall(), a.ID, at, code))
}

func showResult(r Result) string {
	switch {
	case r.Code != wire.None:
		return r.Code.String() + ": " + r.Message
	case reflect.DeepEqual(r, Result{}):
		return "ok"
	}
	return fmt.Sprintf("state epoch %d, leader epoch %d, from %d%s", r.StateEpoch, r.LeaderEpoch, r.StartOffset, showBatches(r.Batches))
}

func showBatches(batches []StateBatch) string {
	var b strings.Builder
	for _, batch := range batches {
		fmt.Fprintf(&b, " %d-%d %s/%d", batch.First, batch.Last, batch.State, batch.Deliveries)
	}
	return b.String()
}

func showRecord(rec wire.Record) string {
	r, err := readRecord(rec)
	switch {
	case err != nil:
		return err.Error()
	case r.gone:
		return "tombstone of " + showKey(r.key)
	case r.update:
		return fmt.Sprintf("update of %s: snapshot epoch %d, leader epoch %d, from %d%s",
			showKey(r.key), r.snapshotEpoch, r.leaderEpoch, r.startOffset, showBatches(r.batches))
	}
	return fmt.Sprintf("snapshot %d of %s: state epoch %d, leader epoch %d, from %d, created %d, written %d%s",
		r.snapshotEpoch, showKey(r.key), r.stateEpoch, r.leaderEpoch, r.startOffset, r.created, r.written, showBatches(r.batches))
}

func showKey(k Key) string { return fmt.Sprintf("%s/%c/%d", k.Group, k.Topic[0], k.Partition) }

// operation reads "kind group topic partition [key=value …] [first-last:state/deliveries …]".
func (s *stateScript) operation(t *testing.T, d *datadriven.TestData) Operation {
	kinds := []string{"initialize", "read", "write", "delete", "summary"}
	op := Operation{Kind: OperationKind(slices.Index(kinds, d.Cmd)), StartOffset: wire.NoOffset}
	op.Key.Group = d.CmdArgs[0].Key
	op.Key.Topic[0] = d.CmdArgs[1].Key[0]
	if _, err := fmt.Sscan(d.CmdArgs[2].Key, &op.Key.Partition); err != nil {
		t.Fatal(err)
	}
	for _, a := range d.CmdArgs[3:] {
		var err error
		switch a.Key {
		case "state":
			_, err = fmt.Sscan(a.Vals[0], &op.StateEpoch)
		case "leader":
			_, err = fmt.Sscan(a.Vals[0], &op.LeaderEpoch)
		case "from":
			_, err = fmt.Sscan(a.Vals[0], &op.StartOffset)
		default:
			var b StateBatch
			_, err = fmt.Sscanf(a.Key, "%d-%d:%d/%d", &b.First, &b.Last, &b.State, &b.Deliveries)
			op.Batches = append(op.Batches, b)
		}
		if err != nil {
			t.Fatalf("%s: %v", d.Pos, err)
		}
	}
	return op
}

func TestStateTranscripts(t *testing.T) {
	datadriven.Walk(t, "testdata/state", func(t *testing.T, path string) {
		s := newStateScript()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			s.out.Reset()
			switch d.Cmd {
			case "initialize", "read", "write", "delete", "summary":
				s.next++
				s.apply(s.coordinator.Handle(s.nowMS, s.wall(), s.next, s.operation(t, d)))
			case "topic-deleted":
				s.apply(s.coordinator.TopicDeleted(s.nowMS, s.wall(), wire.TopicID{d.CmdArgs[0].Key[0]}))
			case "memory":
				var bytes int64
				if _, err := fmt.Sscan(d.CmdArgs[0].Key, &bytes); err != nil {
					t.Fatal(err)
				}
				s.limit(bytes)
			case "hold":
				s.holds = true
			case "appended":
				s.end(wire.None)
			case "failed":
				s.end(wire.KafkaStorageError)
			case "restart":
				s.holds = false
				s.restart()
			case "tick":
				var ms int64
				if _, err := fmt.Sscan(d.CmdArgs[0].Key, &ms); err != nil {
					t.Fatal(err)
				}
				s.nowMS += ms
				s.apply(s.coordinator.Tick(s.nowMS, s.wall()))
			default:
				t.Fatalf("%s: unknown command %s", d.Pos, d.Cmd)
			}
			return s.out.String()
		})
	})
}
