package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/ringmill/ringmill/bench"
	"github.com/ringmill/ringmill/tests/harness"
)

// bench verify goes on while one node after another is killed, with transactions and without, and finds nothing wrong; and finds what is lost when
// records are taken away under it.
func TestBenchVerify(t *testing.T) {
	c := harness.StartCluster(t, 3, map[string]string{"min.insync.replicas": "2"})
	for _, transactions := range []int{0, 50} {
		t.Run(fmt.Sprintf("transactions of %d", transactions), func(t *testing.T) {
			told := startVerify(t, c, "--transactions", fmt.Sprint(transactions), "--duration", "12s")
			awaitBenchTopic(t, c)
			killed := 0
			for _, node := range c.Nodes {
				if time.Sleep(time.Second); len(benchTopics(t, c)) == 0 { // on a slow machine it is through before all are killed
					break
				}
				node.Kill(t)
				node.Restart(t)
				killed++
			}
			if killed == 0 {
				t.Error("it was through before a node was killed")
			}
			status, v, said := told()
			if status != 0 || !v.Right() || v.Acknowledged < 1000 || v.Stored < v.Acknowledged || (transactions > 0) != (v.Aborted > 0) {
				t.Errorf("status %d, %+v: %s", status, v, said)
			}
		})
	}
	t.Run("records deleted", func(t *testing.T) {
		told := startVerify(t, c, "--duration", "5s")
		topic := awaitBenchTopic(t, c)
		var gone int64
		harness.Await(t, "records are gone", func() bool {
			answer := harness.Asked(t, c.Nodes[0], "records are deleted", func(ctx context.Context, admin *kadm.Client) (kadm.DeleteRecordsResponses, error) {
				return admin.DeleteRecords(ctx, kadm.Offsets{topic: {0: {Topic: topic, Partition: 0, At: -1}}})
			})
			gone = answer[topic][0].LowWatermark
			return gone > 0
		})
		status, v, said := told()
		if status != 1 || v.Lost != gone || v.Doubled+v.Reordered+v.Corrupt != 0 || len(v.Faults) == 0 || v.Faults[0].Kind != bench.FaultLost {
			t.Errorf("%d deleted: status %d, %+v: %s", gone, status, v, said)
		}
	})
}

// startVerify runs bench verify; told waits for its end, which leaves no topic.
func startVerify(t *testing.T, c *harness.Cluster, args ...string) (told func() (status int, v bench.Verdict, said string)) {
	t.Helper()
	var out, errs strings.Builder
	cmd := exec.Command(harness.Binary(t), append([]string{"bench", "verify", "-o", "json", "--timeout", "2m", "--rate", "500", "--replication-factor", "3",
		"-b", strings.Join(c.Addresses(), ",")}, args...)...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	waited := false
	t.Cleanup(func() {
		if !waited {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})
	return func() (status int, v bench.Verdict, said string) {
		waited = true
		_ = cmd.Wait() // the status tells
		awaitNoBenchTopic(t, c)
		if err := json.Unmarshal([]byte(out.String()), &v); err != nil {
			t.Fatalf("%v: %s%s", err, out.String(), errs.String())
		}
		return cmd.ProcessState.ExitCode(), v, errs.String()
	}
}

func benchTopics(t *testing.T, c *harness.Cluster) (topics []string) {
	t.Helper()
	listed := harness.Asked(t, c.Nodes[0], "topics are listed", func(ctx context.Context, admin *kadm.Client) (kadm.TopicDetails, error) { return admin.ListTopics(ctx) })
	for _, name := range listed.Names() {
		if strings.HasPrefix(name, "ringmill-bench-") {
			topics = append(topics, name)
		}
	}
	return topics
}

// awaitNoBenchTopic waits until a node has heard that what a run made is deleted.
func awaitNoBenchTopic(t *testing.T, c *harness.Cluster) {
	t.Helper()
	harness.Eventually(t, "nothing is left behind", func(context.Context) error {
		if topics := benchTopics(t, c); len(topics) > 0 {
			return fmt.Errorf("%v", topics)
		}
		return nil
	})
}

func awaitBenchTopic(t *testing.T, c *harness.Cluster) string {
	t.Helper()
	var topics []string
	harness.Await(t, "the topic is made", func() bool {
		topics = benchTopics(t, c)
		return len(topics) > 0
	})
	return topics[0]
}
