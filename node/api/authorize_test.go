package api

import (
	"reflect"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/acl"
	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/wire"
)

// fill gives every list of a request one element and every text a letter, and says yes to everything.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; name != "Version" && name != "UnknownTags" {
				fill(v.Field(i))
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() != reflect.Uint8 {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			fill(v.Index(0))
		}
	case reflect.Pointer:
		if v.Type().Elem().Kind() == reflect.String {
			v.Set(reflect.New(v.Type().Elem()))
			fill(v.Elem())
		}
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	}
}

// refusals counts the answers of authorization in a response.
func refusals(v reflect.Value) (n int) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Field(i); v.Type().Field(i).Name == "ErrorCode" {
				switch wire.ErrorCode(f.Int()) {
				case wire.TopicAuthorizationFailed, wire.GroupAuthorizationFailed, wire.ClusterAuthorizationFailed, wire.TransactionalIDAuthorizationFailed:
					n++
				}
			} else {
				n += refusals(f)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			n += refusals(v.Index(i))
		}
	}
	return n
}

// TestEveryKeyAsksTheAuthorizer: whoever may do nothing is refused by every key that a handler answers, but those that leave out what
// the client may not know of.
func TestEveryKeyAsksTheAuthorizer(t *testing.T) {
	// There is no transaction to ask about; tests/protocol has them.
	asksLater := map[wire.APIKey]bool{wire.KeyListTransactions: true}
	leavesOut := map[wire.APIKey]bool{wire.KeyListGroups: true, wire.KeyListTransactions: true, wire.KeyDescribeCluster: true}
	open := map[wire.APIKey]bool{wire.KeyApiVersions: true}
	for i := range rows {
		row := &rows[i]
		if row.handle == nil || open[row.key] { // Produce and Fetch: node's tests
			continue
		}
		for _, version := range []wire.APIVersion{row.min, row.max} {
			b := newFakeBroker(t)
			b.authorizer = acl.Rules{}.Authorizer(nil)
			b.clustered = row.hidden || row.clustered
			req := kmsg.RequestForKey(int16(row.key))
			fill(reflect.ValueOf(req).Elem())
			req.SetVersion(int16(version))
			r := &Request{Header: wire.RequestHeader{Key: row.key, Version: version}, Body: req.AppendTo(nil), Client: Client{User: AnonymousUser, Host: "10.0.0.1"}}
			body, err := Answer(nil, b, r)
			resp := req.ResponseKind()
			resp.SetVersion(int16(version))
			if err == nil {
				err = resp.ReadFrom(body)
			}
			switch {
			case err != nil:
				t.Errorf("%s %d: %v", row.key, version, err)
			case b.authorizations == 0 && !asksLater[row.key]:
				t.Errorf("%s %d does not ask the authorizer", row.key, version)
			case !leavesOut[row.key] && !tellsOfNothing(row.key, version) && refusals(reflect.ValueOf(resp).Elem()) == 0:
				t.Errorf("%s %d is not refused: %+v", row.key, version, resp)
			case (refusals(reflect.ValueOf(resp).Elem()) > 0) != (len(b.denied) > 0) && !tellsOfNothing(row.key, version):
				t.Errorf("%s %d: the operator is told of %q, the client %+v", row.key, version, b.denied, resp)
			}
		}
	}
}

// tellsOfNothing: the answers of old versions have no room for the code, and hold nothing instead.
func tellsOfNothing(k wire.APIKey, v wire.APIVersion) bool {
	return k == wire.KeyDescribeLogDirs && v < 3
}

// TestNodesNeedNoACL: what nodes ask for themselves came over a connection of which the principal may act for the cluster.
func TestNodesNeedNoACL(t *testing.T) {
	b := newFakeBroker(t)
	b.authorizer = acl.Rules{}.Authorizer(nil)
	node := Request{Client: Client{User: AnonymousUser, Host: "10.0.0.1", Node: true}}
	if !node.may(b, createTopicNeed, "t") {
		t.Error("a node may not make a topic")
	}
	node.Client.Node = false
	if node.may(b, createTopicNeed, "t") {
		t.Error("a client may make a topic")
	}
}

// TestWhatMayBeDoneIsTold: the bits are those of the ACLs.
func TestWhatMayBeDoneIsTold(t *testing.T) {
	b := newFakeBroker(t)
	b.authorizer = acl.Rules{}.Authorizer(map[wire.UUID]image.ACL{{1}: {
		ResourceType: image.ACLResourceTopic, ResourceName: "t", PatternType: image.ACLPatternLiteral, Principal: "User:alice", Host: "*",
		Operation: image.ACLOperationRead, Permission: image.ACLAllow,
	}})
	r := Request{Client: Client{User: "alice", Host: "10.0.0.1"}}
	if got := r.allowedOperations(b, image.ACLResourceTopic, "t", topicOperations); got != 1<<image.ACLOperationRead|1<<image.ACLOperationDescribe {
		t.Errorf("operations on the topic are %b", got)
	}
	if got := r.allowedInCluster(b); got != 0 {
		t.Errorf("operations on the cluster are %b", got)
	}
	b.authorizer = nil
	if got := r.allowedOperations(b, image.ACLResourceTopic, "t", topicOperations); got != topicOperations {
		t.Errorf("without an authorizer operations are %b", got)
	}
}
