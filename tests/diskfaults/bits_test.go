package diskfaults

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ringmill/ringmill/tests/harness"
)

const (
	flipsAtOnce    = 10
	flipsInARound  = 200
	passesToBeSure = 3 // of the scrubber, after bits have flipped under a running node
)

// flip is a bit of a file that has flipped.
type flip struct {
	file string
	at   int64
	bit  byte
}

func (f flip) String() string {
	return fmt.Sprintf("%s byte %d bit %d", filepath.Base(f.file), f.at, f.bit)
}

// do flips it, or flips it back.
func (f flip) do(t *testing.T) {
	t.Helper()
	file, err := os.OpenFile(f.file, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	one := make([]byte, 1)
	if _, err := file.ReadAt(one, f.at); err != nil {
		t.Fatal(err)
	}
	one[0] ^= 1 << f.bit
	if _, err := file.WriteAt(one, f.at); err != nil {
		t.Fatal(err)
	}
}

// pick draws flips in files of a node whose names match.
func (r *round) pick(node *harness.Node, n int, match func(path string) bool) (flips []flip) {
	r.t.Helper()
	var files []string
	sizes := map[string]int64{}
	err := filepath.WalkDir(node.DataDir(), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !match(path) {
			return nil
		}
		if info, err := d.Info(); err == nil && info.Size() > 0 {
			files, sizes[path] = append(files, path), info.Size()
		}
		return nil
	})
	if err != nil || len(files) == 0 {
		r.t.Fatalf("no files to flip bits of in %s: %v", node.DataDir(), err)
	}
	slices.Sort(files)
	for range n {
		file := files[r.random.IntN(len(files))]
		flips = append(flips, flip{file, r.random.Int64N(sizes[file]), byte(r.random.IntN(8))})
	}
	return flips
}

// flipRunning flips bits of records on a running node's disk, of segments that it does not write to any more.
func (r *round) flipRunning(n int) {
	r.t.Helper()
	_, node := r.node()
	sealed := func(path string) bool {
		if filepath.Ext(path) != ".log" || !strings.Contains(path, r.load.Topic) {
			return false
		}
		all, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*.log"))
		return path != slices.Max(all)
	}
	flips := r.pick(node, n, sealed)
	r.t.Logf("%v", flips)
	r.fault("flips under a node that runs", "flips", len(flips), func() {
		for _, f := range flips {
			f.do(r.t)
		}
		goal := node.Metric(r.t, "ringmill_scrub_passes_total") + passesToBeSure
		harness.Await(r.t, "scrubs after bits have flipped", func() bool { return node.Metric(r.t, "ringmill_scrub_passes_total") >= goal })
	})
}

// flipDown flips bits on the disk of a node that is down: of anything that it has. Where it refuses to start it says which file is damaged, and
// that one is restored.
func (r *round) flipDown(n int) {
	r.t.Helper()
	_, node := r.node()
	var flips []flip
	r.fault("flips in a node that is down", "flips", n, func() {
		if r.random.IntN(2) == 0 {
			node.Kill(r.t)
		} else {
			node.Stop(r.t)
		}
		kinds := []string{".log", ".index", ".timeindex", ".snapshot", "journal-0", "-checkpoint", "partition.metadata", "/quorum/"}
		for range n {
			kind := kinds[r.random.IntN(len(kinds))]
			if kind == "journal-0" && r.random.IntN(2) == 0 {
				kind = ".log" // more of what there is most of
			}
			flips = append(flips, r.pick(node, 1, func(path string) bool {
				return strings.Contains(path, kind) && strings.Contains(path, "quorum") == (kind == "/quorum/")
			})...)
		}
		for _, f := range flips {
			f.do(r.t)
		}
		for refused := 0; ; refused++ {
			err := node.TryStart()
			if err == nil {
				break
			}
			r.restore(flips, err.Error(), refused)
		}
		goal := node.Metric(r.t, "ringmill_scrub_passes_total") + passesToBeSure
		harness.Await(r.t, "scrubs after a start", func() bool { return node.Metric(r.t, "ringmill_scrub_passes_total") >= goal })
	})
	r.t.Logf("%v", flips)
}

// restore restores what a node has refused to start with: it must have named it.
func (r *round) restore(flips []flip, said string, refused int) {
	r.t.Helper()
	r.t.Logf("refused: %.400s", lastLine(said))
	if refused > len(flips) {
		r.t.Fatalf("the node does not start whatever is restored: %s", said)
	}
	for i := range flips {
		name := flips[i].file
		if flips[i].at < 0 {
			continue
		}
		if dir := filepath.Base(filepath.Dir(name)); strings.Contains(lastLine(said), name) || strings.Contains(lastLine(said), filepath.Join(dir, filepath.Base(name))) {
			flips[i].do(r.t)
			flips[i].at = -1
			r.counts["refusals"]++
			break
		}
	}
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// TestFlippedBits: bits of one node's files flip, under the running node and while it is down. No wrong record is read, and in the end all
// replicas have the same bytes.
func TestFlippedBits(t *testing.T) {
	flips := harness.Setting(t, "RINGMILL_TEST_FLIPS", 2*flipsAtOnce)
	for done := 0; done < flips; {
		r := begin(t, "", nil)
		r.load.AwaitProgress(2000) // some segments
		for range min(flipsInARound, flips-done) / flipsAtOnce {
			if done += flipsAtOnce; done/flipsAtOnce%2 == 1 {
				r.flipRunning(flipsAtOnce)
			} else {
				r.flipDown(flipsAtOnce)
			}
		}
		if r.end("flips"); t.Failed() {
			t.Fatalf("after %d flips", done)
		}
	}
}
