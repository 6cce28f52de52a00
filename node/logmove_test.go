package node

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/iouring"
	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/wire"
)

// twoDirNode starts a node with two log directories, called one and two.
func twoDirNode(t *testing.T, opts nodeOptions) *testNode {
	if opts.dir == "" {
		opts.dir = t.TempDir()
	}
	opts.set = append(opts.set, "log.dirs="+opts.dir+"/one,"+opts.dir+"/two")
	return startNode(t, opts)
}

func (tn *testNode) other(d *logDir) *logDir {
	if d == tn.dirs[0] {
		return tn.dirs[1]
	}
	return tn.dirs[0]
}

// move asks for a move and waits for its end.
func (tn *testNode) move(topic string, index wire.PartitionIndex, to *logDir) {
	tn.t.Helper()
	if code := tn.MoveLog(wire.TopicPartition{Topic: topic, Partition: index}, to.path); code != wire.None {
		tn.t.Fatalf("move: %s", code)
	}
	p := tn.partition(topic, index)
	await(tn.t, "log moved", func() bool { return p.dir() == to && tn.moves.under(p) == nil })
}

// namesIn lists the partitions' directories of a log directory, those that are set aside without their uuid.
func namesIn(t *testing.T, d *logDir) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(d.path)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		tp, _, suffix, aside := segment.ParseSetAside(e.Name())
		switch {
		case !e.IsDir():
		case aside:
			names = append(names, segment.PartitionDir(tp)+suffix)
		default:
			names = append(names, e.Name())
		}
	}
	return names
}

// TestLogMoves: while it is written to, forth and back; what was acknowledged is there, after a clean stop and after a kill too, and
// nothing else lies about.
func TestLogMoves(t *testing.T) {
	eachShape(t, func(t *testing.T, s shape) {
		tn := twoDirNode(t, nodeOptions{shape: s})
		tn.createTopic("a", 1, "segment.bytes=1048576", "file.delete.delay.ms=0", "retention.bytes=-1")
		c := tn.dial()
		var acknowledged atomic.Int64
		stop, stopped := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(stopped)
			c := tn.dial()
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
					c.mustProduce("a", 0, batch(fmt.Sprintf("%06d%s", i, strings.Repeat("x", 20<<10))))
					acknowledged.Store(int64(i + 1))
				}
			}
		}()
		await(t, "three segments", func() bool { return acknowledged.Load() > 160 })
		p := tn.partition("a", 0)
		from := p.dir()
		to := tn.other(from)
		for range 2 {
			tn.move("a", 0, to)
			tn.move("a", 0, from)
		}
		tn.move("a", 0, to)
		close(stop)
		<-stopped
		want := int(acknowledged.Load())
		checkNumbered(t, c.readAll("a", 0, 0), want)
		await(t, "what it was is removed", func() bool { return len(namesIn(t, from)) == 0 })
		if got := namesIn(t, to); !slices.Equal(got, []string{"a-0"}) {
			t.Errorf("%s holds %v", to.path, got)
		}
		if from.partitions.Load() != 0 || to.partitions.Load() != 1 {
			t.Errorf("%d and %d partitions are counted", from.partitions.Load(), to.partitions.Load())
		}
		for range 2 {
			if err := tn.stop(); err != nil {
				t.Fatal(err)
			}
			tn = tn.restart()
			checkNumbered(t, tn.dial().readAll("a", 0, 0), want)
		}
		tn.kill()
		tn = tn.restart()
		if got := tn.partition("a", 0).dir().path; got != to.path {
			t.Errorf("it lies in %s", got)
		}
		checkNumbered(t, tn.dial().readAll("a", 0, 0), want)
	})
}

// checkNumbered wants values that begin with their numbers, from 0 on, at least so many.
func checkNumbered(t *testing.T, values []string, least int) {
	t.Helper()
	if len(values) < least {
		t.Fatalf("%d records, %d were acknowledged", len(values), least)
	}
	for i, v := range values {
		if !strings.HasPrefix(v, fmt.Sprintf("%06d", i)) {
			t.Fatalf("record %d is %.20s", i, v)
		}
	}
}

