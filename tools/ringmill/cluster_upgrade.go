package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// formatFeature is the level of ringmill's own formats, finalized by an operator when all nodes have been upgraded.
const formatFeature = "ringmill.format"

func (a *app) clusterUpgrade() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "upgrade",
		Short: "Show which formats the nodes know, and finalize those of a new release",
		Long: `A release reads what the one before it wrote, and writes the same until an operator finalizes its own formats. So nodes are upgraded one at a
time, and each can be taken back to the release before. When all of them run the new one and are to keep it, finalize: from then on older
releases are refused.`,
	}
	onlyWithSubcommand(cmd)
	cmd.AddCommand(a.upgradeStatus(), a.upgradeFinalize())
	return cmd
}

// upgrade is cluster upgrade status, as JSON.
type upgrade struct {
	Finalized int16         `json:"finalized"`
	Possible  int16         `json:"possible"` // the newest level that all nodes know; the finalized one where a node did not say
	Nodes     []nodeFormats `json:"nodes"`
}

// nodeFormats are the levels that a node knows; an error says why that is not known.
type nodeFormats struct {
	ID    int32  `json:"id"`
	Min   int16  `json:"min"`
	Max   int16  `json:"max"`
	Error string `json:"error,omitempty"`
}

func readUpgrade(ctx context.Context, client *kgo.Client) (*upgrade, error) {
	status := clusterStatus{}
	if err := status.readNodes(ctx, client); err != nil {
		return nil, err
	}
	u := &upgrade{Nodes: []nodeFormats{}}
	silent := false
	for _, n := range status.Nodes {
		known := nodeFormats{ID: n.ID}
		if err := known.ask(ctx, client, &u.Finalized); err != nil {
			known.Error, silent = cause(err).Error(), true
		} else if u.Possible == 0 || known.Max < u.Possible {
			u.Possible = known.Max
		}
		u.Nodes = append(u.Nodes, known)
	}
	if u.Finalized == 0 {
		return nil, errors.New("no node tells of " + formatFeature + ": it is a cluster of ringmill nodes that has it")
	}
	if silent {
		u.Possible = u.Finalized
	}
	return u, nil
}

// ask has a node tell of its levels, and of the one that is finalized.
func (n *nodeFormats) ask(ctx context.Context, client *kgo.Client, finalized *int16) error {
	req := kmsg.NewPtrApiVersionsRequest()
	req.ClientSoftwareName, req.ClientSoftwareVersion = "ringmill", "devel"
	answer, err := client.Broker(int(n.ID)).Request(ctx, req)
	if err != nil {
		return err
	}
	resp := answer.(*kmsg.ApiVersionsResponse)
	for _, f := range resp.FinalizedFeatures {
		if f.Name == formatFeature {
			*finalized = max(*finalized, f.MaxVersionLevel)
		}
	}
	for _, f := range resp.SupportedFeatures {
		if f.Name == formatFeature {
			n.Min, n.Max = f.MinVersion, f.MaxVersion
			return nil
		}
	}
	return errors.New("it does not tell of " + formatFeature)
}

func (a *app) upgradeStatus() *cobra.Command {
	return &cobra.Command{
		Use:               "status",
		Short:             "Show which formats the cluster and its nodes have",
		Example:           `  ringmill cluster upgrade status`,
		Args:              arguments(cobra.NoArgs),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.requests(cmd.Context(), func(ctx context.Context, client *kgo.Client) error {
				u, err := readUpgrade(ctx, client)
				if err != nil {
					return err
				}
				return a.print(u, u.write)
			})
		},
	}
}

func (u *upgrade) write(w io.Writer) {
	var rows [][]string
	for _, n := range u.Nodes {
		levels := fmt.Sprintf("%d to %d", n.Min, n.Max)
		if n.Error != "" {
			levels = n.Error
		}
		rows = append(rows, []string{fmt.Sprint(n.ID), levels})
	}
	table(w, []string{"NODE", "KNOWS"}, rows)
	switch {
	case u.Possible > u.Finalized:
		fmt.Fprintf(w, "\nfinalized is %d; ringmill cluster upgrade finalize makes it %d, and then no older release can be started\n", u.Finalized, u.Possible)
	default:
		fmt.Fprintf(w, "\nfinalized is %d; there is nothing to finalize\n", u.Finalized)
	}
}

func (a *app) upgradeFinalize() *cobra.Command {
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "finalize",
		Short: "Have the newest formats that all nodes know written; there is no way back",
		Example: `  ringmill cluster upgrade finalize --dry-run
  ringmill cluster upgrade finalize`,
		Args:              arguments(cobra.NoArgs),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.requests(cmd.Context(), func(ctx context.Context, client *kgo.Client) error { return a.finalize(ctx, client, dryRun) })
		},
	}
	registerDryRun(cmd, &dryRun)
	return cmd
}

func (a *app) finalize(ctx context.Context, client *kgo.Client, dryRun bool) error {
	u, err := readUpgrade(ctx, client)
	if err != nil {
		return err
	}
	for _, n := range u.Nodes {
		if n.Error != "" {
			return fmt.Errorf("node %d does not say what it knows: %s; start it, or take it out with ringmill node unregister if it is gone for good", n.ID, n.Error)
		}
	}
	if u.Possible > u.Finalized {
		req := kmsg.NewPtrUpdateFeaturesRequest()
		req.TimeoutMillis, req.ValidateOnly = int32(a.client.timeout.Milliseconds()), dryRun
		update := kmsg.NewUpdateFeaturesRequestFeatureUpdate()
		update.Feature, update.MaxVersionLevel, update.UpgradeType = formatFeature, u.Possible, 1
		req.FeatureUpdates = append(req.FeatureUpdates, update)
		resp, err := req.RequestWith(ctx, client)
		if err != nil {
			return cause(err)
		}
		if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
			return refused("feature", formatFeature, err, orNone(resp.ErrorMessage))
		}
		if !dryRun {
			u.Finalized = u.Possible
		}
	}
	return a.print(u, u.write)
}
