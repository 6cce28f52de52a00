package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// soundTxn is a history in which everything holds. Process 1 commits, aborts, and is killed in a commit that came through;
// process 2 takes its transactional id over, commits, and is killed in a commit that did not; process 3 is a loop that makes
// u from t; process 4 reads all the while. t-0 has markers at 2, 5 and 8, and an aborted record at 3.
const soundTxn = `
{"op":"init","t0":1,"t1":2,"proc":1,"id":"a"}
{"op":"begin","t0":3,"proc":1,"txn":0,"topic":"t","recs":[[0,0],[0,1],[1,2]]}
{"op":"end","t0":4,"proc":1,"txn":0,"commit":true,"recs":[[0,0],[1,1],[2,0]]}
{"op":"ended","t1":5,"proc":1,"txn":0,"res":"ok"}
{"op":"begin","t0":6,"proc":1,"txn":1,"topic":"t","recs":[[0,3]]}
{"op":"end","t0":7,"proc":1,"txn":1,"commit":false,"recs":[[3,3]]}
{"op":"ended","t1":8,"proc":1,"txn":1,"res":"ok"}
{"op":"begin","t0":9,"proc":1,"txn":2,"topic":"t","recs":[[0,4],[1,5]]}
{"op":"end","t0":10,"proc":1,"txn":2,"commit":true,"recs":[[4,4],[5,2]]}
{"op":"init","t0":11,"t1":12,"proc":2,"id":"a"}
{"op":"begin","t0":13,"proc":2,"txn":0,"topic":"t","recs":[[0,0],[0,1]]}
{"op":"end","t0":14,"proc":2,"txn":0,"commit":true,"recs":[[0,6],[1,7]]}
{"op":"ended","t1":15,"proc":2,"txn":0,"res":"ok"}
{"op":"begin","t0":16,"proc":2,"txn":1,"topic":"t","recs":[[0,2],[1,3]]}
{"op":"end","t0":17,"proc":2,"txn":1,"commit":true,"recs":[[2,9],[3,4]]}
{"op":"ended","t1":18,"proc":2,"txn":1,"res":"info"}
{"op":"init","t0":1,"t1":2,"proc":3,"id":"loop"}
{"op":"begin","t0":6,"proc":3,"txn":0,"topic":"u","from":"t","group":"g","recs":[[0,0,0,0],[0,1,0,1]]}
{"op":"end","t0":7,"proc":3,"txn":0,"commit":true,"recs":[[0,0],[1,1]]}
{"op":"ended","t1":8,"proc":3,"txn":0,"res":"ok"}
{"op":"begin","t0":9,"proc":3,"txn":1,"topic":"u","from":"t","group":"g","recs":[[0,2,0,4]]}
{"op":"end","t0":10,"proc":3,"txn":1,"commit":true,"recs":[[2,3]]}
{"op":"ended","t1":11,"proc":3,"txn":1,"res":"ok"}
{"op":"committed","group":"g","topic":"t","part":0,"offset":2}
{"op":"committed","group":"g","topic":"t","part":0,"offset":5}
{"op":"read","proc":4,"topic":"t","part":0,"stable":3,"high":4,"recs":[[0,1,0],[1,1,1]]}
{"op":"read","proc":4,"topic":"t","part":0,"stable":9,"high":9,"recs":[[4,1,4],[6,2,0],[7,2,1]]}
{"op":"read","proc":4,"topic":"t","part":1,"stable":4,"high":4,"recs":[[0,1,2]]}
{"op":"final","topic":"t","part":0,"stable":11,"end":11,"recs":[[0,1,0],[1,1,1],[4,1,4],[6,2,0],[7,2,1]]}
{"op":"final","topic":"t","part":1,"stable":6,"end":6,"recs":[[0,1,2],[2,1,5]]}
{"op":"final","topic":"u","part":0,"stable":5,"end":5,"recs":[[0,3,0],[1,3,1],[3,3,2]]}
`

func judgeTxn(t *testing.T, history string) TxnVerdict {
	t.Helper()
	h := NewTxnHistory()
	if err := h.Read("test", strings.NewReader(strings.TrimLeft(history, "\n"))); err != nil {
		t.Fatal(err)
	}
	return CheckTxn(h)
}

