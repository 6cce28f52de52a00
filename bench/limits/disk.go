package limits

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"

	"golang.org/x/sys/unix"

	"github.com/ringmill/ringmill/bench"
)

// fileMost bounds a file that an item writes; it begins anew when it is so long.
const fileMost = 1 << 30

// Disk measures appending to files in o.Dir and making them durable: what acknowledging after a sync costs at least, at several sizes of a group.
func Disk(ctx context.Context, o Options) ([]Limit, error) { return measure(ctx, o, diskItems()) }

func diskItems() []item {
	items := []item{{"append of 1 MiB, one sync at the end", appended(1<<20, never)}}
	for _, size := range []int{4 << 10, 64 << 10, 1 << 20} {
		items = append(items,
			item{fmt.Sprintf("append of %d KiB, then fdatasync", size>>10), appended(size, always)},
			item{fmt.Sprintf("%d KiB over what is there, then fdatasync", size>>10), overwritten(size)})
	}
	return items
}

// syncing is what is done about n bytes of a file that have just been written at an offset.
type syncing func(fd int, at, n int64) error

func always(fd int, _, _ int64) error { return datasync(fd) }
func never(int, int64, int64) error   { return nil }

// writeBack has the kernel begin to write them. It would otherwise begin when much more is dirty, and a disk that has nothing to do
// for a while takes less in all than it could.
func writeBack(fd int, at, n int64) error {
	if err := unix.SyncFileRange(fd, at, n, unix.SYNC_FILE_RANGE_WRITE); err != nil {
		return fmt.Errorf("sync_file_range: %w", err)
	}
	return nil
}

// appended lengthens a file with each write, so that each sync has the file's new length to record as well.
func appended(size int, sync syncing) func(context.Context, Options, *count) error {
	return func(ctx context.Context, o Options, c *count) error {
		return withFile(o.Dir, func(fd int) error {
			block, at := filled(size), int64(0)
			c.begin()
			for c.goes(ctx) {
				if at+int64(size) > fileMost {
					if err := unix.Ftruncate(fd, 0); err != nil {
						return fmt.Errorf("ftruncate: %w", err)
					}
					at = 0
				}
				began := bench.Now()
				if err := written(fd, block, at); err != nil {
					return err
				}
				if err := sync(fd, at, int64(size)); err != nil {
					return err
				}
				at += int64(size)
				c.timed(began, size)
			}
			return datasync(fd)
		})
	}
}

// overwritten writes over blocks that were written before, as into a journal whose length is fixed: a sync has nothing but the bytes to record.
func overwritten(size int) func(context.Context, Options, *count) error {
	const blocks = 64
	return func(ctx context.Context, o Options, c *count) error {
		return withFile(o.Dir, func(fd int) error {
			block := filled(size)
			for n := range blocks {
				if err := written(fd, block, int64(n*size)); err != nil {
					return err
				}
			}
			if err := datasync(fd); err != nil {
				return err
			}
			c.begin()
			for n := 0; c.goes(ctx); n++ {
				began := bench.Now()
				if err := written(fd, block, int64(n%blocks*size)); err != nil {
					return err
				}
				if err := datasync(fd); err != nil {
					return err
				}
				c.timed(began, size)
			}
			return nil
		})
	}
}

func written(fd int, block []byte, at int64) error {
	for rest := block; len(rest) > 0; {
		n, err := unix.Pwrite(fd, rest, at)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return fmt.Errorf("pwrite: %w", err)
		}
		rest, at = rest[n:], at+int64(n)
	}
	return nil
}

func datasync(fd int) error {
	if err := unix.Fdatasync(fd); err != nil {
		return fmt.Errorf("fdatasync: %w", err)
	}
	return nil
}

// withFile has a file in dir that is gone afterwards, whatever happens: it has no name while it is used.
func withFile(dir string, use func(fd int) error) error {
	f, err := os.CreateTemp(dir, ".ringmill-bench-*")
	if err != nil {
		return err
	}
	defer f.Close()
	if err := os.Remove(f.Name()); err != nil {
		return err
	}
	return use(int(f.Fd()))
}

// filled is bytes that no layer below shortens.
func filled(size int) []byte {
	block := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(block) // it never fails
	return block
}
