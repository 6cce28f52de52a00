package image

import (
	"errors"
	"io/fs"
	"slices"
	"syscall"
	"testing"

	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/segment/osfs"
	"github.com/ringmill/ringmill/segment/segmenttest"
	"github.com/ringmill/ringmill/wire"
)

const stateDir = "state"

const logFile = stateDir + "/" + LogName

func open(t testing.TB, fsys segment.FS) *Store {
	t.Helper()
	s, err := OpenStore(fsys, stateDir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func apply(t testing.TB, s *Store, records ...Record) {
	t.Helper()
	if _, err := s.Apply(records...); err != nil {
		t.Fatal(err)
	}
}

func TestStoreOnTheOperatingSystem(t *testing.T) {
	dir := t.TempDir()
	for round := range 3 {
		s, err := OpenStore(osfs.FS{}, dir)
		if err != nil {
			t.Fatal(err)
		}
		if s.Image().TopicCount() != round || s.Report().Records != round {
			t.Errorf("round %d: %d topics, %+v", round, s.Image().TopicCount(), s.Report())
		}
		apply(t, s, topic("t"+string(rune('a'+round)), round+1))
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Apply(topic("late", 9)); !errors.Is(err, ErrStoreFailed) {
			t.Errorf("apply after close: %v", err)
		}
	}
}

// After a power cut at any operation every change that was answered is there, and each change whole or not at all (I5).
func TestPowerCutAnywhere(t *testing.T) {
	changes := [][]Record{
		{ClusterRecord{"c", 1}, ProducerIDsRecord{1000}},
		{topic("a", 1), config(TopicResource, "a", "k", "v"), topic("b", 2)},
		{PartitionsRecord{id(1), 7}, FeatureLevelRecord{"share.version", 0}},
		{RemoveTopicRecord{id(2)}, config(BrokerResource, "", "k", string(make([]byte, 9000)))}, // several pages
		{topic("c", 3), noConfig(TopicResource, "a", "k")},
	}
	images := []*Image{new(Image)}
	for _, c := range changes {
		images = append(images, must(images[len(images)-1].With(c...)))
	}
	var answered int
	run := func(fsys segment.FS) error {
		answered = 0
		s, err := OpenStore(fsys, stateDir)
		if err != nil {
			return err
		}
		for i, c := range changes {
			if i == 3 { // the process is restarted in between
				s.Close()
				if s, err = OpenStore(fsys, stateDir); err != nil {
					return err
				}
			}
			if _, err := s.Apply(c...); err != nil {
				return err
			}
			answered++
		}
		return nil
	}
	segmenttest.CutEverywhere(t, 20, run, func(t *testing.T, fsys *segmenttest.FS, cut int) {
		s := open(t, fsys)
		at := slices.IndexFunc(images, func(m *Image) bool { return m.Version() == s.Image().Version() })
		if at < answered || at > answered+1 {
			t.Fatalf("cut %d: %d changes answered, %d found", cut, answered, at)
		}
		sameContent(t, s.Image(), images[at])
		// What it says is durable: another cut takes nothing away, and the store goes on.
		again := open(t, fsys.Remains())
		sameContent(t, again.Image(), images[at])
		apply(t, again, topic("later", 99))
	})
}

func TestKilledBeforeSync(t *testing.T) {
	fsys := segmenttest.New(1)
	s := open(t, fsys)
	apply(t, s, topic("a", 1))
	fsys.Inject(func(op segmenttest.Op) (int, error) {
		if op.Kind == segmenttest.OpSync {
			return 0, syscall.EIO
		}
		return 0, nil
	})
	if _, err := s.Apply(topic("b", 2)); !errors.Is(err, syscall.EIO) {
		t.Fatalf("failed fsync: %v", err)
	}
	if _, err := s.Apply(topic("c", 3)); !errors.Is(err, ErrStoreFailed) || s.Image().TopicCount() != 1 {
		t.Fatalf("after a failed fsync: %v", err)
	}
	// The pages are clean now and on no disk. The next process sees them; what it says must survive a power cut.
	fsys.Kill()
	next := open(t, fsys)
	for range 20 {
		sameContent(t, open(t, fsys.Remains()).Image(), next.Image())
	}
}

func TestFullDisk(t *testing.T) {
	fsys := segmenttest.New(1)
	s := open(t, fsys)
	apply(t, s, topic("a", 1))
	size, _ := fsys.Stat(logFile)
	fsys.SetCapacity(size + 100)
	if _, err := s.Apply(topic("b", 2)); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("full disk: %v", err)
	}
	if now, _ := fsys.Stat(logFile); now != size {
		t.Errorf("%d bytes after the failed write, %d before", now, size)
	}
	fsys.SetCapacity(0)
	apply(t, s, topic("c", 3))
	if s = open(t, fsys); s.Image().ByName("b") != nil || s.Image().ByName("c") == nil || s.Report().TruncatedBytes != 0 {
		t.Errorf("%+v", contentOf(t, s.Image()))
	}
}

func TestFailedWriteThatCannotBeCutBack(t *testing.T) {
	fsys := segmenttest.New(1)
	s := open(t, fsys)
	apply(t, s, topic("a", 1))
	fsys.Inject(func(op segmenttest.Op) (int, error) {
		if op.Kind == segmenttest.OpWrite || op.Kind == segmenttest.OpTruncate {
			return op.Len / 2, syscall.EIO
		}
		return 0, nil
	})
	if _, err := s.Apply(topic("b", 2)); !errors.Is(err, syscall.EIO) {
		t.Fatal(err)
	}
	fsys.Inject(nil)
	if _, err := s.Apply(topic("b", 2)); !errors.Is(err, ErrStoreFailed) {
		t.Fatalf("after: %v", err)
	}
	s = open(t, fsys)
	if s.Report().TruncatedBytes == 0 || s.Image().TopicCount() != 1 {
		t.Errorf("%+v, %d topics", s.Report(), s.Image().TopicCount())
	}
	apply(t, s, topic("b", 2))
}

func TestOpenErrors(t *testing.T) {
	for _, kind := range []segmenttest.OpKind{segmenttest.OpOpen, segmenttest.OpRead, segmenttest.OpTruncate, segmenttest.OpWrite,
		segmenttest.OpSync, segmenttest.OpSyncDir} {
		fsys := segmenttest.New(1)
		apply(t, open(t, fsys), topic("a", 1))
		fsys.Inject(func(op segmenttest.Op) (int, error) {
			if op.Kind == kind {
				return 0, syscall.EIO
			}
			return 0, nil
		})
		if _, err := OpenStore(fsys, stateDir); !errors.Is(err, syscall.EIO) {
			t.Errorf("operation %d fails: %v", kind, err)
		}
	}
	fsys := segmenttest.New(1)
	fsys.Inject(func(op segmenttest.Op) (int, error) {
		if op.Kind == segmenttest.OpMkdir {
			return 0, fs.ErrPermission
		}
		return 0, nil
	})
	if _, err := OpenStore(fsys, stateDir); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("no permission: %v", err)
	}
}

