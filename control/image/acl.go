package image

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/ringmill/ringmill/wire"
)

// ACLResourceType is the kind of what an ACL is about (org.apache.kafka.common.resource.ResourceType, with its numbers).
type ACLResourceType int8

// The kinds of resources. Any is of filters alone.
const (
	ACLResourceAny             ACLResourceType = 1
	ACLResourceTopic           ACLResourceType = 2
	ACLResourceGroup           ACLResourceType = 3
	ACLResourceCluster         ACLResourceType = 4
	ACLResourceTransactionalID ACLResourceType = 5
	ACLResourceDelegationToken ACLResourceType = 6
	ACLResourceUser            ACLResourceType = 7
)

// ACLPatternType says what resources the name of an ACL stands for (org.apache.kafka.common.resource.PatternType).
type ACLPatternType int8

// The types of patterns. A literal name is that of one resource, but for ACLWildcard; any and match are of filters alone.
const (
	ACLPatternAny      ACLPatternType = 1
	ACLPatternMatch    ACLPatternType = 2
	ACLPatternLiteral  ACLPatternType = 3
	ACLPatternPrefixed ACLPatternType = 4
)

// ACLOperation is what an ACL allows or denies (org.apache.kafka.common.acl.AclOperation).
type ACLOperation int8

// The operations. Any is of filters alone.
const (
	ACLOperationAny             ACLOperation = 1
	ACLOperationAll             ACLOperation = 2
	ACLOperationRead            ACLOperation = 3
	ACLOperationWrite           ACLOperation = 4
	ACLOperationCreate          ACLOperation = 5
	ACLOperationDelete          ACLOperation = 6
	ACLOperationAlter           ACLOperation = 7
	ACLOperationDescribe        ACLOperation = 8
	ACLOperationClusterAction   ACLOperation = 9
	ACLOperationDescribeConfigs ACLOperation = 10
	ACLOperationAlterConfigs    ACLOperation = 11
	ACLOperationIdempotentWrite ACLOperation = 12
	ACLOperationCreateTokens    ACLOperation = 13
	ACLOperationDescribeTokens  ACLOperation = 14
	ACLOperationTwoPhaseCommit  ACLOperation = 15
)

// ACLPermission says whether an ACL allows or denies (org.apache.kafka.common.acl.AclPermissionType).
type ACLPermission int8

// The permissions. Any is of filters alone.
const (
	ACLPermissionAny ACLPermission = 1
	ACLDeny          ACLPermission = 2
	ACLAllow         ACLPermission = 3
)

const (
	// ACLWildcard is the literal name of all resources of a kind, and the host that is every host.
	ACLWildcard = "*"
	// ACLWildcardPrincipal is everybody.
	ACLWildcardPrincipal = "User:*"
	// ACLClusterName is the one name of a resource of type ACLResourceCluster.
	ACLClusterName = "kafka-cluster"
)

var aclResourceNames = [...]string{
	ACLResourceTopic: "TOPIC", ACLResourceGroup: "GROUP", ACLResourceCluster: "CLUSTER", ACLResourceTransactionalID: "TRANSACTIONAL_ID",
	ACLResourceDelegationToken: "DELEGATION_TOKEN", ACLResourceUser: "USER",
}

// String gives Kafka's name.
func (t ACLResourceType) String() string {
	if !t.Known() {
		return fmt.Sprintf("resource(%d)", int8(t))
	}
	return aclResourceNames[t]
}

var aclOperationNames = [...]string{
	ACLOperationAll: "ALL", ACLOperationRead: "READ", ACLOperationWrite: "WRITE", ACLOperationCreate: "CREATE", ACLOperationDelete: "DELETE",
	ACLOperationAlter: "ALTER", ACLOperationDescribe: "DESCRIBE", ACLOperationClusterAction: "CLUSTER_ACTION",
	ACLOperationDescribeConfigs: "DESCRIBE_CONFIGS", ACLOperationAlterConfigs: "ALTER_CONFIGS", ACLOperationIdempotentWrite: "IDEMPOTENT_WRITE",
	ACLOperationCreateTokens: "CREATE_TOKENS", ACLOperationDescribeTokens: "DESCRIBE_TOKENS", ACLOperationTwoPhaseCommit: "TWO_PHASE_COMMIT",
}

// String gives Kafka's name.
func (o ACLOperation) String() string {
	if !o.Known() {
		return fmt.Sprintf("operation(%d)", int8(o))
	}
	return aclOperationNames[o]
}

// Known reports whether there are such resources.
func (t ACLResourceType) Known() bool { return t >= ACLResourceTopic && t <= ACLResourceUser }

