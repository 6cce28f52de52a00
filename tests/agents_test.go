package tests

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"text/template"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ringmill/ringmill/tests/harness"
)

// agent is a log agent with a Kafka output: it tails a file and listens for syslog lines on TCP.
type agent struct {
	name  string
	start func(t *testing.T, config string) (stop func())
	// config is its configuration file; .Broker, .Topic, .Dir and .Port are filled in.
	config string
}

var agents = []agent{
	{name: "rsyslog", start: startRsyslog, config: `
global(workDirectory="{{.Dir}}")
module(load="imtcp")
module(load="imfile")
module(load="omkafka")
input(type="imtcp" address="127.0.0.1" port="{{.Port}}" ruleset="tokafka")
input(type="imfile" file="{{.Dir}}/app.log" tag="app" ruleset="tokafka" freshStartTail="off")
template(name="json" type="list" option.jsonf="on") {
  property(outname="@timestamp" name="timereported" dateFormat="rfc3339" format="jsonf")
  property(outname="tag"        name="syslogtag"    format="jsonf")
  property(outname="MESSAGE"    name="msg"          format="jsonf")
}
ruleset(name="tokafka" queue.type="LinkedList" queue.size="100000" queue.dequeueBatchSize="4096") {
  action(type="omkafka" broker=["{{.Broker}}"] topic="{{.Topic}}" template="json" key="ringmill" partitions.auto="on"
    confParam=["compression.codec=lz4", "linger.ms=20", "acks=all", "enable.idempotence=true",
               "queue.buffering.max.messages=400000"]
    topicConfParam=["message.timeout.ms=120000"]
    resubmitOnFailure="on" keepFailedMessages="on" failedMsgFile="{{.Dir}}/failed.data" action.resumeRetryCount="-1")
}
`},
	{name: "syslog-ng", start: startSyslogNG, config: `@version: 3.38
options { stats-freq(0); };
source s_net  { network(transport("tcp") ip("127.0.0.1") port({{.Port}})); };
source s_file { file("{{.Dir}}/app.log" flags(no-parse) program-override("app") follow-freq(0.1)); };
destination d_kafka {
  kafka-c(
    bootstrap-servers("{{.Broker}}") topic("{{.Topic}}") key("ringmill")
    message("$(format-json --scope rfc5424 --exclude DATE @timestamp=${ISODATE})\n")
    sync-send(no) batch-lines(500) log-fifo-size(100000)
    config("compression.codec"("lz4") "linger.ms"("20") "acks"("all") "enable.idempotence"("true") "message.timeout.ms"("120000"))
  );
};
log { source(s_net); source(s_file); destination(d_kafka); };
`},
}

func startRsyslog(t *testing.T, config string) func() {
	t.Helper()
	harness.Apt(t, "/usr/sbin/rsyslogd", "rsyslog")
	harness.Apt(t, "/usr/lib/x86_64-linux-gnu/rsyslog/omkafka.so", "rsyslog-kafka")
	return harness.Daemon(t, nil, "/usr/sbin/rsyslogd", "-n", "-f", config, "-i", filepath.Join(filepath.Dir(config), "pid"))
}

// startSyslogNG runs it unpacked: as packages, syslog-ng and rsyslog exclude each other.
func startSyslogNG(t *testing.T, config string) func() {
	t.Helper()
	root := harness.Unpacked(t, "syslog-ng", "syslog-ng-core", "syslog-ng-mod-rdkafka",
		"libivykis0", "libnet1", "libwrap0", "libpcre3", "librdkafka1")
	dir, lib := filepath.Dir(config), filepath.Join(root, "usr", "lib")
	libraries := strings.Join([]string{filepath.Join(lib, "x86_64-linux-gnu"), filepath.Join(lib, "syslog-ng"),
		filepath.Join(root, "lib", "x86_64-linux-gnu")}, ":")
	return harness.Daemon(t, []string{"LD_LIBRARY_PATH=" + libraries},
		filepath.Join(root, "usr", "sbin", "syslog-ng"), "-F", "--no-caps", "-f", config,
		"--module-path="+filepath.Join(lib, "syslog-ng", "3.38"),
		"-R", filepath.Join(dir, "persist"), "-p", filepath.Join(dir, "pid"), "-c", filepath.Join(dir, "ctl"))
}

