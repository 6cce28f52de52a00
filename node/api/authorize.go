package api

import (
	"reflect"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/acl"
	"github.com/ringmill/ringmill/control/group"
	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/wire"
)

// ACL is the client as ACLs are about it.
func (c *Client) ACL() acl.Client { return acl.Client{Principal: "User:" + c.User, Host: c.Host} }

// need is an operation on a kind of resource, as a request needs it.
type need struct {
	operation image.ACLOperation
	resource  image.ACLResourceType
}

var (
	readTopic            = need{image.ACLOperationRead, image.ACLResourceTopic}
	writeTopic           = need{image.ACLOperationWrite, image.ACLResourceTopic}
	createTopicNeed      = need{image.ACLOperationCreate, image.ACLResourceTopic}
	deleteTopicNeed      = need{image.ACLOperationDelete, image.ACLResourceTopic}
	alterTopic           = need{image.ACLOperationAlter, image.ACLResourceTopic}
	describeTopic        = need{image.ACLOperationDescribe, image.ACLResourceTopic}
	describeTopicConfigs = need{image.ACLOperationDescribeConfigs, image.ACLResourceTopic}
	alterTopicConfigs    = need{image.ACLOperationAlterConfigs, image.ACLResourceTopic}

	readGroup            = need{image.ACLOperationRead, image.ACLResourceGroup}
	deleteGroup          = need{image.ACLOperationDelete, image.ACLResourceGroup}
	describeGroup        = need{image.ACLOperationDescribe, image.ACLResourceGroup}
	describeGroupConfigs = need{image.ACLOperationDescribeConfigs, image.ACLResourceGroup}
	alterGroupConfigs    = need{image.ACLOperationAlterConfigs, image.ACLResourceGroup}

	writeTransaction    = need{image.ACLOperationWrite, image.ACLResourceTransactionalID}
	describeTransaction = need{image.ACLOperationDescribe, image.ACLResourceTransactionalID}

	createInCluster        = need{image.ACLOperationCreate, image.ACLResourceCluster}
	deleteInCluster        = need{image.ACLOperationDelete, image.ACLResourceCluster}
	alterCluster           = need{image.ACLOperationAlter, image.ACLResourceCluster}
	describeClusterNeed    = need{image.ACLOperationDescribe, image.ACLResourceCluster}
	actForCluster          = need{image.ACLOperationClusterAction, image.ACLResourceCluster}
	describeClusterConfigs = need{image.ACLOperationDescribeConfigs, image.ACLResourceCluster}
	alterClusterConfigs    = need{image.ACLOperationAlterConfigs, image.ACLResourceCluster}
	writeIdempotently      = need{image.ACLOperationIdempotentWrite, image.ACLResourceCluster}
)

// may is allows, where the client is refused otherwise, and told so: the operator is, too.
func (r *Request) may(b Broker, n need, name string) bool {
	allowed := r.allows(b, n, name)
	if !allowed {
		b.Denied(&r.Client, r.Header.Key, n.operation, n.resource, name)
	}
	return allowed
}

// allows reports whether the client may do something with the resource of a name. What nodes ask for themselves needs nothing more than that
// they are nodes, of which the way says so by which it came.
func (r *Request) allows(b Broker, n need, name string) bool {
	a := b.Authorizer()
	return a == nil || r.Client.Node || a.Allows(r.Client.ACL(), n.operation, n.resource, name)
}

// permitted splits what a request names into what the client may do something with, and the rest. All (nil) are not split.
func permitted[T any](b Broker, r *Request, n need, asked []T, name func(*T) string) (may, refused []T) {
	if asked == nil {
		return nil, nil
	}
	may = []T{}
	for i := range asked {
		if r.may(b, n, name(&asked[i])) {
			may = append(may, asked[i])
		} else {
			refused = append(refused, asked[i])
		}
	}
	return may, refused
}

// itself is the name of what is named by nothing but it.
func itself(name *string) string { return *name }

// mayInCluster is may for the one resource of its kind, allowsInCluster is allows.
func (r *Request) mayInCluster(b Broker, n need) bool    { return r.may(b, n, image.ACLClusterName) }
func (r *Request) allowsInCluster(b Broker, n need) bool { return r.allows(b, n, image.ACLClusterName) }

// allowedOperations are what the client may do with a resource, each a bit; all is where nobody is restricted.
func (r *Request) allowedOperations(b Broker, t image.ACLResourceType, name string, all int32) int32 {
	if a := b.Authorizer(); a != nil {
		return a.Allowed(r.Client.ACL(), t, name)
	}
	return all
}

// allowedInCluster is what the client is told that it may do with the cluster. Who may not describe it is told of nothing.
func (r *Request) allowedInCluster(b Broker) int32 {
	if !r.allowsInCluster(b, describeClusterNeed) {
		return 0
	}
	return r.allowedOperations(b, image.ACLResourceCluster, image.ACLClusterName, clusterOperations)
}

// mayDescribeAll reports whether the client may know of each of the topics.
func (r *Request) mayDescribeAll(b Broker, topics []string) bool {
	for _, topic := range topics {
		if !r.may(b, describeTopic, topic) {
			return false
		}
	}
	return true
}

// authorization looks at a decoded request before its handler does: the answer that refuses all of it, or nil. It is asked where there is an
// authorizer.
type authorization func(b Broker, r *Request, req kmsg.Request) (refused kmsg.Response)

// unauthorized are the refusals of what a client may not do, in Kafka's words.
var (
	unauthorizedCluster     = refusal{wire.ClusterAuthorizationFailed, "Cluster authorization failed."}
	unauthorizedTopic       = refusal{wire.TopicAuthorizationFailed, "Topic authorization failed."}
	unauthorizedTransaction = refusal{wire.TransactionalIDAuthorizationFailed, "Transactional Id authorization failed."}
	unauthorizedGroup       = refusal{wire.GroupAuthorizationFailed, "Group authorization failed."}
)

// inCluster is for requests that need an operation on the cluster; refused makes the answer without it.
func inCluster[Q kmsg.Request, P kmsg.Response](n need, refused func(Q, refusal) P) authorization {
	return func(b Broker, r *Request, req kmsg.Request) kmsg.Response {
		if r.mayInCluster(b, n) {
			return nil
		}
		return refused(req.(Q), unauthorizedCluster)
	}
}

// refusedWhole is an answer whose error is one code, and a message if its kind has room for one.
func refusedWhole(req kmsg.Request, why refusal) kmsg.Response {
	resp := req.ResponseKind()
	v := reflect.ValueOf(resp).Elem()
	v.FieldByName("ErrorCode").SetInt(int64(why.code))
	if m := v.FieldByName("ErrorMessage"); m.IsValid() {
		m.Set(reflect.ValueOf(&why.message))
	}
	return resp
}

// ofGroup is for requests that need an operation on the one group that they are about.
func ofGroup[Q kmsg.Request](n need, id func(Q) string) authorization {
	return func(b Broker, r *Request, req kmsg.Request) kmsg.Response {
		if r.may(b, n, id(req.(Q))) {
			return nil
		}
		return group.Refuse(req, unauthorizedGroup.code)
	}
}

// nameOf is "" for null.
func nameOf(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
