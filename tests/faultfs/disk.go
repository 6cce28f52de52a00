package faultfs

import (
	"bytes"
	"errors"
	"fmt"
	iofs "io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/ringmill/ringmill/tests/harness"
)

// Files tells whether a fault is about a file, by its path below the mount point.
type Files func(path string) bool

// All is every file.
func All(string) bool { return true }

// none is no file.
func none(string) bool { return false }

const perms = 0o755

// Disk is a mounted file system. Its methods are called from the test's goroutine.
type Disk struct {
	Dir string // the mount point

	Backing string // what it has: to be read without asking the server, which is in the same process

	then   string // what it had when the lie began
	server *fuse.Server

	// still is held, shared, by whoever changes what is below Backing, and alone while it is copied.
	still sync.RWMutex

	mu     sync.Mutex // of what follows: requests read it, the test writes it
	writes Files
	syncs  Files
	lies   Files // nil: it does not lie
	least  time.Duration
	most   time.Duration
	failed atomic.Int64
	slowed atomic.Int64
}

// New mounts an empty file system for the length of the test.
func New(tb testing.TB) *Disk {
	tb.Helper()
	if os.Geteuid() != 0 {
		tb.Skip("mounting needs root")
	}
	if _, err := os.Stat("/dev/fuse"); err != nil {
		tb.Skipf("no FUSE: %v", err)
	}
	dir := tb.TempDir()
	d := &Disk{Dir: filepath.Join(dir, "mnt"), Backing: filepath.Join(dir, "backing"), then: filepath.Join(dir, "then"), writes: none, syncs: none}
	if err := errors.Join(os.Mkdir(d.Dir, perms), os.Mkdir(d.Backing, perms)); err != nil {
		tb.Fatal(err)
	}
	if err := d.mount(); err != nil {
		tb.Skipf("FUSE can't be mounted here: %v", err)
	}
	tb.Cleanup(func() { d.unmount(tb) })
	return d
}

// mount is mount(2) itself, so that no fusermount is needed. Nothing of names and attributes is cached by the kernel: Cut changes them.
func (d *Disk) mount() error {
	root, err := newRoot(d)
	if err != nil {
		return err
	}
	d.server, err = fs.Mount(d.Dir, root, &fs.Options{MountOptions: fuse.MountOptions{DirectMountStrict: true, FsName: "faultfs", Name: "faultfs", DisableXAttrs: true}})
	if err != nil {
		return fmt.Errorf("faultfs: mount %s: %w", d.Dir, err)
	}
	return d.closeOne()
}

// closeOne has the kernel learn that a file's end is not to be told (file.Flush).
func (d *Disk) closeOne() error {
	f, err := os.CreateTemp(d.Dir, "probe")
	if err != nil {
		return fmt.Errorf("faultfs: %w", err)
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// unmount waits for the last file of a killed process to be closed.
func (d *Disk) unmount(tb testing.TB) {
	tb.Helper()
	harness.Await(tb, "unmount of "+d.Dir, func() bool { return d.server.Unmount() == nil })
	d.server.Wait()
}

// FailWrites has every write, change of size and allocation of some files fail, and every sync of them too.
func (d *Disk) FailWrites(files Files) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.writes, d.syncs = files, files
}

// FailSyncs has every sync of some files fail; what is written to them is read back until Cut, as from a page cache.
func (d *Disk) FailSyncs(tb testing.TB, files Files) {
	tb.Helper()
	d.Lie(tb, files)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.syncs = files
}

// Slow has every sync take a time between the two.
func (d *Disk) Slow(least, most time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.least, d.most = least, most
}

// Lie has every sync of some files succeed, and keep nothing of what is written to them from now on.
func (d *Disk) Lie(tb testing.TB, files Files) {
	tb.Helper()
	d.still.Lock()
	defer d.still.Unlock()
	if err := errors.Join(os.RemoveAll(d.then), os.CopyFS(d.then, os.DirFS(d.Backing))); err != nil {
		tb.Fatal(err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lies = files
}

// Heal ends all faults but a lie, which only Cut brings to light.
func (d *Disk) Heal() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.writes, d.syncs, d.least, d.most = none, none, 0, 0
}

// Cut drops what a lie was told about, and tells how many files lost something. The node that used the disk must have ended.
func (d *Disk) Cut(tb testing.TB) (lost int) {
	tb.Helper()
	d.Heal()
	d.unmount(tb)
	if d.lies == nil {
		tb.Fatal("BUG: a cut without a lie")
	}
	lost, err := d.forget()
	if err == nil {
		d.lies = nil
		err = d.mount()
	}
	if err != nil {
		tb.Fatal(err)
	}
	return lost
}

// forget gives the files that were lied about what they had.
func (d *Disk) forget() (lost int, err error) {
	now, err := files(d.Backing)
	if err != nil {
		return 0, err
	}
	before, err := files(d.then)
	if err != nil {
		return 0, err
	}
	for path := range now {
		if !before[path] && d.lies(path) {
			lost++
			err = errors.Join(err, os.Remove(filepath.Join(d.Backing, path)))
		}
	}
	for path := range before {
		if !d.lies(path) {
			continue
		}
		changed, failed := d.restore(path, now[path])
		err = errors.Join(err, failed)
		if changed {
			lost++
		}
	}
	return lost, err
}

// restore gives a file its bytes of when the lie began.
func (d *Disk) restore(path string, there bool) (changed bool, err error) {
	had, err := os.ReadFile(filepath.Join(d.then, path))
	if err != nil {
		return false, err
	}
	file := filepath.Join(d.Backing, path)
	if there {
		has, err := os.ReadFile(file)
		if err != nil || bytes.Equal(has, had) {
			return false, err
		}
	}
	return true, errors.Join(os.MkdirAll(filepath.Dir(file), perms), os.WriteFile(file, had, 0o644))
}

// files are the regular files below a folder.
func files(dir string) (map[string]bool, error) {
	all := map[string]bool{}
	err := filepath.WalkDir(dir, func(path string, entry iofs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		all[name] = true
		return err
	})
	return all, err
}

// Failed is how many requests have been failed so far, Slowed how many syncs have been slowed.
func (d *Disk) Failed() int64 { return d.failed.Load() }

// Slowed is how many syncs have been slow so far.
func (d *Disk) Slowed() int64 { return d.slowed.Load() }

// write tells whether a change of a file's bytes is to fail.
func (d *Disk) write(path string) syscall.Errno {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.writes(path) {
		d.failed.Add(1)
		return syscall.EIO
	}
	return fs.OK
}

// sync is what comes of a sync. Nothing is to be done for one that succeeds: what is below outlives every node.
func (d *Disk) sync(path string) syscall.Errno {
	d.mu.Lock()
	fails, least, most := d.syncs(path), d.least, d.most
	d.mu.Unlock()
	if fails {
		d.failed.Add(1)
		return syscall.EIO
	}
	if most > 0 {
		time.Sleep(least + rand.N(most-least))
		d.slowed.Add(1)
	}
	return fs.OK
}
