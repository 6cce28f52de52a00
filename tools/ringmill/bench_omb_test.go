package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringmill/ringmill/bench"
	"github.com/ringmill/ringmill/bench/benchtest"
)

// ombFiles are a workload and a driver for nodes at an address.
func ombFiles(t *testing.T, address string) (workload, driver string) {
	t.Helper()
	dir := t.TempDir()
	workload, driver = filepath.Join(dir, "w.yaml"), filepath.Join(dir, "d.yaml")
	text := `name: two topics
topics: 2
partitionsPerTopic: 3
keyDistributor: KEY_ROUND_ROBIN
messageSize: 100
useRandomizedPayloads: true
randomBytesRatio: 0.5
randomizedPayloadPoolSize: 10
subscriptionsPerTopic: 2
consumerPerSubscription: 1
producersPerTopic: 1
producerRate: 100
testDurationMinutes: 1
`
	driverText := fmt.Sprintf(`name: a Kafka
driverClass: io.openmessaging.benchmark.driver.kafka.KafkaBenchmarkDriver
replicationFactor: 3
topicConfig: min.insync.replicas=2
commonConfig: bootstrap.servers=%s
producerConfig: |
  acks=1
  linger.ms=3
  batch.size=131072
  compression.type=lz4
  made.up=1
consumerConfig: |
  auto.offset.reset=earliest
  enable.auto.commit=false
`, address)
	if err := errors.Join(os.WriteFile(workload, []byte(text), 0o644), os.WriteFile(driver, []byte(driverText), 0o644)); err != nil {
		t.Fatal(err)
	}
	return workload, driver
}

// A workload and a driver file stand for flags; the result is written in their own form, too; and what is passed over is told.
func TestBenchOMB(t *testing.T) {
	s := benchServer(t)
	workload, driver := ombFiles(t, s.Addresses()[0])
	written := filepath.Join(t.TempDir(), "omb.json")
	var report bench.Report
	code, said := told(t, &report, "bench", "run", "--workload", workload, "--driver", driver, "--omb-json", written, "--duration", "1s", "--warm-up", "100ms", "--timeout", "30s")
	if report.Schema == "" || code != statusOK && code != statusInvalid { // a busy machine makes runs invalid
		t.Fatalf("status %d: %s", code, said)
	}
	c := report.Config
	if c.Client != "franz" || c.Topics != 2 || c.Partitions != 3 || c.Subscriptions != 2 || c.Keys != 10_000 || c.KeyChoice != bench.KeysInTurn || c.Values != "pool:100,0.5,10" ||
		c.RatePerSecond != 100 || c.DurationSeconds != 1 || c.ReplicationFactor != 3 || c.Acks != 1 || c.LingerSeconds != 0.003 || c.Codec != "lz4" ||
		c.ProducerProperties["batch.size"] != "131072" || s.Properties()["min.insync.replicas"] != "2" {
		t.Errorf("config %+v", c)
	}
	if report.Produced.Records != 100 || report.Consumed.Records != 200 || len(s.Topics()) > 0 {
		t.Errorf("produced %d, consumed %d, left behind %v", report.Produced.Records, report.Consumed.Records, s.Topics())
	}
	if !strings.Contains(report.Command, "--workload "+workload) || strings.Contains(report.Command, written) {
		t.Errorf("command %s", report.Command)
	}
	for _, line := range []string{driver + ": producerConfig: made.up=1: no setting of this client, passed over\n", driver + ": consumerConfig: enable.auto.commit=false: no effect"} {
		if !strings.Contains(said, line) {
			t.Errorf("%q is not in %s", line, said)
		}
	}
	var omb map[string]any
	if text, err := os.ReadFile(written); err != nil || json.Unmarshal(text, &omb) != nil || omb["workload"] != "two topics" || omb["driver"] != "a Kafka" || omb["topics"] != 2.0 {
		t.Errorf("%s: %v", text, err)
	}
}

