package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// hostile are numbers of each type of flag that nothing can be done with, or that mean too much.
var hostile = map[string][]string{
	"int":      {"9223372036854775807", "-9223372036854775808", "-1", "0", "4294967297"},
	"bytes":    {"9223372036854775807", "-9223372036854775808", "-1", "0", "8000000TiB", "-1TiB"},
	"float64":  {"NaN", "Inf", "-Inf", "1e308", "1e-300", "9223372036854775807", "-1", "0"},
	"duration": {"2562047h", "-2562047h", "-1ns", "0s"},
}

// meant are numbers among them that have a meaning.
var meant = []string{"replication-factor=-1", "backlog=0", "backlog-drained=0", "backlog-drained=1e-300", "keys=0", "batch=0", "rate=0", "to=0", "topics=0", "consumers=0",
	"subscriptions=0", "transactions=0", "linger=0s", "warm-up=0s", "timeout=0s"}

// Every number of every bench command is refused with its range before anything runs, or means something.
func TestBenchNumbers(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel() // what is accepted all the same ends at once
	dir := t.TempDir()
	needs := map[string][]string{"run": {"--backlog", "1", "--client", "franz", "--keys", "1", "-b", "127.0.0.1:1"}, "sweep": {"--bound", "p99<10ms", "-b", "127.0.0.1:1"},
		"tune": {"--dir", dir}, "quick": {"--dir", dir, "-b", "127.0.0.1:1"}, "ab": {"127.0.0.1:1", "127.0.0.1:2"}, "verify": {"-b", "127.0.0.1:1"}, "disk": {"--dir", dir}, "loop": {"--dir", dir}}
	bench, _, err := (&app{stdout: io.Discard, stderr: io.Discard}).root().Find([]string{"bench"})
	if err != nil {
		t.Fatal(err)
	}
	tried := 0
	for _, command := range bench.Commands() {
		if needs[command.Name()] == nil {
			continue
		}
		try := func(f *pflag.Flag) {
			for _, value := range hostile[f.Value.Type()] {
				tried++
				var errs bytes.Buffer
				args := slices.Concat([]string{"bench", command.Name()}, needs[command.Name()], []string{"--" + f.Name + "=" + value})
				code := (&app{stdin: strings.NewReader(""), stdout: io.Discard, stderr: &errs}).run(cancelled, args)
				refused := code == statusUsage && strings.Contains(errs.String(), ": from ")
				if !refused && !slices.Contains(meant, f.Name+"="+value) {
					t.Errorf("%s: status %d: %s", strings.Join(args, " "), code, errs.String())
				}
			}
		}
		command.Flags().VisitAll(try)
		command.PersistentFlags().VisitAll(try)
	}
	if tried < 200 {
		t.Errorf("%d numbers", tried)
	}
}

// What is no flag's alone: sizes, arrivals, the values of --over, and numbers that are out of range together.
func TestBenchNumbersInside(t *testing.T) {
	trace := func(text string) string {
		path := filepath.Join(t.TempDir(), "trace")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return "trace:" + path
	}
	for _, args := range []string{
		"run --size 100:1e308,200:1e308", "run --size 100:NaN", "run --size 7", "run --size 1000001", "run --batch 1000000", "run --batch 901 --size 1000",
		"run --arrival " + trace("0\n9223372036\n"), "run --arrival " + trace("-9223372036\n9223372036\n"), "run --arrival " + trace("0h\n2562047h\n"),
		"sweep --over rate=NaN", "sweep --over rate=1000,1e308", "sweep --over partitions=4294967297", "sweep --over replication-factor=65537",
		"verify --producers 1000 -p 10000", "verify --size 27", "run --replication-factor 65537", "run --max-in-flight 2000000000",
	} {
		var errs bytes.Buffer
		code := (&app{stdin: strings.NewReader(""), stdout: io.Discard, stderr: &errs}).run(t.Context(), append([]string{"bench"}, strings.Fields(args)...))
		if code != statusUsage || !strings.Contains(errs.String(), "from ") && !strings.Contains(errs.String(), " to ") {
			t.Errorf("bench %s: status %d: %s", args, code, errs.String())
		}
	}
}

// Files of OpenMessaging Benchmark have the same ranges, by their own names.
func TestBenchNumbersOfFiles(t *testing.T) {
	const workload = "topics: 1\npartitionsPerTopic: 1\nmessageSize: 100\nuseRandomizedPayloads: true\nrandomizedPayloadPoolSize: 1\nsubscriptionsPerTopic: 1\nproducersPerTopic: 1\nconsumerPerSubscription: 1\nproducerRate: 100\ntestDurationMinutes: 1\n"
	for line, flag := range map[string]string{
		"testDurationMinutes: 307445735": "workload", "testDurationMinutes: 0": "workload", "warmupDurationMinutes: 307445735": "workload", "partitionsPerTopic: 4294967297": "workload",
		"topics: 1025": "workload", "producerRate: 9223372036854775807": "workload", "consumerBacklogSizeGB: 4294967296": "workload", "backlogDrainRatio: .nan": "workload",
		"producersPerTopic: -1": "workload", "replicationFactor: 65537": "driver",
	} {
		field, _, _ := strings.Cut(line, ":")
		lines := slices.DeleteFunc(strings.SplitAfter(workload, "\n"), func(l string) bool { return strings.HasPrefix(l, field+":") })
		text := strings.Join(lines, "") + line + "\n"
		if flag == "driver" {
			text = line + "\n"
		}
		path := filepath.Join(t.TempDir(), "file.yaml")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		var errs bytes.Buffer
		code := (&app{stdin: strings.NewReader(""), stdout: io.Discard, stderr: &errs}).run(t.Context(), []string{"bench", "run", "--" + flag, path})
		if code != statusUsage || !strings.Contains(errs.String(), field+": ") || !strings.Contains(errs.String(), ": from ") {
			t.Errorf("%s: status %d: %s", line, code, errs.String())
		}
	}
}
