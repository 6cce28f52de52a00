package node

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"testing"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/control/lacking"
	"github.com/ringmill/ringmill/node/api"
	"github.com/ringmill/ringmill/node/config"
	"github.com/ringmill/ringmill/segment/segmenttest"
	"github.com/ringmill/ringmill/wire"
)

// newUnstarted is a node of a cluster that has its directories and is not started.
func newUnstarted(t *testing.T) *Node {
	t.Helper()
	cfg, _, err := config.Load(config.Source{Listen: "127.0.0.1:0", Data: t.TempDir(), Set: []string{"node.id=9"}})
	if err != nil {
		t.Fatal(err)
	}
	n := newNode(cfg)
	n.cluster = newCluster(n)
	n.cluster.broker = newBrokerLifecycle(n.cluster)
	n.image.Store(new(image.Image))
	n.state = &stateDir{path: t.TempDir()}
	return n
}

func jobOf(id byte, index wire.PartitionIndex) *openJob {
	return &openJob{topic: &topic{id: wire.TopicID{id}}, found: foundPartition{dir: new(logDir), tp: wire.TopicPartition{Partition: index}}}
}

// What an earlier start has found missing is read again, of the replicas that the node has; of a list that is damaged any may have been named.
func TestLackingReplicasAreKept(t *testing.T) {
	here, also, elsewhere := jobOf(1, 7), jobOf(2, 0), jobOf(3, 0)
	for _, test := range []struct {
		name string
		jobs []*openJob
		edit func(text []byte) []byte
		want []*openJob
	}{
		{"as it was", []*openJob{here, also}, slices.Clone[[]byte], []*openJob{here}},
		{"of a replica that went", []*openJob{also}, slices.Clone[[]byte], nil},
		{"damaged", []*openJob{here, also}, func(text []byte) []byte { return text[:len(text)-1] }, []*openJob{here, also}},
	} {
		n := newUnstarted(t)
		n.lacking.add([]*openJob{here, elsewhere})
		if err := n.lacking.save(); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(n.lacking.file())
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(n.lacking.file(), test.edit(text), 0o600); err != nil {
			t.Fatal(err)
		}
		n.lacking = newLackingReplicas(n)
		if err := n.lacking.load(test.jobs); err != nil {
			t.Fatal(err)
		}
		if n.lacking.list.Len() != len(test.want) || slices.ContainsFunc(test.want, func(j *openJob) bool { return !n.lacking.has(j.name()) }) {
			t.Errorf("%s: %d are on the list, want %d", test.name, n.lacking.list.Len(), len(test.want))
		}
		for _, j := range test.jobs {
			n.lacking.set(j.name(), wire.NoLeaderEpoch, false)
		}
		if err := n.lacking.save(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(n.lacking.file()); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: a list of none: %v", test.name, err)
		}
	}
}

// A node that has more lacking replicas than a heartbeat names wants to stay fenced until the controller has been told of all. Once it serves,
// it does whatever it lacks.
func TestAllIsToldBeforeServing(t *testing.T) {
	n := newUnstarted(t)
	b := n.cluster.broker
	n.lacking.list = lacking.NewList(2)
	var jobs []*openJob
	for i := range wire.PartitionIndex(5) {
		jobs = append(jobs, jobOf(1, i))
	}
	n.lacking.add(jobs)
	named := make(map[wire.PartitionIndex]bool)
	next := func(answered, wantFence bool) {
		t.Helper()
		req, some, _ := b.nextHeartbeat()
		if req.WantFence != wantFence {
			t.Errorf("after %d were told: wants to be fenced %v", len(named), req.WantFence)
		}
		if answered {
			for _, k := range lackingOf(req) {
				named[k.Partition] = true
			}
			n.lacking.told(some)
		}
	}
	next(true, true) // it has not caught up
	b.caughtUp.Store(true)
	next(false, true)
	next(true, true)
	next(false, false)
	next(true, false)
	if len(named) != 5 {
		t.Errorf("%v were named before it may serve", named)
	}
	n.lacking.add([]*openJob{jobOf(2, 0), jobOf(2, 1), jobOf(2, 2)})
	next(false, true)
	b.fenced.Store(false)
	next(false, false)
}

