package wire

import (
	"errors"
	"strings"
	"testing"
)

// The problems are what Apache Kafka 4.1.1 answers to CreateTopics.
func TestTopicNames(t *testing.T) {
	long := strings.Repeat("x", 249)
	for name, problem := range map[string]string{
		"orders": "", "a.b_c-D9": "", "...": "", long: "", "__anything": "",
		"":         "Topic name is invalid: the empty string is not allowed",
		".":        "Topic name is invalid: '.' is not allowed",
		"..":       "Topic name is invalid: '..' is not allowed",
		long + "y": "Topic name is invalid: the length of '" + long + "y' is longer than the max allowed length 249",
		"a b":      "Topic name is invalid: 'a b' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'",
		"é":        "Topic name is invalid: 'é' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'",
		"a/b":      "Topic name is invalid: 'a/b' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'",
		"a\x00":    "Topic name is invalid: 'a\x00' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'",
		"\xff":     "Topic name is invalid: '\xff' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'",
	} {
		err := CheckTopicName(name)
		var e *TopicNameError
		if problem == "" && err != nil || problem != "" && (!errors.As(err, &e) || e.Name != name || err.Error() != problem) {
			t.Errorf("%q: %v", name, err)
		}
	}
}
