package node

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// startLines gives what a node says in its log while it starts.
func startLines(t *testing.T, tn *testNode) string {
	t.Helper()
	var out bytes.Buffer
	old := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&out, nil)))
	defer slog.SetDefault(old)
	again := tn.restart()
	again.kill()
	return out.String()
}

// TestStartSaysWhatItFinds: after clean stops nothing, of stray logs that they are there, after an unclean stop that the journal is gone or cut.
func TestStartSaysWhatItFinds(t *testing.T) {
	tn := startNode(t, nodeOptions{})
	tn.createTopic("a", 1)
	for range 3 { // each leaves a producer snapshot that the next one makes superfluous
		tn.dial().mustProduce("a", 0, batch("x"))
		if err := tn.stop(); err != nil {
			t.Fatal(err)
		}
		tn = tn.restart()
	}
	tn.dial().mustProduce("a", 0, batch("x"))
	tn.stop()
	logs, journal := tn.dirs[0].path, tn.journalName(0)
	if lines := startLines(t, tn); lines != "" {
		t.Errorf("a start after a clean stop says %s", lines)
	}
	if err := os.Mkdir(filepath.Join(logs, "b-0.0123456789abcdef0123456789abcdef-stray"), 0o755); err != nil {
		t.Fatal(err)
	}
	if lines := startLines(t, tn); !strings.Contains(lines, "logs of topics that are no more") || !strings.Contains(lines, "first=b-0.0123456789abcdef0123456789abcdef-stray") {
		t.Errorf("a start beside a stray log says %s", lines)
	}
	info, err := os.Stat(journal)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(journal, info.Size()+5000); err != nil {
		t.Fatal(err)
	}
	if lines := startLines(t, tn); !strings.Contains(lines, "the journal ends within a track") {
		t.Errorf("a start with a journal that ends within a track says %s", lines)
	}
	if err := os.Remove(journal); err != nil {
		t.Fatal(err)
	}
	if lines := startLines(t, tn); !strings.Contains(lines, "the journal is missing after a stop that was not clean") {
		t.Errorf("a start without a journal says %s", lines)
	}
}
