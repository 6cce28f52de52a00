package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/group"
	"github.com/ringmill/ringmill/control/image"
)

// coordinateEach has a request that names several groups answered by all their coordinators.
func coordinateEach[P kmsg.Response](b Broker, r *Request, req kmsg.Request) P {
	partitions := int32(1) // any: without the topic there is no coordinator, and Coordinate says so
	if t := b.Image().ByName(image.ConsumerOffsetsTopic); t != nil {
		partitions = t.Partitions
	}
	parts := group.Split(req, partitions)
	answers := make([]kmsg.Response, len(parts))
	for i, part := range parts {
		answers[i] = b.Coordinate(part.Group, r.Client, part.Request)
	}
	return group.Merge(answers).(P)
}

// distinct gives each name once, in order: naming a large group a million times must not have it described as often.
func distinct(names []string) []string {
	seen := make(map[string]struct{}, len(names))
	out := make([]string, 0, len(names))
	for _, name := range names {
		if _, again := seen[name]; !again {
			seen[name] = struct{}{}
			out = append(out, name)
		}
	}
	return out
}

// partitionCount is 0 for a topic that does not exist.
func partitionCount(b Broker, topic string) int32 {
	if t := b.Image().ByName(topic); t != nil {
		return t.Partitions
	}
	return 0
}

// splitExisting splits what is asked of a topic's partitions by whether they exist, each side in the order that was asked.
func splitExisting[P any](b Broker, topic string, asked []P, index func(P) int32) (exist []P, missing []int32) {
	count := partitionCount(b, topic)
	for _, p := range asked {
		if i := index(p); i >= 0 && i < count {
			exist = append(exist, p)
		} else {
			missing = append(missing, i)
		}
	}
	return exist, missing
}
