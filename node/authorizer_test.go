package node

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/acl"
	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/node/api"
	"github.com/ringmill/ringmill/wire"
)

// allowance is an ACL that lets a principal do something with a topic, or with the cluster.
func allowance(id byte, principal string, op image.ACLOperation, topic string) image.AccessControlEntryRecord {
	a := image.ACL{ResourceType: image.ACLResourceTopic, ResourceName: topic, PatternType: image.ACLPatternLiteral, Principal: principal, Host: "*",
		Operation: op, Permission: image.ACLAllow}
	if topic == image.ACLClusterName {
		a.ResourceType = image.ACLResourceCluster
	}
	return image.AccessControlEntryRecord{ID: wire.UUID{id}, ACL: a}
}

// restricted is a node with an authorizer and no metadata, and a connection to it.
func restricted(rules acl.Rules) (*Node, *Conn) {
	n := &Node{log: newThrottledLog(slog.New(slog.DiscardHandler)), started: time.Now()}
	n.authorizers.rules = rules
	n.authorizers.present.Store(acl.Rules{SuperUsers: rules.SuperUsers}.Authorizer(nil))
	n.image.Store(new(image.Image))
	c := &Conn{loop: &Loop{node: n}}
	c.client.User, c.client.Host = "alice", "10.0.0.1"
	return n, c
}

func withRecords(t testing.TB, m *image.Image, records ...image.Record) *image.Image {
	t.Helper()
	next, err := m.With(records...)
	if err != nil {
		t.Fatal(err)
	}
	return next
}

// TestGrantsFollowTheACLs: what a connection was granted counts until the ACLs or its client are others, and no longer.
func TestGrantsFollowTheACLs(t *testing.T) {
	n, c := restricted(acl.Rules{})
	read := func(name string) bool { return c.mayReadTopic([]byte(name), &topic{name: name}) }
	if read("t") {
		t.Error("read before there is any ACL")
	}
	one := withRecords(t, n.Image(), allowance(1, "User:alice", image.ACLOperationRead, "t"))
	n.publish(one)
	for range 2 { // decided, then remembered
		if !read("t") || read("u") || c.mayWriteTopic([]byte("t"), &topic{name: "t"}) {
			t.Error("one topic may be read")
		}
	}
	if !c.mayReadTopic([]byte("t"), nil) || c.mayReadTopic([]byte("u"), nil) || len(c.grants.topics) != 2 {
		t.Errorf("topics that are not there: %d decisions are kept, want those of the two that are", len(c.grants.topics))
	}
	before := n.Authorizer()
	n.publish(withRecords(t, one, image.TopicRecord{Name: "t", ID: wire.TopicID{1}, Partitions: 1}))
	if n.Authorizer() != before {
		t.Error("a change of other metadata has made another index")
	}
	if c.client.User = "bob"; read("t") {
		t.Error("another user has the grants of the one before")
	}
	if c.client.User = "alice"; !read("t") {
		t.Error("the first user may not read")
	}
	n.publish(withRecords(t, one, image.RemoveAccessControlEntryRecord{ID: wire.UUID{1}}))
	if read("t") {
		t.Error("read without the ACL")
	}
}

// TestNothingIsEverybodysBeforeThereIsMetadata: allow.everyone.if.no.acl.found says nothing of ACLs that are not known yet.
func TestNothingIsEverybodysBeforeThereIsMetadata(t *testing.T) {
	n, c := restricted(acl.Rules{AllowEveryone: true, SuperUsers: []string{"User:root"}})
	if c.mayReadTopic([]byte("t"), nil) {
		t.Error("read before the metadata")
	}
	n.publish(withRecords(t, new(image.Image), image.ClusterRecord{ClusterID: "c", NodeID: 1}))
	if !c.mayReadTopic([]byte("t"), nil) {
		t.Error("not read without any ACL")
	}
}

// TestWhoMayActForTheCluster: what nodes ask each other needs CLUSTER_ACTION.
func TestWhoMayActForTheCluster(t *testing.T) {
	n, c := restricted(acl.Rules{SuperUsers: []string{"User:root"}})
	n.publish(withRecords(t, n.Image(), allowance(1, "User:node", image.ACLOperationClusterAction, image.ACLClusterName),
		allowance(2, "User:alice", image.ACLOperationAlter, image.ACLClusterName)))
	for user, want := range map[string]bool{"root": true, "node": true, "alice": false, api.AnonymousUser: false} {
		if c.client.User = user; c.mayActForCluster() != want {
			t.Errorf("%s may act for the cluster: %v", user, !want)
		}
	}
}

