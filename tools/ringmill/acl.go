package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/image"
)

func (a *app) aclCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "acl",
		Short: "List, add and remove access control lists: who may do what",
		Long: `List, add and remove ACLs. They are in force where nodes have an authorizer (authorizer.class.name; docs/security.md), at once and on all nodes.

An ACL allows or denies a principal at a host an operation on a resource. Who is denied is denied, whatever else allows it; what nobody is allowed, super users
alone may do, unless allow.everyone.if.no.acl.found says otherwise. READ, WRITE, DELETE and ALTER contain DESCRIBE, ALTER_CONFIGS contains DESCRIBE_CONFIGS.`,
		GroupID: groupCluster,
	}
	onlyWithSubcommand(cmd)
	a.client.register(cmd)
	cmd.AddCommand(a.aclList(), a.aclAdd(), a.aclRemove())
	return cmd
}

// acl is one ACL, as JSON, in Kafka's words.
type acl struct {
	Principal    string `json:"principal"`
	Permission   string `json:"permission"` // ALLOW or DENY
	Operation    string `json:"operation"`
	ResourceType string `json:"resourceType"`
	ResourceName string `json:"resourceName"`
	PatternType  string `json:"patternType"` // LITERAL or PREFIXED
	Host         string `json:"host"`
}

// columns are the ACL as it is shown, in the order of the headings.
func (e acl) columns() []string {
	return []string{e.Principal, e.Permission, e.Operation, e.ResourceType, e.ResourceName, e.PatternType, e.Host}
}

// newACL is an ACL in the words of its parts.
func newACL(principal, host string, permission kmsg.ACLPermissionType, op kmsg.ACLOperation, kind kmsg.ACLResourceType, name string, pattern kmsg.ACLResourcePatternType) acl {
	return acl{principal, permission.String(), op.String(), kind.String(), name, pattern.String(), host}
}

// sortACLs sorts, and leaves one of those that are alike.
func sortACLs(all []acl) []acl {
	slices.SortFunc(all, func(a, b acl) int { return slices.Compare(a.columns(), b.columns()) })
	return slices.Compact(all)
}

// printACLs shows ACLs, or in words what it means that there are none; without such words the headings alone.
func (a *app) printACLs(all []acl, none ...string) error {
	return a.print(all, func(w io.Writer) {
		if len(all) == 0 && len(none) > 0 {
			fmt.Fprint(w, none[0])
			return
		}
		var rows [][]string
		for _, e := range all {
			rows = append(rows, e.columns())
		}
		table(w, []string{"PRINCIPAL", "PERMISSION", "OPERATION", "RESOURCE", "NAME", "PATTERN", "HOST"}, rows)
	})
}

// aclResource is a resource that the command line names, or its kind alone.
type aclResource struct {
	kind kmsg.ACLResourceType
	name *string // nil: any
}

// aclFlags say of which ACLs a command is. What is not said is any.
type aclFlags struct {
	topics, groups, transactionalIDs, tokens, users []string
	cluster                                         bool
	pattern                                         string
	principals, hosts, operations                   []string
	allow, deny                                     bool
}

func (f *aclFlags) register(a *app, cmd *cobra.Command, patterns ...string) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.principals, "principal", nil, "who, as `User:name`, or the name alone; User:* is everybody; may be repeated, as all that follows")
	flags.StringArrayVar(&f.hosts, "host", nil, "an `address` from which they come; * is any")
	flags.StringArrayVar(&f.operations, "operation", nil, "an `operation`: read, write, create, delete, alter, describe, describe_configs, alter_configs, all, ...")
	flags.StringArrayVar(&f.topics, "topic", nil, "on a `topic`; * is all of them")
	flags.StringArrayVar(&f.groups, "group", nil, "on a `group`")
	flags.StringArrayVar(&f.transactionalIDs, "transactional-id", nil, "on a transactional `id`")
	flags.StringArrayVar(&f.tokens, "delegation-token", nil, "on a delegation `token`")
	flags.StringArrayVar(&f.users, "user-principal", nil, "on a `user`, for delegation tokens")
	flags.BoolVar(&f.cluster, "cluster", false, "on the cluster")
	flags.StringVar(&f.pattern, "pattern", patterns[0], "what the names of resources are: "+strings.Join(patterns, ", "))
	completeAsked(cmd, "topic", a.completeTopics)
	completeAsked(cmd, "group", a.completeGroups)
	completeAsked(cmd, "transactional-id", a.completeTxns)
	completeFlag(cmd, "principal", "User:")
	completeFlag(cmd, "operation", aclOperations()...)
	completeFlag(cmd, "pattern", patterns...)
	for _, name := range []string{"host", "delegation-token", "user-principal"} {
		completeFlag(cmd, name)
	}
}

