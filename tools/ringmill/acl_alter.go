package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	authorizer "github.com/ringmill/ringmill/control/acl"
	"github.com/ringmill/ringmill/control/image"
)

func (a *app) aclList() *cobra.Command {
	var f aclFlags
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List ACLs, all or those that the flags say",
		Long: `List ACLs: all, or those of the principals, operations, hosts and resources that are named. With --pattern match those that apply to
the resource, whatever their own pattern is.`,
		Example: `  ringmill acl list
  ringmill acl list --principal ann
  ringmill acl list --topic orders --pattern match -o json`,
		Aliases:           []string{"ls"},
		Args:              arguments(cobra.NoArgs),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	f.register(a, cmd, foundPatterns...)
	f.registerPermissions(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		filters, err := f.filters(cmd)
		if err != nil {
			return err
		}
		return a.requests(cmd.Context(), func(ctx context.Context, client *kgo.Client) error {
			all, err := describeACLs(ctx, client, filters)
			if err != nil {
				return err
			}
			return a.printACLs(all)
		})
	}
	return cmd
}

func (f *aclFlags) registerPermissions(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.allow, "allow", false, "only those that allow")
	cmd.Flags().BoolVar(&f.deny, "deny", false, "only those that deny")
}

// describeACLs asks for what any of the filters finds.
func describeACLs(ctx context.Context, client *kgo.Client, filters []kmsg.DescribeACLsRequest) ([]acl, error) {
	all := []acl{}
	for i := range filters {
		resp, err := filters[i].RequestWith(ctx, client)
		if err != nil {
			return nil, cause(err)
		}
		if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
			return nil, refusedACLs("DescribeAcls", err, resp.ErrorMessage)
		}
		for _, r := range resp.Resources {
			for _, e := range r.ACLs {
				all = append(all, newACL(e.Principal, e.Host, e.PermissionType, e.Operation, r.ResourceType, r.ResourceName, r.ResourcePatternType))
			}
		}
	}
	return sortACLs(all), nil
}

func (a *app) aclAdd() *cobra.Command {
	var f aclFlags
	var producer, consumer bool
	cmd := &cobra.Command{
		Use:   "add",
		Short: "Add ACLs",
		Long: `Add an ACL for each combination of the principals, hosts, operations and resources that are named. They allow, or with --deny deny. One that
is there already is no error. Names are taken to the letter, with --pattern prefixed as the beginnings of names; * by itself is all. What could never apply is
refused: an operation that the kind of resource does not have, a host that is no address, a topic with a * in its name.

--producer stands for what a producer needs: WRITE, DESCRIBE and CREATE on the topics, WRITE and DESCRIBE on the transactional ids. --consumer stands for READ and
DESCRIBE on the topics, and READ on the groups.`,
		Example: `  ringmill acl add --principal ann --topic orders --operation read --operation describe
  ringmill acl add --principal ann --topic logs- --pattern prefixed --producer
  ringmill acl add --principal ann --topic orders --group readers --consumer --host 10.0.0.7
  ringmill acl add --principal 'User:*' --topic secrets --operation all --deny`,
		Args:              arguments(cobra.NoArgs),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	f.register(a, cmd, addedPatterns...)
	flags := cmd.Flags()
	flags.BoolVar(&f.deny, "deny", false, "deny, and do not allow")
	flags.BoolVar(&producer, "producer", false, "the operations of a producer")
	flags.BoolVar(&consumer, "consumer", false, "the operations of a consumer")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		wanted, err := f.creations(cmd, producer, consumer)
		if err != nil {
			return err
		}
		for _, warning := range f.suspicious() {
			fmt.Fprintln(a.stderr, "ringmill: warning:", warning)
		}
		return a.requests(cmd.Context(), func(ctx context.Context, client *kgo.Client) error { return a.addACLs(ctx, client, wanted) })
	}
	return cmd
}

// creations are all combinations of what the flags say.
func (f *aclFlags) creations(cmd *cobra.Command, producer, consumer bool) (all []kmsg.CreateACLsRequestCreation, err error) {
	operations, err := f.readOperations(cmd)
	if err != nil {
		return nil, err
	}
	pattern, err := f.readPattern(cmd, addedPatterns...)
	if err != nil {
		return nil, err
	}
	resources := f.resources()
	if err := f.checkNames(cmd); err != nil {
		return nil, err
	}
	switch {
	case len(f.principals) == 0:
		return nil, wrongUse(cmd, "--principal is needed")
	case len(resources) == 0:
		return nil, wrongUse(cmd, "a resource is needed: --topic, --group, --transactional-id, --cluster, --delegation-token or --user-principal")
	case len(operations) == 0 && !producer && !consumer:
		return nil, wrongUse(cmd, "--operation is needed, or --producer, or --consumer")
	}
	permission := kmsg.ACLPermissionTypeAllow
	if f.deny {
		permission = kmsg.ACLPermissionTypeDeny
	}
	for _, r := range resources {
		ops := operations
		if producer {
			ops = slices.Concat(ops, producerOperations[r.kind])
		}
		if consumer {
			ops = slices.Concat(ops, consumerOperations[r.kind])
		}
		if len(ops) == 0 {
			return nil, wrongUse(cmd, "--producer and --consumer mean no operation on a %s", r.kind)
		}
		if err := checkOperations(cmd, r.kind, ops); err != nil {
			return nil, err
		}
		all = append(all, f.creationsOn(r, pattern, ops, permission)...)
	}
	return all, nil
}

