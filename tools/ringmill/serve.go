package main

import (
	"bytes"
	"io"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/ringmill/ringmill/node"
	"github.com/ringmill/ringmill/node/config"
)

func (a *app) serveCommand() *cobra.Command {
	var src config.Source
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run a node",
		Long: `Run a node until it is interrupted or terminated, or its terminal goes away (not under nohup). It then finishes what is under way, puts everything on disk and leaves
the mark of a clean stop, so that the next start has nothing to recover.

Properties are those of Kafka's server.properties; docs/configuration.md lists them all. The strongest source wins:
--set, then --listen, --data and --join, then the environment (RINGMILL_LOG_RETENTION_MS for log.retention.ms), then --config.`,
		Example: `  ringmill serve
  ringmill serve --listen 127.0.0.1:19092 --data /var/lib/ringmill
  ringmill serve --config server.properties --set ringmill.flush.policy=interval --set log.flush.interval.ms=50
  RINGMILL_LOG_RETENTION_HOURS=24 ringmill serve`,
		GroupID:           groupNode,
		Args:              arguments(cobra.NoArgs),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	flags := cmd.Flags()
	flags.StringVar(&src.File, "config", "", "`file` of properties, in the syntax of Kafka's server.properties")
	flags.StringArrayVar(&src.Set, "set", nil, "a property, as `key=value`; may be repeated")
	flags.StringVar(&src.Listen, "listen", "", "`host:port` to serve clients at, for listeners")
	flags.StringVar(&src.Data, "data", "", "`directory` for the node's data, for ringmill.data.dir")
	flags.StringArrayVar(&src.Join, "join", nil, "gossip `host:port` of a node of the cluster, for seeds; may be repeated")
	completeFlag(cmd, "join", "127.0.0.1:7946")
	completeFlag(cmd, "listen", "127.0.0.1:9092")
	completeFlag(cmd, "set", propertyNames(func(p config.Property) bool { return p.In(config.BrokerScope) })...)
	for _, err := range []error{cmd.MarkFlagFilename("config", "properties"), cmd.MarkFlagDirname("data")} {
		if err != nil {
			panic("BUG: " + err.Error())
		}
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		src.Env = os.Environ()
		cfg, notices, err := config.Load(src)
		if err != nil {
			return err
		}
		return node.Serve(cmd.Context(), cfg, notices, a.startLog())
	}
	return cmd
}

// startLog is where the node tells what it found and where it listens; what it logs later goes to standard error. With
// -o json both are lines of JSON.
func (a *app) startLog() io.Writer {
	options := &slog.HandlerOptions{Level: &node.LogLevel}
	if a.output == outputText {
		slog.SetDefault(slog.New(slog.NewTextHandler(a.stderr, options)))
		return a.stdout
	}
	slog.SetDefault(slog.New(slog.NewJSONHandler(a.stderr, options)))
	return &jsonLines{w: a.stdout}
}

// jsonLines turns each line that is written to it into {"message":"the line"}.
type jsonLines struct {
	w       io.Writer
	partial []byte
}

func (j *jsonLines) Write(p []byte) (int, error) {
	j.partial = append(j.partial, p...)
	for {
		line, rest, whole := bytes.Cut(j.partial, []byte("\n"))
		if !whole {
			return len(p), nil
		}
		j.partial = rest
		if err := writeJSON(j.w, map[string]string{"message": string(line)}); err != nil {
			return 0, err
		}
	}
}
