package quick

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ringmill/ringmill/bench"
	"github.com/ringmill/ringmill/bench/limits"
)

// near is the share of a limit from which on it is what holds a node up.
const near = 0.8

// exceeded is how much above a limit a use may be that was measured some seconds later. Beyond that what was measured is no limit, as where others had
// the disk then, and there is no share of it.
const exceeded = 1.1

// Share is how much of one limit the load at capacity used.
type Share struct {
	Name string `json:"name"`
	// Used and Limit are in Unit.
	Used  float64 `json:"used"`
	Limit float64 `json:"limit"`
	Unit  string  `json:"unit"`
	Share float64 `json:"share"`
	// Said is the share in words.
	Said string `json:"said"`
}

// Bottleneck is the nearest limit.
type Bottleneck struct {
	// Name is the share's; empty if nothing could be measured.
	Name string `json:"name"`
	// Near says that the limit is what holds the node up.
	Near bool `json:"near"`
	// Stage is the one that makes the p99 of produces in a ringmill node that tells its metrics.
	Stage string `json:"stage,omitempty"`
	// Said is the sentence, with what the node says of that.
	Said string `json:"said"`
}

// shares are those of all limits that are known, the greatest first.
func shares(capacity *bench.Report, use Use, n *Node, measured *limits.NodeLimits, client float64) (all []Share) {
	add := func(name, unit string, used, limit float64, said string) {
		if used > 0 && limit > 0 && used <= limit*exceeded {
			s := Share{Name: name, Used: used, Limit: limit, Unit: unit, Share: min(used/limit, 1)}
			s.Said = strings.ReplaceAll(said, "%SHARE", fmt.Sprintf("%.0f %%", s.Share*100))
			all = append(all, s)
		}
	}
	rate := capacity.Produced.RecordsPerSecond
	add("the client", "records/s", rate, client, fmt.Sprintf("%s records/s = %%SHARE of the %s that it sends to a server which does nothing", bench.FormatCount(rate), bench.FormatCount(client)))
	if measured != nil {
		if use.SyncsPerSecond > 0 {
			most := measured.SyncsPerSecond(use.SyncBytes)
			add("syncs of the disk", "syncs/s", use.SyncsPerSecond, most, fmt.Sprintf("%s syncs a second of %s records (%s) = %%SHARE of the %s that the disk does",
				bench.FormatCount(use.SyncsPerSecond), bench.FormatCount(use.SyncRecords), bytesOf(use.SyncBytes), bench.FormatCount(most)))
		}
		add("writing to the disk", "bytes/s", use.DiskWrittenBytesPerSecond, measured.DiskBytesPerSecond(), fmt.Sprintf("%s = %%SHARE of the %s that the disk takes",
			bench.FormatBytes(use.DiskWrittenBytesPerSecond), bench.FormatBytes(measured.DiskBytesPerSecond())))
		sent := capacity.Produced.BytesPerSecond
		if capacity.Consumed != nil {
			sent += capacity.Consumed.BytesPerSecond
		}
		add("the loopback", "bytes/s", sent, measured.Stream.BytesPerSecond, fmt.Sprintf("%s there and back = %%SHARE of the %s that it takes", bench.FormatBytes(sent), bench.FormatBytes(measured.Stream.BytesPerSecond)))
	}
	add("one thread of the node", "processors", use.BusiestThread, 1, "its busiest thread is busy %SHARE of the time")
	if n.Local {
		client := capacity.Client.CPUSeconds / max(capacity.ElapsedSeconds, 1e-9)
		others := max(0, use.MachineBusy*use.MachineProcessors-client-use.Processors)
		said := fmt.Sprintf("all %.0f are busy %%SHARE of the time, with %.2f of them for the node, %.2f for the client and %.2f for the kernel and others",
			use.MachineProcessors, use.Processors, client, others)
		if others > use.Processors+client {
			said += ": is something else running?"
		}
		add("the machine's processors", "share", use.MachineBusy, 1, said)
	}
	slices.SortStableFunc(all, func(a, b Share) int { return cmp.Compare(b.Share, a.Share) })
	return all
}

// bottleneck makes the sentence, of shares that are sorted.
func bottleneck(rate float64, all []Share) Bottleneck {
	if len(all) == 0 {
		return Bottleneck{Said: fmt.Sprintf("At %s records/s, all that were acknowledged, no limit could be measured.", bench.FormatCount(rate))}
	}
	b := Bottleneck{Name: all[0].Name, Near: all[0].Share >= near}
	if b.Near {
		b.Said = fmt.Sprintf("At %s records/s, all that were acknowledged, the limit is %s: %s.", bench.FormatCount(rate), all[0].Name, all[0].Said)
	} else {
		b.Said = fmt.Sprintf("At %s records/s, all that were acknowledged, nothing that was measured is near its limit; the nearest is %s: %s.", bench.FormatCount(rate), all[0].Name, all[0].Said)
	}
	return b
}

// stage adds what the node says of its produces at capacity.
func (b *Bottleneck) stage(capacity *bench.Report) {
	if capacity.Stages == nil {
		return
	}
	for _, q := range capacity.Stages.Requests {
		if q.API == "Produce" {
			b.Stage = q.P99Stage
			b.Said += " " + q.Reading
		}
	}
}

func bytesOf(n float64) string { return strings.TrimSuffix(bench.FormatBytes(n), "/s") }
