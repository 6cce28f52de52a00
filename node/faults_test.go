package node

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
	"golang.org/x/sys/unix"

	"github.com/ringmill/ringmill/iouring"
	"github.com/ringmill/ringmill/iouring/iouringtest"
	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/wire"
)

// faults decides what goes wrong under a node. The rule may change while it runs.
type faults struct {
	rule atomic.Pointer[faultRule]
	met  atomic.Int64
	// open says that no segment can be opened, for want of a descriptor.
	open atomic.Bool
}

// faultRule gives the fault of an operation on a file; files under an engine are found by their descriptors.
type faultRule func(kind iouring.EventKind, name string) iouringtest.Fault

func (f *faults) set(rule faultRule) { f.rule.Store(&rule) }
func (f *faults) clear()             { f.rule.Store(nil) }

func (f *faults) of(kind iouring.EventKind, name string) iouringtest.Fault {
	rule := f.rule.Load()
	if rule == nil {
		return iouringtest.Fault{}
	}
	fault := (*rule)(kind, name)
	if fault != (iouringtest.Fault{}) {
		f.met.Add(1)
	}
	return fault
}

// fail is the rule that all operations of a kind on files with part in their names fail with errno.
func (f *faults) fail(kind iouring.EventKind, part string, errno unix.Errno) {
	f.set(func(k iouring.EventKind, name string) iouringtest.Fault {
		if k == kind && strings.Contains(name, part) {
			return iouringtest.Fault{Errno: errno}
		}
		return iouringtest.Fault{}
	})
}

// under puts the faults under a node's engines and files.
func (f *faults) under(s *seams) {
	s.fs = faultFS{s.fs, f}
	inner := s.newEngine
	s.newEngine = func(kind string, cfg iouring.Config, loop int) (iouring.Engine, iouring.Probe, error) {
		e, probe, err := inner(kind, cfg, loop)
		if err != nil {
			return nil, probe, err
		}
		return iouringtest.NewFaultEngine(e, func(op iouringtest.Op) iouringtest.Fault {
			name, _ := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", op.FD))
			return f.of(op.Kind, name)
		}), probe, nil
	}
}

// faultFS fails what goroutines do with files.
type faultFS struct {
	segment.FS
	faults *faults
}

func (f faultFS) OpenFile(name string, flag segment.OpenFlag, perm fs.FileMode) (segment.File, error) {
	if f.faults.open.Load() && strings.HasSuffix(name, ".log") {
		return nil, &fs.PathError{Op: "open", Path: name, Err: unix.EMFILE}
	}
	file, err := f.FS.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return &faultFile{file, name, f.faults}, nil
}

type faultFile struct {
	segment.File
	name   string
	faults *faults
}

// besideLoop begins the names of files whose syncs are not a loop's own.
const besideLoop = "beside a loop: "

func (f *faultFile) Sync() error {
	if fault := f.faults.of(iouring.EventSync, besideLoop+f.name); fault.Errno != 0 {
		return fault.Errno
	}
	return f.File.Sync()
}

func (f *faultFile) WriteAt(b []byte, off int64) (int, error) {
	if fault := f.faults.of(iouring.EventWrite, f.name); fault.Errno != 0 {
		return 0, fault.Errno
	}
	return f.File.WriteAt(b, off)
}

func codeOf(parts []kmsg.ProduceResponseTopicPartition) wire.ErrorCode {
	return wire.ErrorCode(parts[0].ErrorCode)
}

func TestDiskFullUnderOnePartition(t *testing.T) {
	eachShape(t, func(t *testing.T, s shape) {
		var f faults
		tn := startNode(t, nodeOptions{shape: s, seams: f.under, set: []string{"ringmill.append.path=ring"}})
		tn.createTopic("full", 1)
		tn.createTopic("other", 1)
		c := tn.dial()
		c.mustProduce("full", 0, batch("before"))
		f.fail(iouring.EventWrite, "full-0", unix.ENOSPC)
		for range 3 {
			if code := codeOf(produced(c.call(produce(-1, toProduce{"full", 0, batch("lost")})))); code != wire.KafkaStorageError {
				t.Fatalf("produce to a full disk: %s", code)
			}
			c.mustProduce("other", 0, batch("kept"))
		}
		f.clear()
		if at := c.mustProduce("full", 0, batch("after")); at != 1 {
			t.Fatalf("base offset %d after the disk had room again, want 1", at)
		}
		if got := fmt.Sprint(c.readAll("full", 0, 0), c.readAll("other", 0, 0)); got != "[before after] [kept kept kept]" {
			t.Fatal(got)
		}
		tn.stop()
		c = tn.restart().dial()
		if got := fmt.Sprint(c.readAll("full", 0, 0), c.readAll("other", 0, 0)); got != "[before after] [kept kept kept]" {
			t.Fatalf("after a restart: %s", got)
		}
	})
}