// TestFullDiskEndsAMove: the log stays where it is and goes on.
func TestFullDiskEndsAMove(t *testing.T) {
	var f faults
	tn := twoDirNode(t, nodeOptions{seams: f.under})
	tn.createTopic("a", 1)
	c := tn.dial()
	c.mustProduce("a", 0, batch("before"))
	p := tn.partition("a", 0)
	from := p.dir()
	to := tn.other(from)
	f.fail(iouring.EventWrite, segment.FutureDirSuffix+"/", unix.ENOSPC)
	if code := tn.MoveLog(wire.TopicPartition{Topic: "a"}, to.path); code != wire.None {
		t.Fatal(code)
	}
	await(t, "given up", func() bool { return f.met.Load() > 0 && tn.moves.under(p) == nil })
	if to.offline.Load() || p.dir() != from || len(namesIn(t, to)) != 0 || to.partitions.Load() != 0 {
		t.Errorf("offline %t, in %s, %v left", to.offline.Load(), p.dir().path, namesIn(t, to))
	}
	c.mustProduce("a", 0, batch("after"))
	f.clear()
	tn.move("a", 0, to)
	if got := fmt.Sprint(c.readAll("a", 0, 0)); got != "[before after]" {
		t.Error(got)
	}
}

// TestFailingDirectoryEndsAMove: the other directory goes offline, the log stays where it is and goes on.
func TestFailingDirectoryEndsAMove(t *testing.T) {
	for _, errno := range []unix.Errno{unix.EIO, unix.ENOENT} { // not to be taken for a segment that retention has removed
		t.Run(errno.Error(), func(t *testing.T) { failingDirectoryEndsAMove(t, errno) })
	}
}

func failingDirectoryEndsAMove(t *testing.T, errno unix.Errno) {
	var f faults
	tn := twoDirNode(t, nodeOptions{seams: f.under})
	tn.createTopic("a", 1)
	c := tn.dial()
	c.mustProduce("a", 0, batch("before"))
	from := tn.partition("a", 0).dir()
	to := tn.other(from)
	f.fail(iouring.EventSync, segment.FutureDirSuffix+"/", errno)
	tn.MoveLog(wire.TopicPartition{Topic: "a"}, to.path)
	await(t, "offline", func() bool { return to.offline.Load() && tn.moves.under(tn.partition("a", 0)) == nil })
	c.mustProduce("a", 0, batch("after"))
	if code := tn.MoveLog(wire.TopicPartition{Topic: "a"}, to.path); code != wire.KafkaStorageError {
		t.Errorf("a move to an offline directory: %s", code)
	}
	f.clear()
	tn.stop()
	tn = tn.restart()
	await(t, "the move goes on", func() bool { return tn.partition("a", 0).dir().path == to.path })
	if got := fmt.Sprint(tn.dial().readAll("a", 0, 0)); got != "[before after]" {
		t.Error(got)
	}
}

// TestMoveLogAnswers has the codes of Apache Kafka 4.1.1.
func TestMoveLogAnswers(t *testing.T) {
	tn := twoDirNode(t, nodeOptions{})
	tn.createTopic("a", 1)
	long := strings.Repeat("l", 230)
	tn.createTopic(long, 1)
	one := tn.dirs[0].path
	for _, c := range []struct {
		topic string
		part  wire.PartitionIndex
		dir   string
		want  wire.ErrorCode
	}{
		{"a", 0, one, wire.None}, {"a", 7, one, wire.UnknownTopicOrPartition}, {"none", 0, one, wire.UnknownTopicOrPartition},
		{"bad topic", 0, one, wire.UnknownTopicOrPartition}, {"none", 0, "/nowhere", wire.LogDirNotFound}, {"a", 0, "/nowhere", wire.LogDirNotFound},
		{"a", 0, one + "/", wire.LogDirNotFound}, {"a", 0, one + "/../one", wire.LogDirNotFound},
		{long, 0, one, wire.InvalidTopicException}, {long, 0, "/nowhere", wire.InvalidTopicException},
	} {
		if got := tn.MoveLog(wire.TopicPartition{Topic: c.topic, Partition: c.part}, c.dir); got != c.want {
			t.Errorf("%.10s-%d to %s: %s, want %s", c.topic, c.part, c.dir, got, c.want)
		}
	}
}

