package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// planOf is what --dry-run says, without the names of topics, which are new each time.
func planOf(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	code := (&app{stdin: strings.NewReader(""), stdout: &out, stderr: &errs}).run(t.Context(), append([]string{"bench", "run", "--dry-run"}, args...))
	if code != statusOK {
		t.Fatalf("%v: status %d: %s", args, code, errs.String())
	}
	return regexp.MustCompile(`ringmill-bench-[a-z0-9]{13}`).ReplaceAllString(out.String(), "TOPIC")
}

func TestBenchPlan(t *testing.T) {
	search := searchFile(t)
	for args, want := range map[string][]string{
		"-b 127.0.0.1:1": {
			"a topic TOPIC of 1 partition with as many replicas as the cluster has by default at 127.0.0.1:1, made and removed",
			"1 raw producer, together 1000 records/s of 100 bytes, acks all; 1 consumer",
			"1 record a request, up to 5 requests out on a connection",
			"2s left out, then 10s measured: 12s in all, beside what it takes to make and remove topics",
			"given up where nothing is answered for 10s",
			"starts no node",
		},
		"-b a:1,b:1 --topics 3 -p 4 --replication-factor 2 --topic-property retention.ms=1 --topic-property min.insync.replicas=2 --client franz --producers 2 --consumers 2 --subscriptions 3 --rate 50 --arrival poisson --keys 10 " +
			"--key-choice in-turn --size 2KiB --linger 5ms --codec zstd --producer-property batch.size=1000 --consumer-property fetch.min.bytes=1 --backlog 1MiB --backlog-drained 0.5 --seed 7 -d 1m --warm-up 0s --timeout 3s " +
			"--node-metrics a:9644,b:9644 --pid 1,2": {
			"3 topics TOPIC-0000 to -0002, each of 4 partitions with 2 replicas at a:1,b:1, made and removed",
			"topic properties: min.insync.replicas=2 retention.ms=1",
			"2 franz producers of each topic, together 50 records/s (poisson) of 2048 bytes with 10 keys in-turn, acks all; 3 subscriptions of each topic with 2 consumers",
			"linger 5ms, codec zstd",
			"gaps, keys and values begin with the seed 7",
			"producer properties: batch.size=1000",
			"consumer properties: fetch.min.bytes=1",
			"consumers leave 1,048,576 bytes behind, which are 512 records, and have read 50 % of them again before what is measured begins",
			"0s left out, then 1m0s measured: 1m0s in all and what the backlog takes, beside what it takes to make and remove topics",
			"given up where nothing is answered for 3s",
			"reads the stages of requests at a:9644,b:9644",
			"reads what is used by the processes 1 2",
			"starts no node",
		},
		"-b 127.0.0.1:1 --timeout 0s": {
			"a topic TOPIC of 1 partition with as many replicas as the cluster has by default at 127.0.0.1:1, made and removed",
			"1 raw producer, together 1000 records/s of 100 bytes, acks all; 1 consumer",
			"1 record a request, up to 5 requests out on a connection",
			"2s left out, then 10s measured: 12s in all, beside what it takes to make and remove topics",
			"given up where nothing is answered for 10s",
			"starts no node",
		},
		"-b 127.0.0.1:1 --workload " + search + " --result /tmp/r.json --omb-json /tmp/o.json --hlog /tmp/r.hlog --report /tmp/r.html": {
			"2 topics TOPIC-0000 to -0001, each of 3 partitions with as many replicas as the cluster has by default at 127.0.0.1:1, made and removed",
			"1 franz producer of each topic, together at the highest rate at which nobody falls behind, of pool:100,0.5,10 bytes with 10000 keys in-turn, acks all; 2 subscriptions of each topic with 1 consumer",
			"linger 0s, codec none",
			"the rate is looked for from 10,000 records/s on: each one is tried for 12s, on a topic of its own",
			"1m0s left out, then 1m0s measured: 2m0s in all, beside what it takes to make and remove topics",
			"given up where nothing is answered for 10s",
			"writes /tmp/r.json (--result)", "writes /tmp/r.hlog (--hlog)", "writes /tmp/r.html (--report)", "writes /tmp/o.json (--omb-json)",
			"starts no node",
		},
	} {
		if got := planOf(t, strings.Fields(args)...); got != strings.Join(want, "\n")+"\n" {
			t.Errorf("%s:\n%s\nwant\n%s", args, got, strings.Join(want, "\n"))
		}
	}
}

// Every flag of a run makes a difference to what --dry-run says of it.
func TestBenchPlanIsWhole(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	workload, driver := ombFiles(t, "127.0.0.1:1")
	password := file("password", "secret\n")
	t.Setenv(passwordVariable, "secret")
	sasl := []string{"--sasl", "PLAIN", "--sasl-user", "alice"}
	with := map[string][]string{ // values that make a difference, after what they need
		"acks": {"1"}, "arrival": {"poisson"}, "backlog": {"1MB"}, "backlog-drained": {"0.5", "--backlog", "1MB"}, "batch": {"3"}, "bootstrap": {"127.0.0.1:7"}, "bootstrap-server": {"127.0.0.1:8"}, "client": {"franz"},
		"codec": {"gzip", "--client", "franz"}, "consumer-property": {"client.id=x", "--client", "franz"}, "consumers": {"2"}, "driver": {driver}, "duration": {"1h"}, "hlog": {dir + "/x"}, "key-choice": {"in-turn", "--keys", "5"},
		"keys": {"5"}, "linger": {"1ms", "--client", "franz"}, "max-in-flight": {"2"}, "node-metrics": {"x:1"}, "omb-json": {dir + "/x"}, "partitions": {"3"}, "pid": {"1"}, "producer-property": {"client.id=x", "--client", "franz"},
		"producers": {"3"}, "rate": {"7"}, "replication-factor": {"3"}, "report": {dir + "/x"}, "result": {dir + "/x"}, "sasl": append([]string{"SCRAM-SHA-256"}, sasl...), "sasl-user": append([]string{"bob"}, sasl...), "seed": {"5"},
		"size": {"17"}, "subscriptions": {"2"}, "timeout": {"7s"}, "tls": {"true"}, "tls-insecure": {"true"}, "topic-property": {"retention.ms=1"}, "topics": {"2"}, "transactions": {"5", "--client", "franz"}, "warm-up": {"1s"},
		"workload": {workload},
	}
	same := []string{"help", "output", "dry-run", "sasl-password-file", "tls-ca", "tls-cert", "tls-key"} // how it is said, and files of secrets and certificates, whose names are told
	cmd, _, err := (&app{stdout: io.Discard, stderr: io.Discard}).root().Find([]string{"bench", "run"})
	if err != nil {
		t.Fatal(err)
	}
	try := func(f *pflag.Flag) {
		value := with[f.Name]
		switch {
		case slices.Contains(same, f.Name):
			return
		case value == nil:
			t.Errorf("--%s is not tried", f.Name)
			return
		}
		needs := append([]string{"--pid=0"}, value[1:]...)
		if f.Name == "pid" {
			needs = value[1:]
		}
		if without, with := planOf(t, needs...), planOf(t, append(slices.Clone(needs), "--"+f.Name+"="+value[0])...); with == without {
			t.Errorf("--%s=%s makes no difference to\n%s", f.Name, value[0], with)
		}
	}
	cmd.Flags().VisitAll(try)
	cmd.PersistentFlags().VisitAll(try)
	if said := planOf(t, append(sasl, "--sasl-password-file", password)...); strings.Contains(said, "secret") || !strings.Contains(said, "authenticates as alice with PLAIN") {
		t.Error(said)
	}
}
