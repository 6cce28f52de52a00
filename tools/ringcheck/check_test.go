package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// sound is a history in which everything holds: one idempotent producer, one that is not, an unknown and a refused send.
const sound = `
{"op":"send","t0":1,"t1":2,"proc":1,"res":"ok","topic":"t","part":0,"counter":0,"offset":0,"idempotent":true}
{"op":"send","t0":3,"t1":4,"proc":1,"res":"ok","topic":"t","part":0,"counter":1,"offset":1,"idempotent":true}
{"op":"send","t0":5,"t1":9,"proc":1,"res":"info","topic":"t","part":0,"counter":2,"idempotent":true}
{"op":"send","t0":5,"t1":6,"proc":2,"res":"ok","topic":"t","part":0,"counter":0,"offset":3}
{"op":"send","t0":7,"t1":8,"proc":2,"res":"fail","topic":"t","part":0,"counter":1}
{"op":"send","t0":9,"t1":10,"proc":1,"res":"ok","topic":"t","part":0,"counter":3,"offset":4,"idempotent":true}
{"op":"poll","t0":11,"t1":12,"proc":3,"res":"ok","topic":"t","part":0,"from":0,"recs":[[0,1,0],[1,1,1],[2,1,2]]}
{"op":"final","t1":20,"topic":"t","part":0,"start":0,"end":3,"recs":[[0,1,0],[1,1,1],[2,1,2]]}
{"op":"final","t1":20,"topic":"t","part":0,"start":3,"end":5,"recs":[[3,2,0],[4,1,3]]}
`

func judge(t *testing.T, history string) Verdict {
	t.Helper()
	h := NewHistory()
	if err := h.Read("test", strings.NewReader(strings.TrimLeft(history, "\n"))); err != nil {
		t.Fatal(err)
	}
	return Check(h)
}

func TestSoundHistory(t *testing.T) {
	v := judge(t, sound)
	if len(v.Violations) != 0 {
		t.Errorf("violations in a sound history: %+v", v.Violations)
	}
	if v.Acked != 4 || v.Unknown != 1 || v.Failed != 1 || v.Records != 5 || v.Partitions != 1 {
		t.Errorf("counted %+v", v)
	}
}

// Each row plants one fault into the sound history. A checker that never found one proves nothing.
func TestPlantedViolations(t *testing.T) {
	const finalTail = `{"op":"final","t1":20,"topic":"t","part":0,"start":3,"end":5,"recs":[[3,2,0],[4,1,3]]}`
	const poll = `{"op":"poll","t0":11,"t1":12,"proc":3,"res":"ok","topic":"t","part":0,"from":0,"recs":[[0,1,0],[1,1,1],[2,1,2]]}`
	final := func(end int, recs string) string {
		return fmt.Sprintf(`{"op":"final","t1":20,"topic":"t","part":0,"start":3,"end":%d,"recs":[%s]}`, end, recs)
	}
	for _, row := range []struct {
		name, old, planted, invariant string
	}{
		{"acknowledged record lost from the end", finalTail, final(4, "[3,2,0]"), "I1"},
		{"acknowledged record lost and replaced", finalTail, final(5, "[3,2,0],[4,1,2]"), "I1"},
		{"acknowledged without an offset and lost", `"counter":2,"idempotent":true}`, `"counter":2,"idempotent":true}
{"op":"send","t0":5,"t1":9,"proc":1,"res":"ok","topic":"t","part":0,"counter":9,"offset":-1,"idempotent":true}`, "I1"},
		{"acknowledged without an offset, below an earlier one", `"t0":3,"t1":4,"proc":1,"res":"ok","topic":"t","part":0,"counter":1,"offset":1`,
			`"t0":11,"t1":12,"proc":1,"res":"ok","topic":"t","part":0,"counter":1,"offset":-1`, "I6"},
		{"no final log", "final", "poll", "I1"},
		{"twice with idempotence", finalTail, final(6, "[3,2,0],[4,1,3],[5,1,3]"), "I2"},
		{"refused record is there", finalTail, final(6, "[3,2,0],[4,1,3],[5,2,1]"), "I3"},
		{"record from nowhere", finalTail, final(6, "[3,2,0],[4,1,3],[5,7,7]"), "I3"},
		{"out of order", finalTail, final(6, "[3,2,0],[4,1,3],[5,1,2]"), "I4"},
		{"read record changed", poll, strings.Replace(poll, "[1,1,1]", "[1,2,0]", 1), "I5"},
		{"read record vanished", poll, strings.Replace(poll, "[2,1,2]]", "[2,1,2],[9,1,3]]", 1), "I5"},
		{"later send below an earlier one", `"t0":3,"t1":4,"proc":1`, `"t0":11,"t1":12,"proc":1`, "I6"},
		{"poll leaves out what was acknowledged", poll, strings.Replace(poll, "[1,1,1],", "", 1), "I6"},
		{"gap", finalTail, final(6, "[3,2,0],[5,1,3]"), "G"},
		{"gap at the end", finalTail, final(9, "[3,2,0],[4,1,3]"), "G"},
		{"offset twice", finalTail, final(5, "[3,2,0],[3,2,0],[4,1,3]"), "G"},
	} {
		t.Run(row.name, func(t *testing.T) {
			history := strings.ReplaceAll(sound, row.old, row.planted)
			if history == sound {
				t.Fatal("BUG: nothing was planted")
			}
			for _, v := range judge(t, history).Violations {
				if v.Invariant == row.invariant {
					return
				}
			}
			t.Errorf("%s was not found", row.invariant)
		})
	}
}

