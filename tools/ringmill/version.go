package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/ringmill/ringmill/node"
)

// versionInfo is what the binary knows of itself, as JSON.
type versionInfo struct {
	Version  string `json:"version"`  // the module's version, "(devel)" for a build from a checkout without tags
	Revision string `json:"revision"` // commit, "" if built without version control
	Modified bool   `json:"modified"` // the checkout held changes that are in no commit
	Go       string `json:"go"`
	Platform string `json:"platform"`
	Kafka    string `json:"kafka"` // whose properties, error codes and files are followed
}

const kafkaVersion = "4.1.1"

func readVersion() versionInfo {
	v := versionInfo{Version: node.Version(), Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, Kafka: kafkaVersion}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}

// line is the version for people.
func (v versionInfo) line() string {
	return fmt.Sprintf("ringmill %s (%s, %s), as Apache Kafka %s", v.Version, v.Go, v.Platform, v.Kafka)
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "version",
		Short:             "Show which build this is",
		Example:           `  ringmill version`,
		GroupID:           groupNode,
		Args:              arguments(cobra.NoArgs),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(*cobra.Command, []string) error {
			v := readVersion()
			return a.print(v, func(w io.Writer) {
				fmt.Fprintln(w, v.line())
			})
		},
	}
}
