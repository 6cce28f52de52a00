package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// startOffset is the value of --offset.
type startOffset struct {
	kind  startKind
	value int64 // offset, records before the end, or milliseconds
}

type startKind int

const (
	fromStart startKind = iota
	fromEnd
	fromOffset
	beforeEnd
	fromTime
)

// Set reads start, end, N, -N or @MS.
func (s *startOffset) Set(text string) error {
	kind, digits := fromOffset, text
	switch {
	case text == "start" || text == "beginning":
		*s = startOffset{kind: fromStart}
		return nil
	case text == "end":
		*s = startOffset{kind: fromEnd}
		return nil
	case strings.HasPrefix(text, "@"):
		kind, digits = fromTime, text[1:]
	case strings.HasPrefix(text, "-"):
		kind, digits = beforeEnd, text[1:]
	}
	n, err := strconv.ParseUint(digits, 10, 63)
	if err != nil {
		return fmt.Errorf("must be start, end, N, -N or @MS")
	}
	*s = startOffset{kind, int64(n)}
	return nil
}

// String writes what Set reads.
func (s *startOffset) String() string {
	switch s.kind {
	case fromStart:
		return "start"
	case fromEnd:
		return "end"
	case beforeEnd:
		return fmt.Sprintf("-%d", s.value)
	case fromTime:
		return fmt.Sprintf("@%d", s.value)
	}
	return strconv.FormatInt(s.value, 10)
}

// Type is the placeholder in help.
func (s *startOffset) Type() string { return "offset" }

// reset is where a group's partition without a committed offset begins.
func (s *startOffset) reset() kgo.Offset {
	o := kgo.NewOffset()
	switch s.kind {
	case fromStart:
		return o.AtStart()
	case fromEnd:
		return o.AtEnd()
	case beforeEnd:
		return o.AtEnd().Relative(-s.value)
	case fromTime:
		return o.AfterMilli(s.value)
	}
	return o.At(s.value)
}

// logRange is what to read of a partition: from is at least its start offset, end is where it ended when asked.
type logRange struct{ from, end int64 }

// readLogs asks where the partitions begin and end, and puts the start offset between the two.
func readLogs(ctx context.Context, admin *kadm.Client, topic string, s startOffset, wanted []int32) (map[int32]logRange, error) {
	details, err := admin.ListTopicsWithInternal(ctx, topic)
	if err != nil {
		return nil, cause(err)
	}
	d := details[topic]
	if d.Err != nil {
		return nil, refused("topic", topic, d.Err, "")
	}
	partitions, err := validPartitions(topic, d.Partitions.Numbers(), wanted)
	if err != nil {
		return nil, err
	}
	starts, err := answered(admin.ListStartOffsets(ctx, topic))
	if err != nil {
		return nil, err
	}
	ends, err := answered(admin.ListEndOffsets(ctx, topic))
	if err != nil {
		return nil, err
	}
	times := ends
	if s.kind == fromTime {
		if times, err = answered(admin.ListOffsetsAfterMilli(ctx, s.value, topic)); err != nil {
			return nil, err
		}
	}
	logs := make(map[int32]logRange)
	for _, p := range partitions {
		for _, listed := range []kadm.ListedOffsets{starts, ends, times} {
			switch o, ok := listed.Lookup(topic, p); {
			case !ok:
				return nil, fmt.Errorf("partition %s-%d: no leader tells its offsets; ringmill cluster status says which node to start, and -p reads the other partitions", topic, p)
			case o.Err != nil:
				return nil, refused("partition", fmt.Sprintf("%s-%d", topic, p), o.Err, "")
			}
		}
		start, end := offsetOf(starts, topic, p), offsetOf(ends, topic, p)
		logs[p] = logRange{s.between(start, end, offsetOf(times, topic, p)), end}
	}
	return logs, nil
}

// between is the offset to begin at in a log from start to end, atTime being the first at or after the time.
func (s *startOffset) between(start, end, atTime int64) int64 {
	from := end
	switch s.kind {
	case fromStart:
		from = start
	case fromOffset:
		from = s.value
	case beforeEnd:
		from = end - s.value
	case fromTime:
		from = atTime
	}
	return min(max(from, start), end)
}

// endTracker knows which partitions have yet to be read to the end that they had at the start, and stops the reading when
// none is left. Without -e it never does. Its callers are the reading loop and the client's group goroutine.
type endTracker struct {
	mu      sync.Mutex
	enabled bool
	ready   bool            // partitions were assigned
	ends    map[int32]int64 // of each partition ever assigned
	left    map[int32]bool  // partitions not read to their end
	stop    func()          // ends the reading; may be called again
}

func newEndTracker(enabled bool, stop func()) *endTracker {
	return &endTracker{enabled: enabled, stop: stop, ends: make(map[int32]int64), left: make(map[int32]bool)}
}

func (t *endTracker) assign(p int32, from, end int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ends[p] = end
	if from < end {
		t.left[p] = true
	}
}

// assigned says that all partitions of a first assignment are known.
func (t *endTracker) assigned() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ready = true
	t.check()
}

// assignGroup learns the ends of partitions that the group gave to this member.
func (t *endTracker) assignGroup(ctx context.Context, admin *kadm.Client, topic string, f consumeFlags, partitions []int32) {
	defer t.assigned()
	logs, err := readLogs(ctx, admin, topic, f.offset, partitions)
	if err != nil {
		return // the reading itself meets the error and tells it
	}
	committed, err := admin.FetchOffsets(ctx, f.group)
	if err != nil {
		return
	}
	for _, p := range partitions {
		from := logs[p].from
		if o, ok := committed.Lookup(topic, p); ok && o.At >= 0 {
			from = o.At
		}
		t.assign(p, from, logs[p].end)
	}
}

// beyond reports whether r came after the start of the command, so that -e leaves it out.
func (t *endTracker) beyond(r *kgo.Record) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	end, known := t.ends[r.Partition]
	return t.enabled && known && r.Offset >= end
}

// passed says that r is done with.
func (t *endTracker) passed(r *kgo.Record) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if end, known := t.ends[r.Partition]; known && r.Offset+1 >= end {
		delete(t.left, r.Partition)
		t.check()
	}
}

func (t *endTracker) check() {
	if t.enabled && t.ready && len(t.left) == 0 {
		t.stop()
	}
}