func TestApplyRefusesAndWritesNothing(t *testing.T) {
	fsys := segmenttest.New(1)
	s := open(t, fsys)
	apply(t, s)
	if _, err := fsys.Stat(logFile); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an empty change made a file: %v", err)
	}
	apply(t, s, topic("a", 1))
	ops, m := fsys.Ops(), s.Image()
	if _, err := s.Apply(topic("b", 2), topic("a", 3)); !errors.Is(err, ErrTopicExists) {
		t.Error(err)
	}
	if fsys.Ops() != ops || s.Image() != m {
		t.Error("a refused change left something")
	}
}

// A byte changed anywhere but in the last batch is found and reported, and the file is left alone.
func TestDamage(t *testing.T) {
	fsys := segmenttest.New(1)
	s := open(t, fsys)
	var ends []int64
	for i := range 3 {
		apply(t, s, topic("t"+string(rune('a'+i)), i+1))
		ends = append(ends, s.end)
	}
	data, _ := fsys.ReadFile(logFile)
	for at := range ends[1] {
		if at >= 12 && at < 16 {
			continue // the leader epoch: no checksum covers it, and nobody reads it
		}
		damaged := slices.Clone(data)
		damaged[at] ^= 0x10
		_, err := replay("log", damaged)
		var e *CorruptionError
		if at >= ends[0]+12 && at < ends[0]+16 {
			if err != nil {
				t.Errorf("byte %d: %v", at, err)
			}
			continue
		}
		if !errors.As(err, &e) || e.File != "log" {
			t.Errorf("byte %d: %v", at, err)
		}
	}
	if err := fsys.Damage(logFile, ends[0]+70, 1); err != nil {
		t.Fatal(err)
	}
	ops := fsys.Ops()
	_, err := OpenStore(fsys, stateDir)
	var e *CorruptionError
	var b *wire.BatchError
	if !errors.As(err, &e) || e.Position != wire.Position(ends[0]) || e.Offset != 1 || !errors.As(err, &b) || fsys.Ops() != ops {
		t.Errorf("damage: %v, %d operations", err, fsys.Ops()-ops)
	}
}

