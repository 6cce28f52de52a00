package page

import (
	"cmp"
	"slices"

	"github.com/ringmill/ringmill/bench"
)

// backlog shows how consumers left records behind, and how they caught up.
func backlog(r *bench.Report) section {
	b := r.Backlog
	asked, left := b.Asked(r.Config.RecordBytes)
	took, waiting, produced, consumed := []string{"took", "–", "–"}, []string{"waiting then", "–", "–"}, []string{"produced/s", "–", "–"}, []string{"consumed/s", "–", "–"}
	s := section{ID: "backlog", Title: "Backlog", Note: "Records that were acknowledged and that no consumer had, of all subscriptions together. " + b.Reading()}
	seen := []point{{}} // at instants that no second's end tells
	if b.Records > 0 {
		seen = append(seen, point{x: b.BuildSeconds, y: float64(b.Records)})
		took[1], waiting[1] = bench.FormatLatency(b.BuildSeconds*1e6), count(b.Records)
		s.Note += " The upright line is where consumers read on."
	}
	if b.DrainSeconds > 0 {
		seen = append(seen, point{x: b.BuildSeconds + b.DrainSeconds, y: float64(b.LeftRecords)})
		took[2], waiting[2] = bench.FormatLatency(b.DrainSeconds*1e6), count(b.LeftRecords)
		produced[2], consumed[2] = bench.FormatCount(b.ProducedPerSecond), bench.FormatCount(b.ConsumedPerSecond)
		s.Note += " The second one is where it counts as drained."
	}
	s.Table = grid{Caption: "Backlog", Head: []string{"", "built", "drained"}, Rows: [][]string{took, waiting, {"asked for", count(asked), count(left)}, produced, consumed}}
	lines := []line{waitingOverTime(r, seen), {name: "asked for", style: 5, points: []point{{y: float64(asked)}, {x: r.ElapsedSeconds, y: float64(asked)}}}}
	c := timed(r, s.ID, s.Title, "A line of the records that waited for consumers, second by second. "+b.Reading(), lines)
	for _, p := range seen[1:] {
		c.marks = append(c.marks, p.x)
	}
	_, high := extent(lines)
	c.y = axis{"", newLinear(high, rateLabel)}
	s.Plot, s.Legend = c.svg(), legend(lines)
	return s
}

// waitingOverTime is a line through the seconds' ends, and through what else was seen.
func waitingOverTime(r *bench.Report, seen []point) line {
	for _, s := range spans(r, pointsMax) {
		seen = append(seen, point{x: float64(s.from + s.seconds), y: s.waiting})
	}
	slices.SortStableFunc(seen, func(a, b point) int { return cmp.Compare(a.x, b.x) })
	return line{name: "waiting", points: seen}
}

// count is a whole number with its thousands apart.
func count[N int | int64](n N) string { return bench.FormatCount(float64(n)) }
