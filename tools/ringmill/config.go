package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/node/config"
)

func (a *app) configCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "config",
		Short:   "Describe and change the configuration of nodes, topics and groups",
		GroupID: groupCluster,
	}
	onlyWithSubcommand(cmd)
	a.client.register(cmd)
	cmd.AddCommand(a.configDescribe(), a.configSet(), a.configDelete())
	return cmd
}

// entity is what a configuration belongs to.
type entity struct {
	kind kmsg.ConfigResourceType
	name string
}

func (e entity) isAllBrokers() bool { return e.kind == kmsg.ConfigResourceTypeBroker && e.name == "" }

func (e entity) String() string {
	if e.isAllBrokers() {
		return "all brokers"
	}
	return e.noun() + " " + e.name
}

func (e entity) noun() string {
	for _, f := range entityKinds {
		if f.kind == e.kind {
			return f.flag
		}
	}
	panic(fmt.Sprintf("BUG: no entity of type %d", e.kind))
}

// refused is what a node answered about the entity, or why none could be asked: a request about a node goes to that node.
func (e entity) refused(err error, message string) error {
	if e.isAllBrokers() {
		return refused("all", "brokers", err, message)
	}
	return refused(e.noun(), e.name, err, message)
}

// scope is where the properties of such entities are listed.
func (e entity) scope() config.Scope {
	switch e.kind {
	case kmsg.ConfigResourceTypeTopic:
		return config.TopicScope
	case kmsg.ConfigResourceTypeGroupConfig:
		return config.GroupScope
	case kmsg.ConfigResourceTypeClientMetrics:
		return config.ClientMetricsScope
	}
	return config.BrokerScope
}

// entityKinds are the flags that name an entity, in the order of help.
var entityKinds = []struct {
	flag string
	kind kmsg.ConfigResourceType
	help string
}{
	{"topic", kmsg.ConfigResourceTypeTopic, "of this topic"},
	{"group", kmsg.ConfigResourceTypeGroupConfig, "of this group, which there need not be"},
	{"broker", kmsg.ConfigResourceTypeBroker, "of the node with this `id`"},
	{"client-metrics", kmsg.ConfigResourceTypeClientMetrics, "of this subscription to clients' metrics"},
	{"logger", kmsg.ConfigResourceTypeBrokerLogger, "of the loggers of the node with this `id`"},
}

// entityFlags name one entity. A flag that is not there and one that is empty differ.
type entityFlags struct{ allBrokers bool }

func (f *entityFlags) register(a *app, cmd *cobra.Command) {
	for _, k := range entityKinds {
		cmd.Flags().String(k.flag, "", k.help)
	}
	cmd.Flags().BoolVar(&f.allBrokers, "all-brokers", false, "of all nodes: what is set at run time for each that has no value of its own")
	completeAsked(cmd, "topic", a.completeTopics)
	completeAsked(cmd, "group", a.completeGroups)
	completeAsked(cmd, "broker", a.completeBrokers)
	completeAsked(cmd, "logger", a.completeBrokers)
	completeFlag(cmd, "client-metrics")
}

// read gives the entity that the command line names. It has to name one.
func (f *entityFlags) read(cmd *cobra.Command) (entity, error) {
	var named []entity
	for _, k := range entityKinds {
		if flag := cmd.Flags().Lookup(k.flag); flag.Changed {
			named = append(named, entity{k.kind, flag.Value.String()})
		}
	}
	if f.allBrokers {
		named = append(named, entity{kind: kmsg.ConfigResourceTypeBroker})
	}
	if len(named) != 1 {
		return entity{}, wrongUse(cmd, "one of --topic, --group, --broker, --all-brokers, --client-metrics and --logger is needed, and no more")
	}
	return named[0], nil
}

// configEntry is one property, as JSON.
type configEntry struct {
	Name      string  `json:"name"`
	Value     *string `json:"value"` // null: unset, or a secret
	Source    string  `json:"source"`
	ReadOnly  bool    `json:"readOnly,omitempty"`
	Sensitive bool    `json:"sensitive,omitempty"`
}