// What the command line says counts in place of a file's, and a raw client does not have what a client library has.
func TestBenchOMBFlagsFirst(t *testing.T) {
	workload, driver := ombFiles(t, "127.0.0.1:1")
	var c bench.ReportConfig
	code, said := told(t, &c, "bench", "run", "--workload", workload, "--driver", driver, "--dry-run", "--client", "raw", "-b", "127.0.0.1:2", "--rate", "0", "--acks", "all", "--topic-property", "retention.ms=1")
	if code != statusOK || c.Client != "raw" || c.Addresses[0] != "127.0.0.1:2" || c.RatePerSecond != 0 || c.Acks != -1 || c.LingerSeconds != 0 || c.Codec != "none" || len(c.TopicProperties) != 1 || c.Topics != 2 {
		t.Errorf("status %d, %+v: %s", code, c, said)
	}
	if line := driver + ": --linger 3ms: a raw client has none, passed over\n"; !strings.Contains(said, line) {
		t.Errorf("%q is not in %s", line, said)
	}
	for _, args := range [][]string{{"--workload", driver + "none"}, {"--workload", driver}, {"--driver", driver, "--size", "7"}, {"--producer-property", "batch.size"},
		{"--client", "franz", "--producer-property", "made.up=1"}, {"--topics", "-1"}, {"--topics", "2000"}, {"--keys", "3", "--key-choice", "backwards"}} {
		if code, said := told(t, nil, append([]string{"bench", "run", "--dry-run"}, args...)...); code != statusUsage {
			t.Errorf("%v: status %d: %s", args, code, said)
		}
	}
}

// Which nodes count, and as whom a client goes there, is told where a driver file and the flags, or the environment, differ: flags come first, then the file.
func TestBenchOMBWhichNodes(t *testing.T) {
	_, driver := ombFiles(t, "127.0.0.1:1")
	for _, c := range []struct{ environment, flag, nodes, said string }{
		{"", "", "127.0.0.1:1", ""},
		{"127.0.0.1:1", "", "127.0.0.1:1", ""},
		{"127.0.0.1:3", "", "127.0.0.1:1", driver + ": bootstrap.servers=127.0.0.1:1 counts, RINGMILL_BOOTSTRAP=127.0.0.1:3 is passed over\n"},
		{"", "127.0.0.1:2", "127.0.0.1:2", driver + ": bootstrap.servers=127.0.0.1:1: passed over, --bootstrap 127.0.0.1:2 counts\n"},
		{"127.0.0.1:3", "127.0.0.1:2", "127.0.0.1:2", driver + ": bootstrap.servers=127.0.0.1:1: passed over, --bootstrap 127.0.0.1:2 counts\n"},
		{"127.0.0.1:3", "127.0.0.1:1", "127.0.0.1:1", ""},
	} {
		for _, name := range []string{"--bootstrap", "--bootstrap-server"} {
			t.Setenv(bootstrapVariable, c.environment)
			args := []string{"bench", "run", "--dry-run", "--driver", driver}
			if c.flag != "" {
				args = append(args, name, c.flag)
			}
			var config bench.ReportConfig
			code, said := told(t, &config, args...)
			if code != statusOK || len(config.Addresses) != 1 || config.Addresses[0] != c.nodes || !strings.Contains(said, c.said) || strings.Contains(said, "bootstrap.servers") != (c.said != "") {
				t.Errorf("%q, %s %q: status %d, %v: %s", c.environment, name, c.flag, code, config.Addresses, said)
			}
		}
	}
}

