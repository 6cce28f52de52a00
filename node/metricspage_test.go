package node

import (
	"bytes"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/ringmill/ringmill/wire"
)

// docs/metrics.md names every metric of the node, and none that there is not.
func TestMetricsPage(t *testing.T) {
	page, err := os.ReadFile("../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	tn := startNode(t, nodeOptions{})
	var exposed bytes.Buffer
	tn.metrics.write(&exposed)
	name := regexp.MustCompile(`ringmill_[a-z_]+[a-z]`)
	there := make(map[string]bool)
	for _, line := range strings.Split(exposed.String(), "\n") {
		if family, ok := strings.CutPrefix(line, "# TYPE "); ok {
			there[name.FindString(family)] = true
		}
	}
	documented := make(map[string]bool)
	for _, n := range name.FindAllString(string(page), -1) {
		documented[n] = true
		if !there[n] {
			t.Errorf("docs/metrics.md names %s, which is not exposed", n)
		}
	}
	for n := range there {
		if n != "" && !documented[n] {
			t.Errorf("%s is not in docs/metrics.md", n)
		}
	}
}

// metric is a figure as /metrics shows it, by its name and labels.
func (tn *testNode) metric(name string) float64 {
	tn.t.Helper()
	var exposed bytes.Buffer
	tn.metrics.write(&exposed)
	for _, line := range strings.Split(exposed.String(), "\n") {
		if text, ok := strings.CutPrefix(line, name+" "); ok {
			v, err := strconv.ParseFloat(text, 64)
			if err != nil {
				tn.t.Fatal(err)
			}
			return v
		}
	}
	tn.t.Fatalf("%s is not exposed", name)
	return 0
}

// awaitMetrics waits until the figures are these.
func (tn *testNode) awaitMetrics(want map[string]float64) {
	tn.t.Helper()
	for name, v := range want {
		await(tn.t, name, func() bool { return tn.metric(name) == v })
	}
}

func TestTransactionsOpenMetric(t *testing.T) {
	tn := startNode(t, nodeOptions{})
	tn.createTopic("a", 1)
	one, two := tn.txnClient("one", true), tn.txnClient("two", true)
	one.send("a", 0, "1")
	two.send("a", 0, "2")
	tn.awaitMetrics(map[string]float64{"ringmill_transactions_open": 2})
	one.end(true)
	tn.awaitMetrics(map[string]float64{"ringmill_transactions_open": 1})
	tn.kill()
	tn = tn.restart()
	tn.awaitMetrics(map[string]float64{"ringmill_transactions_open": 1})
}

func TestShareMetrics(t *testing.T) {
	tn := startNode(t, nodeOptions{set: []string{"share.coordinator.state.topic.num.partitions=2"}})
	id := tn.shareTopic("t")
	tn.dial().mustProduce("t", 0, batch("a", "b", "c"))
	r := tn.shareReader(id, 1)
	r.want("0-2/1", "a b c")
	tn.awaitMetrics(map[string]float64{"ringmill_share_partitions": 1, "ringmill_share_records_in_flight": 3, "ringmill_share_sessions": 1})
	if got := r.acknowledge("0-1:1"); got != "NONE" {
		t.Fatal(got)
	}
	tn.awaitMetrics(map[string]float64{"ringmill_share_records_in_flight": 1})
	r.conn.Close()
	tn.awaitMetrics(map[string]float64{"ringmill_share_sessions": 0})
}

func TestLogMoveMetrics(t *testing.T) {
	const underWay, moved, cancelled = "ringmill_log_moves", `ringmill_log_moves_ended_total{outcome="moved"}`, `ringmill_log_moves_ended_total{outcome="cancelled"}`
	tn := twoDirNode(t, nodeOptions{})
	tn.createTopic("a", 1)
	c := tn.dial()
	for range 3 {
		c.mustProduce("a", 0, batch(strings.Repeat("x", 700<<10)))
	}
	from := tn.partition("a", 0).dir()
	tn.move("a", 0, tn.other(from))
	tn.awaitMetrics(map[string]float64{underWay: 0, moved: 1, cancelled: 0})
	tn.slowMoves("1")
	tn.MoveLog(wire.TopicPartition{Topic: "a"}, from.path)
	tn.awaitMetrics(map[string]float64{underWay: 1})
	tn.MoveLog(wire.TopicPartition{Topic: "a"}, tn.other(from).path)
	tn.awaitMetrics(map[string]float64{underWay: 0, moved: 1, cancelled: 1})
}
