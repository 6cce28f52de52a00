package api

import (
	"log/slog"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

// TestAlterLoggers is a walk with the level after each step; codes and messages are those of Apache Kafka 4.1.1.
func TestAlterLoggers(t *testing.T) {
	b := newFakeBroker(t)
	const unsupported = " as it is not a supported log level. Valid log levels are DEBUG, ERROR, FATAL, INFO, TRACE, WARN"
	for i, step := range []struct {
		node    string
		change  change
		code    wire.ErrorCode
		message string
		then    string
	}{
		{"1", change{"root", set, "NONSENSE"}, 40, "Cannot set the log level of root to NONSENSE" + unsupported, "INFO"},
		{"1", change{"root", set, "warn"}, 40, "Cannot set the log level of root to warn" + unsupported, "INFO"},
		{"1", change{"root", set, "OFF"}, 40, "Cannot set the log level of root to OFF" + unsupported, "INFO"},
		{"1", change{"root", set, "FATAL"}, 0, "<null>", "FATAL"},
		{"1", change{"root", set, "TRACE"}, 0, "<null>", "TRACE"},
		{"1", change{"root", add, "DEBUG"}, 42, "APPEND operation is not allowed for the BROKER_LOGGER resource", "TRACE"},
		{"1", change{"root", sub, "DEBUG"}, 42, "SUBTRACT operation is not allowed for the BROKER_LOGGER resource", "TRACE"},
		{"1", change{"root", del, "<null>"}, 42, "Removing the log level of the root logger is not allowed", "TRACE"},
		{"1", change{"root", set, "<null>"}, 42, "Null value not supported for : root", "TRACE"},
		{"1", change{"kafka.nonsense", set, "DEBUG"}, 40, "Logger kafka.nonsense does not exist!", "TRACE"},
		{"", change{"root", set, "WARN"}, 42, "Node id must be an integer, but it is: ", "TRACE"},
		{"x", change{"root", set, "WARN"}, 42, "Node id must be an integer, but it is: x", "TRACE"},
		{"2", change{"root", set, "WARN"}, 42, "Unexpected broker id, expected 1, but received 2", "TRACE"},
	} {
		code, message := alter(t, b, alterRequest(kmsg.ConfigResourceTypeBrokerLogger, step.node, step.change))
		if code != step.code || message != step.message {
			t.Errorf("step %d, %+v: %d %q", i, step.change, code, message)
		}
		got := described(t, b, describeConfigsRequest(kmsg.ConfigResourceTypeBrokerLogger, "1")).Configs
		if len(got) != 1 || got[0].Name != "root" || text(got[0].Value) != step.then || got[0].Source != kmsg.ConfigSourceDynamicBrokerLoggerConfig {
			t.Errorf("step %d: %+v", i, got)
		}
	}
	if b.logLevel >= slog.LevelDebug {
		t.Errorf("TRACE is %v", b.logLevel)
	}
}

// TestLoggersValidateOnly: nothing is changed, and no changes at all are none that are wrong.
func TestLoggersValidateOnly(t *testing.T) {
	b := newFakeBroker(t)
	req := alterRequest(kmsg.ConfigResourceTypeBrokerLogger, "1", change{"root", set, "FATAL"})
	req.ValidateOnly = true
	if code, message := alter(t, b, req); code != 0 || b.logLevel != slog.LevelInfo {
		t.Error(code, message, b.logLevel)
	}
	if code, message := alter(t, b, alterRequest(kmsg.ConfigResourceTypeBrokerLogger, "1")); code != 0 {
		t.Error(code, message)
	}
}