func TestRecordsThatDoNotFit(t *testing.T) {
	one := appendBatch(nil, 0, []Record{topic("a", 1)})
	value := func(v string) []byte {
		return wire.AppendRecordBatch(slices.Clone(one), wire.BatchHeader{BaseOffset: 1}, []wire.Record{{Value: []byte(v)}})
	}
	for name, c := range map[string]struct {
		log  []byte
		want error
	}{
		"a gap":               {appendBatch(slices.Clone(one), 2, []Record{topic("b", 2)}), ErrOffset},
		"a repetition":        {append(slices.Clone(one), one...), ErrOffset},
		"an impossible one":   {appendBatch(slices.Clone(one), 1, []Record{topic("a", 2)}), ErrTopicExists},
		"a negative offset":   {appendBatch(nil, -1, []Record{topic("a", 2)}), ErrOffset},
		"a newer version":     {value(`{"type":"TOPIC_RECORD","version":1,"data":{}}`), ErrNewerFormat},
		"a newer type":        {value(`{"type":"SHARE_RECORD","version":0,"data":{}}`), ErrNewerFormat},
		"an unknown field":    {value(`{"type":"PRODUCER_IDS_RECORD","version":0,"data":{"nextProducerId":1,"x":1}}`), nil},
		"no JSON":             {value(`hello`), nil},
		"two values":          {value(`{"type":"PRODUCER_IDS_RECORD","version":0,"data":{"nextProducerId":1}} 7`), nil},
		"a bad topic id":      {value(`{"type":"REMOVE_TOPIC_RECORD","version":0,"data":{"topicId":"x"}}`), nil},
		"a bad resource":      {value(`{"type":"CONFIG_RECORD","version":0,"data":{"resource":{"type":"x","name":""},"key":"k","value":"v"}}`), nil},
		"nothing":             {value(``), nil},
		"no data":             {value(`{"type":"TOPIC_RECORD","version":0}`), nil},
		"a first that is bad": {one[:len(one)-1], wire.ErrShortBatch},
	} {
		_, err := replay("log", c.log)
		var e *CorruptionError
		if !errors.As(err, &e) || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCompactionAtOpen(t *testing.T) {
	fsys := segmenttest.New(1)
	s := open(t, fsys)
	apply(t, s, ClusterRecord{"c", 1}, topic("a", 1))
	for i := 0; s.end <= 2*compactMin; i++ {
		apply(t, s, config(TopicResource, "a", "k", string(rune('a'+i%26))))
	}
	want, size := s.Image(), s.end
	s = open(t, fsys)
	if r := s.Report(); !r.Compacted || r.Bytes >= size/10 || r.TruncatedBytes != 0 {
		t.Errorf("report %+v of %d bytes", r, size)
	}
	sameContent(t, s.Image(), want) // I6: with its version
	apply(t, s, topic("b", 2))
	next := open(t, fsys.Remains())
	sameContent(t, next.Image(), s.Image())
	if next.Report().Compacted {
		t.Error("a short log was compacted")
	}

	// A log without live records keeps its version by staying as it is.
	fsys = segmenttest.New(2)
	s = open(t, fsys)
	for i := 1; s.end <= 2*compactMin; i++ {
		apply(t, s, topic("a", i), RemoveTopicRecord{id(i)})
	}
	want = s.Image()
	s = open(t, fsys)
	sameContent(t, s.Image(), want)
	if s.Report().Compacted {
		t.Error("a log without live records was compacted")
	}
}

// Compaction is one step: a power cut leaves the old log or the new one.
func TestPowerCutDuringCompaction(t *testing.T) {
	long := segmenttest.New(1)
	s := open(t, long)
	apply(t, s, topic("a", 1))
	for range compactMin / 100 {
		apply(t, s, config(TopicResource, "a", "k", "a value of some length"))
	}
	data, _ := long.ReadFile(logFile)
	segmenttest.CutEverywhere(t, 10, func(fsys segment.FS) error {
		if err := fsys.MkdirAll(stateDir+"/metadata", 0o755); err != nil {
			return err
		}
		for _, dir := range []string{stateDir, "."} {
			if err := fsys.SyncDir(dir); err != nil {
				return err
			}
		}
		if err := fsys.WriteFileAtomic(logFile, data); err != nil {
			return err
		}
		opened, err := OpenStore(fsys, stateDir)
		if err == nil && !opened.Report().Compacted {
			t.Error("not compacted")
		}
		return err
	}, func(t *testing.T, fsys *segmenttest.FS, cut int) {
		if size, err := fsys.Stat(logFile); err == nil && size > 0 {
			sameContent(t, open(t, fsys).Image(), s.Image())
		}
	})
}
