package image

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

func TestCollidingNames(t *testing.T) {
	m := must(new(Image).With(topic("wireroom.x_y", 1), topic("plain", 2)))
	const problem = "Topic 'wireroom_x.y' collides with existing topic: wireroom.x_y"
	if err := m.CheckNewTopicName("wireroom_x.y"); err == nil || err.Error() != problem {
		t.Errorf("got %v", err)
	}
	for _, name := range []string{"wireroom.x_y", "wireroom-x-y", "plain", "new"} {
		if err := m.CheckNewTopicName(name); err != nil {
			t.Error(err)
		}
	}
	if m.CheckNewTopicName("a b") == nil {
		t.Error("an illegal name passed")
	}
	// Kafka accepts colliding names that come in one request, so a log may hold them; each must go on its own.
	m = must(m.With(topic("wireroom_x_y", 3), RemoveTopicRecord{ID: id(1)}))
	if err := m.CheckNewTopicName("wireroom.x.y"); err == nil || !strings.HasSuffix(err.Error(), "wireroom_x_y") {
		t.Errorf("got %v", err)
	}
	m = must(m.With(RemoveTopicRecord{ID: id(3)}))
	if err := m.CheckNewTopicName("wireroom.x.y"); err != nil {
		t.Error(err)
	}
}

func TestInternalTopics(t *testing.T) {
	for name, want := range map[string]bool{ConsumerOffsetsTopic: true, TransactionStateTopic: true, ShareGroupStateTopic: true,
		"__cluster": false, "orders": false} {
		if IsInternal(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}
