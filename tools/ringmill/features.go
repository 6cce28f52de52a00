package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// feature is a feature of the cluster, as JSON.
type feature struct {
	Name         string `json:"name"`
	SupportedMin int16  `json:"supportedMin"`
	SupportedMax int16  `json:"supportedMax"`
	Finalized    int16  `json:"finalized"` // 0: off
}

func (a *app) featuresCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:               "features",
		Short:             "Show which features the nodes support, and at which level the cluster has them",
		Example:           `  ringmill features -o json`,
		GroupID:           groupCluster,
		Args:              arguments(cobra.NoArgs),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.requests(cmd.Context(), a.listFeatures)
		},
	}
	a.client.register(cmd)
	return cmd
}

func (a *app) listFeatures(ctx context.Context, client *kgo.Client) error {
	features, err := readFeatures(ctx, client)
	if err != nil {
		return err
	}
	return a.print(features, func(w io.Writer) {
		var rows [][]string
		for _, f := range features {
			rows = append(rows, []string{f.Name, fmt.Sprint(f.SupportedMin), fmt.Sprint(f.SupportedMax), fmt.Sprint(f.Finalized)})
		}
		table(w, []string{"FEATURE", "SUPPORTED-MIN", "SUPPORTED-MAX", "FINALIZED"}, rows)
	})
}

// readFeatures asks one node (KIP-584), in the version that tells of features which begin at 0.
func readFeatures(ctx context.Context, client *kgo.Client) ([]feature, error) {
	req := kmsg.NewPtrApiVersionsRequest()
	req.ClientSoftwareName, req.ClientSoftwareVersion = "ringmill", "devel"
	resp, err := req.RequestWith(ctx, client)
	if err != nil {
		return nil, cause(err)
	}
	if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
		return nil, refused("request", "ApiVersions", err, "")
	}
	byName := map[string]feature{}
	for _, s := range resp.SupportedFeatures {
		byName[s.Name] = feature{Name: s.Name, SupportedMin: s.MinVersion, SupportedMax: s.MaxVersion}
	}
	for _, s := range resp.FinalizedFeatures {
		f := byName[s.Name]
		f.Name, f.Finalized = s.Name, s.MaxVersionLevel
		byName[s.Name] = f
	}
	features := []feature{}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		features = append(features, byName[name])
	}
	return features, nil
}
