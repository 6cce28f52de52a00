package tests

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/tests/harness"
)

// shareFromStart has a share group begin at the start of partitions.
func shareFromStart(t *testing.T, node *harness.Node, group string) {
	t.Helper()
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	earliest := "earliest"
	req.Resources = []kmsg.IncrementalAlterConfigsRequestResource{{
		ResourceType: kmsg.ConfigResourceTypeGroupConfig, ResourceName: group,
		Configs: []kmsg.IncrementalAlterConfigsRequestResourceConfig{{Name: "share.auto.offset.reset", Value: &earliest}},
	}}
	if res := harness.Ask[*kmsg.IncrementalAlterConfigsResponse](t, node, req); res.Resources[0].ErrorCode != 0 {
		t.Fatalf("configuration of group %s: %+v", group, res)
	}
}

// TestJavaConsoleShareConsumer: Kafka's console share consumer gets every record once, and a second one of the group none.
func TestJavaConsoleShareConsumer(t *testing.T) {
	t.Parallel()
	node := harness.Start(t, harness.Options{})
	topic, group := node.CreateTopic(t, "java-share", 3), harness.Name("java-share")
	shareFromStart(t, node, group)
	client := node.Client(t)
	var want []string
	for i := range 1000 {
		want = append(want, fmt.Sprint(i))
		client.Produce(context.Background(), &kgo.Record{Topic: topic, Value: []byte(want[i])}, func(_ *kgo.Record, err error) {
			if err != nil {
				t.Error(err)
			}
		})
	}
	if err := client.Flush(harness.Context(t)); err != nil {
		t.Fatal(err)
	}
	args := []string{"--bootstrap-server", node.Address, "--topic", topic, "--group", group}
	got := strings.Fields(java(t, javaTools+"consumer.ConsoleShareConsumer", append(args, "--max-messages", "1000", "--timeout-ms", "60000")...))
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%d records were read, %d different ones, want %d", len(got), len(slices.Compact(got)), len(want))
	}
	again, _, _ := harness.Command{Argv: harness.Java(t, javaTools+"consumer.ConsoleShareConsumer", append(args, "--timeout-ms", "3000")...)}.Try()
	if again != "" {
		t.Errorf("read again: %s", again)
	}
}

// shareOffset is a record's place.
type shareOffset struct {
	partition int
	offset    int64
}

// shareRun gathers what VerifiableShareConsumers say: the records that were delivered to some of them, and what went wrong.
type shareRun struct {
	mu        sync.Mutex
	delivered map[shareOffset]bool
	faults    []string
}

func (r *shareRun) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.delivered)
}

// consume runs one VerifiableShareConsumer until the test ends.
func (r *shareRun) consume(t *testing.T, node *harness.Node, topic, group string) {
	argv := harness.Java(t, javaTools+"VerifiableShareConsumer", "--bootstrap-server", node.Address, "--topic", topic, "--group-id", group,
		"--acknowledgement-mode", "sync")
	cmd := exec.Command(argv[0], argv[1:]...)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		mine := map[shareOffset]bool{}
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			r.heard(lines.Bytes(), mine)
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-done
		_ = cmd.Wait()
	})
}

// heard takes one line. mine are the records that this consumer has accepted, successfully: it must not get them again.
func (r *shareRun) heard(line []byte, mine map[shareOffset]bool) {
	var event struct {
		Name       string
		Success    bool
		Partitions []struct {
			Partition int
			Offsets   []int64
		}
	}
	if json.Unmarshal(line, &event) != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range event.Partitions {
		for _, off := range p.Offsets {
			at := shareOffset{p.Partition, off}
			switch {
			case event.Name == "records_consumed" && mine[at]:
				r.faults = append(r.faults, fmt.Sprintf("partition %d offset %d was delivered after its acceptance was reported", at.partition, at.offset))
			case event.Name == "records_consumed":
				r.delivered[at] = true
			case event.Name == "offsets_acknowledged" && event.Success:
				mine[at] = true
			}
		}
	}
}

// TestJavaShareConsumersOverKill: Kafka's own share consumers get every record and accept it, and get none again that they were
// told is accepted, while the node is killed three times. An acceptance whose answer a kill cut off counts all the same.
func TestJavaShareConsumersOverKill(t *testing.T) {
	t.Parallel()
	node := harness.Start(t, harness.Options{})
	topic, group := node.CreateTopic(t, "java-share-kill", 3), harness.Name("java-share-kill")
	shareFromStart(t, node, group)
	run := &shareRun{delivered: map[shareOffset]bool{}}
	run.consume(t, node, topic, group)
	run.consume(t, node, topic, group)
	client := node.Client(t, kgo.DefaultProduceTopic(topic), kgo.RecordPartitioner(kgo.RoundRobinPartitioner()))
	const rounds, each = 4, 300
	for round := range rounds {
		for i := range each {
			client.Produce(context.Background(), kgo.StringRecord(fmt.Sprintf("%d-%d", round, i)), func(_ *kgo.Record, err error) {
				if err != nil {
					t.Error(err)
				}
			})
		}
		if err := client.Flush(harness.Context(t)); err != nil {
			t.Fatal(err)
		}
		if round < rounds-1 {
			harness.Await(t, "records of this round", func() bool { return run.count() >= each*round+each/3 })
			node.Kill(t)
			node.Restart(t)
		}
	}
	harness.Await(t, "all records", func() bool { return run.count() == rounds*each })
	harness.Await(t, "all of them accepted", func() bool { return accepted(t, node, group) == rounds*each })
	run.mu.Lock()
	defer run.mu.Unlock()
	for _, fault := range run.faults {
		t.Error(fault)
	}
}

// accepted adds up where a group's share partitions start: every record before has been accepted, as none is rejected here.
func accepted(t *testing.T, node *harness.Node, group string) (records int64) {
	t.Helper()
	req := kmsg.NewPtrDescribeShareGroupOffsetsRequest()
	req.Groups = []kmsg.DescribeShareGroupOffsetsRequestGroup{{GroupID: group}}
	res := harness.Ask[*kmsg.DescribeShareGroupOffsetsResponse](t, node, req)
	if res.Groups[0].ErrorCode != 0 {
		t.Fatalf("offsets of group %s: %+v", group, res)
	}
	for _, topic := range res.Groups[0].Topics {
		for _, p := range topic.Partitions {
			records += max(p.StartOffset, 0)
		}
	}
	return records
}
