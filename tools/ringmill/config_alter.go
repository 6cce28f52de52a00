package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func (a *app) configSet() *cobra.Command {
	var flags entityFlags
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "set ENTITY NAME=VALUE...",
		Short: "Set properties: all of them or none",
		Example: `  ringmill config set --topic logs retention.ms=86400000 cleanup.policy=compact
  ringmill config set --group readers consumer.session.timeout.ms=60000
  ringmill config set --broker 1 log.retention.ms=604800000
  ringmill config set --logger 1 root=WARN`,
		Args: arguments(cobra.MinimumNArgs(1)),
	}
	flags.register(a, cmd)
	registerDryRun(cmd, &dryRun)
	cmd.ValidArgsFunction = func(cmd *cobra.Command, used []string, _ string) ([]string, cobra.ShellCompDirective) {
		return flags.properties(cmd, used, "="), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
	cmd.RunE = func(cmd *cobra.Command, pairs []string) error {
		e, err := flags.read(cmd)
		if err != nil {
			return err
		}
		changes, err := assignments(cmd, pairs)
		if err != nil {
			return err
		}
		return a.alterConfig(cmd.Context(), e, changes, dryRun)
	}
	return cmd
}

func (a *app) configDelete() *cobra.Command {
	var flags entityFlags
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "delete ENTITY NAME...",
		Short: "Take values away, so that those of the node or the defaults count again",
		Example: `  ringmill config delete --topic logs retention.ms
  ringmill config delete --group readers consumer.session.timeout.ms`,
		Args: arguments(cobra.MinimumNArgs(1)),
	}
	flags.register(a, cmd)
	registerDryRun(cmd, &dryRun)
	cmd.ValidArgsFunction = flags.completeNames
	cmd.RunE = func(cmd *cobra.Command, names []string) error {
		e, err := flags.read(cmd)
		if err != nil {
			return err
		}
		return a.alterConfig(cmd.Context(), e, removals(names), dryRun)
	}
	return cmd
}

func registerDryRun(cmd *cobra.Command, dryRun *bool) {
	cmd.Flags().BoolVar(dryRun, "dry-run", false, "have the node judge the change and not make it")
}

// configChange is one property that is set, or with a null value taken away, as JSON.
type configChange struct {
	Name  string  `json:"name"`
	Value *string `json:"value"`
}

// assignments reads NAME=VALUE arguments.
func assignments(cmd *cobra.Command, pairs []string) (changes []configChange, err error) {
	for _, pair := range pairs {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return nil, wrongUse(cmd, "%q: must be NAME=VALUE", pair)
		}
		changes = append(changes, configChange{name, &value})
	}
	return changes, nil
}

func removals(names []string) (changes []configChange) {
	for _, name := range names {
		changes = append(changes, configChange{Name: name})
	}
	return changes
}

// alterConfig has the node make all changes of an entity, or none.
func (a *app) alterConfig(ctx context.Context, e entity, changes []configChange, dryRun bool) error {
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	req.ValidateOnly = dryRun
	resource := kmsg.NewIncrementalAlterConfigsRequestResource()
	resource.ResourceType, resource.ResourceName = e.kind, e.name
	for _, c := range changes {
		op := kmsg.IncrementalAlterConfigOpSet
		if c.Value == nil {
			op = kmsg.IncrementalAlterConfigOpDelete
		}
		resource.Configs = append(resource.Configs, kmsg.IncrementalAlterConfigsRequestResourceConfig{Name: c.Name, Op: op, Value: c.Value})
	}
	req.Resources = append(req.Resources, resource)
	err := a.requests(ctx, func(ctx context.Context, client *kgo.Client) error {
		resp, err := req.RequestWith(ctx, client)
		if err != nil {
			return e.refused(cause(err), "")
		}
		for i := range resp.Resources {
			if err := kerr.ErrorForCode(resp.Resources[i].ErrorCode); err != nil {
				return e.refused(err, orNone(resp.Resources[i].ErrorMessage))
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return a.printChanges(e, changes, dryRun)
}

func (a *app) printChanges(e entity, changes []configChange, dryRun bool) error {
	return a.print(changes, func(w io.Writer) {
		would := ""
		if dryRun {
			would = "would be "
		}
		for _, c := range changes {
			if c.Value == nil {
				fmt.Fprintf(w, "%s: %s %sdeleted\n", e, c.Name, would)
			} else {
				fmt.Fprintf(w, "%s: %s %sset to %s\n", e, c.Name, would, *c.Value)
			}
		}
	})
}
