package node

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/wire"
)

// TestAbortedTransactionsOfARange: the list goes as far as the bytes that a partition may be answered with, by the sparse index. The
// values are Apache Kafka 4.1.1's, for four aborted transactions of ten records of 1,000 bytes.
func TestAbortedTransactionsOfARange(t *testing.T) {
	tn := startNode(t, nodeOptions{})
	tn.createTopic("a", 1)
	c := tn.txnClient("t", false)
	for range 4 {
		for range 10 {
			c.send("a", 0, strings.Repeat("x", 1000))
		}
		c.end(false)
		c.settled()
	}
	for from, want := range map[int64]string{
		0:  "1:[0] 1100:[0] 5000:[0] 9000:[0 11] 13000:[0 11] 20000:[0 11] 24000:[0 11 22] 50000:[0 11 22 33]",
		5:  "1:[0] 1100:[0] 5000:[0 11] 9000:[0 11] 13000:[0 11] 20000:[0 11 22] 24000:[0 11 22] 50000:[0 11 22 33]",
		11: "1:[11] 1100:[11] 5000:[11] 9000:[11] 13000:[11 22] 20000:[11 22 33] 24000:[11 22 33] 50000:[11 22 33]",
		22: "1:[22] 1100:[22] 5000:[22] 9000:[22 33] 13000:[22 33] 20000:[22 33] 24000:[22 33] 50000:[22 33]",
	} {
		var told []string
		for _, most := range []int32{1, 1100, 5000, 9000, 13000, 20000, 24000, 50000} {
			told = append(told, fmt.Sprint(most, ":", c.abortedFirst(from, most)))
		}
		if got := strings.Join(told, " "); got != want {
			t.Errorf("from %d: %s, want %s", from, got, want)
		}
	}
}

// abortedFirst gives the first offsets of the aborted transactions that come with a Fetch of a-0.
func (c *client) abortedFirst(from int64, most int32) []int64 {
	c.t.Helper()
	req := fetch(toFetch{"a", 0, from})
	req.IsolationLevel, req.Topics[0].Partitions[0].PartitionMaxBytes = 1, most
	p := fetched(c.call(req))["a-0"]
	if p.ErrorCode != 0 {
		c.t.Fatal(wire.ErrorCode(p.ErrorCode))
	}
	first := []int64{}
	for _, a := range p.AbortedTransactions {
		first = append(first, a.FirstOffset)
	}
	return first
}

// goneIndexes takes transaction indexes away when they are opened to be read, as retention does between a fetch's plan and its read.
type goneIndexes struct {
	segment.FS
	left atomic.Int32 // so many times
}

func (g *goneIndexes) OpenFile(name string, flag segment.OpenFlag, perm fs.FileMode) (segment.File, error) {
	if strings.HasSuffix(name, ".txnindex") && flag == segment.ReadOnly && g.left.Add(-1) >= 0 {
		return nil, fs.ErrNotExist
	}
	return g.FS.OpenFile(name, flag, perm)
}

// TestAbortedTransactionsPlannedAgain: a .txnindex that is gone when it is read makes the fetch plan again; one that stays away is an error.
func TestAbortedTransactionsPlannedAgain(t *testing.T) {
	gone := new(goneIndexes)
	tn := startNode(t, nodeOptions{seams: func(s *seams) {
		gone.FS = s.fs
		s.fs = gone
	}})
	tn.createTopic("a", 1, "segment.bytes=1048576")
	c := tn.txnClient("t", false)
	for range 2 {
		c.send("a", 0, "x")
		c.end(false)
		c.settled()
	}
	for range 3 {
		c.send("a", 0, strings.Repeat("x", 900<<10))
	}
	c.end(true)
	p := tn.partition("a", 0)
	p.loop.on(func(*Loop) { p.log().ReleaseMemory() })
	if files, _ := filepath.Glob(filepath.Join(tn.dirs[0].path, "a-0", "*.txnindex")); len(files) != 1 {
		t.Fatalf("transaction indexes: %v", files)
	}
	gone.left.Store(2)
	if got := fmt.Sprint(c.abortedFirst(0, 1<<20)); got != "[0 2]" {
		t.Errorf("aborted: %s", got)
	}
	if gone.left.Load() >= 0 {
		t.Error("no index was read")
	}
	p.loop.on(func(*Loop) { p.log().ReleaseMemory() })
	gone.left.Store(1 << 20)
	req := fetch(toFetch{"a", 0, 0})
	req.IsolationLevel = 1
	if code := wire.ErrorCode(fetched(c.call(req))["a-0"].ErrorCode); code != wire.KafkaStorageError {
		t.Errorf("an index that stays away: %s", code)
	}
}
