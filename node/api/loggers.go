package api

import (
	"log/slog"
	"strconv"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/node/config"
	"github.com/ringmill/ringmill/wire"
)

// rootLogger is the name of the node's one log, whose level is lost with the process as in Kafka.
const rootLogger = "root"

// logLevels are Kafka's levels as slog's, the weakest first.
var logLevels = []struct {
	name  string
	level slog.Level
}{
	{"TRACE", slog.LevelDebug - 4}, {"DEBUG", slog.LevelDebug}, {"INFO", slog.LevelInfo}, {"WARN", slog.LevelWarn},
	{"ERROR", slog.LevelError}, {"FATAL", slog.LevelError + 4},
}

// levelName is the name of the strongest level that is not above l.
func levelName(l slog.Level) string {
	name := logLevels[0].name
	for _, known := range logLevels {
		if known.level <= l {
			name = known.name
		}
	}
	return name
}

func levelOf(name string) (slog.Level, bool) {
	for _, known := range logLevels {
		if known.name == name {
			return known.level, true
		}
	}
	return 0, false
}

func describedLoggers(b Broker, name string) ([]config.Entry, refusal) {
	node := b.Config().NodeID
	switch name {
	case "":
		return nil, refuse(wire.InvalidRequest, "Broker id must not be empty")
	case strconv.Itoa(int(node)):
		level := levelName(b.LogLevel())
		return []config.Entry{{Name: rootLogger, Value: &level, Source: config.DynamicBrokerLoggerConfig}}, refusal{}
	}
	return nil, refuse(wire.InvalidRequest, "Unexpected broker id, expected %d but received %s", node, name)
}

// alterLoggers sets the level of the node's log. What is wrong with the list of changes itself is told first.
func alterLoggers(b Broker, asked *kmsg.IncrementalAlterConfigsRequestResource, validateOnly bool) refusal {
	if why := checkAlterations(asked.Configs); why.code != wire.None {
		return why
	}
	if _, why := brokerAlteration(b, asked.ResourceName); why.code != wire.None {
		return why
	}
	if asked.ResourceName == "" {
		return refuse(wire.InvalidRequest, "Node id must be an integer, but it is: ")
	}
	for i := range asked.Configs {
		if why := checkLogger(&asked.Configs[i]); why.code != wire.None {
			return why
		}
	}
	if len(asked.Configs) > 0 && !validateOnly { // a key stands once, and there is one that was not refused
		level, _ := levelOf(*asked.Configs[0].Value)
		b.SetLogLevel(level)
	}
	return refusal{}
}

// checkLogger judges one change in Kafka's words.
func checkLogger(c *kmsg.IncrementalAlterConfigsRequestResourceConfig) refusal {
	switch c.Op {
	case kmsg.IncrementalAlterConfigOpAppend, kmsg.IncrementalAlterConfigOpSubtract:
		return refuse(wire.InvalidRequest, "%s operation is not allowed for the BROKER_LOGGER resource", c.Op)
	case kmsg.IncrementalAlterConfigOpSet, kmsg.IncrementalAlterConfigOpDelete:
	default:
		return refuse(wire.InvalidRequest, "Unknown operation %d on %s", c.Op, c.Name)
	}
	if c.Name != rootLogger {
		return refuse(wire.InvalidConfig, "Logger %s does not exist!", c.Name)
	}
	if c.Op == kmsg.IncrementalAlterConfigOpDelete {
		return refuse(wire.InvalidRequest, "Removing the log level of the root logger is not allowed")
	}
	if _, known := levelOf(*c.Value); !known {
		return refuse(wire.InvalidConfig, "Cannot set the log level of root to %s as it is not a supported log level. "+
			"Valid log levels are DEBUG, ERROR, FATAL, INFO, TRACE, WARN", *c.Value)
	}
	return refusal{}
}