// Known reports whether there is such an operation.
func (o ACLOperation) Known() bool { return o >= ACLOperationAll && o <= ACLOperationTwoPhaseCommit }

// ACL allows a principal ("User:alice"), that comes from a host, an operation on resources, or denies it to it.
type ACL struct {
	ResourceType ACLResourceType `json:"resourceType"`
	ResourceName string          `json:"resourceName"`
	PatternType  ACLPatternType  `json:"patternType"`
	Principal    string          `json:"principal"`
	Host         string          `json:"host"`
	Operation    ACLOperation    `json:"operation"`
	Permission   ACLPermission   `json:"permissionType"`
}

// The reasons of a *RecordError of an AccessControlEntryRecord or RemoveAccessControlEntryRecord.
var (
	ErrACL       = errors.New("an ACL is for an operation that is known on resources that have a name")
	ErrACLID     = errors.New("the zero id means no ACL")
	ErrACLExists = errors.New("an ACL of that id, or the same ACL, exists")
	ErrNoACL     = errors.New("there is no ACL of that id")
)

func (a *ACL) check() error {
	switch {
	case !utf8.ValidString(a.ResourceName) || !utf8.ValidString(a.Principal) || !utf8.ValidString(a.Host):
		return ErrNotUTF8
	case !a.ResourceType.Known() || a.ResourceName == "" || a.PatternType != ACLPatternLiteral && a.PatternType != ACLPatternPrefixed,
		!a.Operation.Known() || a.Permission != ACLDeny && a.Permission != ACLAllow:
		return ErrACL
	}
	return nil
}

// aclTable holds ACLs by id, and their ids; both maps are replaced when something changes.
type aclTable struct {
	byID map[wire.UUID]ACL
	ids  map[ACL]wire.UUID
}

func (e *editor) addACL(r AccessControlEntryRecord) error {
	if err := r.check(); err != nil {
		return err
	}
	_, idTaken := e.next.acls.byID[r.ID]
	_, same := e.next.acls.ids[r.ACL]
	switch {
	case r.ID.IsZero():
		return ErrACLID
	case idTaken || same:
		return ErrACLExists
	}
	e.ownACLs()
	e.next.acls.byID[r.ID], e.next.acls.ids[r.ACL] = r.ACL, r.ID
	return nil
}

func (e *editor) removeACL(id wire.UUID) error {
	a, ok := e.next.acls.byID[id]
	if !ok {
		return ErrNoACL
	}
	e.ownACLs()
	delete(e.next.acls.byID, id)
	delete(e.next.acls.ids, a)
	return nil
}

// ownACLs copies the maps on the edit's first change of them.
func (e *editor) ownACLs() {
	if e.aclsOwned {
		return
	}
	e.aclsOwned = true
	if e.next.acls.byID == nil {
		e.next.acls = aclTable{make(map[wire.UUID]ACL), make(map[ACL]wire.UUID)}
		return
	}
	e.next.acls = aclTable{maps.Clone(e.next.acls.byID), maps.Clone(e.next.acls.ids)}
}

// ACLs gives every ACL with its id, by id; read-only.
func (m *Image) ACLs() map[wire.UUID]ACL { return m.acls.byID }

// ACLID gives the id of an ACL; found is false if there is no such ACL.
func (m *Image) ACLID(a ACL) (id wire.UUID, found bool) {
	id, found = m.acls.ids[a]
	return id, found
}

// SameACLs reports whether two Images of one history have the same ACLs, and compares no more than where they come from: false may
// be said of such as do not differ.
func SameACLs(a, b *Image) bool { return samePointer(a.acls.byID, b.acls.byID) }

// CompareACLs orders ACLs: by resource, then by whom they are about.
func CompareACLs(a, b ACL) int {
	return cmp.Or(
		cmp.Compare(a.ResourceType, b.ResourceType), cmp.Compare(a.ResourceName, b.ResourceName), cmp.Compare(a.PatternType, b.PatternType),
		cmp.Compare(a.Principal, b.Principal), cmp.Compare(a.Host, b.Host), cmp.Compare(a.Operation, b.Operation), cmp.Compare(a.Permission, b.Permission))
}

func compareUUIDs(a, b wire.UUID) int { return slices.Compare(a[:], b[:]) }

// aclRecords are the records that make m's ACLs, in their order.
func aclRecords(m *Image) (records []Record) {
	for _, a := range slices.SortedFunc(maps.Keys(m.acls.ids), CompareACLs) {
		records = append(records, AccessControlEntryRecord{m.acls.ids[a], a})
	}
	return records
}
