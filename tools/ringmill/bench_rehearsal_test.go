package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/bench"
	"github.com/ringmill/ringmill/bench/benchtest"
	"github.com/ringmill/ringmill/bench/tune"
)

// What stands in the way at the second target is told before the first one is measured.
func TestBenchABLooksAtBothFirst(t *testing.T) {
	for name, c := range map[string]struct {
		harm func(*benchtest.Server)
		said string
	}{
		"nobody there":       {func(s *benchtest.Server) { s.Stop(0) }, "connection refused"},
		"no right to create": {func(s *benchtest.Server) { s.Refuse(kmsg.CreateTopics, kerr.TopicAuthorizationFailed) }, "TOPIC_AUTHORIZATION_FAILED"},
		"no right to remove": {func(s *benchtest.Server) { s.Refuse(kmsg.DeleteTopics, kerr.TopicAuthorizationFailed) }, "is left behind: "},
		"no leader":          {func(s *benchtest.Server) { s.Stun(0) }, ": "},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := benchServer(t), benchServer(t)
			at := b.Addresses()[0]
			c.harm(b)
			var none bench.Comparison
			code, said := told(t, &none, "bench", "ab", a.Addresses()[0], at, "--duration", "1h", "--timeout", "1s")
			if code != statusFailed || !strings.HasPrefix(said, "ringmill: "+at+": ") || !strings.Contains(said, c.said) || strings.Count(said, "\n") != 1 || none.Schema != "" {
				t.Errorf("status %d: %s", code, said)
			}
			if topics := a.Topics(); len(topics) > 0 {
				t.Errorf("left behind: %v", topics)
			}
		})
	}
}

// What no run could read beside it is told before the first one, too.
func TestBenchABTellsWhatIsNotRead(t *testing.T) {
	a, b := benchServer(t), benchServer(t)
	args := append([]string{"bench", "ab", a.Addresses()[0], b.Addresses()[0], "--pairs", "1", "--rate", "100", "--node-metrics-b", "127.0.0.1:1"}, briefly...)
	_, said := told(t, new(bench.Comparison), args...)
	first, _, _ := strings.Cut(said, "\n")
	if !strings.HasPrefix(first, b.Addresses()[0]+": not read: ") || !strings.Contains(first, "127.0.0.1:1") || strings.Count(said, "not read: ") != 1 {
		t.Errorf("%s", said)
	}
}

// So it is with what a sweep and a quick answer need.
func TestBenchSweepAndQuickLookFirst(t *testing.T) {
	for _, args := range [][]string{{"sweep", "--over", "size=100,200"}, {"sweep", "--bound", "p99<1s"}, {"quick", "--dir", t.TempDir()}} {
		s := benchServer(t)
		s.Refuse(kmsg.DeleteTopics, kerr.TopicAuthorizationFailed)
		var none any
		code, said := told(t, &none, append([]string{"bench", args[0], "-b", s.Addresses()[0], "--duration", "1h", "--timeout", "1s"}, args[1:]...)...)
		if code != statusFailed || !strings.Contains(said, "is left behind: ") || strings.Count(said, "\n") != 1 {
			t.Errorf("%v: status %d: %s", args, code, said)
		}
		if none == nil {
			t.Errorf("%v: nothing for who reads JSON", args)
		}
	}
}

// Every value that a search will come to is tried before the search begins, and the one that a node refuses is named.
func TestBenchTuneTriesAllFirst(t *testing.T) {
	dir, program, script := t.TempDir(), linkProgram(t), filepath.Join(t.TempDir(), "picky")
	text := fmt.Sprintf("#!/bin/sh\ncase \"$*\" in *ringmill.loops=2*) echo not two >&2; exit 9;; esac\nexec %s \"$@\"\n", program)
	if err := os.WriteFile(script, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	var none tune.Result
	code, said := told(t, &none, "bench", "tune", "--serve", script, "--dir", dir, "--over", "ringmill.loop.spin.us=0,1,20", "--over", "ringmill.loops=0,1,2", "--duration", "1h", "--timeout", "30s")
	if want := "ringmill: ringmill.loops=2: the node ended with exit status 9 before it served, and said on standard error: not two\n"; code != statusFailed || said != want || !strings.HasPrefix(none.Error, "ringmill.loops=2: ") {
		t.Errorf("status %d: %s, %+v", code, said, none)
	}
	n := startNode(t)
	code, said = told(t, &none, "bench", "tune", "--running", "-b", n.address, "--over", "log.segment.bytes=1073741824,268435456,5", "--duration", "1h", "--timeout", "30s")
	if code != statusFailed || !strings.HasPrefix(said, "ringmill: log.segment.bytes=5: ") || strings.Count(said, "\n") != 1 {
		t.Errorf("status %d: %s", code, said)
	}
}