func TestSoundTransactions(t *testing.T) {
	v := judgeTxn(t, soundTxn)
	if len(v.Violations) != 0 {
		t.Errorf("violations in a sound history: %+v", v.Violations)
	}
	if v.Committed != 4 || v.Aborted != 1 || v.InDoubt != 2 || v.Appeared != 1 || v.Records != 10 || v.Read != 6 || v.Sources != 3 {
		t.Errorf("counted %+v", v)
	}
}

// Each row plants one fault into the sound history.
func TestPlantedTransactionFaults(t *testing.T) {
	for _, row := range []struct{ name, old, planted, invariant string }{
		{"committed record missing in one of its partitions", `"recs":[[0,1,2],[2,1,5]]`, `"recs":[[2,1,5]]`, "T1"},
		{"committed record elsewhere", `"end":5,"recs":[[0,3,0]`, `"end":5,"recs":[[-1,3,0]`, "T1"},
		{"a final log was not read", `{"op":"final","topic":"t","part":0,"stable":11,"end":11,"recs":[[0,1,0],[1,1,1],[4,1,4],[6,2,0],[7,2,1]]}` + "\n", "", "T1"},
		{"aborted record in the final log", `[4,1,4],[6,2,0],[7,2,1]]}` + "\n" + `{"op":"final","topic":"t","part":1`,
			`[3,1,3],[4,1,4],[6,2,0],[7,2,1]]}` + "\n" + `{"op":"final","topic":"t","part":1`, "T2"},
		{"aborted record seen by a reader", `[[4,1,4],[6,2,0]`, `[[3,1,3],[4,1,4],[6,2,0]`, "T2"},
		{"refused commit that is there", `{"op":"ended","t1":15,"proc":2,"txn":0,"res":"ok"}`, `{"op":"ended","t1":15,"proc":2,"txn":0,"res":"fail"}`, "T2"},
		{"never asked to commit and there", `{"op":"end","t0":10,"proc":1,"txn":2,"commit":true,"recs":[[4,4],[5,2]]}` + "\n", "", "T2"},
		{"half of a transaction in doubt", `"recs":[[0,1,2],[2,1,5]]`, `"recs":[[0,1,2]]`, "T3"},
		{"twice", `[6,2,0],[7,2,1]]}` + "\n" + `{"op":"final"`, `[6,2,0],[7,2,1],[9,2,1]]}` + "\n" + `{"op":"final"`, "T4"},
		{"out of order", `"recs":[[0,1,0],[1,1,1],[4,1,4],[6,2,0],[7,2,1]]`, `"recs":[[0,1,0],[1,1,1],[4,1,4],[6,2,1],[7,2,0]]`, "T5"},
		{"a reader left a record out", `"high":9,"recs":[[4,1,4],`, `"high":9,"recs":[`, "T6"},
		{"a reader saw what is gone", `"high":4,"recs":[[0,1,2]]`, `"high":4,"recs":[[0,1,2],[2,1,5],[3,2,3]]`, "T6"},
		{"a reader went back", `"high":9,"recs":[[4,1,4]`, `"high":9,"recs":[[1,1,1],[4,1,4]`, "T7"},
		{"the final log went back", `"end":6,"recs":[[0,1,2],[2,1,5]]`, `"end":6,"recs":[[2,1,5],[0,1,2]]`, "T7"},
		{"the last stable offset went back", `"stable":9,"high":9`, `"stable":2,"high":9`, "T7"},
		{"stable over the high watermark", `"stable":9,"high":9`, `"stable":9,"high":8`, "T7"},
		{"a record behind the last stable offset", `"stable":9,"high":9`, `"stable":7,"high":9`, "T7"},
		{"a zombie commits", `{"op":"begin","t0":9,"proc":1,"txn":2,"topic":"t","recs":[[0,4],[1,5]]}
{"op":"end","t0":10,"proc":1,"txn":2,"commit":true,"recs":[[4,4],[5,2]]}`, `{"op":"begin","t0":13,"proc":1,"txn":2,"topic":"t","recs":[[0,4],[1,5]]}
{"op":"end","t0":14,"proc":1,"txn":2,"commit":true,"recs":[[4,4],[5,2]]}
{"op":"ended","t1":15,"proc":1,"txn":2,"res":"ok"}`, "T8"},
		{"record from nowhere", `"end":6,"recs":[`, `"end":6,"recs":[[-1,7,7],`, "T9"},
		{"record in another partition", `"topic":"t","recs":[[0,4],[1,5]]`, `"topic":"t","recs":[[0,4],[0,5]]`, "T9"},
		{"a transaction hangs", `"stable":11,"end":11`, `"stable":9,"end":11`, "T10"},
		{"nothing was made from an offset", `"offset":5}`, `"offset":7}`, "L1"},
		{"made and not committed", `"offset":5}`, `"offset":3}`, "L1"},
		{"the committed offset went back", `"offset":2}`, `"offset":6}`, "L2"},
		{"made twice", `[0,1,0,1]]`, `[0,1,0,0]]`, "L3"},
		{"made from an aborted record", `[[0,2,0,4]]`, `[[0,2,0,3]]`, "L3"},
		{"made out of order", `[[0,0,0,0],[0,1,0,1]]`, `[[0,0,0,1],[0,1,0,0]]`, "L4"},
	} {
		t.Run(row.name, func(t *testing.T) {
			history := strings.Replace(soundTxn, row.old, row.planted, 1)
			if history == soundTxn {
				t.Fatal("BUG: nothing was planted")
			}
			for _, v := range judgeTxn(t, history).Violations {
				if v.Invariant == row.invariant {
					return
				}
			}
			t.Errorf("%s was not found", row.invariant)
		})
	}
}

