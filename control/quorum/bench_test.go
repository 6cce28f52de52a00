package quorum

import (
	"fmt"
	"math/rand/v2"
	"path"
	"strings"
	"testing"

	"github.com/ringmill/ringmill/segment/osfs"
)

// onDisk makes a single voter in a real directory, leading.
func onDisk(b *testing.B) (dir string, q *Quorum) {
	dir = path.Join(b.TempDir(), DirName)
	must(b, Create(osfs.FS{}, dir, testIdentity(1), []Member{testMember(1)}, nil))
	q, err := Open(osfs.FS{}, dir, Config{Rand: rand.New(rand.NewPCG(1, 1))})
	must(b, err)
	q.Tick()
	benchDrain(b, q)
	return dir, q
}

func benchDrain(b *testing.B, q *Quorum) (applied int) {
	for q.HasReady() {
		eff, err := q.Ready()
		must(b, err)
		applied += len(eff.Applied)
	}
	return applied
}

// BenchmarkPropose is what it takes to make a group of entries of 200 bytes durable and have them back, alone: a write, a
// sync, and raft's bookkeeping.
func BenchmarkPropose(b *testing.B) {
	for _, group := range []int{1, 100} {
		b.Run(fmt.Sprintf("group=%d", group), func(b *testing.B) {
			_, q := onDisk(b)
			defer q.Close()
			data := []byte(strings.Repeat("x", 200))
			for b.Loop() {
				for i := range group {
					must(b, q.Propose(uint64(i), data))
				}
				if n := benchDrain(b, q); n != group {
					b.Fatalf("%d entries applied", n)
				}
			}
			b.ReportMetric(float64(b.N*group)/b.Elapsed().Seconds(), "entries/s")
		})
	}
}

// BenchmarkOpen opens a directory with a log as long as it gets before a snapshot is asked for, of entries of 200 bytes.
func BenchmarkOpen(b *testing.B) {
	dir, q := onDisk(b)
	data := []byte(strings.Repeat("x", 200))
	for want := false; !want; {
		for i := range 1000 {
			must(b, q.Propose(uint64(i), data))
		}
		for q.HasReady() {
			eff, err := q.Ready()
			must(b, err)
			want = eff.WantSnapshot
		}
	}
	must(b, q.Close())
	for b.Loop() {
		q, err := Open(osfs.FS{}, dir, Config{Rand: rand.New(rand.NewPCG(1, 1))})
		must(b, err)
		must(b, q.Close())
	}
}