// TestDiskFullUnderRoll: the append before a roll fails while the next one waits for the new segment.
func TestDiskFullUnderRoll(t *testing.T) {
	eachShape(t, func(t *testing.T, s shape) {
		var f faults
		tn := startNode(t, nodeOptions{shape: s, seams: f.under, set: []string{"ringmill.append.path=ring"}})
		tn.createTopic("a", 1, "segment.bytes=1048576", "max.message.bytes=1048576")
		c := tn.dial()
		big := batch(strings.Repeat("x", 700<<10))
		for range 3 { // an empty segment, then one with something in it
			f.fail(iouring.EventWrite, "a-0", unix.ENOSPC)
			c.send(produce(-1, toProduce{"a", 0, big}), produce(-1, toProduce{"a", 0, big}), produce(-1, toProduce{"a", 0, big}))
			for range 3 {
				if code := codeOf(produced(c.mustReceive())); code != wire.KafkaStorageError {
					t.Fatalf("produce to a full disk: %s", code)
				}
			}
			f.clear()
			c.mustProduce("a", 0, big)
		}
		if got := c.readAll("a", 0, 0); len(got) != 3 {
			t.Fatalf("%d records", len(got))
		}
	})
}

// TestFailedSegmentWrite: after EIO nothing of the directory is acknowledged; it is the last, so the node ends.
func TestFailedSegmentWrite(t *testing.T) {
	eachShape(t, func(t *testing.T, s shape) {
		var f faults
		tn := startNode(t, nodeOptions{shape: s, seams: f.under, set: []string{"ringmill.append.path=ring"}})
		tn.createTopic("a", 4)
		testStorageFault(t, tn, func() { f.fail(iouring.EventWrite, ".log", unix.EIO) })
	})
}

func TestFailedJournalSync(t *testing.T) {
	eachShape(t, func(t *testing.T, s shape) {
		var f faults
		tn := startNode(t, nodeOptions{shape: s, seams: f.under})
		tn.createTopic("a", 4)
		testStorageFault(t, tn, func() { f.fail(iouring.EventSync, "journal-", unix.EIO) })
	})
}

// TestFailedJournalGrowth: the sync of new zeros may have been told of a failure that was of entries, of which the loop's own sync
// of the same open file then hears nothing.
func TestFailedJournalGrowth(t *testing.T) {
	eachShape(t, func(t *testing.T, s shape) {
		var f faults
		tn := startNode(t, nodeOptions{shape: s, seams: f.under, set: []string{"ringmill.journal.bytes=33554432"}})
		tn.createTopic("a", 1)
		c := tn.dial()
		endless := make(chan struct{}) // is the checkpoint, so that the journal has to grow
		f.set(func(kind iouring.EventKind, name string) (fault iouringtest.Fault) {
			if name, beside := strings.CutPrefix(name, besideLoop); beside && strings.HasSuffix(name, ".log") {
				<-endless
			} else if beside && strings.Contains(name, "journal-") {
				fault.Errno = unix.EIO
			}
			return fault
		})
		half := batch(strings.Repeat("x", 256<<10))
		done := make(chan struct{})
		go func() {
			defer close(done)
			for range 2 * segment.DefaultJournalTrackBytes / len(half) { // one by one: larger runs would not be journalled
				c.send(produce(-1, toProduce{"a", 0, half}))
				if _, err := c.receive(); err != nil {
					return
				}
			}
		}()
		await(t, "node failed", tn.hasFailed)
		close(endless)
		expectEnd(t, tn)
		<-done
	})
}

// TestFailedJournalWrite: the journal's descriptor is made read-only under the node.
func TestFailedJournalWrite(t *testing.T) {
	eachShape(t, func(t *testing.T, s shape) {
		tn := startNode(t, nodeOptions{shape: s})
		tn.createTopic("a", 4)
		testStorageFault(t, tn, func() {
			for i, l := range tn.loops {
				l.on(func(l *Loop) {
					readOnly, err := os.Open(tn.journalName(i))
					if err != nil {
						t.Error(err)
						return
					}
					defer readOnly.Close()
					if err := unix.Dup3(int(readOnly.Fd()), l.sync.file.Fd(), unix.O_CLOEXEC); err != nil {
						t.Error(err)
					}
				})
			}
		})
	})
}

