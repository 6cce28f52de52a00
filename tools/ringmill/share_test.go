package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestShareGroupOfOwnNode(t *testing.T) { describeShareGroup(t, startNode(t).address) }

func TestShareGroupOfAnotherNode(t *testing.T) {
	address := os.Getenv(foreignNode)
	if address == "" {
		t.Skipf("%s names no node", foreignNode)
	}
	describeShareGroup(t, address)
}

// describeShareGroup: a share group is listed as one, and shown with who reads which partition; nothing of it is done with.
func describeShareGroup(t *testing.T, address string) {
	name := fmt.Sprintf("cli-%08x", rand.Uint32())
	if code, said := status(t, "topic", "create", name, "-p", "1", "-b", address); code != statusOK {
		t.Fatal(said)
	}
	t.Cleanup(func() { status(t, "topic", "delete", name, "-b", address) })
	for _, member := range []string{"m1", "m2"} {
		joinShareGroup(t, address, name, member)
	}
	var listed []listedGroup
	result(t, &listed, "group", "list", "-b", address)
	if !slices.ContainsFunc(listed, func(g listedGroup) bool { return g.Group == name && g.Type == "share" && g.State == "Stable" }) {
		t.Errorf("%+v", listed)
	}
	var groups []describedGroup
	result(t, &groups, "group", "describe", name, "-b", address)
	if g := groups[0]; g.Type != "share" || g.Assignor != "simple" || len(g.Members) != 2 || len(g.Partitions) != 1 {
		t.Fatalf("%+v", groups)
	}
	if p := groups[0].Partitions[0]; p.Topic != name || p.CommittedOffset != -1 || p.Lag != -1 || !slices.Equal(p.MemberIDs, []string{"m1", "m2"}) {
		t.Errorf("%+v", p)
	}
}

// What can be done about a share group's offsets. Apache Kafka 4.1.1 answers that it moved none and moves none, so that this is for
// the own node alone.
func TestShareGroupOffsets(t *testing.T) {
	address := startNode(t).address
	testscript.Run(t, testscript.Params{
		Dir: "testdata/share",
		Setup: func(env *testscript.Env) error {
			env.Setenv(bootstrapVariable, address)
			env.Setenv("NAME", fmt.Sprintf("cli-%08x", rand.Uint32()))
			return nil
		},
		Cmds: shareMember(t, address),
	})
}

// shareMember gives scripts `join GROUP`, after which a member reads the topic of that name, and `leave`, with which it goes.
func shareMember(t *testing.T, address string) map[string]func(*testscript.TestScript, bool, []string) {
	var leave func()
	return map[string]func(*testscript.TestScript, bool, []string){
		"join": func(_ *testscript.TestScript, _ bool, args []string) {
			leave = joinShareGroup(t, address, args[0], "m1")
		},
		"leave": func(*testscript.TestScript, bool, []string) { leave() },
	}
}

// joinShareGroup has a member join and wait for the partition. The caller may have it leave.
func joinShareGroup(t *testing.T, address, name, id string) (leave func()) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(address))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	req := kmsg.NewPtrShareGroupHeartbeatRequest()
	req.GroupID, req.MemberID, req.SubscribedTopicNames = name, id, []string{name}
	find := kmsg.NewPtrFindCoordinatorRequest() // which has the coordinators made
	find.CoordinatorKey, find.CoordinatorKeys = name, []string{name}
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if _, err := find.RequestWith(t.Context(), client); err != nil {
			t.Fatal(err)
		}
		answer, err := req.RequestWith(t.Context(), client)
		if err != nil {
			t.Fatal(err)
		}
		if answer.ErrorCode != 0 {
			continue // there is no coordinator yet
		}
		if req.MemberEpoch = answer.MemberEpoch; answer.Assignment != nil && len(answer.Assignment.TopicPartitions) > 0 {
			return func() { leaveShareGroup(t, client, name, id) }
		}
	}
	t.Fatalf("%s has no partitions after a minute", id)
	return nil
}

func leaveShareGroup(t *testing.T, client *kgo.Client, name, id string) {
	t.Helper()
	req := kmsg.NewPtrShareGroupHeartbeatRequest()
	req.GroupID, req.MemberID, req.MemberEpoch = name, id, -1
	answer, err := req.RequestWith(t.Context(), client)
	if err == nil {
		err = kerr.ErrorForCode(answer.ErrorCode)
	}
	if err != nil {
		t.Fatal(err)
	}
}
