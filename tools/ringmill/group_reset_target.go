package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/ringmill/ringmill/bench"
)

// resetFlags say which offsets of a group are to go where.
type resetFlags struct {
	topics    []string
	allTopics bool
	execute   bool

	toEarliest, toLatest, toCurrent bool
	toOffset                        int64
	shiftBy                         int64
	toTime                          string
	byDuration                      time.Duration
	fromFile                        string
}

// resetWays are the flags of which one says where to.
var resetWays = []string{"to-earliest", "to-latest", "to-current", "to-offset", "to-time", "by-duration", "shift-by", "from-file"}

func (f *resetFlags) register(a *app, cmd *cobra.Command) {
	flags := cmd.Flags()
	registerPartitions(a, cmd, &f.topics)
	flags.BoolVar(&f.allTopics, "all-topics", false, "all partitions that the group has an offset of")
	flags.BoolVar(&f.execute, "execute", false, "commit the offsets")
	flags.BoolVar(&f.toEarliest, "to-earliest", false, "to the starts of the logs")
	flags.BoolVar(&f.toLatest, "to-latest", false, "to the ends of the logs")
	flags.BoolVar(&f.toCurrent, "to-current", false, "to where the group is; to the end where it has no offset")
	flags.Int64Var(&f.toOffset, "to-offset", 0, "to this offset")
	flags.StringVar(&f.toTime, "to-time", "", "to the first record at or after a `time`, as 2026-11-01T00:00:00Z or in milliseconds since 1970")
	flags.DurationVar(&f.byDuration, "by-duration", 0, "to the first record not older than this")
	flags.Int64Var(&f.shiftBy, "shift-by", 0, "this many records on, or with a minus sign back")
	flags.StringVar(&f.fromFile, "from-file", "", "to the offsets in a `file` as -o json writes them")
	for _, flag := range []string{"to-offset", "to-time", "by-duration", "shift-by"} {
		completeFlag(cmd, flag)
	}
	if err := cmd.MarkFlagFilename("from-file", "json"); err != nil {
		panic("BUG: " + err.Error())
	}
}

// resetTarget is what the flags say, checked.
type resetTarget struct {
	way       string // one of resetWays
	number    int64  // of to-offset and shift-by
	timestamp int64  // of to-time and by-duration; else -1
	wanted    []topicPartitions
	file      map[partition]int64
}

// read checks the flags. now is what --by-duration counts from.
func (f *resetFlags) read(cmd *cobra.Command, now time.Time) (resetTarget, error) {
	t := resetTarget{timestamp: -1}
	for _, way := range resetWays {
		if !cmd.Flags().Changed(way) {
			continue
		}
		if t.way != "" {
			return t, wrongUse(cmd, "--%s and --%s: only one can say where to", t.way, way)
		}
		t.way = way
	}
	if t.way == "" {
		return t, wrongUse(cmd, "one of --%s is needed", strings.Join(resetWays, ", --"))
	}
	if err := f.readScope(cmd, &t); err != nil {
		return t, err
	}
	return t, f.readWay(cmd, &t, now)
}

func (f *resetFlags) readScope(cmd *cobra.Command, t *resetTarget) (err error) {
	switch {
	case t.way == "from-file" && (f.allTopics || len(f.topics) > 0):
		return wrongUse(cmd, "--from-file names the partitions itself")
	case t.way != "from-file" && f.allTopics == (len(f.topics) > 0):
		return wrongUse(cmd, "either --topic or --all-topics is needed")
	}
	t.wanted, err = readPartitions(cmd, f.topics)
	return err
}

func (f *resetFlags) readWay(cmd *cobra.Command, t *resetTarget, now time.Time) (err error) {
	switch t.way {
	case "to-offset":
		if t.number = f.toOffset; t.number < 0 {
			return wrongUse(cmd, "--to-offset %d: must be 0 or more", t.number)
		}
	case "shift-by":
		t.number = f.shiftBy
	case "to-time":
		if t.timestamp, err = readTime(f.toTime); err != nil {
			return wrongUse(cmd, "--to-time %q: must be a time as 2026-11-01T00:00:00Z, or milliseconds since 1970", f.toTime)
		}
	case "by-duration":
		if f.byDuration < 0 {
			return wrongUse(cmd, "--by-duration %v: must not be negative", f.byDuration)
		}
		t.timestamp = max(now.Add(-f.byDuration).UnixMilli(), 0)
	case "from-file":
		t.file, err = readPlan(f.fromFile)
	}
	return err
}

// readTime reads RFC 3339 or milliseconds.
func readTime(text string) (ms int64, err error) {
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at.UnixMilli(), nil
	}
	if err := json.Unmarshal([]byte(text), &ms); err != nil || ms < 0 {
		return 0, fmt.Errorf("no time: %s", text)
	}
	return ms, nil
}

// planBytesMax bounds a plan: a million partitions' lines.
const planBytesMax = 256 << 20

// readPlan reads what group reset -o json wrote.
func readPlan(name string) (map[partition]int64, error) {
	text, err := bench.ReadFile(name, planBytesMax)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, cause(err))
	}
	var rows []plannedOffset
	if err := json.Unmarshal(text, &rows); err != nil {
		return nil, fmt.Errorf("%s: not what group reset -o json writes: %w", name, err)
	}
	plan := make(map[partition]int64, len(rows))
	for _, r := range rows {
		if _, twice := plan[r.partition]; twice || r.Topic == "" || r.Partition < 0 || r.Offset < 0 {
			return nil, fmt.Errorf("%s: partition %s is there twice or cannot be", name, partitionName(r.partition))
		}
		plan[r.partition] = r.Offset
	}
	return plan, nil
}

// partitions are those whose offsets are moved, sorted.
func (t *resetTarget) partitions(ctx context.Context, admin *kadm.Client, known map[partition]int64) ([]partition, error) {
	var all []partition
	switch {
	case t.wanted != nil:
		return existingPartitions(ctx, admin, t.wanted)
	case t.file != nil:
		all = slices.Collect(maps.Keys(t.file))
	default:
		all = slices.Collect(maps.Keys(known))
	}
	return sortPartitions(all), nil
}

// offset is where a partition's offset goes from where it is (-1: there is none), within the log.
func (t *resetTarget) offset(p partition, from int64, log logBounds) (int64, error) {
	to := log.end
	switch t.way {
	case "to-earliest":
		to = log.start
	case "to-current":
		if from >= 0 {
			to = from
		}
	case "to-offset":
		to = t.number
	case "shift-by":
		if from < 0 {
			return 0, fmt.Errorf("partition %s: the group has no offset to shift", partitionName(p))
		}
		to = shifted(from, t.number)
	case "to-time", "by-duration":
		if log.atTime >= 0 {
			to = log.atTime
		}
	case "from-file":
		to = t.file[p]
	}
	return min(max(to, log.start), log.end), nil
}

// shifted adds without overflow; offsets are not negative.
func shifted(from, by int64) int64 {
	if sum := from + by; by < 0 || sum >= from {
		return sum
	}
	return 1<<63 - 1
}
