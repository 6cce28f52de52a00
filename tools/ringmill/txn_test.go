package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

func TestOpenTransactionsOfOwnNode(t *testing.T) { endOpenTransaction(t, startNode(t).address) }

func TestOpenTransactionsOfAnotherNode(t *testing.T) {
	address := os.Getenv(foreignNode)
	if address == "" {
		t.Skipf("%s names no node", foreignNode)
	}
	endOpenTransaction(t, address)
}

// endOpenTransaction: a transaction that a producer left open is listed, described and, since its coordinator knows it, not
// taken to hang; an abort lets readers of committed records go on.
func endOpenTransaction(t *testing.T, address string) {
	name := fmt.Sprintf("cli-%08x", rand.Uint32())
	if code, said := status(t, "topic", "create", name, "-p", "1", "-b", address); code != statusOK {
		t.Fatal(said)
	}
	t.Cleanup(func() { status(t, "topic", "delete", name, "-b", address) })
	producer, err := kgo.NewClient(kgo.SeedBrokers(address), kgo.TransactionalID(name), kgo.DefaultProduceTopic(name))
	if err != nil {
		t.Fatal(err)
	}
	defer producer.Close()
	if err := producer.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	if err := producer.ProduceSync(t.Context(), kgo.StringRecord("open")).FirstErr(); err != nil {
		t.Fatal(err)
	}

	var listed []listedTxn
	result(t, &listed, "txn", "list", "--state", "Ongoing", "-b", address)
	if !slices.ContainsFunc(listed, func(x listedTxn) bool { return x.TransactionalID == name && x.State == "Ongoing" }) {
		t.Errorf("%+v", listed)
	}
	var txns []describedTxn
	result(t, &txns, "txn", "describe", name, "-b", address)
	if len(txns) != 1 || txns[0].State != "Ongoing" || txns[0].StartMS <= 0 || !slices.Equal(txns[0].Partitions, []partition{{name, 0}}) {
		t.Errorf("%+v", txns)
	}
	var hanging []hangingTxn
	result(t, &hanging, "txn", "find-hanging", "--topic", name, "--max-timeout", "-1h", "-b", address)
	if len(hanging) != 0 {
		t.Errorf("hanging: %+v", hanging)
	}
	var aborted abortedTxn
	result(t, &aborted, "txn", "abort", "--topic", name, "--partition", "0", "--start-offset", "0", "-b", address)
	if aborted.ProducerID != txns[0].ProducerID || aborted.ProducerEpoch != txns[0].ProducerEpoch {
		t.Errorf("%+v", aborted)
	}
	if code, said := status(t, "txn", "abort", "--topic", name, "--partition", "0", "--start-offset", "0", "-b", address); code != statusFailed ||
		!strings.Contains(said, "no open transaction starts at 0") {
		t.Errorf("again: %d %s", code, said)
	}
}

// result runs a command, which has to succeed, and reads what it writes as JSON.
func result(t *testing.T, into any, args ...string) {
	t.Helper()
	var out, errs bytes.Buffer
	a := &app{stdin: strings.NewReader(""), stdout: &out, stderr: &errs}
	if code := a.run(t.Context(), append(args, "-o", "json")); code != statusOK {
		t.Fatalf("%v: %s", args, errs.String())
	}
	if err := json.Unmarshal(out.Bytes(), into); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out.Bytes())
	}
}

func TestResetOffset(t *testing.T) {
	p, log := partition{"t", 0}, logBounds{start: 10, end: 20, atTime: 15}
	for _, tt := range []struct {
		target resetTarget
		from   int64
		want   int64
	}{
		{resetTarget{way: "to-earliest"}, 12, 10},
		{resetTarget{way: "to-latest"}, 12, 20},
		{resetTarget{way: "to-current"}, 12, 12},
		{resetTarget{way: "to-current"}, -1, 20},
		{resetTarget{way: "to-current"}, 5, 10},
		{resetTarget{way: "to-offset", number: 13}, -1, 13},
		{resetTarget{way: "to-offset", number: 3}, -1, 10},
		{resetTarget{way: "to-offset", number: 99}, -1, 20},
		{resetTarget{way: "shift-by", number: -1}, 12, 11},
		{resetTarget{way: "shift-by", number: math.MaxInt64}, 12, 20},
		{resetTarget{way: "shift-by", number: math.MinInt64}, 12, 10},
		{resetTarget{way: "to-time"}, 12, 15},
		{resetTarget{way: "from-file", file: map[partition]int64{p: 17}}, 12, 17},
	} {
		if got, err := tt.target.offset(p, tt.from, log); got != tt.want || err != nil {
			t.Errorf("%s %d from %d: %d %v", tt.target.way, tt.target.number, tt.from, got, err)
		}
	}
	shift := resetTarget{way: "shift-by", number: 1}
	if _, err := shift.offset(p, -1, log); err == nil {
		t.Error("an offset that there is not was shifted")
	}
	late := resetTarget{way: "to-time"}
	if got, _ := late.offset(p, 12, logBounds{10, 20, -1}); got != 20 {
		t.Errorf("after the last record: %d", got)
	}
}