// TestWishForANewPartition: it is made in the directory that was named for it, others where the fewest are.
func TestWishForANewPartition(t *testing.T) {
	tn := twoDirNode(t, nodeOptions{})
	for part := range wire.PartitionIndex(3) {
		tn.MoveLog(wire.TopicPartition{Topic: "a", Partition: part}, tn.dirs[1].path)
	}
	tn.createTopic("a", 4)
	if got := namesIn(t, tn.dirs[1]); !slices.Equal(got, []string{"a-0", "a-1", "a-2"}) {
		t.Errorf("%v", got)
	}
	tn.createTopic("b", 4)
	if one, two := tn.dirs[0].partitions.Load(), tn.dirs[1].partitions.Load(); one != 4 || two != 4 {
		t.Errorf("%d and %d partitions", one, two)
	}
}

// slowMoves makes moves so slow that they are under way until that is undone.
func (tn *testNode) slowMoves(bytesPerSecond string) {
	tn.t.Helper()
	if code, message := tn.AlterConfigs(image.Resource{Type: image.BrokerResource}, map[string]*string{"replica.alter.log.dirs.io.max.bytes.per.second": &bytesPerSecond}); code != wire.None {
		tn.t.Fatal(code, message)
	}
}

// TestMoveUnderWay: it is told of, cancelled by a move to where the log lies, begun again, gone on with by the next start, and ended
// with its topic.
func TestMoveUnderWay(t *testing.T) {
	tn := twoDirNode(t, nodeOptions{})
	tn.createTopic("a", 1, "file.delete.delay.ms=0")
	c := tn.dial()
	for range 3 {
		c.mustProduce("a", 0, batch(strings.Repeat("x", 700<<10)))
	}
	tn.slowMoves("1")
	p := tn.partition("a", 0)
	from, to, tp := p.dir(), tn.other(p.dir()), wire.TopicPartition{Topic: "a"}
	tn.MoveLog(tp, to.path)
	await(t, "a part is copied", func() bool {
		f, moving := partitionView{p}.Future()
		return moving && f.LogDir == to.path && f.Size > 0 && f.OffsetLag > 0 && f.OffsetLag < 3
	})
	if code := tn.MoveLog(tp, to.path); code != wire.None || tn.moves.under(p) == nil {
		t.Errorf("the same move again: %s", code)
	}
	if code := tn.MoveLog(tp, from.path); code != wire.None || tn.moves.under(p) != nil || len(namesIn(t, to)) != 0 {
		t.Errorf("cancelled: %s, %v", code, namesIn(t, to))
	}
	tn.MoveLog(tp, to.path)
	await(t, "a part is copied", func() bool { f, moving := partitionView{p}.Future(); return moving && f.Size > 0 })
	if err := tn.stop(); err != nil {
		t.Fatal(err)
	}
	if got := namesIn(t, to); !slices.Equal(got, []string{"a-0-future"}) {
		t.Fatalf("%v", got)
	}
	tn = tn.restart()
	p = tn.partition("a", 0)
	await(t, "it goes on", func() bool { f, moving := partitionView{p}.Future(); return moving && f.Size > 0 })
	tn.kill()
	tn = tn.restart()
	p = tn.partition("a", 0)
	await(t, "it goes on after a kill", func() bool { f, moving := partitionView{p}.Future(); return moving && f.Size > 0 })
	if code := tn.DeleteTopic("a", wire.TopicID{}); code != wire.None {
		t.Fatal(code)
	}
	await(t, "nothing is left", func() bool { return len(namesIn(t, tn.dirs[0]))+len(namesIn(t, tn.dirs[1])) == 0 })
}

// TestUnfinishedCopyAlone: the log is gone and the copy is not whole, so that the node does not start as if there were nothing.
func TestUnfinishedCopyAlone(t *testing.T) {
	tn := twoDirNode(t, nodeOptions{})
	tn.createTopic("a", 1)
	c := tn.dial()
	for range 3 {
		c.mustProduce("a", 0, batch(strings.Repeat("x", 700<<10)))
	}
	tn.slowMoves("1")
	p := tn.partition("a", 0)
	from, to := p.dir().path, tn.other(p.dir())
	tn.MoveLog(wire.TopicPartition{Topic: "a"}, to.path)
	await(t, "a part is copied", func() bool { f, moving := partitionView{p}.Future(); return moving && f.Size > 0 })
	tn.stop()
	if err := os.Rename(filepath.Join(from, "a-0"), filepath.Join(from, "away")); err != nil {
		t.Fatal(err)
	}
	if _, err := tryStart(t, tn.opts); err == nil || !strings.Contains(err.Error(), "partition a-0 has no log, only this unfinished copy of it") {
		t.Fatalf("started: %v", err)
	}
}

