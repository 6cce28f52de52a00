package config

import "strings"

// Error says in one line why a configuration cannot be used. The node exits with status 2 for it and touches no file.
type Error struct {
	Key     string // the property, or "" where a whole source is at fault
	Value   string // as it was written
	Source  string // "server.properties:12", "environment RINGMILL_ENGINE", "--set", "--listen", "default"
	Problem string // what is wrong
	Cure    string // what to do; may be empty
}

// Error gives "key=value (source): problem; cure".
func (e *Error) Error() string {
	var b strings.Builder
	switch {
	case e.Key == "":
		b.WriteString(e.Source)
	case e.Value == "":
		b.WriteString(e.Key + " (" + e.Source + ")")
	default:
		b.WriteString(e.Key + "=" + printable(e.Value) + " (" + e.Source + ")")
	}
	b.WriteString(": " + e.Problem)
	if e.Cure != "" {
		b.WriteString("; " + e.Cure)
	}
	return b.String()
}

// printable keeps a value on one line of bearable length.
func printable(s string) string {
	const most = 120
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '?'
		}
		return r
	}, s)
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return s
}

// TopicError says why a property of a topic, a group or client metrics, or a broker's dynamic one, is refused. Error() is
// the message that Apache Kafka 4.1.1 sends with the same refusal.
type TopicError struct {
	Key     string
	Value   string // the part of the value at fault
	Problem string // Kafka's words; "" if the whole message is in message
	// InvalidRequest: of client metrics, Kafka refuses some with INVALID_REQUEST and the others with INVALID_CONFIG.
	InvalidRequest bool
	message        string
}

// Error gives Kafka's message.
func (e *TopicError) Error() string {
	if e.message != "" {
		return e.message
	}
	return "Invalid value " + e.Value + " for configuration " + e.Key + ": " + e.Problem
}

// Notice tells about something in the configuration that is accepted and has no effect, or not the expected one.
type Notice struct {
	Key    string
	Source string
	Reason string
}

// String gives "key (source): reason".
func (n Notice) String() string { return n.Key + " (" + n.Source + "): " + n.Reason }
