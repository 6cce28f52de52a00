package node

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringmill/ringmill/iouring"
	"github.com/ringmill/ringmill/wire"
)

// TestReadahead: behind a reader that read a cold range and then the next one, the disk reads on as far as the property says, and into the
// next segment; behind one that read one range it does not, nor with 0.
func TestReadahead(t *testing.T) {
	eachShape(t, func(t *testing.T, s shape) {
		for _, ahead := range []int64{0, 1 << 20} {
			t.Run(map[bool]string{true: "off", false: "on"}[ahead == 0], func(t *testing.T) { testReadahead(t, s, ahead) })
		}
	})
}

func testReadahead(t *testing.T, s shape, ahead int64) {
	const batches, perRange = 100, 4
	tn := startNode(t, nodeOptions{shape: s, set: []string{fmt.Sprint("ringmill.fetch.readahead.bytes=", ahead), "ringmill.scrub.interval.ms=0"}})
	tn.createTopic("a", 1, "segment.bytes=4194304")
	c := tn.dial()
	b := batch(strings.Repeat("x", 65000))
	for range batches {
		c.mustProduce("a", 0, b)
	}
	tn.stop()
	tn = tn.restart() // forgets which batches are new
	r := &coldReader{testNode: tn, c: tn.dial(), most: perRange * int32(len(b))}
	r.read(0) // opens the file, and loads the index
	r.forget()
	width := int64(r.most)

	r.read(0)
	if n := tn.readahead(); n > 0 || r.cached(0, width, 2<<20) > 0 {
		t.Fatalf("%d bytes were asked for, %d are there behind the range of a reader of one", n, r.cached(0, width, 2<<20))
	}
	r.read(perRange)
	if ahead == 0 {
		if n := r.cached(0, 2*width, 2<<20); n > 0 {
			t.Fatalf("%d bytes are there behind a second range", n)
		}
		return
	}
	await(t, "512 KiB behind a second range", func() bool { return r.cached(0, 2*width, readaheadFirst) >= readaheadFirst })
	at := int64(2 * perRange)
	for ; at < int64(r.firstOf(1)); at += perRange {
		r.read(at)
	}
	await(t, "the beginning of the next segment", func() bool { return r.cached(1, 0, readaheadFirst) >= readaheadFirst })
	if n := r.cached(1, 2<<20, 1<<20); n > 0 {
		t.Errorf("%d bytes of the next segment are there beyond the property", n)
	}
	if got := r.c.readAll("a", 0, 0); len(got) != batches {
		t.Errorf("%d records, want %d", len(got), batches)
	}
}

// coldReader reads a topic's log that it takes out of the page cache.
type coldReader struct {
	*testNode
	c    *client
	most int32
}

// read fetches one range.
func (r *coldReader) read(offset int64) {
	r.t.Helper()
	req := fetch(toFetch{"a", 0, offset})
	req.Topics[0].Partitions[0].PartitionMaxBytes = r.most
	if got, _ := values(r.t, fetched(r.c.call(req))["a-0"].RecordBatches); len(got) == 0 {
		r.t.Fatalf("nothing at %d", offset)
	}
}

// segments are the log's files, oldest first.
func (r *coldReader) segments() []string {
	r.t.Helper()
	names, err := filepath.Glob(filepath.Join(r.opts.dir, "logs", "a-0", "*.log"))
	if err != nil || len(names) < 2 {
		r.t.Fatal(names, err)
	}
	return names
}

func (r *coldReader) firstOf(segment int) (first wire.Offset) {
	p := r.partition("a", 0)
	p.loop.on(func(*Loop) { first = p.log().Segments()[segment].BaseOffset() })
	return first
}