// checkNames refuses what would be taken, and never apply to anything: no topic has a * in its name, and clients are known by their addresses.
func (f *aclFlags) checkNames(cmd *cobra.Command) error {
	for _, topic := range f.topics {
		prefix, star := strings.CutSuffix(topic, image.ACLWildcard)
		switch {
		case star && prefix != "":
			return wrongUse(cmd, "--topic %q: no topic has a * in its name; for all that begin so write --topic %s --pattern prefixed", topic, prefix)
		case star && strings.EqualFold(f.pattern, "prefixed"):
			return wrongUse(cmd, "--topic '*' is all topics, and no prefix: leave --pattern prefixed out")
		}
	}
	for _, host := range f.hosts {
		if _, err := netip.ParseAddr(host); err != nil && host != image.ACLWildcard {
			return wrongUse(cmd, "--host %q: must be an address, as in 10.0.0.7, or *", host)
		}
	}
	return nil
}

// suspicious is what to say of names that may be meant as patterns and are not. Groups and ids may have a * in their names.
func (f *aclFlags) suspicious() (all []string) {
	for _, name := range slices.Concat(f.groups, f.transactionalIDs) {
		if prefix, star := strings.CutSuffix(name, image.ACLWildcard); star && prefix != "" {
			all = append(all, fmt.Sprintf("%q is taken to the letter, with its *; for all that begin so write %s with --pattern prefixed", name, prefix))
		}
	}
	return all
}

// checkOperations refuses operations that a kind of resource does not have, as kafka-acls does: nobody ever asks for them.
func checkOperations(cmd *cobra.Command, kind kmsg.ACLResourceType, operations []kmsg.ACLOperation) error {
	has := authorizer.Operations(image.ACLResourceType(kind))
	for _, op := range operations {
		if op == kmsg.ACLOperationAll || slices.Contains(has, image.ACLOperation(op)) {
			continue
		}
		names := []string{"all"}
		for _, h := range has {
			names = append(names, strings.ToLower(h.String()))
		}
		return wrongUse(cmd, "--operation %s: a %s has no such operation, but %s", strings.ToLower(op.String()), kind, strings.Join(names, ", "))
	}
	return nil
}

// creationsOn are those of one resource. There is one cluster, whose name is no prefix of others.
func (f *aclFlags) creationsOn(r aclResource, pattern kmsg.ACLResourcePatternType, operations []kmsg.ACLOperation, permission kmsg.ACLPermissionType) (all []kmsg.CreateACLsRequestCreation) {
	if r.kind == kmsg.ACLResourceTypeCluster {
		pattern = kmsg.ACLResourcePatternTypeLiteral
	}
	for _, principal := range f.principals {
		for _, host := range anyOr(f.hosts, image.ACLWildcard) {
			for _, op := range operations {
				c := kmsg.NewCreateACLsRequestCreation()
				c.ResourceType, c.ResourceName, c.ResourcePatternType = r.kind, *r.name, pattern
				c.Principal, c.Host, c.Operation, c.PermissionType = principalName(principal), host, op, permission
				all = append(all, c)
			}
		}
	}
	return all
}

// What producers and consumers need of which resources, as kafka-acls has it. Both work by all of them: a topic of a transaction is written
// under its transactional id, one of a group read as its member.
var (
	producerOperations = map[kmsg.ACLResourceType][]kmsg.ACLOperation{
		kmsg.ACLResourceTypeTopic:           {kmsg.ACLOperationWrite, kmsg.ACLOperationDescribe, kmsg.ACLOperationCreate},
		kmsg.ACLResourceTypeTransactionalId: {kmsg.ACLOperationWrite, kmsg.ACLOperationDescribe},
	}
	consumerOperations = map[kmsg.ACLResourceType][]kmsg.ACLOperation{
		kmsg.ACLResourceTypeTopic: {kmsg.ACLOperationRead, kmsg.ACLOperationDescribe},
		kmsg.ACLResourceTypeGroup: {kmsg.ACLOperationRead},
	}
)

