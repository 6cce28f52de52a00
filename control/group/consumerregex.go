package group

import (
	"errors"
	"regexp"
	"regexp/syntax"
	"slices"

	"github.com/ringmill/ringmill/wire"
)

// regexSubscription is a regular expression that members subscribe to, with the topics whose whole name it matches.
type regexSubscription struct {
	members       int
	resolved      bool // topics say something
	topics        []string
	topicsVersion uint64         // of the image that topics were taken from
	resolvedAt    wire.Timestamp // wall clock
}

// resolvedOverheadBytes is what a topic of a resolved expression costs: a string, whose bytes are the image's.
const resolvedOverheadBytes = 16

func (r *regexSubscription) size() int64 { return resolvedOverheadBytes * int64(len(r.topics)) }

func (cg *consumerGroup) countRegex(regex string, delta int) {
	r := cg.regexes[regex]
	if r == nil {
		r = &regexSubscription{}
		cg.regexes[regex] = r
	}
	r.members += delta
}

// checkRegex says what is wrong with a regular expression. Kafka's are RE2J's, Go's syntax.
func checkRegex(regex string) refusal {
	_, err := regexp.Compile(regex)
	if err == nil {
		return accepted
	}
	reason := err.Error()
	var at *syntax.Error
	if errors.As(err, &at) {
		reason = string(at.Code)
	}
	return refuse(wire.InvalidRegularExpression, "SubscribedTopicRegex `%s` is not a valid regular expression: %s.", regex, reason)
}

// regexJoined follows a member that subscribes to regex now and to old before. It reports whether the group reads other
// topics by that at once; what is not resolved yet is by refreshRegexes.
func (c *Coordinator) regexJoined(g *group, old, regex string) (changed bool) {
	if old == regex {
		return false
	}
	c.dropUnusedRegex(g, old)
	return regex != "" && g.consumer.regexes[regex].resolved
}

// dropUnusedRegex forgets a regular expression that nobody subscribes to any longer.
func (c *Coordinator) dropUnusedRegex(g *group, regex string) {
	if r := g.consumer.regexes[regex]; r != nil && r.members == 0 {
		c.memoryBytes -= r.size()
		delete(g.consumer.regexes, regex)
		g.touch(recordRegex, regex)
	}
}

// regexRefreshMinMS is the least time between two resolutions of a group's regular expressions, as in Kafka.
const regexRefreshMinMS = 10_000

// refreshRegexes resolves a group's regular expressions all together, so that one change of topics is one new epoch: if
// one was never resolved, if there are new topics, or if it was long ago; not again within ten seconds. It follows a
// heartbeat, whose answer does not know of it yet; what all members get is what its sender may know of, as in Kafka.
func (c *Coordinator) refreshRegexes(g *group) {
	cg := g.consumer
	if len(cg.regexes) == 0 {
		return
	}
	due, last, resolved := false, wire.Timestamp(0), false
	for _, r := range cg.regexes {
		if r.resolved {
			last, resolved = max(last, r.resolvedAt), true
		}
		due = due || !r.resolved || r.topicsVersion < c.topics.createdAt
	}
	if resolved && int64(c.wall-last) <= regexRefreshMinMS {
		return
	}
	if due || resolved && int64(c.wall-last) > c.cfg.ConsumerRegexRefreshMS {
		c.resolveRegexes(g)
	}
}

func (c *Coordinator) resolveRegexes(g *group) {
	changed := false
	for _, regex := range sortedKeys(g.consumer.regexes) {
		r := g.consumer.regexes[regex]
		topics := c.matching(regex)
		changed = changed || !slices.Equal(topics, r.topics)
		c.memoryBytes -= r.size()
		r.topics, r.resolved, r.topicsVersion, r.resolvedAt = topics, true, c.topics.image.Version(), c.wall
		c.memoryBytes += r.size()
		g.touch(recordRegex, regex)
	}
	c.refreshTopics(g, changed)
	c.settle(g)
}

// matching lists the topics whose whole name matches and of which whoever asks may know. An expression that a log has and that is none
// matches nothing.
func (c *Coordinator) matching(regex string) (names []string) {
	re, err := regexp.Compile(regex)
	if err != nil {
		return nil
	}
	re.Longest() // the longest match that begins at 0 is the whole name, or no match is
	for t := range c.topics.image.Topics() {
		if at := re.FindStringIndex(t.Name); at != nil && at[0] == 0 && at[1] == len(t.Name) && (c.mayDescribe == nil || c.mayDescribe(t.Name)) {
			names = append(names, t.Name)
		}
	}
	return names
}