// TestAgents sends real log lines by file and by TCP through an agent, ends the node by kill -9 half-way, starts it again,
// and reads everything in two groups: complete, in order, and nothing twice.
func TestAgents(t *testing.T) {
	for _, agent := range agents {
		t.Run(agent.name, func(t *testing.T) {
			t.Parallel()
			node := harness.Start(t, harness.Options{})
			dir, port, topic := t.TempDir(), harness.FreePort(t), harness.Name(agent.name)
			config := filepath.Join(dir, "agent.conf")
			values := map[string]any{"Broker": node.Address, "Topic": topic, "Dir": dir, "Port": port}
			var text bytes.Buffer
			if err := template.Must(template.New("").Parse(agent.config)).Execute(&text, values); err != nil {
				t.Fatal(err)
			}
			write(t, config, text.String())
			write(t, filepath.Join(dir, "app.log"), "")
			agent.start(t, config)
			syslog := dialAgent(t, port) // one connection: an agent reads several in any order

			const half = 1000
			lines(t, dir, syslog, 0, half)
			first := node.Consume(t, topic, half) // some of them have arrived and are acknowledged
			if len(first) < half {
				t.Fatalf("%d lines before the kill", len(first))
			}
			lines(t, dir, syslog, half, half+half/2)
			node.Kill(t)
			lines(t, dir, syslog, half+half/2, 2*half)
			node.Restart(t)
			for _, group := range []string{"first", "second"} {
				client := node.Client(t, kgo.ConsumerGroup(agent.name+group), kgo.ConsumeTopics(topic),
					kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
				wantLines(t, harness.Poll(t, client, 4*half), 2*half)
				client.Close()
			}
		})
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// lines writes the numbers from up to below to into the tailed file and, as syslog lines, into the TCP input.
func lines(t *testing.T, dir string, syslog net.Conn, from, to int) {
	t.Helper()
	file, err := os.OpenFile(filepath.Join(dir, "app.log"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for i := from; i < to; i++ {
		fmt.Fprintf(file, "file line %d\n", i)
		fmt.Fprintf(syslog, "<13>%s host app[7]: tcp line %d\n", time.Now().Format(time.Stamp), i)
	}
}

func dialAgent(t *testing.T, port int) net.Conn {
	t.Helper()
	var conn net.Conn
	harness.Eventually(t, "the agent listens", func(context.Context) (err error) { // it may have just been started
		conn, err = net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		return err
	})
	t.Cleanup(func() { conn.Close() })
	return conn
}

// wantLines checks that each source's lines 0 to count-1 are there in order.
func wantLines(t *testing.T, records []*kgo.Record, count int) {
	t.Helper()
	next := map[string]int{"file": 0, "tcp": 0}
	for _, r := range records {
		var line struct{ MESSAGE string }
		if err := json.Unmarshal(bytes.TrimSpace(r.Value), &line); err != nil {
			t.Fatalf("offset %d: %v in %q", r.Offset, err, r.Value)
		}
		var source string
		var n int
		if _, err := fmt.Sscanf(strings.TrimSpace(line.MESSAGE), "%s line %d", &source, &n); err != nil {
			t.Fatalf("offset %d: %v in %q", r.Offset, err, line.MESSAGE)
		}
		if n != next[source] {
			t.Fatalf("offset %d: %s line %d, want line %d", r.Offset, source, n, next[source])
		}
		next[source]++
	}
	for source, n := range next {
		if n != count {
			t.Errorf("%d %s lines, want %d", n, source, count)
		}
	}
}