// forget takes all segments out of the page cache, and has the kernel read nothing ahead itself where the node has them open.
func (r *coldReader) forget() {
	r.t.Helper()
	for _, name := range r.segments() {
		f, err := os.Open(name)
		if err != nil {
			r.t.Fatal(err)
		}
		if err := f.Sync(); err != nil {
			r.t.Fatal(err)
		}
		st, _ := f.Stat()
		forgotten(r.t, f, 0, st.Size())
		f.Close()
	}
	p := r.partition("a", 0)
	p.loop.on(func(*Loop) {
		for _, f := range p.files {
			_ = unix.Fadvise(f.fd, 0, 0, unix.FADV_RANDOM)
		}
	})
}

// cached is how many of a segment's bytes from at on are in the page cache.
func (r *coldReader) cached(segment int, at, n int64) int64 {
	r.t.Helper()
	f, err := os.Open(r.segments()[segment])
	if err != nil {
		r.t.Fatal(err)
	}
	defer f.Close()
	page := int64(os.Getpagesize())
	cached, _, err := iouring.Cachestat(int(f.Fd()), (at+page-1)/page*page, n)
	if err != nil {
		r.t.Fatal(err)
	}
	return int64(cached) * page
}

// readahead is what disks were asked for ahead.
func (tn *testNode) readahead() (bytes uint64) {
	for _, l := range tn.loops {
		bytes += l.metrics.readahead.Get()
	}
	return bytes
}

// What is asked for of a file, a piece of 512 KiB at a time, with a property of 2 MiB.
func TestReadaheadPlan(t *testing.T) {
	const k = 512 << 10
	f, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(20 * k); err != nil {
		t.Fatal(err)
	}
	file := &segmentFile{fd: int(f.Fd())}
	type piece struct {
		at, end int64 // in units of k
		cached  bool
		want    []int64 // at, upTo, rest; nil: nothing
		lost    bool
	}
	for name, pieces := range map[string][]piece{
		"what is cached is none of its business": {{0, 4, true, nil, false}, {4, 8, true, nil, false}},
		"the rest of a range, not more":          {{0, 3, false, []int64{1, 2, 0}, false}, {1, 3, true, []int64{2, 3, 0}, false}, {2, 3, true, nil, false}},
		"one piece and away":                     {{0, 1, false, nil, false}, {7, 8, false, nil, false}},
		"the same piece again":                   {{0, 1, false, nil, false}, {0, 1, true, nil, false}},
		"reads on, the window doubles": {
			{0, 1, false, nil, false}, {1, 2, false, []int64{2, 3, 0}, false}, {2, 3, true, []int64{3, 5, 0}, false}, {3, 4, true, []int64{5, 8, 0}, false},
			{4, 5, true, nil, false}, {5, 6, true, []int64{8, 10, 0}, false}, {6, 7, true, nil, false}, {7, 8, true, []int64{10, 12, 0}, false},
		},
		"over the file's end": {
			{14, 15, false, nil, false}, {15, 16, false, []int64{16, 17, 0}, false}, {16, 17, true, []int64{17, 19, 0}, false}, {17, 18, true, []int64{19, 20, 2}, false}, {18, 19, true, nil, false}, {19, 20, true, nil, false},
		},
		"pages that were lost": {
			{0, 1, false, nil, false}, {1, 2, false, []int64{2, 3, 0}, false}, {2, 3, false, nil, true}, {3, 4, false, []int64{4, 5, 0}, false},
		},
		"two readers": {
			{0, 1, false, nil, false}, {10, 11, false, nil, false}, {1, 2, false, []int64{2, 3, 0}, false}, {11, 12, false, []int64{12, 13, 0}, false},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var readers fileReaders
			for i, p := range pieces {
				next, _, lost := readers.note(&fileRange{file: file, offset: p.at * k, length: (p.end - p.at) * k}, k, p.cached, 4*k, true)
				readers.asking = false
				var got []int64
				if next.file != nil {
					got = []int64{next.at / k, next.upTo / k, next.rest / k}
				}
				if !slices.Equal(got, p.want) || lost != p.lost {
					t.Errorf("piece %d, %d to %d: %v, lost %v, want %v, %v", i, p.at, p.end, got, lost, p.want, p.lost)
				}
			}
		})
	}
}
