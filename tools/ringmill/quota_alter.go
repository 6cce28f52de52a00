package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
)

func (a *app) quotaSet() *cobra.Command {
	var flags quotaFlags
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "set ENTITY QUOTA=VALUE...",
		Short: "Set quotas: all of them or none",
		Example: `  ringmill quota set --client-id agent producer_byte_rate=1048576
  ringmill quota set --user ann --default-client-id consumer_byte_rate=10485760 request_percentage=50
  ringmill quota set --default-ip connection_creation_rate=20`,
		Args: arguments(cobra.MinimumNArgs(1)),
	}
	flags.register(cmd)
	registerDryRun(cmd, &dryRun)
	cmd.ValidArgsFunction = func(cmd *cobra.Command, used []string, _ string) ([]string, cobra.ShellCompDirective) {
		return flags.quotaKeys(cmd, used, "="), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
	cmd.RunE = func(cmd *cobra.Command, pairs []string) error {
		changes, err := assignments(cmd, pairs)
		if err != nil {
			return err
		}
		return a.alterQuotas(cmd, &flags, changes, dryRun)
	}
	return cmd
}

func (a *app) quotaDelete() *cobra.Command {
	var flags quotaFlags
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "delete ENTITY QUOTA...",
		Short: "Take quotas away",
		Example: `  ringmill quota delete --client-id agent producer_byte_rate
  ringmill quota delete --default-ip connection_creation_rate`,
		Args: arguments(cobra.MinimumNArgs(1)),
	}
	flags.register(cmd)
	registerDryRun(cmd, &dryRun)
	cmd.ValidArgsFunction = func(cmd *cobra.Command, used []string, _ string) ([]string, cobra.ShellCompDirective) {
		return flags.quotaKeys(cmd, used, ""), cobra.ShellCompDirectiveNoFileComp
	}
	cmd.RunE = func(cmd *cobra.Command, names []string) error {
		return a.alterQuotas(cmd, &flags, removals(names), dryRun)
	}
	return cmd
}

// quotaChange is one quota that is set, or with a null value taken away, as JSON.
type quotaChange struct {
	Quota string   `json:"quota"`
	Value *float64 `json:"value"`
}

// alterQuotas has the node make all changes of the entity that the command line names.
func (a *app) alterQuotas(cmd *cobra.Command, flags *quotaFlags, asked []configChange, dryRun bool) error {
	e, err := flags.entity(cmd)
	if err != nil {
		return err
	}
	if len(e) == 0 {
		return wrongUse(cmd, "one of --user, --client-id and --ip, or of their defaults, is needed")
	}
	changes, err := quotaChanges(cmd, asked)
	if err != nil {
		return err
	}
	return a.admin(cmd.Context(), func(ctx context.Context, admin *kadm.Client) error {
		if err := alterQuotaEntity(ctx, admin, e, changes, dryRun); err != nil {
			return err
		}
		return a.printQuotaChanges(e, changes, dryRun)
	})
}

func quotaChanges(cmd *cobra.Command, asked []configChange) (changes []quotaChange, err error) {
	for _, c := range asked {
		change := quotaChange{Quota: c.Name}
		if c.Value != nil {
			v, err := strconv.ParseFloat(*c.Value, 64)
			if err != nil {
				return nil, wrongUse(cmd, "%s=%s: must be a number", c.Name, *c.Value)
			}
			change.Value = &v
		}
		changes = append(changes, change)
	}
	return changes, nil
}

func alterQuotaEntity(ctx context.Context, admin *kadm.Client, e kadm.ClientQuotaEntity, changes []quotaChange, dryRun bool) error {
	entry := kadm.AlterClientQuotaEntry{Entity: e}
	for _, c := range changes {
		op := kadm.AlterClientQuotaOp{Key: c.Quota, Remove: c.Value == nil}
		if c.Value != nil {
			op.Value = *c.Value
		}
		entry.Ops = append(entry.Ops, op)
	}
	alter := admin.AlterClientQuotas
	if dryRun {
		alter = admin.ValidateAlterClientQuotas
	}
	answers, err := alter(ctx, []kadm.AlterClientQuotaEntry{entry})
	if err != nil {
		return cause(err)
	}
	var failures []error
	for _, answer := range answers {
		if answer.Err != nil {
			failures = append(failures, refused("quota of", quotaText(e), answer.Err, answer.ErrMessage))
		}
	}
	return errors.Join(failures...)
}

func (a *app) printQuotaChanges(e kadm.ClientQuotaEntity, changes []quotaChange, dryRun bool) error {
	return a.print(changes, func(w io.Writer) {
		would := ""
		if dryRun {
			would = "would be "
		}
		for _, c := range changes {
			if c.Value == nil {
				fmt.Fprintf(w, "%s: %s %sdeleted\n", quotaText(e), c.Quota, would)
			} else {
				fmt.Fprintf(w, "%s: %s %sset to %s\n", quotaText(e), c.Quota, would, number(*c.Value))
			}
		}
	})
}