func (a *app) addACLs(ctx context.Context, client *kgo.Client, wanted []kmsg.CreateACLsRequestCreation) error {
	req := kmsg.NewPtrCreateACLsRequest()
	req.Creations = wanted
	resp, err := req.RequestWith(ctx, client)
	if err != nil {
		return cause(err)
	}
	if len(resp.Results) != len(wanted) {
		return fmt.Errorf("the node answered for %d of %d ACLs", len(resp.Results), len(wanted))
	}
	added, failures := []acl{}, []error(nil)
	for i, r := range resp.Results {
		c := &wanted[i]
		e := newACL(c.Principal, c.Host, c.PermissionType, c.Operation, c.ResourceType, c.ResourceName, c.ResourcePatternType)
		if err := kerr.ErrorForCode(r.ErrorCode); ofAll(err) {
			return refusedACLs("CreateAcls", err, r.ErrorMessage)
		} else if err != nil {
			failures = append(failures, refused("ACL", e.text(), err, orNone(r.ErrorMessage)))
			continue
		}
		added = append(added, e)
	}
	return errors.Join(a.printACLs(sortACLs(added), ""), errors.Join(failures...))
}

// ofAll says whether a node refuses ACLs for what they have in common, so that it is said once.
func ofAll(err error) bool {
	return errors.Is(err, kerr.SecurityDisabled) || errors.Is(err, kerr.ClusterAuthorizationFailed)
}

// refusedACLs is the refusal of a whole request about ACLs.
func refusedACLs(request string, err error, message *string) error {
	if errors.Is(err, kerr.SecurityDisabled) {
		return fmt.Errorf("%w; set authorizer.class.name, and super.users, on all nodes (docs/security.md)",
			refused("request", request, err, orNone(message)))
	}
	return refused("request", request, err, orNone(message))
}

func (a *app) aclRemove() *cobra.Command {
	var f aclFlags
	var all, dryRun bool
	cmd := &cobra.Command{
		Use:   "remove",
		Short: "Remove the ACLs that the flags say",
		Long: `Remove the ACLs of the principals, operations, hosts and resources that are named: of each, any where none is. It is one change for all that is
found, and what was removed is shown. acl list finds the same with the same flags.`,
		Example: `  ringmill acl remove --principal ann --dry-run
  ringmill acl remove --principal ann --topic orders --pattern literal --operation read
  ringmill acl remove --all`,
		Args:              arguments(cobra.NoArgs),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	f.register(a, cmd, foundPatterns...)
	f.registerPermissions(cmd)
	cmd.Flags().BoolVar(&all, "all", false, "all ACLs that there are")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "show which, and remove none")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		filters, err := f.filters(cmd)
		if err != nil {
			return err
		}
		if named := len(f.resources()) + len(f.principals) + len(f.hosts) + len(f.operations); named == 0 && !all || named > 0 && all {
			return wrongUse(cmd, "either --all is needed, or a principal, host, operation or resource")
		}
		return a.requests(cmd.Context(), func(ctx context.Context, client *kgo.Client) error {
			return a.removeACLs(ctx, client, filters, dryRun)
		})
	}
	return cmd
}

func (a *app) removeACLs(ctx context.Context, client *kgo.Client, filters []kmsg.DescribeACLsRequest, dryRun bool) error {
	if dryRun {
		found, err := describeACLs(ctx, client, filters)
		if err != nil {
			return err
		}
		return a.printACLs(found, noSuchACL)
	}
	req := kmsg.NewPtrDeleteACLsRequest()
	for i := range filters {
		d, f := &filters[i], kmsg.NewDeleteACLsRequestFilter()
		f.ResourceType, f.ResourceName, f.ResourcePatternType = d.ResourceType, d.ResourceName, d.ResourcePatternType
		f.Principal, f.Host, f.Operation, f.PermissionType = d.Principal, d.Host, d.Operation, d.PermissionType
		req.Filters = append(req.Filters, f)
	}
	resp, err := req.RequestWith(ctx, client)
	if err != nil {
		return cause(err)
	}
	removed, failures := []acl{}, []error(nil)
	for i := range resp.Results {
		r := &resp.Results[i]
		if err := kerr.ErrorForCode(r.ErrorCode); ofAll(err) {
			return refusedACLs("DeleteAcls", err, r.ErrorMessage)
		} else if err != nil {
			failures = append(failures, refusedACLs("DeleteAcls", err, r.ErrorMessage))
		}
		for _, m := range r.MatchingACLs {
			e := newACL(m.Principal, m.Host, m.PermissionType, m.Operation, m.ResourceType, m.ResourceName, m.ResourcePatternType)
			if err := kerr.ErrorForCode(m.ErrorCode); err != nil {
				failures = append(failures, refused("ACL", e.text(), err, orNone(m.ErrorMessage)))
				continue
			}
			removed = append(removed, e)
		}
	}
	none := noSuchACL
	if len(failures) > 0 {
		none = ""
	}
	return errors.Join(a.printACLs(sortACLs(removed), none), errors.Join(failures...))
}

const noSuchACL = "there is no such ACL, and nothing to remove\n"
