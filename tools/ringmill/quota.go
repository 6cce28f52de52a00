package main

import (
	"context"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/control/quota"
)

func (a *app) quotaCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "quota",
		Short: "Describe and change the quotas of users, client ids and addresses",
		Long: `Describe and change client quotas. They are in force at once, and kept over a restart.

  producer_byte_rate         bytes a second that a client may send in Produce requests
  consumer_byte_rate         bytes a second that it may be sent in answers to Fetch requests
  request_percentage         time of one of the node's threads that its requests may take
  controller_mutation_rate   partitions a second that it may have made or removed
  connection_creation_rate   connections a second, of an address

A quota is for a user, a client id, a user's client id, or an address; each of them by name or as the default of all that have no
quota by name. The most special one counts: that of user and client id, then the user's, then the client id's.`,
		GroupID: groupCluster,
	}
	onlyWithSubcommand(cmd)
	a.client.register(cmd)
	cmd.AddCommand(a.quotaDescribe(), a.quotaSet(), a.quotaDelete())
	return cmd
}

// quotaFlags name the parts of an entity.
type quotaFlags struct {
	user, clientID, ip                      string
	defaultUser, defaultClientID, defaultIP bool
}

func (f *quotaFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.user, "user", "", "of this user; without authentication all are ANONYMOUS")
	flags.StringVar(&f.clientID, "client-id", "", "of clients that name themselves so")
	flags.StringVar(&f.ip, "ip", "", "of this `address`, or host")
	flags.BoolVar(&f.defaultUser, "default-user", false, "of all users without a quota of their own")
	flags.BoolVar(&f.defaultClientID, "default-client-id", false, "of all client ids without a quota of their own")
	flags.BoolVar(&f.defaultIP, "default-ip", false, "of all addresses without a quota of their own")
	completeFlag(cmd, "user", "ANONYMOUS\twho does not authenticate")
	completeFlag(cmd, "client-id")
	completeFlag(cmd, "ip")
}

// entity gives the parts that the command line names, in the order in which they are shown.
func (f *quotaFlags) entity(cmd *cobra.Command) (e kadm.ClientQuotaEntity, err error) {
	for _, part := range []struct {
		kind      string
		name      *string
		byDefault bool
	}{{image.QuotaUser, &f.user, f.defaultUser}, {image.QuotaClientID, &f.clientID, f.defaultClientID}, {image.QuotaIP, &f.ip, f.defaultIP}} {
		named := cmd.Flags().Changed(part.kind)
		switch {
		case named && part.byDefault:
			return nil, wrongUse(cmd, "--%s and --default-%s name two of the same", part.kind, part.kind)
		case part.byDefault:
			e = append(e, kadm.ClientQuotaEntityComponent{Type: part.kind})
		case named:
			e = append(e, kadm.ClientQuotaEntityComponent{Type: part.kind, Name: part.name})
		}
	}
	return e, nil
}

// quotaText names an entity in messages: "user ann, client-id agent".
func quotaText(e kadm.ClientQuotaEntity) string {
	var parts []string
	for _, p := range e {
		if p.Name == nil {
			parts = append(parts, "default "+p.Type)
		} else {
			parts = append(parts, p.Type+" "+*p.Name)
		}
	}
	return strings.Join(parts, ", ")
}

// describedQuota is one entity with its quotas, as JSON. A part that is null is the default.
type describedQuota struct {
	Entity map[string]*string `json:"entity"`
	Quotas map[string]float64 `json:"quotas"`
}

func (a *app) quotaDescribe() *cobra.Command {
	var flags quotaFlags
	var strict bool
	cmd := &cobra.Command{
		Use:   "describe [ENTITY]",
		Short: "Show the quotas that are set",
		Long:  `Show the quotas of the entities that have the named parts; without any, of all.`,
		Example: `  ringmill quota describe
  ringmill quota describe --client-id agent
  ringmill quota describe --user ann --strict -o json`,
		Args:              arguments(cobra.NoArgs),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	flags.register(cmd)
	cmd.Flags().BoolVar(&strict, "strict", false, "only entities that have no other parts")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		e, err := flags.entity(cmd)
		if err != nil {
			return err
		}
		return a.admin(cmd.Context(), func(ctx context.Context, admin *kadm.Client) error {
			return a.describeQuotas(ctx, admin, e, strict)
		})
	}
	return cmd
}

func (a *app) describeQuotas(ctx context.Context, admin *kadm.Client, e kadm.ClientQuotaEntity, strict bool) error {
	var filter []kadm.DescribeClientQuotaComponent
	for _, p := range e {
		match := kmsg.QuotasMatchTypeExact
		if p.Name == nil {
			match = kmsg.QuotasMatchTypeDefault
		}
		filter = append(filter, kadm.DescribeClientQuotaComponent{Type: p.Type, MatchName: p.Name, MatchType: match})
	}
	answer, err := admin.DescribeClientQuotas(ctx, strict && len(filter) > 0, filter)
	if err != nil {
		return cause(err)
	}
	quotas := []describedQuota{}
	for _, q := range answer {
		d := describedQuota{make(map[string]*string), make(map[string]float64)}
		for _, p := range q.Entity {
			d.Entity[p.Type] = p.Name
		}
		for _, v := range q.Values {
			d.Quotas[v.Key] = v.Value
		}
		quotas = append(quotas, d)
	}
	slices.SortFunc(quotas, func(a, b describedQuota) int { return slices.Compare(a.columns(), b.columns()) })
	return a.print(quotas, func(w io.Writer) { writeQuotas(w, quotas) })
}

// columns are the parts as they are shown.
func (d describedQuota) columns() []string {
	var columns []string
	for _, kind := range []string{image.QuotaUser, image.QuotaClientID, image.QuotaIP} {
		switch name, has := d.Entity[kind]; {
		case !has:
			columns = append(columns, "-")
		case name == nil:
			columns = append(columns, "<default>")
		default:
			columns = append(columns, *name)
		}
	}
	return columns
}

func writeQuotas(w io.Writer, quotas []describedQuota) {
	var rows [][]string
	for _, q := range quotas {
		for _, key := range slices.Sorted(maps.Keys(q.Quotas)) {
			rows = append(rows, append(q.columns(), key, number(q.Quotas[key])))
		}
	}
	table(w, []string{"USER", "CLIENT-ID", "IP", "QUOTA", "VALUE"}, rows)
}

// number writes a value as people write it.
func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// quotaKeys are what an entity can have, with what completion says of each.
func (f *quotaFlags) quotaKeys(cmd *cobra.Command, used []string, suffix string) []string {
	keys := []string{quota.ConsumerByteRate + "\tbytes a second", quota.ControllerMutationRate + "\tpartitions a second",
		quota.ProducerByteRate + "\tbytes a second", quota.RequestPercentage + "\tof one thread's time"}
	if cmd.Flags().Changed("ip") || f.defaultIP {
		keys = []string{quota.ConnectionCreationRate + "\tconnections a second"}
	}
	var offered []string
	for _, k := range keys {
		name, what, _ := strings.Cut(k, "\t")
		if !slices.ContainsFunc(used, func(u string) bool { key, _, _ := strings.Cut(u, "="); return key == name }) {
			offered = append(offered, name+suffix+"\t"+what)
		}
	}
	return offered
}
