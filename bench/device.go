package bench

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// DeviceCounters are what a block device has done since the machine started, for whomever (Documentation/block/stat.rst). What a process's
// write_bytes says is what it has made dirty in the page cache, which no device need have seen.
type DeviceCounters struct {
	// Reads, Writes and Flushes are requests; Flushes is -1 where the kernel does not count them (before 5.5). Of a partition none are counted.
	Reads, Writes, Flushes  int64
	ReadBytes, WrittenBytes int64
	// Busy is for how long there was any request.
	Busy time.Duration
}

// errNoDevice says that a directory or file is on no block device of its own, as on tmpfs, overlayfs and btrfs.
var errNoDevice = errors.New("it is on no block device of its own")

// DiskWritten are the bytes that the block device of a directory has been given to write since the machine started, by whom and for what ever.
// There is an error where the directory is on no block device of its own.
func DiskWritten(dir string) (int64, error) {
	var stat unix.Stat_t
	err := unix.Stat(dir, &stat)
	var c DeviceCounters
	if err == nil {
		c, err = readDevice(stat.Dev)
	}
	if err != nil {
		return 0, fmt.Errorf("bench: the disk of %s: %w", dir, err)
	}
	return c.WrittenBytes, nil
}

func sysDevice(dev uint64) string {
	return fmt.Sprintf("/sys/dev/block/%d:%d", unix.Major(dev), unix.Minor(dev))
}

func readDevice(dev uint64) (DeviceCounters, error) {
	text, err := os.ReadFile(sysDevice(dev) + "/stat")
	if errors.Is(err, fs.ErrNotExist) {
		err = errNoDevice
	}
	if err != nil {
		return DeviceCounters{}, err
	}
	return parseDevice(text)
}

// parseDevice reads requests, sectors, which are of 512 bytes whatever the device has, and milliseconds.
func parseDevice(text []byte) (c DeviceCounters, err error) {
	n := [16]int64{15: -1}
	fields := bytes.Fields(text)
	if len(fields) < 11 {
		return c, fmt.Errorf("a block device's figures: %q", text)
	}
	for i := range min(len(fields), len(n)) {
		if n[i], err = strconv.ParseInt(string(fields[i]), 10, 64); err != nil {
			return c, fmt.Errorf("a block device's figures: %w", err)
		}
	}
	return DeviceCounters{Reads: n[0], ReadBytes: n[2] * 512, Writes: n[4], WrittenBytes: n[6] * 512, Busy: time.Duration(n[9]) * time.Millisecond, Flushes: n[15]}, nil
}

// writtenDevices are the device numbers (st_dev) of the regular files that a process has open for writing; none where that may not be seen.
func writtenDevices(pid int) (devices []uint64) {
	dir := "/proc/" + strconv.Itoa(pid)
	open, _ := os.ReadDir(dir + "/fd")
	seen := map[uint64]bool{}
	for _, fd := range open {
		var stat unix.Stat_t
		if unix.Stat(filepath.Join(dir, "fd", fd.Name()), &stat) != nil || stat.Mode&unix.S_IFMT != unix.S_IFREG || seen[stat.Dev] {
			continue
		}
		info, _ := os.ReadFile(filepath.Join(dir, "fdinfo", fd.Name()))
		if flags, err := strconv.ParseInt(fieldOf(info, "flags"), 8, 64); err != nil || flags&unix.O_ACCMODE == unix.O_RDONLY {
			continue
		}
		seen[stat.Dev] = true
		devices = append(devices, stat.Dev)
	}
	return devices
}

// DeviceFigure is what a block device did in a window, for whomever.
type DeviceFigure struct {
	Name         string  `json:"name"`
	ReadBytes    int64   `json:"readBytes"`
	WrittenBytes int64   `json:"writtenBytes"`
	Reads        int64   `json:"reads"`
	Writes       int64   `json:"writes"`
	Flushes      *int64  `json:"flushes,omitempty"` // nil where they are not counted, as of a partition
	Busy         float64 `json:"busy"`              // share of the window in which there was any request
}

// deviceReading is a block device at the beginning of a window.
type deviceReading struct {
	dev    uint64
	before DeviceCounters
	at     Instant
}

// beginDevices reads the block devices on which processes write, in the order in which they are met.
func beginDevices(pids []int, now func() Instant) (all []deviceReading) {
	seen := map[uint64]bool{}
	for _, pid := range pids {
		for _, dev := range writtenDevices(pid) {
			if c, err := readDevice(dev); err == nil && !seen[dev] {
				seen[dev] = true
				all = append(all, deviceReading{dev: dev, before: c, at: now()})
			}
		}
	}
	return all
}

// end is what the device did since; false if it cannot be read any more.
func (r *deviceReading) end(now Instant) (DeviceFigure, bool) {
	c, err := readDevice(r.dev)
	if err != nil {
		return DeviceFigure{}, false
	}
	f := c.figure(&r.before, now.Sub(r.at))
	dir := sysDevice(r.dev)
	if target, err := os.Readlink(dir); err == nil {
		f.Name = filepath.Base(target)
	}
	if _, err := os.Stat(dir + "/partition"); err == nil {
		f.Flushes = nil
	}
	return f, true
}

// figure is what was done since before, in so long.
func (c *DeviceCounters) figure(before *DeviceCounters, took time.Duration) DeviceFigure {
	f := DeviceFigure{ReadBytes: c.ReadBytes - before.ReadBytes, WrittenBytes: c.WrittenBytes - before.WrittenBytes, Reads: c.Reads - before.Reads, Writes: c.Writes - before.Writes}
	if flushes := c.Flushes - before.Flushes; c.Flushes >= 0 {
		f.Flushes = &flushes
	}
	if took > 0 {
		f.Busy = min(1, (c.Busy-before.Busy).Seconds()/took.Seconds())
	}
	return f
}
