package wire

import (
	"fmt"
	"strings"
)

// TopicNameMax is the longest topic name in bytes: it must fit in a directory's name beside the partition's number.
const TopicNameMax = 249

// TopicNameError says why a name cannot be a topic's; the answer to it is INVALID_TOPIC_EXCEPTION.
type TopicNameError struct {
	Name    string
	Problem string // as Kafka words it in its responses
}

func (e *TopicNameError) Error() string { return e.Problem }

// CheckTopicName applies Kafka's rules for topic names (org.apache.kafka.common.internals.Topic.validate): 1 to 249 of
// [a-zA-Z0-9._-], and neither "." nor "..". The error is a *TopicNameError.
func CheckTopicName(name string) error {
	switch {
	case name == "":
		return invalidName(name, "the empty string is not allowed")
	case name == "." || name == "..":
		return invalidName(name, "'%s' is not allowed", name)
	case len(name) > TopicNameMax:
		return invalidName(name, "the length of '%s' is longer than the max allowed length %d", name, TopicNameMax)
	case strings.IndexFunc(name, notInTopicName) >= 0:
		return invalidName(name, "'%s' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'", name)
	}
	return nil
}

func invalidName(name, format string, args ...any) error {
	return &TopicNameError{Name: name, Problem: "Topic name is invalid: " + fmt.Sprintf(format, args...)}
}

func notInTopicName(r rune) bool {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '.', r == '_', r == '-':
		return false
	}
	return true
}