func TestBenchOMBWho(t *testing.T) {
	driver := filepath.Join(t.TempDir(), "d.yaml")
	text := "commonConfig: |\n  security.protocol=SASL_SSL\n  sasl.mechanism=PLAIN\nproducerConfig: |\n  sasl.jaas.config=x required username=\"alice\" password=\"open\";\n"
	if err := os.WriteFile(driver, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	password := secret(t, "sesame")
	for _, c := range []struct {
		user, password string // of the environment
		args           []string
		said           []string
	}{
		{"", "", nil, nil},
		{"alice", "open", nil, nil},
		{"bob", "open", nil, []string{`username "alice" of sasl.jaas.config counts, RINGMILL_SASL_USER=bob is passed over`}},
		{"", "shut", nil, []string{"the password of sasl.jaas.config counts, that of RINGMILL_SASL_PASSWORD is passed over"}},
		{"bob", "shut", []string{"--sasl", "PLAIN"}, []string{"sasl.mechanism and sasl.jaas.config: passed over, --sasl counts"}},
		{"bob", "shut", []string{"--sasl-user", "carol"}, []string{`username "alice" of sasl.jaas.config: passed over, --sasl-user carol counts`, "the password of sasl.jaas.config counts, that of RINGMILL_SASL_PASSWORD is passed over"}},
		{"bob", "shut", []string{"--sasl-password-file", password}, []string{`username "alice" of sasl.jaas.config counts, RINGMILL_SASL_USER=bob is passed over`, "the password of sasl.jaas.config: passed over, --sasl-password-file counts"}},
		{"", "", []string{"--tls-insecure"}, []string{"security.protocol and ssl.…: passed over, --tls-insecure counts"}},
	} {
		t.Setenv(userVariable, c.user)
		t.Setenv(passwordVariable, c.password)
		var config bench.ReportConfig
		code, said := told(t, &config, append([]string{"bench", "run", "--dry-run", "--driver", driver}, c.args...)...)
		want := ""
		for _, line := range c.said {
			want += driver + ": " + line + "\n"
		}
		if code != statusOK || said != want {
			t.Errorf("%+v: status %d: %s", c, code, said)
		}
	}
}

// searchFile is the workload of ombFiles with a producerRate of 0.
func searchFile(t *testing.T) (workload string) {
	t.Helper()
	workload, _ = ombFiles(t, "127.0.0.1:1")
	text, err := os.ReadFile(workload)
	if err == nil {
		err = os.WriteFile(workload, bytes.ReplaceAll(text, []byte("producerRate: 100"), []byte("producerRate: 0")), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	return workload
}

// A producerRate of 0 looks for the highest rate at which nobody falls behind: with 10 records a request, one request out and 5 ms for it, 2,000/s.
func TestBenchFindsRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := benchtest.New(1, benchtest.Constant(5*time.Millisecond))
		defer s.Close()
		var errs bytes.Buffer
		a := &app{stdout: &errs, stderr: &errs}
		found, _, err := a.benchFindRate(t.Context(), bench.Trial{Addresses: s.Addresses(), Partitions: 1, ReplicationFactor: 1, Producers: 1, Consumers: 1, RecordBytes: 100, BatchRecords: 10,
			Rate: 10_000, MaxInFlight: 1, Acks: -1, Duration: time.Minute, WarmUp: time.Minute, Patience: time.Minute,
			Clock: benchtest.Clock{}, Dial: s.Dial, CPU: func() time.Duration { return 0 }, Threads: func() map[int]bench.ThreadCounters { return nil }})
		if err != nil || found.Rate < 1900 || found.Rate > 2050 || !strings.Contains(found.Broken, "behind the schedule") || len(s.Topics()) > 0 {
			t.Errorf("%+v, %v, topics %v: %s", found, err, s.Topics(), errs.String())
		}
	})
}

