package quorum

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/ringmill/ringmill/segment/segmenttest"
	"github.com/ringmill/ringmill/wire"
)

// TestDump shows a directory with one of each thing, and what is wrong with a damaged one.
func TestDump(t *testing.T) {
	c := newCluster(t, 1, 1, Config{})
	c.tick()
	m := c.leader()
	must(t, m.q.Propose(7, wire.AppendRecordBatch(nil, wire.BatchHeader{BaseTimestamp: wire.NoTimestamp}, []wire.Record{{Value: []byte(`{"a":1}`)}})))
	c.settle()
	must(t, m.q.AddLearner(8, testMember(2)))
	c.settle()
	must(t, m.q.Close())
	dump := func(fs *segmenttest.FS) (lines []string, problems int) {
		problems, err := Dump(fs, testDir, true, func(l DumpLine) {
			lines = append(lines, strings.TrimSuffix(string(l.AppendText(nil)), "\n"))
			if js := l.AppendJSON(nil); !json.Valid(js) || !strings.HasPrefix(string(js), `{"type":"`+l.Type+`"`) {
				t.Errorf("no JSON: %s", js)
			}
		})
		must(t, err)
		return lines, problems
	}
	lines, problems := dump(m.fs)
	text := strings.Join(lines, "\n")
	for _, want := range []string{
		"identity clusterId: test-cluster nodeId: 1 directoryId: AAAAAAAAAAEAAAAAAAAA0Q raftId: 1",
		"snapshot file: 00000000000000000001-0000000001.checkpoint index: 1 term: 1 bytes: 0",
		"member nodeId: 1 directoryId: AAAAAAAAAAEAAAAAAAAA0Q raftId: 1 voter: true endpoints: [PLAINTEXT://host-1:9092]",
		"batch file: 00000000000000000000.log position: 0 sequence: 0 term: 1 vote: 0 commit: 1 snapshot: 1 synced: 0", "reset index: 1 term: 1",
		"entry index: 2 term: 2 bytes: 0", "entry index: 3 term: 2 origin: 1 proposal: 7 bytes: 75", `record offset: 0 payload: {"a":1}`,
		"change index: 4 term: 2 origin: 1 proposal: 8 change: add-learner nodeId: 2 directoryId: AAAAAAAAAAIAAAAAAAAA0Q raftId: 2 voter: false endpoints: [PLAINTEXT://host-2:9092]",
	} {
		if !strings.Contains(text+"\n", want+"\n") {
			t.Errorf("no line %q in\n%s", want, text)
		}
	}
	if problems != 0 {
		t.Errorf("%d problems in\n%s", problems, text)
	}
	for _, name := range []string{identityName, logName(0), snapshotName{1, 1}.String()} {
		fs := m.fs.Remains()
		must(t, fs.Damage(testDir+"/"+name, 30, 1))
		if lines, problems := dump(fs); problems != 1 || !strings.Contains(strings.Join(lines, "\n"), "problem file: "+name) {
			t.Errorf("damaged %s: %d problems in\n%s", name, problems, strings.Join(lines, "\n"))
		}
	}
	if _, err := Dump(m.fs, "state/none", false, nil); !errors.Is(err, ErrNoQuorum) {
		t.Errorf("no directory: %v", err)
	}
}
