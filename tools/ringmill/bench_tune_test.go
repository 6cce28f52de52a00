package main

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ringmill/ringmill/bench"
)

// A search whose node goes away says which topic it may have left there, also if it ends with a later run that could not begin.
func TestTuneTellsWhatIsLeftBehind(t *testing.T) {
	s := benchServer(t)
	var load benchLoadFlags
	load.trial = bench.Trial{Partitions: 1, ReplicationFactor: 1, Producers: 1, RecordBytes: 100, Rate: 100, MaxInFlight: 5, Acks: -1, Duration: 30 * time.Second, Patience: time.Second,
		Progress: func(bench.Second) { s.Stop(0) }} // when the first second is over
	restored := false
	at := target{addresses: s.Addresses(), leave: func() error { restored = true; return nil }}
	tuner := &tuner{load: &load, precision: 1.1, from: 100, with: func(context.Context, []bench.Setting) (target, error) { return at, nil }}
	_, err := tuner.measure(t.Context(), nil)
	if said := tuner.told(err); err == nil || said == nil || !strings.Contains(said.Error(), "it may be left behind") || !strings.Contains(said.Error(), s.Topics()[0]) {
		t.Errorf("%v: %v", err, said)
	}
	if !restored {
		t.Error("what was set was not put back")
	}
}

// A node that ends is told with its exit status and what it said last, before it serves and while it is measured, and its directory goes.
func TestTunedNodeEnds(t *testing.T) {
	dir, bin := t.TempDir(), t.TempDir()
	script := filepath.Join(bin, "fails")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho listening a at 127.0.0.1:1, plain\necho no room >&2\necho giving up >&2\nexit 7\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	_, err := (&serveFlags{serve: script, dir: dir}).start(t.Context(), nil)
	if want := "the node ended with exit status 7 before it served, and said on standard error: no room | giving up"; err == nil || err.Error() != want {
		t.Errorf("%v", err)
	}
	program := linkProgram(t)
	_, err = (&serveFlags{serve: program, dir: dir}).start(t.Context(), []bench.Setting{{Name: "ringmill.loops", Value: "many"}})
	if err == nil || !strings.HasPrefix(err.Error(), "the node ended with exit status 2 before it served, and said on standard error: ringmill: ringmill.loops") {
		t.Errorf("%v", err)
	}
	at, err := (&serveFlags{serve: program, dir: dir}).start(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(at.pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); syscall.Kill(at.pid, 0) == nil; time.Sleep(time.Millisecond) { // until it is waited for
		if time.Now().After(deadline) {
			t.Fatal("it does not end")
		}
	}
	if err := at.leave(); err == nil || !strings.HasPrefix(err.Error(), "the node ended with signal: killed while it was measured") {
		t.Errorf("%v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// Whatever stands in for the node is waited for no longer than it runs, and ends with what it has started.
func TestTunedNodeIsAScript(t *testing.T) {
	dir, bin := t.TempDir(), t.TempDir()
	script := func(name, text string) *serveFlags {
		path := filepath.Join(bin, name)
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
			t.Fatal(err)
		}
		return &serveFlags{serve: path, dir: dir}
	}
	_, err := script("talks", "head -c 200000 /dev/zero | tr '\\0' x\necho no room >&2\nexit 7\n").start(t.Context(), nil)
	if want := "the node ended with exit status 7 before it served, and said on standard error: no room"; err == nil || err.Error() != want {
		t.Errorf("%v", err)
	}
	program := linkProgram(t)
	at, err := script("wraps", program+" \"$@\"\nexit $?\n").start(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := at.leave(); err != nil {
		t.Error(err)
	}
	if conn, err := net.Dial("tcp", at.addresses[0]); err == nil {
		conn.Close()
		t.Error("the node that a script started goes on")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