// TestMoveCaughtBetweenNames: the power went when the log had lost its name and the copy had not got it yet.
func TestMoveCaughtBetweenNames(t *testing.T) {
	tn := twoDirNode(t, nodeOptions{})
	tn.createTopic("a", 1)
	tn.dial().mustProduce("a", 0, batch("x"))
	from := tn.partition("a", 0).dir()
	to := tn.other(from)
	tn.kill()
	const uuid = ".0123456789abcdef0123456789abcdef"
	for _, names := range [][2]string{{from.path + "/a-0", to.path + "/a-0" + uuid + "-future"}, {from.path + "/elsewhere", from.path + "/a-0" + uuid + "-delete"}} {
		if names[0] == from.path+"/elsewhere" {
			if err := os.Mkdir(names[0], 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Rename(names[0], names[1]); err != nil {
			t.Fatal(err)
		}
	}
	tn = tn.restart()
	if got := fmt.Sprint(tn.dial().readAll("a", 0, 0)); got != "[x]" || tn.partition("a", 0).dir().path != to.path {
		t.Errorf("%s in %s", got, tn.partition("a", 0).dir().path)
	}
	await(t, "what it was is removed", func() bool { return len(namesIn(t, tn.dirs[0]))+len(namesIn(t, tn.dirs[1])) == 1 })
}

// TestDeletedRecordsStayDeletedInAMove: a log start offset that is raised while the log moves holds after a kill.
func TestDeletedRecordsStayDeletedInAMove(t *testing.T) {
	tn := twoDirNode(t, nodeOptions{})
	tn.createTopic("a", 1)
	c := tn.dial()
	for i := range 4 {
		c.mustProduce("a", 0, batch(fmt.Sprint(i)))
	}
	p, tp := tn.partition("a", 0), wire.TopicPartition{Topic: "a"}
	to := tn.other(p.dir())
	if got := tn.DeleteRecords(map[wire.TopicPartition]wire.Offset{tp: 1})[tp]; got.Code != wire.None {
		t.Fatal(got)
	}
	tn.move("a", 0, to)
	tn.kill()
	tn = tn.restart()
	if got := fmt.Sprint(tn.dial().readAll("a", 0, 1)); got != "[1 2 3]" || tn.partition("a", 0).published.logStart.Load() != 1 {
		t.Fatalf("%s, from %d", got, tn.partition("a", 0).published.logStart.Load())
	}
	p = tn.partition("a", 0)
	p.loop.on(func(*Loop) { p.movingTo = tn.other(p.dir()) })
	tn.DeleteRecords(map[wire.TopicPartition]wire.Offset{tp: 3})
	for _, d := range tn.dirs {
		if d.starts[tp] != 3 {
			t.Errorf("%s has start offset %d", d.path, d.starts[tp])
		}
	}
}

// TestFetchInFlightOutlivesAMove: an answer that was planned from the old files is sent to its end when they are removed.
func TestFetchInFlightOutlivesAMove(t *testing.T) {
	eachShape(t, func(t *testing.T, s shape) {
		tn := twoDirNode(t, nodeOptions{shape: s})
		tn.createTopic("a", 1, "file.delete.delay.ms=0", "max.message.bytes=20000000")
		c := tn.dial()
		big := strings.Repeat("x", 8<<20)
		c.mustProduce("a", 0, batch(big))
		p := tn.partition("a", 0)
		from := p.dir()
		c.send(fetch(toFetch{"a", 0, 0})) // more than the socket takes
		await(t, "the answer is under way", func() bool { return answering(tn) })
		tn.move("a", 0, tn.other(from))
		await(t, "the old files are removed", func() bool { return len(namesIn(t, from)) == 0 })
		if got := len(fetched(c.mustReceive())["a-0"].RecordBatches); got != len(batch(big)) {
			t.Errorf("%d bytes", got)
		}
	})
}

// answering says whether an answer with records is being sent.
func answering(tn *testNode) (sending bool) {
	for _, l := range tn.loops {
		l.on(func(l *Loop) {
			l.conns.all(func(c *Conn) { sending = sending || len(c.out.ranges) > 0 })
		})
	}
	return sending
}