// TestFailedSegmentSync: batches too large for the journal are synced in their segments.
func TestFailedSegmentSync(t *testing.T) {
	eachShape(t, func(t *testing.T, s shape) {
		var f faults
		tn := startNode(t, nodeOptions{shape: s, seams: f.under})
		tn.createTopic("a", 1)
		c := tn.dial()
		big := batch(strings.Repeat("x", 512<<10+1))
		c.mustProduce("a", 0, big)
		f.fail(iouring.EventSync, ".log", unix.EIO)
		c.send(produce(-1, toProduce{"a", 0, big}), produce(-1, toProduce{"a", 0, batch("small")}))
		expectEnd(t, tn)
		expectNoAck(t, c)
	})
}

// testStorageFault breaks the storage and checks that no produce is acknowledged from then on and that the node ends.
func testStorageFault(t *testing.T, tn *testNode, breakIt func()) {
	t.Helper()
	c, other := tn.dial(), tn.dial()
	for part := range int32(4) {
		c.mustProduce("a", part, batch("before"))
		other.mustProduce("a", part, batch("before"))
	}
	breakIt()
	for part := range int32(4) {
		c.send(produce(-1, toProduce{"a", part, batch("after")}))
		other.send(produce(-1, toProduce{"a", part, batch("after")}))
	}
	expectEnd(t, tn)
	expectNoAck(t, c)
	expectNoAck(t, other)
	tn.opts.seams = nil
	c = tn.restart().dial()
	for part := range int32(4) {
		if got := c.readAll("a", part, 0); len(got) < 2 || got[0] != "before" || got[1] != "before" {
			t.Fatalf("partition %d holds %v after a restart", part, got)
		}
	}
}

// expectNoAck reads until the connection ends: no answer may be a success.
func expectNoAck(t *testing.T, c *client) {
	t.Helper()
	for len(c.asked) > 0 {
		resp, err := c.receive()
		if err != nil {
			var timeout interface{ Timeout() bool }
			if errors.As(err, &timeout) && timeout.Timeout() {
				t.Fatal("neither an answer nor an end of the connection")
			}
			return
		}
		for _, p := range produced(resp) {
			if p.ErrorCode == 0 {
				t.Fatal("acknowledged after a storage fault")
			}
		}
	}
}

// expectEnd checks that the node's own failure ends it.
func expectEnd(t *testing.T, tn *testNode) {
	t.Helper()
	await(t, "node failed", tn.hasFailed)
	var fault *storageError
	if err := tn.stop(); !errors.As(err, &fault) {
		t.Fatalf("node ended with %v", err)
	}
}

// TestOneDirectoryFails: its partitions are refused, the others and new topics go on, and the next start finds what was
// acknowledged in either.
func TestOneDirectoryFails(t *testing.T) {
	eachShape(t, func(t *testing.T, s shape) {
		var f faults
		dir := t.TempDir()
		tn := startNode(t, nodeOptions{shape: s, dir: dir, seams: f.under, set: []string{
			"log.dirs=" + dir + "/one," + dir + "/two", "message.max.bytes=2000000", "ringmill.journal.bytes=1048576",
		}})
		tn.createTopic("a", 4)
		bad := tn.partition("a", 0).dir()
		c := tn.dial()
		for part := range int32(4) {
			c.mustProduce("a", part, batch("before"))
		}
		f.fail(iouring.EventSync, bad.path+"/", unix.EIO)
		big := batch(strings.Repeat("x", 512<<10+1))
		if code := codeOf(produced(c.call(produce(-1, toProduce{"a", 0, big})))); code != wire.KafkaStorageError {
			t.Fatalf("a produce that cannot be synced: %s", code)
		}
		for part := range int32(4) {
			want := wire.None
			if tn.partition("a", wire.PartitionIndex(part)).dir() == bad {
				want = wire.KafkaStorageError
			}
			await(t, "refused or not", func() bool {
				return codeOf(produced(c.call(produce(-1, toProduce{"a", part, batch("after")})))) == want
			})
			if got := fetched(c.call(fetch(toFetch{"a", part, 0})))[fmt.Sprint("a-", part)]; wire.ErrorCode(got.ErrorCode) != want {
				t.Fatalf("fetch of partition %d: %s, want %s", part, wire.ErrorCode(got.ErrorCode), want)
			}
		}
		tn.createTopic("b", 4)
		for i := range 4 * 20 { // the journal is full before that
			c.mustProduce("b", int32(i%4), batch(strings.Repeat("x", 100<<10)))
		}
		if err := tn.stop(); err != nil {
			t.Fatal(err)
		}
		tn.opts.seams = nil
		tn = tn.restart()
		c = tn.dial()
		for part := range int32(4) {
			if got := c.readAll("a", part, 0); len(got) == 0 || got[0] != "before" {
				t.Fatalf("partition %d holds %v", part, got)
			}
		}
		for _, d := range tn.dirs {
			if d.clean != (d.path != bad.path) {
				t.Errorf("%s: clean stop %t", d.path, d.clean)
			}
		}
	})
}