// TestForwardedRequestsAreTheirClients: the controller judges for whom a request came, not for the node that forwards it.
func TestForwardedRequestsAreTheirClients(t *testing.T) {
	n, _ := restricted(acl.Rules{SuperUsers: []string{"User:" + api.AnonymousUser}})
	n.quit = make(chan struct{})
	m := withRecords(t, n.Image(), allowance(1, "User:alice", image.ACLOperationAlter, "t"))
	n.publish(m)
	c := &cluster{node: n, quorum: &quorumService{}, follower: newFollower(n)}
	c.quorum.view.Store(&quorumView{here: true})
	c.quorum.controller.confirmed.Store(1) // it is the controller, and need not ask the others
	c.follower.publish(m)
	c.follower.published(m.Version())
	req := kmsg.NewPtrCreatePartitionsRequest()
	req.Version, req.Topics = 3, []kmsg.CreatePartitionsRequestTopic{{Topic: "t", Count: 2}}
	for user, want := range map[string]wire.ErrorCode{
		"alice": wire.UnknownTopicOrPartition, "mallory": wire.TopicAuthorizationFailed, api.AnonymousUser: wire.UnknownTopicOrPartition,
	} {
		f := forwardRequest{client: api.Client{User: user, Host: "10.0.0.1"}, header: wire.RequestHeader{Key: wire.KeyCreatePartitions, Version: 3}, body: req.AppendTo(nil)}
		a := c.forwarded(f.appendTo(nil))
		resp := kmsg.NewPtrCreatePartitionsResponse()
		resp.Version = 3
		if err := resp.ReadFrom(a.body); err != nil || len(resp.Topics) != 1 || resp.Topics[0].ErrorCode != int16(want) {
			t.Errorf("%s: %+v, %v, want %v", user, resp.Topics, err, want)
		}
	}
}

// TestRefusalsAreLogged: an operator reads who was refused what; of many, how many there were besides.
func TestRefusalsAreLogged(t *testing.T) {
	n, c := restricted(acl.Rules{})
	var lines bytes.Buffer
	n.log = newThrottledLog(slog.New(slog.NewTextHandler(&lines, nil)))
	c.client.ID = strings.Repeat("x", 1000)
	for range 2 { // what is remembered was told
		c.mayReadTopic([]byte("t"), &topic{name: "t"})
	}
	c.mayWriteTopic([]byte("unknown"), nil)
	n.mayReadTopic(c.client, "shared")
	got := strings.Split(strings.TrimSpace(lines.String()), "\n")
	for i, want := range []string{"operation=READ resource=TOPIC name=t api=Fetch", "operation=WRITE resource=TOPIC name=unknown api=Produce", "operation=READ resource=TOPIC name=shared api=ShareFetch"} {
		if len(got) != 3 || !strings.Contains(got[i], `level=INFO msg="refused by the authorizer" principal=User:alice host=10.0.0.1 `+want) || len(got[i]) > 600 {
			t.Errorf("line %d of %q, want %s", i, got, want)
		}
	}
	const flood = 1000
	for range flood {
		c.mayWriteTopic([]byte("unknown"), nil)
	}
	n.authorizers.quiet.Store(false)
	n.log.kinds["refused by the authorizer"].since = time.Now().Add(-2 * throttleInterval)
	lines.Reset()
	c.mayWriteTopic([]byte("unknown"), nil)
	if told := fmt.Sprint("leftOut=", flood-(throttleBurst-3)); !strings.Contains(lines.String(), told) {
		t.Errorf("after a flood: %s, want %s", lines.String(), told)
	}
}

// BenchmarkGrant is what an authorizer costs a partition of a Produce or Fetch: a topic that the connection has asked for before.
func BenchmarkGrant(b *testing.B) {
	for _, topics := range []int{1, 100, 900} {
		b.Run(fmt.Sprintf("topics=%d", topics), func(b *testing.B) {
			n, c := restricted(acl.Rules{})
			names := make([]*topic, topics)
			var records []image.Record
			for i := range names {
				names[i] = &topic{name: fmt.Sprintf("topic-%06d", i)}
				records = append(records, image.AccessControlEntryRecord{ID: wire.UUID{1, byte(i), byte(i >> 8)}, ACL: allowance(1, "User:alice", image.ACLOperationRead, names[i].name).ACL})
			}
			n.publish(withRecords(b, n.Image(), records...))
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if !c.mayReadTopic(nil, names[i%topics]) {
					b.Fatal("denied")
				}
			}
		})
	}
	for name, known := range map[string]*topic{"refused": {name: "topic-000001"}, "refused, no topic": nil} {
		b.Run(name, func(b *testing.B) {
			n, c := restricted(acl.Rules{})
			n.publish(withRecords(b, n.Image(), allowance(1, "User:bob", image.ACLOperationRead, "topic-000001")))
			asked := []byte("topic-000001")
			b.ReportAllocs()
			for b.Loop() {
				if c.mayReadTopic(asked, known) {
					b.Fatal("allowed")
				}
			}
		})
	}
	b.Run("no authorizer", func(b *testing.B) {
		c, t := &Conn{loop: &Loop{node: &Node{}}}, &topic{name: "topic-000001"}
		b.ReportAllocs()
		for b.Loop() {
			if !c.mayReadTopic(nil, t) {
				b.Fatal("denied")
			}
		}
	})
}
