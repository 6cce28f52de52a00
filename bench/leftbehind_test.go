package bench_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/bench"
	"github.com/ringmill/ringmill/bench/benchtest"
)

// Of a topic that a node refused to make nothing is said to be left, and of one that it made and refuses to remove, that it is; where nobody knows, that it may be.
func TestWhatIsSaidOfTopicsThatAreLeft(t *testing.T) {
	for name, c := range map[string]struct {
		create, remove *kerr.Error
		lost           bool // the answer to its creation is
		said           string
		left           int
	}{
		"no right to create":              {kerr.TopicAuthorizationFailed, kerr.TopicAuthorizationFailed, false, "", 0},
		"no right on the cluster":         {kerr.ClusterAuthorizationFailed, nil, false, "", 0},
		"too many replicas":               {kerr.InvalidReplicationFactor, kerr.TopicAuthorizationFailed, false, "", 0},
		"no right to remove":              {nil, kerr.TopicAuthorizationFailed, false, "topic bench is left behind: ", 1},
		"no right to remove it, nor word": {nil, kerr.TopicAuthorizationFailed, true, "topic bench could not be removed, it may be left behind: ", 1},
		"no word of its removal":          {nil, kerr.RequestTimedOut, false, "topic bench could not be removed, it may be left behind: ", 1},
		"nobody knows":                    {kerr.UnknownServerError, kerr.UnknownServerError, false, "topic bench could not be removed, it may be left behind: ", 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := benchtest.New(1, benchtest.Constant(time.Millisecond))
				defer s.Close()
				if c.create != nil {
					s.Refuse(kmsg.CreateTopics, c.create)
				}
				if c.remove != nil {
					s.Refuse(kmsg.DeleteTopics, c.remove)
				}
				if c.lost {
					s.LoseCreations(0)
				}
				_, err := inBubble(s).Run(t.Context())
				if err == nil || !strings.Contains(err.Error(), c.said) || strings.Contains(err.Error(), "left behind") != (c.said != "") || errors.Is(err, bench.ErrLeftBehind) != (c.said != "") {
					t.Errorf("%v", err)
				}
				if c.create != nil && !errors.Is(err, c.create) || c.create == nil && !errors.Is(err, c.remove) {
					t.Errorf("%v does not say why", err)
				}
				if len(s.Topics()) != c.left {
					t.Errorf("topics %v", s.Topics())
				}
			})
		})
	}
}