func TestTxnExitStatus(t *testing.T) {
	for _, row := range []struct {
		name, history string
		min           string
		want          int
	}{
		{"holds", soundTxn, "4", exitHolds},
		{"too few", soundTxn, "5", exitUnknown},
		{"violation", strings.Replace(soundTxn, `"end":11`, `"end":12`, 1), "4", exitViolation},
		{"torn by a kill", soundTxn + `{"op":"beg`, "4", exitHolds},
		{"unknown op", soundTxn + `{"op":"send"}` + "\n", "4", exitUnknown},
		{"unknown outcome", soundTxn + `{"op":"ended","proc":1,"txn":0,"res":"maybe"}` + "\n", "4", exitUnknown},
		{"ends what has not begun", soundTxn + `{"op":"end","proc":1,"txn":77}` + "\n", "4", exitUnknown},
		{"begins twice", soundTxn + `{"op":"begin","proc":1,"txn":0}` + "\n", "4", exitUnknown},
		{"counter again", soundTxn + `{"op":"begin","proc":1,"txn":9,"recs":[[0,4]]}` + "\n", "4", exitUnknown},
		{"begins without an id", `{"op":"begin","proc":1,"txn":0}` + "\n", "0", exitUnknown},
		{"two ids", soundTxn + `{"op":"init","proc":1,"id":"b"}` + "\n", "4", exitUnknown},
		{"two final logs", soundTxn + `{"op":"final","topic":"t","part":0}` + "\n", "4", exitUnknown},
		{"record of two numbers", soundTxn + `{"op":"read","topic":"t","recs":[[1,2]]}` + "\n", "4", exitUnknown},
	} {
		t.Run(row.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "history")
			if err := os.WriteFile(path, []byte(strings.TrimLeft(row.history, "\n")), 0o644); err != nil {
				t.Fatal(err)
			}
			var out, errs bytes.Buffer
			if got := run([]string{"-txn", "-min-acked", row.min, path}, &out, &errs); got != row.want {
				t.Errorf("exit status %d, want %d\n%s%s", got, row.want, out.String(), errs.String())
			}
		})
	}
}

func FuzzTxnHistory(f *testing.F) {
	f.Add([]byte(soundTxn))
	f.Add([]byte(`{"op":"committed","group":"g","topic":"t","part":0,"offset":5}` + "\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		h := NewTxnHistory()
		if h.Read("fuzz", bytes.NewReader(data)) == nil {
			CheckTxn(h)
		}
	})
}