// What a search has when it breaks off is its last run, as the partial result.
func TestBenchSearchBrokenHalfWay(t *testing.T) {
	workload := searchFile(t)
	for name, harm := range map[string]func(*benchtest.Server, context.CancelFunc){
		"the node dies":       func(s *benchtest.Server, _ context.CancelFunc) { s.Stop(0) },
		"the user interrupts": func(_ *benchtest.Server, cancel context.CancelFunc) { cancel() },
	} {
		t.Run(name, func(t *testing.T) {
			s := benchServer(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go afterAnswers(ctx, s, func() { harm(s, cancel) })
			other := filepath.Join(t.TempDir(), "omb.json")
			var out, errs bytes.Buffer
			a := &app{stdin: strings.NewReader(""), stdout: &out, stderr: &errs}
			code := a.run(ctx, []string{"bench", "run", "-b", s.Addresses()[0], "-o", "json", "--workload", workload, "--omb-json", other, "--warm-up", "0s", "--timeout", "1s"})
			var report bench.Report
			if err := json.Unmarshal(out.Bytes(), &report); err != nil {
				t.Fatalf("status %d, %v: %s", code, err, errs.String())
			}
			if code != statusFailed || report.Verdict != bench.VerdictPartial || report.Produced.Records == 0 || report.Error == "" {
				t.Errorf("status %d, %+v: %s", code, report, errs.String())
			}
			if text, err := os.ReadFile(other); err != nil || !bytes.Contains(text, []byte("publishRate")) {
				t.Errorf("%v: %s", err, text)
			}
		})
	}
}

// If it is the client that is the limit, what was found is told with the status of figures that are not the node's.
func TestBenchFindsTheClientsRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := benchtest.New(1, benchtest.Constant(time.Millisecond))
		defer s.Close()
		a := &app{stdout: new(bytes.Buffer), stderr: new(bytes.Buffer)}
		busy := bench.Trial{Addresses: s.Addresses(), Partitions: 1, ReplicationFactor: 1, Producers: 1, RecordBytes: 100, BatchRecords: 100,
			Rate: 10_000, MaxInFlight: 5, Acks: -1, Duration: time.Second, Clock: benchtest.Clock{}, Dial: s.Dial, Threads: func() map[int]bench.ThreadCounters { return nil }}
		records := 0
		busy.CPU = func() time.Duration { // all processors, from 15,000/s on
			now := len(s.Answers()) * 100
			defer func() { records = now }()
			if now-records > 15_000 {
				return time.Hour
			}
			return 0
		}
		if found, _, err := a.benchFindRate(t.Context(), busy); !errors.Is(err, errInvalid) || found.Rate < 10_000 || found.Rate > 16_000 {
			t.Errorf("%+v, %v", found, err)
		}
		used := time.Duration(0)
		busy.CPU = func() time.Duration { used += time.Hour; return used } // whatever the rate
		if found, _, err := a.benchFindRate(t.Context(), busy); !errors.Is(err, errInvalid) || found.Rate != 0 || !strings.Contains(err.Error(), "no rate holds, for the client was in the way") {
			t.Errorf("%+v, %v", found, err)
		}
	})
}

// Consumers of a client library, too, leave a backlog behind and read it; a search for a rate has none.
func TestBenchBacklog(t *testing.T) {
	s := benchServer(t)
	var report bench.Report
	code, said := told(t, &report, "bench", "run", "-b", s.Addresses()[0], "--client", "franz", "--rate", "6000", "--backlog", "300000", "--backlog-drained", "0.5", "--duration", "1s", "--warm-up", "100ms", "--timeout", "30s")
	b := report.Backlog
	if b == nil || code != statusOK && code != statusInvalid || b.Records < 3000 || b.LeftRecords > 1500 || b.BuildSeconds <= 0 || b.DrainSeconds <= 0 || report.WindowSeconds <= 1 || report.LostRequests != 0 || report.Config.BacklogBytes != 300_000 {
		t.Fatalf("status %d, %+v of %+v: %s", code, b, report.Config, said)
	}
	var summary bytes.Buffer
	benchSummary(&summary, &report)
	if !strings.Contains(summary.String(), "\n"+b.Reading()+"\n") {
		t.Error(summary.String())
	}
	workload := filepath.Join(t.TempDir(), "w.yaml")
	if err := os.WriteFile(workload, []byte("topics: 1\npartitionsPerTopic: 1\nmessageSize: 100\nuseRandomizedPayloads: true\nrandomizedPayloadPoolSize: 1\nsubscriptionsPerTopic: 1\nproducersPerTopic: 1\nconsumerPerSubscription: 1\nproducerRate: 0\nconsumerBacklogSizeGB: 1\ntestDurationMinutes: 1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if code, said := told(t, nil, "bench", "run", "--dry-run", "--workload", workload); code != statusUsage || !strings.Contains(said, "consumerBacklogSizeGB with a producerRate of 0") {
		t.Errorf("status %d: %s", code, said)
	}
	var c bench.ReportConfig
	if code, said := told(t, &c, "bench", "run", "--dry-run", "--workload", workload, "--rate", "10"); code != statusOK || c.BacklogBytes != 1<<30 || c.BacklogDrained != 1 {
		t.Errorf("status %d, %+v: %s", code, c, said)
	}
}
