package main

import (
	"strings"
	"testing"
)

// cluster is what the sound history has besides where there are several nodes.
const cluster = sound + `{"op":"leader","t1":1,"topic":"t","part":0,"node":1,"epoch":0}
{"op":"leader","t1":11,"topic":"t","part":0,"node":2,"epoch":1}
{"op":"mark","t0":3,"t1":4,"topic":"t","part":0,"node":1,"epoch":0,"high":1}
{"op":"mark","t0":6,"t1":8,"topic":"t","part":0,"node":1,"epoch":0,"high":3}
{"op":"mark","t0":12,"t1":13,"topic":"t","part":0,"node":2,"epoch":1,"high":4}
{"op":"mark","t0":14,"t1":15,"topic":"t","part":0,"node":1,"epoch":0,"high":3}
{"op":"mark","t0":14,"t1":16,"topic":"t","part":0,"node":2,"epoch":1,"high":5}
{"op":"replica","topic":"t","part":0,"node":1,"end":5,"sum":"aa"}
{"op":"replica","topic":"t","part":0,"node":2,"end":5,"sum":"aa"}
{"op":"fault","t0":9,"t1":10,"kind":"kill the leader","bit":true}
{"op":"admin","t0":1,"t1":2,"proc":1,"kind":"create","key":"u","value":"3","res":"ok"}
{"op":"admin","t0":3,"t1":6,"proc":1,"kind":"create","key":"u","value":"2","res":"exists"}
{"op":"admin","t0":4,"t1":5,"proc":2,"kind":"grow","key":"u","value":"4","res":"ok"}
{"op":"admin","t0":6,"t1":7,"proc":2,"kind":"delete","key":"u","res":"info"}
{"op":"admin","t0":8,"t1":9,"proc":2,"kind":"grow","key":"u","value":"3","res":"refused"}
{"op":"admin","t0":10,"t1":11,"proc":2,"kind":"alter","key":"u","value":"5","res":"ok"}
{"op":"admin","t0":12,"t1":13,"proc":2,"kind":"read","key":"u","value":"4/5","res":"ok"}
{"op":"admin","t0":14,"t1":15,"proc":1,"kind":"create","key":"u","value":"1","res":"ok"}
{"op":"admin","t0":16,"t1":17,"proc":1,"kind":"delete","key":"u","res":"ok"}
{"op":"admin","t0":18,"t1":19,"proc":2,"kind":"alter","key":"u","value":"5","res":"absent"}
{"op":"admin","t0":20,"t1":21,"proc":2,"kind":"read","key":"u","value":"absent","res":"ok"}
`

func TestSoundCluster(t *testing.T) {
	v := judge(t, cluster)
	if len(v.Violations) != 0 || len(v.Idle) != 0 {
		t.Errorf("violations %+v, idle %v in a sound history", v.Violations, v.Idle)
	}
	if v.Marks != 5 || v.Faults != 1 || v.Admin != 11 {
		t.Errorf("counted %+v", v)
	}
}

// Each row plants one fault that only a cluster can have.
func TestPlantedInCluster(t *testing.T) {
	for _, row := range []struct {
		name, old, planted, invariant string
	}{
		{"metadata names two leaders of an epoch", `"node":2,"epoch":1}`, `"node":2,"epoch":0}`, "I8"},
		{"two nodes answer as leader of an epoch", `"node":2,"epoch":1,"high":5`, `"node":3,"epoch":1,"high":5`, "I8"},
		{"a watermark goes back in an epoch", `"epoch":0,"high":1`, `"epoch":0,"high":4`, "I7"},
		{"a watermark goes back with a new leader", `"epoch":1,"high":4`, `"epoch":1,"high":2`, "I7"},
		{"a published record is not there in the end", `"epoch":1,"high":5`, `"epoch":1,"high":6`, "I7"},
		{"replicas differ", `"node":2,"end":5,"sum":"aa"`, `"node":2,"end":5,"sum":"ab"`, "I12"},
		{"a replica lacks the end", `"node":2,"end":5`, `"node":2,"end":4`, "I12"},
		{"a topic is created twice", `"value":"2","res":"exists"`, `"value":"2","res":"ok"`, "I13"},
		{"an acknowledged change is lost", `"value":"4/5"`, `"value":"4/"`, "I13"},
		{"a deleted topic comes back", `"value":"absent"`, `"value":"1/"`, "I13"},
		{"partitions are forgotten", `"value":"3","res":"refused"`, `"value":"3","res":"ok"`, "I13"},
		{"a topic that is there is not found", `"value":"3","res":"refused"`, `"value":"3","res":"absent"`, "I13"},
	} {
		t.Run(row.name, func(t *testing.T) {
			history := strings.Replace(cluster, row.old, row.planted, 1)
			if history == cluster {
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

// TestRepeatedOperation: what is refused may have been done by its own first attempt, and only in its own time.
func TestRepeatedOperation(t *testing.T) {
	const repeated = `
{"op":"admin","t0":1,"t1":4,"proc":1,"kind":"create","key":"u","value":"3","res":"exists"}
{"op":"admin","t0":5,"t1":8,"proc":1,"kind":"grow","key":"u","value":"5","res":"refused"}
{"op":"admin","t0":9,"t1":10,"proc":2,"kind":"read","key":"u","value":"5/","res":"ok"}
{"op":"admin","t0":11,"t1":14,"proc":2,"kind":"delete","key":"u","res":"absent"}
{"op":"admin","t0":15,"t1":16,"proc":2,"kind":"read","key":"u","value":"absent","res":"ok"}
`
	if v := judge(t, repeated); len(v.Violations) != 0 {
		t.Errorf("violations %+v", v.Violations)
	}
	if v := judge(t, strings.Replace(repeated, `"value":"5/"`, `"value":"3/"`, 1)); len(v.Violations) != 1 {
		t.Errorf("violations %+v: nobody else has made the topic so large", v.Violations)
	}
}

// TestIdleFault: a run whose fault changed nothing proves nothing.
func TestIdleFault(t *testing.T) {
	v := judge(t, strings.Replace(cluster, `"bit":true`, `"bit":false`, 1))
	if len(v.Violations) != 0 || len(v.Idle) != 1 {
		t.Errorf("violations %+v, idle %v", v.Violations, v.Idle)
	}
}

// TestAdminInput: what can't be an operation is refused when it is read.
func TestAdminInput(t *testing.T) {
	for _, line := range []string{
		`{"op":"admin","kind":"rename","key":"u","res":"ok"}`,
		`{"op":"admin","kind":"create","key":"u","value":"many","res":"ok"}`,
	} {
		if err := NewHistory().Read("test", strings.NewReader(line+"\n")); err == nil {
			t.Errorf("%s was taken", line)
		}
	}
}