// aclOperations are the operations that ACLs can be made of.
func aclOperations() (all []string) {
	for op := kmsg.ACLOperationAll; ; op++ {
		if strings.HasPrefix(op.String(), "UNKNOWN") {
			return all
		}
		all = append(all, strings.ToLower(op.String()))
	}
}

// resources are those that are named, in the order of their kinds.
func (f *aclFlags) resources() (all []aclResource) {
	for _, kind := range []struct {
		kind  kmsg.ACLResourceType
		names []string
	}{
		{kmsg.ACLResourceTypeTopic, f.topics},
		{kmsg.ACLResourceTypeGroup, f.groups},
		{kmsg.ACLResourceTypeTransactionalId, f.transactionalIDs},
		{kmsg.ACLResourceTypeDelegationToken, f.tokens},
		{kmsg.ACLResourceTypeUser, f.users},
	} {
		for _, name := range kind.names {
			all = append(all, aclResource{kind.kind, &name})
		}
	}
	if f.cluster {
		name := image.ACLClusterName
		all = append(all, aclResource{kmsg.ACLResourceTypeCluster, &name})
	}
	return all
}

// principalName puts the kind of principal before a name that lacks it.
func principalName(s string) string {
	if strings.Contains(s, ":") {
		return s
	}
	return "User:" + s
}

// readOperations reads --operation flags.
func (f *aclFlags) readOperations(cmd *cobra.Command) (all []kmsg.ACLOperation, err error) {
	for _, s := range f.operations {
		op, err := kmsg.ParseACLOperation(s)
		if err != nil || op == kmsg.ACLOperationAny {
			return nil, wrongUse(cmd, "--operation %q: must be one of %s", s, strings.Join(aclOperations(), ", "))
		}
		all = append(all, op)
	}
	return all, nil
}

// readPattern reads --pattern.
func (f *aclFlags) readPattern(cmd *cobra.Command, patterns ...string) (kmsg.ACLResourcePatternType, error) {
	pattern, err := kmsg.ParseACLResourcePatternType(f.pattern)
	if err != nil || !slices.Contains(patterns, strings.ToLower(f.pattern)) {
		return 0, wrongUse(cmd, "--pattern %q: must be %s", f.pattern, strings.Join(patterns, ", "))
	}
	return pattern, nil
}

// The patterns of names that ACLs can have, and those by which they are found: match are those that apply to a resource of that name.
var (
	addedPatterns = []string{"literal", "prefixed"}
	foundPatterns = []string{"any", "literal", "prefixed", "match"}
)

// anyOr gives the values, or one that stands for any.
func anyOr[T any](values []T, any T) []T {
	if len(values) == 0 {
		return []T{any}
	}
	return values
}

// filters are all combinations of what the flags say.
func (f *aclFlags) filters(cmd *cobra.Command) (all []kmsg.DescribeACLsRequest, err error) {
	operations, err := f.readOperations(cmd)
	if err != nil {
		return nil, err
	}
	pattern, err := f.readPattern(cmd, foundPatterns...)
	if err != nil {
		return nil, err
	}
	permission := kmsg.ACLPermissionTypeAny
	switch {
	case f.allow && !f.deny:
		permission = kmsg.ACLPermissionTypeAllow
	case f.deny && !f.allow:
		permission = kmsg.ACLPermissionTypeDeny
	}
	for _, r := range anyOr(f.resources(), aclResource{kind: kmsg.ACLResourceTypeAny}) {
		for _, principal := range anyOr(pointers(f.principals, principalName), nil) {
			for _, host := range anyOr(pointers(f.hosts, func(s string) string { return s }), nil) {
				for _, op := range anyOr(operations, kmsg.ACLOperationAny) {
					filter := kmsg.NewDescribeACLsRequest()
					filter.ResourceType, filter.ResourceName, filter.ResourcePatternType = r.kind, r.name, pattern
					filter.Principal, filter.Host, filter.Operation, filter.PermissionType = principal, host, op, permission
					all = append(all, filter)
				}
			}
		}
	}
	return all, nil
}

func pointers(all []string, change func(string) string) (pointed []*string) {
	for _, s := range all {
		s = change(s)
		pointed = append(pointed, &s)
	}
	return pointed
}

// text is an ACL in a message.
func (e acl) text() string {
	return fmt.Sprintf("%s %s %s on %s %s %s from %s", e.Principal, e.Permission, e.Operation, e.PatternType, e.ResourceType, e.ResourceName, e.Host)
}
