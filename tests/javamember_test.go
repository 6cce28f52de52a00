package tests

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/ringmill/ringmill/tests/harness"
)

// javaMember is Apache Kafka's VerifiableConsumer: it tells of each assignment, record and commit by a line of JSON.
type javaMember struct{ *harness.Program }

// startMember lets a member join; extra are options like --group-instance-id.
func startMember(t *testing.T, node *harness.Node, topic, group, protocol string, extra ...string) javaMember {
	t.Helper()
	args := append([]string{"--bootstrap-server", node.Address, "--topic", topic, "--group-id", group,
		"--group-protocol", protocol, "--reset-policy", "earliest", "--verbose"}, extra...)
	return javaMember{harness.StartProgram(t, harness.Java(t, javaTools+"VerifiableConsumer", args...)...)}
}

// memberEvent is one line; Partition and Value are of "record_data", the record that was read.
type memberEvent struct {
	Name       string
	Partition  int32
	Value      string
	Partitions []struct{ Partition int32 }
	Success    bool
}

func (m javaMember) events() (events []memberEvent) {
	for line := range strings.Lines(m.Log()) {
		var event memberEvent
		if strings.HasSuffix(line, "\n") && json.Unmarshal([]byte(line), &event) == nil {
			events = append(events, event)
		}
	}
	return events
}

// assigned are the partitions that the member has now, in order.
func (m javaMember) assigned() []int32 {
	has := map[int32]bool{}
	for _, event := range m.events() {
		for _, p := range event.Partitions {
			switch event.Name {
			case "partitions_assigned":
				has[p.Partition] = true
			case "partitions_revoked":
				delete(has, p.Partition)
			}
		}
	}
	return slices.Sorted(maps.Keys(has))
}

// count is how many events of a name there were.
func (m javaMember) count(name string) (count int) {
	for _, event := range m.events() {
		if event.Name == name {
			count++
		}
	}
	return count
}

// read are the values of the records that the member was given.
func (m javaMember) read() (values []string) {
	for _, event := range m.events() {
		if event.Name == "record_data" {
			values = append(values, event.Value)
		}
	}
	return values
}
