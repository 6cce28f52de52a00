package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// TestLogDirsMove moves a partition from the directory that it lies in to the other one, and back.
func TestLogDirsMove(t *testing.T) {
	dir := t.TempDir()
	n := startNode(t, "--set", "log.dirs="+dir+"/one,"+dir+"/two")
	name := fmt.Sprintf("cli-%08x", rand.Uint32())
	said := func(args ...string) string {
		t.Helper()
		out, err := ringmill(t, append(args, "-b", n.address)...).Output()
		if err != nil {
			t.Fatal(args, err)
		}
		return string(out)
	}
	said("topic", "create", name, "-p", "1")
	at := func() (where string) {
		var dirs []describedLogDir
		if err := json.Unmarshal([]byte(said("log-dirs", "describe", "--topic", name, "-o", "json")), &dirs); err != nil {
			t.Fatal(err)
		}
		for _, d := range dirs {
			for _, r := range d.Replicas {
				if !r.IsFuture {
					where = d.LogDir
				}
			}
		}
		return where
	}
	for range 2 {
		other := dir + "/one"
		if at() == other {
			other = dir + "/two"
		}
		if got := said("log-dirs", "move", other, "--topic", name); !strings.Contains(got, name+"-0 moves to "+other) {
			t.Errorf("%s", got)
		}
		for deadline := time.Now().Add(time.Minute); at() != other; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("it is in %s still", at())
			}
		}
	}
}