// A record may be acknowledged without its offset: it is where it is.
func TestAcknowledgedWithoutOffset(t *testing.T) {
	v := judge(t, strings.Replace(sound, `"counter":3,"offset":4`, `"counter":3,"offset":-1`, 1))
	if v.Acked != 4 || len(v.Violations) != 0 {
		t.Errorf("%d acknowledged, violations %+v", v.Acked, v.Violations)
	}
}

// Retries of a producer without idempotence are counted and no violation.
func TestRetriesAreCounted(t *testing.T) {
	v := judge(t, strings.Replace(sound, `"end":5,"recs":[[3,2,0],[4,1,3]]`, `"end":6,"recs":[[3,2,0],[4,1,3],[5,2,0]]`, 1))
	if v.Retried != 1 || len(v.Violations) != 0 {
		t.Errorf("retried %d, violations %+v", v.Retried, v.Violations)
	}
}

// What retention removed is not lost.
func TestRemovedByRetention(t *testing.T) {
	history := strings.Replace(sound, `"start":0,"end":3,"recs":[[0,1,0],[1,1,1],[2,1,2]]`, `"start":2,"end":3,"recs":[[2,1,2]]`, 1)
	if v := judge(t, history); len(v.Violations) != 0 {
		t.Errorf("violations %+v", v.Violations)
	}
}

func TestWitnessesAreBounded(t *testing.T) {
	var history strings.Builder
	for i := range 100 {
		fmt.Fprintf(&history, `{"op":"send","t0":1,"t1":2,"proc":1,"res":"ok","topic":"t","part":0,"counter":%d,"offset":%d}`+"\n", i, i)
	}
	history.WriteString(`{"op":"final","topic":"t","part":0,"start":0,"end":0,"recs":[]}` + "\n")
	if v := judge(t, history.String()); len(v.Violations) != witnessesMax || v.Dropped != 100-witnessesMax {
		t.Errorf("%d witnesses, %d dropped", len(v.Violations), v.Dropped)
	}
}

func TestExitStatus(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(strings.TrimLeft(content, "\n")), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := file("good", sound)
	for _, row := range []struct {
		name string
		args []string
		want int
	}{
		{"holds", []string{"-min-acked", "4", good}, exitHolds},
		{"holds, as JSON", []string{"-o", "json", "-min-acked", "4", good}, exitHolds},
		{"too few", []string{good}, exitUnknown},
		{"violation wins over too few", []string{file("bad", strings.Replace(sound, "[4,1,3]", "[4,1,2]", 1))}, exitViolation},
		{"no file", []string{filepath.Join(dir, "absent")}, exitUnknown},
		{"no argument", nil, exitUnknown},
		{"not JSON", []string{file("noise", "send 1\n")}, exitUnknown},
		{"unknown op", []string{file("op", `{"op":"dance"}`+"\n")}, exitUnknown},
		{"unknown outcome", []string{file("res", `{"op":"send","res":"maybe"}`+"\n")}, exitUnknown},
		{"final ranges apart", []string{file("apart", strings.Replace(sound, `"start":3`, `"start":4`, 1))}, exitUnknown},
		{"last line torn by a kill", []string{"-min-acked", "4", file("torn", sound+`{"op":"se`)}, exitHolds},
	} {
		t.Run(row.name, func(t *testing.T) {
			var out, errs bytes.Buffer
			if got := run(row.args, &out, &errs); got != row.want {
				t.Errorf("exit status %d, want %d\n%s%s", got, row.want, out.String(), errs.String())
			}
		})
	}
}

func FuzzHistory(f *testing.F) {
	f.Add([]byte(sound))
	f.Add([]byte(`{"op":"final","start":5,"end":1}` + "\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		h := NewHistory()
		if h.Read("fuzz", bytes.NewReader(data)) == nil {
			Check(h)
		}
	})
}
