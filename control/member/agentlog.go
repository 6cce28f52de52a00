package member

import (
	"bytes"
	"context"
	"log"
	"log/slog"
	"sync"
	"time"
)

// agentLog writes what the agent, serf and memberlist have to say, each kind a few times a minute at most.
type agentLog struct {
	log   *slog.Logger
	start time.Time
	mu    sync.Mutex
	said  throttle
}

func newAgentLog(log *slog.Logger) *agentLog {
	if log == nil {
		log = slog.Default()
	}
	return &agentLog{log: log, start: time.Now()}
}

// told logs a message, unless there were too many of that kind of late.
func (l *agentLog) told(level slog.Level, message, kind string, args ...any) {
	l.mu.Lock()
	leftOut, ok := l.said.admit(message+kind, time.Since(l.start))
	l.mu.Unlock()
	if !ok {
		return
	}
	if leftOut > 0 {
		args = append(args, "leftOut", leftOut)
	}
	l.log.Log(context.Background(), level, message, args...)
}

// logger is what serf and memberlist write to.
func (l *agentLog) logger() *log.Logger { return log.New(l, "", 0) }

// Write takes a line of serf's or memberlist's.
func (l *agentLog) Write(line []byte) (int, error) {
	level, text := levelOf(bytes.TrimSpace(line))
	l.told(level, string(text), kindOf(string(text)))
	return len(line), nil
}

// ownWords are parts of lines for which the agent has a clearer one of its own.
var ownWords = []string{"ignoring alive message", "Conflicting address", "name conflicts", "Name conflict", "Shutdown without a Leave", "Failed push/pull merge", "Failed to join"}

// levelOf reads the level that serf and memberlist put before their lines. Theirs are one too high for a node's log: a
// probe that fails is a warning there, and what the agent is for here.
func levelOf(line []byte) (slog.Level, []byte) {
	tag, text, ok := bytes.Cut(line, []byte("] "))
	if !ok {
		return slog.LevelDebug, line
	}
	for _, words := range ownWords {
		if bytes.Contains(text, []byte(words)) {
			return slog.LevelDebug, text
		}
	}
	switch string(tag) {
	case "[ERR":
		return slog.LevelWarn, text
	case "[WARN":
		return slog.LevelInfo, text
	}
	return slog.LevelDebug, text
}