func (a *app) configDescribe() *cobra.Command {
	var flags entityFlags
	var all bool
	cmd := &cobra.Command{
		Use:   "describe ENTITY [NAME...]",
		Short: "Show what is set, or with --all what is in force",
		Example: `  ringmill config describe --topic logs
  ringmill config describe --group readers --all
  ringmill config describe --broker 1 log.retention.ms log.retention.hours
  ringmill config describe --all-brokers -o json`,
		Args: arguments(cobra.ArbitraryArgs),
	}
	cmd.Flags().BoolVar(&all, "all", false, "with what is not set on the entity itself")
	flags.register(a, cmd)
	cmd.ValidArgsFunction = flags.completeNames
	cmd.RunE = func(cmd *cobra.Command, names []string) error {
		e, err := flags.read(cmd)
		if err != nil {
			return err
		}
		return a.requests(cmd.Context(), func(ctx context.Context, client *kgo.Client) error {
			return a.describeConfig(ctx, client, e, names, all || len(names) > 0)
		})
	}
	return cmd
}

func (a *app) describeConfig(ctx context.Context, client *kgo.Client, e entity, names []string, all bool) error {
	entries, err := readConfig(ctx, client, e, names)
	if err != nil {
		return err
	}
	shown := []configEntry{}
	for _, c := range entries {
		if all || e.sets(c.Source) {
			shown = append(shown, c)
		}
	}
	return a.print(shown, func(w io.Writer) {
		var rows [][]string
		for _, c := range shown {
			rows = append(rows, []string{c.Name, shownValue(c), c.Source})
		}
		table(w, []string{"NAME", "VALUE", "SOURCE"}, rows)
	})
}

// sets reports whether a value of that source is set on the entity itself.
func (e entity) sets(source string) bool {
	switch e.kind {
	case kmsg.ConfigResourceTypeBroker:
		return source != kmsg.ConfigSourceDefaultConfig.String()
	case kmsg.ConfigResourceTypeTopic:
		return source == kmsg.ConfigSourceDynamicTopicConfig.String()
	case kmsg.ConfigResourceTypeGroupConfig:
		return source == kmsg.ConfigSourceGroupConfig.String()
	case kmsg.ConfigResourceTypeClientMetrics:
		return source == kmsg.ConfigSourceClientMetricsConfig.String()
	}
	return true // each logger has its level
}

func shownValue(c configEntry) string {
	switch {
	case c.Sensitive:
		return "(secret)"
	case c.Value == nil:
		return "-"
	}
	return *c.Value
}

// readConfig asks for the properties of an entity; no names mean all.
func readConfig(ctx context.Context, client *kgo.Client, e entity, names []string) ([]configEntry, error) {
	req := kmsg.NewPtrDescribeConfigsRequest()
	resource := kmsg.NewDescribeConfigsRequestResource()
	resource.ResourceType, resource.ResourceName = e.kind, e.name
	if len(names) > 0 {
		resource.ConfigNames = names
	}
	req.Resources = append(req.Resources, resource)
	resp, err := req.RequestWith(ctx, client)
	if err != nil {
		return nil, e.refused(cause(err), "")
	}
	if len(resp.Resources) != 1 {
		return nil, fmt.Errorf("%s: the node answered for %d entities", e, len(resp.Resources))
	}
	answer := &resp.Resources[0]
	if err := kerr.ErrorForCode(answer.ErrorCode); err != nil {
		return nil, e.refused(err, orNone(answer.ErrorMessage))
	}
	var entries []configEntry
	for i := range answer.Configs {
		c := &answer.Configs[i]
		entries = append(entries, configEntry{c.Name, c.Value, c.Source.String(), c.ReadOnly, c.IsSensitive})
	}
	slices.SortFunc(entries, func(a, b configEntry) int { return cmp.Compare(a.Name, b.Name) })
	return entries, nil
}

// completeNames offers the properties of the entity that is on the line already.
func (f *entityFlags) completeNames(cmd *cobra.Command, used []string, _ string) ([]string, cobra.ShellCompDirective) {
	return f.properties(cmd, used, ""), cobra.ShellCompDirectiveNoFileComp
}

func (f *entityFlags) properties(cmd *cobra.Command, used []string, suffix string) []string {
	e, err := f.read(cmd)
	if err != nil {
		return nil
	}
	return propertiesFor(e, used, suffix)
}

// propertiesFor lists the names of an entity's properties that are not used yet, each with suffix and what it does.
func propertiesFor(e entity, used []string, suffix string) []string {
	if e.kind == kmsg.ConfigResourceTypeBrokerLogger {
		return []string{"root" + suffix + "\tthe node's log"}
	}
	var names []string
	for _, p := range config.Properties() {
		if p.In(e.scope()) && !p.Internal && !isUsed(used, p.Name) {
			names = append(names, p.Name+suffix+"\t"+p.Documentation())
		}
	}
	return names
}

func isUsed(used []string, name string) bool {
	for _, u := range used {
		if key, _, _ := strings.Cut(u, "="); key == name {
			return true
		}
	}
	return false
}
