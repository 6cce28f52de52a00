package bench

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestParseDevice(t *testing.T) {
	for text, want := range map[string]DeviceCounters{
		"  9676    1520   712104    4242    13049    12290   1041936   15214        0    16060    19757      0 0 0 0 301 300\n": {Reads: 9676, ReadBytes: 712104 * 512, Writes: 13049, WrittenBytes: 1041936 * 512, Busy: 16060 * time.Millisecond, Flushes: 301},
		"1 2 3 4 5 6 7 8 9 10 11": {Reads: 1, ReadBytes: 3 * 512, Writes: 5, WrittenBytes: 7 * 512, Busy: 10 * time.Millisecond, Flushes: -1}, // Linux 4.18
	} {
		if got, err := parseDevice([]byte(text)); err != nil || got != want {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "1 2 3 4 5 6 7 8 9 10", "1 2 3 4 5 6 x 8 9 10 11"} {
		if _, err := parseDevice([]byte(text)); err == nil {
			t.Errorf("%q was read", text)
		}
	}
}

func TestDiskWritten(t *testing.T) {
	if n, err := DiskWritten(t.TempDir()); n < 0 || err != nil && !errors.Is(err, errNoDevice) {
		t.Errorf("%d bytes on this disk, %v", n, err)
	}
	if _, err := DiskWritten("/proc"); !errors.Is(err, errNoDevice) {
		t.Errorf("/proc is on a disk: %v", err)
	}
}

// The devices of a process are those of the files that it has open to write to, not to read from.
func TestWrittenDevices(t *testing.T) {
	var stat, proc unix.Stat_t
	name := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(unix.Stat(name, &stat), unix.Stat("/proc/self/comm", &proc)); err != nil {
		t.Fatal(err)
	}
	has := func(dev uint64) bool {
		n := 0
		for _, d := range writtenDevices(os.Getpid()) {
			if d == dev {
				n++
			}
		}
		if n > 1 {
			t.Errorf("a device %d times", n)
		}
		return n == 1
	}
	for _, open := range []struct {
		name  string
		flags int
		dev   uint64
		want  bool
	}{{"/proc/self/comm", os.O_RDONLY, proc.Dev, false}, {"/proc/self/comm", os.O_RDWR, proc.Dev, true}, {name, os.O_WRONLY, stat.Dev, true}, {name, os.O_RDWR | os.O_APPEND, stat.Dev, true}} {
		f, err := os.OpenFile(open.name, open.flags, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := has(open.dev); got != open.want {
			t.Errorf("%s opened with %#x: %t", open.name, open.flags, got)
		}
		f.Close()
	}
	if got := writtenDevices(1 << 30); got != nil {
		t.Errorf("nobody writes on %v", got)
	}
}

// What is written and synced beside a run is among what its device was given, under the device's name.
func TestDevicesBeside(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	before, err := DiskWritten(filepath.Dir(f.Name()))
	if errors.Is(err, errNoDevice) {
		t.Skip("temporary files are on no block device")
	}
	trial := Trial{PIDs: []int{os.Getpid(), os.Getpid()}}.withDefaults()
	b := beginBeside(&trial)
	const size = 1 << 20
	if _, err := f.Write(make([]byte, size)); err != nil {
		t.Fatal(err)
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	if after, err := DiskWritten(filepath.Dir(f.Name())); err != nil || after-before < size {
		t.Skipf("the device counts %d bytes, %v", after-before, err) // as with queue/iostats off
	}
	most := DeviceFigure{}
	for _, d := range b.end().Devices { // standard output may be a file on another one
		if d.WrittenBytes > most.WrittenBytes {
			most = d
		}
	}
	if most.WrittenBytes < size || most.Writes == 0 || most.Busy < 0 || most.Busy > 1 || most.Name == "" || strings.Contains(most.Name, "/") {
		t.Errorf("%+v", most)
	}
}

func TestDeviceFigure(t *testing.T) {
	before := DeviceCounters{Reads: 1, ReadBytes: 2, Writes: 3, WrittenBytes: 4, Flushes: 5, Busy: time.Second}
	after := DeviceCounters{Reads: 11, ReadBytes: 22, Writes: 33, WrittenBytes: 44, Flushes: 55, Busy: 3 * time.Second}
	got := after.figure(&before, 8*time.Second)
	if got.Flushes == nil || *got.Flushes != 50 {
		t.Errorf("flushes %v", got.Flushes)
	}
	if got.Flushes = nil; got != (DeviceFigure{Reads: 10, ReadBytes: 20, Writes: 30, WrittenBytes: 40, Busy: 0.25}) {
		t.Errorf("%+v", got)
	}
	before.Flushes, after.Flushes = -1, -1
	if got := after.figure(&before, time.Second); got.Flushes != nil {
		t.Errorf("%d flushes that nobody counted", *got.Flushes)
	}
	if got := after.figure(&before, time.Second); got.Busy != 1 { // the two clocks are read one after the other
		t.Errorf("busy %v", got.Busy)
	}
}