// What is begun anew is known after a power cut at any operation from when it is written down on; before, no log of it is made.
func TestBegunAnewIsWrittenDown(t *testing.T) {
	job := jobOf(1, 7)
	for cut := 0; ; cut++ {
		n := newUnstarted(t)
		disk := segmenttest.New(uint64(cut))
		n.seams.fs, n.state.path = disk, "/state"
		if err := errors.Join(disk.MkdirAll("/state", 0o755), disk.SyncDir("/")); err != nil {
			t.Fatal(err)
		}
		disk.CutAt(disk.Ops() + cut)
		err := n.forsakeJobs([]*openJob{job})
		n.seams.fs, n.lacking = disk.Crash(), newLackingReplicas(n)
		if err := n.lacking.load([]*openJob{job}); err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		some, _ := n.lacking.tell()
		if whole := len(some) == 1 && some[0].Gone; err == nil && !whole {
			t.Fatalf("cut at %d: told is %v", cut, some)
		}
		if err == nil && cut > 0 {
			return
		}
	}
}

// A list of what was begun anew that is damaged is refused: what it names could be elected.
func TestDamagedListOfBegunAnew(t *testing.T) {
	n := newUnstarted(t)
	if err := n.forsakeJobs([]*openJob{jobOf(1, 7)}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(n.lacking.begunFile(), []byte("ringmill"), 0o600); err != nil {
		t.Fatal(err)
	}
	var refused *StartError
	if err := newLackingReplicas(n).load([]*openJob{jobOf(1, 7)}); !errors.As(err, &refused) || refused.Path != n.lacking.begunFile() {
		t.Errorf("%v", err)
	}
}

// A replica without a log lacks what it has promised; that nothing is left of it is said where a log directory is gone alone: else a crash may have
// come before any of the partition's logs was made, and somebody has to lead.
func TestReplicasWithoutALog(t *testing.T) {
	const me = 9
	for _, test := range []struct {
		state   image.PartitionState
		dirGone string
		told    []bool // Gone of what the controller is told
	}{
		{image.PartitionState{Replicas: []wire.NodeID{me, 1}, ISR: []wire.NodeID{me, 1}, Leader: 1}, "", []bool{false}},
		{image.PartitionState{Replicas: []wire.NodeID{me, 1}, ISR: []wire.NodeID{1}, ELR: []wire.NodeID{me}, Leader: 1}, "/logs", []bool{true}},
		{image.PartitionState{Replicas: []wire.NodeID{me, 1}, ISR: []wire.NodeID{1}, Leader: 1}, "/logs", nil},
		{image.PartitionState{Replicas: []wire.NodeID{me, 1}, ELR: []wire.NodeID{me}, Leader: wire.NoNode}, "", nil},
		{image.PartitionState{Replicas: []wire.NodeID{me, 1}, ELR: []wire.NodeID{me}, Leader: wire.NoNode}, "/logs", []bool{true}},
		{image.PartitionState{Replicas: []wire.NodeID{me, 1}, LastKnownELR: []wire.NodeID{me}, Leader: wire.NoNode}, "/logs", []bool{true}},
		{image.PartitionState{Replicas: []wire.NodeID{me}, ELR: []wire.NodeID{me}, Leader: wire.NoNode}, "/logs", nil},
	} {
		n, job := newUnstarted(t), jobOf(1, 0)
		job.fresh = true
		n.dirGone = test.dirGone
		n.image.Store(withRecords(t, new(image.Image), image.ClusterRecord{ClusterID: "c"}, image.TopicRecord{Name: "t", ID: job.topic.id, Partitions: 1},
			image.PartitionRecord{Topic: job.topic.id, State: test.state}))
		if err := n.noteLost([]*openJob{job}); err != nil {
			t.Fatal(err)
		}
		var told []bool
		some, _ := n.lacking.tell()
		for _, k := range some {
			told = append(told, k.Gone)
		}
		if !slices.Equal(told, test.told) {
			t.Errorf("%+v, directory gone %q: told is %v, want %v", test.state, test.dirGone, told, test.told)
		}
	}
}

// A replica that was begun anew and leads, which an unclean election makes it do, is told as gone no more: what it takes counts.
func TestWhoLeadsIsNotGone(t *testing.T) {
	tn := startMember(t, 1)
	if _, code, message := tn.CreateTopic(api.NewTopic{Name: "t", Partitions: 1, ReplicationFactor: 1}); code != wire.None {
		t.Fatal(code, message)
	}
	p := tn.partition("t", 0)
	name := lacking.Replica{Topic: p.id, Partition: p.index}
	p.loop.on(func(l *Loop) {
		p.replica.Lack()
		tn.lacking.mu.Lock()
		tn.lacking.list.BeginAnew(name)
		tn.lacking.mu.Unlock()
		l.noteLacking(p)
	})
	if some, _ := tn.lacking.tell(); len(some) != 1 || some[0].Gone {
		t.Errorf("told is %v", some)
	}
}
