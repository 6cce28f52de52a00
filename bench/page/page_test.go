package page

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ringmill/ringmill/bench"
	"github.com/ringmill/ringmill/bench/limits"
	"github.com/ringmill/ringmill/bench/quick"
)

var update = flag.Bool("update", false, "write testdata/*.html from what is made of testdata/*.json")

// fixed is a result of a run in which the node was frozen for 1.5 s, changed.
func fixed(t *testing.T, changes ...func(*bench.Report)) *bench.Report {
	t.Helper()
	r := read[bench.Report](t, "run.json")[0]
	for _, change := range changes {
		change(r)
	}
	return r
}

// read are results that testdata has as bench run, ab and sweep wrote them, the last two without seconds and histograms.
func read[R any](t *testing.T, file string) (all []*R) {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for d := json.NewDecoder(f); ; {
		r := new(R)
		if err := d.Decode(r); err == io.EOF {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
}

// ofRate makes it another one.
func ofRate(times float64) func(*bench.Report) {
	return func(r *bench.Report) {
		r.Config.RatePerSecond *= times
		r.Produced.RecordsPerSecond *= times
		for _, us := range []*float64{&r.Produced.Latency.P50Us, &r.Produced.Latency.P99Us, &r.Produced.Latency.P999Us} {
			*us *= times
		}
	}
}

func invalid(r *bench.Report) {
	r.Verdict, r.Reasons = bench.VerdictInvalid, []string{"the client used 91 % of its 2 processors, more than 85 %: it was measured, not the node"}
}

func several(t *testing.T) []Named {
	return []Named{{"much", fixed(t, ofRate(8), invalid)}, {"little", fixed(t, ofRate(0.25))}, {"some", fixed(t)}}
}

// swept is a result of bench sweep with two settings of which one has a rate that holds, and a third one without any.
func swept(t *testing.T) *bench.Sweep {
	found := fixed(t, ofRate(2))
	return &bench.Sweep{Schema: bench.SweepSchema, Bounds: []string{"p99<2s"}, Points: []bench.SweepPoint{
		{Settings: []bench.Setting{{Name: "linger", Value: "0s"}}, Found: &bench.Found{Rate: found.Config.RatePerSecond, Above: 2 * found.Config.RatePerSecond, Broken: "p99 is 3s"}, Runs: []*bench.Report{fixed(t), found, fixed(t, ofRate(4), invalid)}},
		{Settings: []bench.Setting{{Name: "linger", Value: "5ms"}}, Found: &bench.Found{Rate: fixed(t, ofRate(3)).Config.RatePerSecond}, Runs: []*bench.Report{fixed(t, ofRate(3))}},
		{Settings: []bench.Setting{{Name: "linger", Value: "50ms"}}, Failed: "p99 is 9s", Runs: []*bench.Report{fixed(t, ofRate(0.5))}},
	}}
}

// sides are runs of two targets of which the second one is slower.
func sides(t *testing.T) (a, b []*bench.Report) {
	for i := range 5 {
		later := func(r *bench.Report) { r.Started = r.Started.Add(time.Duration(i) * time.Minute) }
		a = append(a, fixed(t, ofRate(1+float64(i)/100), later, asked(1000)))
		b = append(b, fixed(t, ofRate(1.2+float64(i)/100), later, asked(1000)))
	}
	b[2].Verdict, b[2].Reasons = bench.VerdictInvalid, []string{"late"}
	return a, b
}

// asked has runs be of the same rate.
func asked(rate float64) func(*bench.Report) {
	return func(r *bench.Report) { r.Config.RatePerSecond = rate }
}

func against(t *testing.T, a, b []*bench.Report) *bench.Comparison {
	t.Helper()
	c, err := bench.Compare(a, b)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Where nodes of both sides said where their time went, a section of each kind of request does, with the sentence; stages outside of the total are in the table alone.
func TestStagesCompared(t *testing.T) {
	contrast := func(stage string, a, b float64, verdict string) bench.StageContrast {
		return bench.StageContrast{API: "Produce", Stage: stage, Contrast: bench.Contrast{A: a, B: b, Verdict: verdict}}
	}
	all := stagesCompared(&bench.StageComparison{Readings: []string{"Produce took longer.", "Fetch did not."}, Stages: []bench.StageContrast{
		contrast("received", 7, 8, bench.VerdictSame), contrast("appended", 300, 400, bench.VerdictSame), contrast("synced", 700, 1600, bench.VerdictWorse), contrast("total", 1000, 2000, bench.VerdictWorse),
		{API: "Fetch", Stage: "purgatory", Contrast: bench.Contrast{A: 5, B: 5, Verdict: bench.VerdictSame}}}})
	if len(all) != 2 || all[0].ID != "stages-produce" || all[1].ID != "stages-fetch" || !strings.HasPrefix(all[1].Note, "Fetch did not.") {
		t.Fatalf("%+v", all)
	}
	s := all[0]
	if got, want := fmt.Sprint(s.Table.Rows), "[[received 7 µs 8 µs +1 µs no difference seen] [appended 300 µs 400 µs +100 µs no difference seen] [synced 700 µs 1.6 ms +900 µs worse] [total 1 ms 2 ms +1 ms worse]]"; got != want {
		t.Errorf("table %s, want %s", got, want)
	}
	for _, want := range []string{"A: appended 30.0 %, synced 70.0 %. B: appended 20.0 %, synced 80.0 %.", // on one scale, on which B is as wide as the sheet
		`<rect class="part s1" x="84.0" y="22.0" width="196.0"`, `<rect class="part s1" x="112.0" y="86.0" width="448.0"`} {
		if !strings.Contains(string(s.Plot), want) {
			t.Errorf("no %s in %s", want, s.Plot)
		}
	}
	if len(s.Legend) != 2 {
		t.Errorf("%+v", s.Legend)
	}
}

// What is to be said of a sweep or a comparison is said in words, and what there is none of is left out.
func TestSweepsAndComparisonsOfAllKinds(t *testing.T) {
	sweep := func(change func(*bench.Sweep)) string {
		s := swept(t)
		change(s)
		return written(t, func(w io.Writer) error { return Sweep(w, s, "") })
	}
	compare := func(change func(a, b []*bench.Report) ([]*bench.Report, []*bench.Report)) string {
		a, b := change(sides(t))
		return written(t, func(w io.Writer) error { return Compare(w, against(t, a, b), a, b, "") })
	}
	for name, c := range map[string]struct {
		page       string
		have, lack string
	}{
		"a sweep without bounds": {sweep(func(s *bench.Sweep) {
			s.Bounds, s.Points = nil, s.Points[:1]
			s.Points[0].Found = nil
		}), "records/s, 99\u00a0% within", "does not hold"},
		"a sweep that no rate holds": {sweep(func(s *bench.Sweep) { s.Points = s.Points[2:] }), "linger=50ms: no rate holds: p99 is 9s", `id="section-rates"`},
		"a sweep that broke off":     {sweep(func(s *bench.Sweep) { s.Points[1].Runs, s.Points[1].Found = nil, nil }), "it broke off before there was a run", "holds at"},
		"a search that broke off":    {sweep(func(s *bench.Sweep) { s.Points[1].Found = nil }), "it broke off before a rate was found", "NaN"},
		"a sweep whose nodes told": {sweep(func(s *bench.Sweep) {
			for i := range s.Points[0].Runs {
				withBeside(s.Points[0].Runs[i])
			}
		}), `<th scope="row">linger=0s</th><td>synced</td><td>100 µs</td><td>900 µs</td><td>2 µs</td><td>1 ms</td>`, "NaN"},
		"a point whose node did not":  {sweep(func(s *bench.Sweep) { withBeside(s.Points[1].Runs[0]) }), `<th scope="row">linger=0s</th><td>–</td><td>–</td>`, "NaN"},
		"a sweep that told nothing":   {sweep(func(*bench.Sweep) {}), "Latency by settings", "section-stages"},
		"a sweep limited by a client": {sweep(func(s *bench.Sweep) { s.Points[0].ClientLimited = true }), "the client was the limit, not the node", "nothing"},
		"B is worse":                  {compare(func(a, b []*bench.Report) ([]*bench.Report, []*bench.Report) { return a, b }), "B is worse in p50 (1.2", `class="verdict invalid"`},
		"too few runs":                {compare(func(a, b []*bench.Report) ([]*bench.Report, []*bench.Report) { return a[:1], b[:1] }), "too few runs for a verdict", "B is worse"},
		"no valid run":                {compare(func(a, b []*bench.Report) ([]*bench.Report, []*bench.Report) { return a, b[2:3] }), "B: it has no valid run", `id="section-ratios"`},
		"lost": {compare(func(a, b []*bench.Report) ([]*bench.Report, []*bench.Report) {
			a[0].LostRequests = 3
			return a, b
		}), "A: 3 acknowledged requests reached no consumer", "nothing"},
		"other sizes": {compare(func(a, b []*bench.Report) ([]*bench.Report, []*bench.Report) {
			for _, r := range b {
				r.Config.RecordBytes = 7
			}
			return a, b
		}), "<th scope=\"row\">recordBytes</th><td>100, 7</td>", "nothing"},
	} {
		if !strings.Contains(c.page, c.have) || strings.Contains(c.page, c.lack) && c.lack != "nothing" {
			t.Errorf("%s: %q is not there, or %q is", name, c.have, c.lack)
		}
	}
}

// quickly is a result of bench quick.
func quickly(t *testing.T) *quick.Report {
	use := quick.Use{Processors: 1.1, BusiestThread: 0.55, CPUSeconds: 8.8, ResidentBytes: 80e6, MachineBusy: 0.7, MachineProcessors: 2, SyncsPerSecond: 970}
	r := &quick.Report{Schema: quick.Schema, Verdict: bench.VerdictValid, Command: "ringmill bench quick --bootstrap 127.0.0.1:9092", Directory: "/var/lib/ringmill",
		Limits:   []limits.Limit{{Name: "64 KiB over what is there, then fdatasync", OperationsPerSecond: 1000, BytesPerSecond: 65e6, Latency: bench.LatencyFigure{Count: 1, P99Us: 1500}}, {Name: "page cache to socket", BytesPerSecond: 2e9}},
		Capacity: &quick.Load{Run: fixed(t, ofRate(2)), Use: use}, ClientAlone: fixed(t, ofRate(100)), Bounds: []string{"p99<25ms"},
		Shares: []quick.Share{{Name: "syncs of the disk", Used: 970, Limit: 1000, Unit: "syncs/s", Share: 0.97}, {Name: "the machine's processors", Used: 0.7, Limit: 1, Unit: "share", Share: 0.7},
			{Name: "writing to the disk", Used: 1e6, Limit: 1e8, Unit: "bytes/s", Share: 0.01}},
		Bottleneck: quick.Bottleneck{Name: "syncs of the disk", Near: true, Said: "The limit is syncs of the disk."}, Found: &bench.Found{Rate: 1000, Above: 1200, Broken: "p99 is 30ms"}}
	for _, part := range []float64{0.5, 0.8, 0.95} {
		r.Points = append(r.Points, quick.Point{OfFound: part, Load: quick.Load{Run: fixed(t, ofRate(part)), Use: use}})
	}
	return r
}

// A result of bench quick that lacks most things is a page all the same, and its verdict is in words.
func TestQuicksOfAllKinds(t *testing.T) {
	bare := func(r *quick.Report) {
		r.Shares, r.Points, r.Limits, r.Capacity, r.Found, r.ClientAlone = nil, nil, nil, nil, nil, nil
		r.Verdict, r.Error = bench.VerdictPartial, "the topic vanished"
	}
	for name, c := range map[string]struct {
		change func(*quick.Report)
		want   string
	}{
		"partial":  {bare, "<strong>Partial: it broke off</strong><ul><li>the topic vanished"},
		"invalid":  {func(r *quick.Report) { r.Verdict, r.Reasons = bench.VerdictInvalid, []string{"late"} }, "<strong>Invalid: the figures are not to be believed</strong><ul><li>late"},
		"above":    {func(r *quick.Report) { r.Shares[0].Share = 1.3 }, ">150</text>"},
		"no rate":  {func(r *quick.Report) { r.Found, r.Points, r.Failed = nil, nil, "p99 is 2s" }, "No rate holds p99&lt;25ms: p99 is 2s."},
		"unknown":  {func(r *quick.Report) { r.Points[0].Use = quick.Use{} }, "<td>–</td>"},
		"a client": {func(r *quick.Report) { r.ClientLimited = true }, "the node may hold more"},
	} {
		r := quickly(t)
		c.change(r)
		if page := written(t, func(w io.Writer) error { return Quick(w, r) }); !strings.Contains(page, c.want) {
			t.Errorf("%s: no %s", name, c.want)
		}
	}
}

func written(t *testing.T, write func(io.Writer) error) string {
	t.Helper()
	var page bytes.Buffer
	if err := write(&page); err != nil {
		t.Fatal(err)
	}
	return page.String()
}

func runPage(t *testing.T, r *bench.Report) string {
	t.Helper()
	return written(t, func(w io.Writer) error { return Run(w, r) })
}

func TestGolden(t *testing.T) {
	for name, page := range map[string]string{
		"run":     runPage(t, fixed(t)),
		"several": written(t, func(w io.Writer) error { return Several(w, several(t)) }),
		"sweep":   written(t, func(w io.Writer) error { return Sweep(w, swept(t), "ringmill bench sweep --over linger=0s,5ms") }),
		"compare": written(t, func(w io.Writer) error {
			a, b := sides(t)
			return Compare(w, against(t, a, b), a, b, "ringmill bench compare a.json b.json")
		}),
		"quick":   written(t, func(w io.Writer) error { return Quick(w, quickly(t)) }),
		"backlog": runPage(t, read[bench.Report](t, "backlog.json")[0]),
		"ab": written(t, func(w io.Writer) error {
			a, b := read[bench.Report](t, "a.json"), read[bench.Report](t, "b.json")
			return Compare(w, against(t, a, b), a, b, "ringmill bench ab 127.0.0.1:29190 127.0.0.1:29290")
		}),
		"choices": written(t, func(w io.Writer) error {
			return Sweep(w, read[bench.Sweep](t, "choices.json")[0], "ringmill bench sweep --over batch=1,10")
		}),
	} {
		golden := filepath.Join("testdata", name+".html")
		if *update {
			if err := os.WriteFile(golden, []byte(page), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if page != string(want) {
			t.Errorf("%s is another page now: go test ./bench/page -update, and look at it in a browser", golden)
		}
	}
}

func TestVerdicts(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*bench.Report)
		want   []string
	}{
		"valid":   {func(*bench.Report) {}, []string{`<div class="verdict valid"><strong>Valid</strong>`}},
		"invalid": {invalid, []string{`<div class="verdict invalid"><strong>Invalid`, "<li>the client used 91\u00a0%", "The figures are not to be believed: the client used"}},
		"partial": {func(r *bench.Report) {
			r.Verdict, r.Error, r.ElapsedSeconds = bench.VerdictPartial, "the topic vanished <b>", 3.25
		}, []string{`<div class="verdict partial"><strong>Partial`, "<li>the topic vanished &lt;b&gt;</li>", "The run broke off after 3.25 s of 8 s"}},
	} {
		page := runPage(t, fixed(t, c.change))
		for _, want := range c.want {
			if !strings.Contains(page, want) {
				t.Errorf("%s: no %s", name, want)
			}
		}
	}
}

// withBeside adds what was read of a node and two processes.
func withBeside(r *bench.Report) {
	r.Stages = &bench.ReportStages{Nodes: []string{"a:9644"}, Requests: []bench.RequestStages{
		{API: "Produce", Count: 1000, MeanUs: 1000, P50Us: 555, P99Us: 9100, P99Stage: "synced", Reading: "Produce took 9.1 ms at p99 in the node, made by synced.", Stages: []bench.StageFigure{
			{Stage: "queued", Count: 1000, MeanUs: 100, P50Us: 50, P99Us: 990, Share: 0.1}, {Stage: "synced", Count: 1000, MeanUs: 900, P50Us: 500, P99Us: 9100, Share: 0.9},
			{Stage: "throttled", Count: 1, MeanUs: 2, P99Us: 0},
		}},
		{API: "ListOffsets", Count: 1, Stages: []bench.StageFigure{{Stage: "handled", Count: 1}}},
	}}
	written := int64(3 << 19)
	r.Processes = []bench.ProcessFigure{{PID: 4711, Command: "java", Runs: 10, WaitedSeconds: 1e-4, DiskReadBytes: &written, DiskWrittenBytes: &written}, {PID: 12, Command: "other"}}
	flushes := int64(4096)
	r.Devices = []bench.DeviceFigure{{Name: "nvme0n1", ReadBytes: written, WrittenBytes: 2 * written, Reads: 17, Writes: 5000, Flushes: &flushes, Busy: 0.42}, {Name: "sda1"}}
	r.Missing = []string{"process 9: no such process <b>"}
}

// waited is a run with a backlog that was asked for.
func waited(b bench.BacklogFigure) func(*bench.Report) {
	return func(r *bench.Report) {
		b.Bytes, b.Drained = 100_000, 1
		r.Backlog, r.Config.BacklogBytes, r.Config.BacklogDrained, r.Config.DurationSeconds = &b, b.Bytes, b.Drained, 5
	}
}

// What a run may lack.
func TestRunsOfAllKinds(t *testing.T) {
	empty := func(r *bench.Report) {
		none := bench.NewHistogram()
		r.Produced, r.Consumed, r.Seconds = bench.ReportStream{Histogram: none.Encode()}, nil, nil
		r.Service, r.Lag, r.ServiceHistogram, r.LagHistogram = none.Figure(), none.Figure(), none.Encode(), none.Encode()
	}
	for name, c := range map[string]struct {
		change     func(*bench.Report)
		have, lack []string
	}{
		"closed loop":     {func(r *bench.Report) { r.Loop, r.Config.RatePerSecond = "closed", 0 }, []string{"request (closed loop)", "as many as are acknowledged"}, []string{"Where the time went", ">due<"}},
		"no consumer":     {func(r *bench.Report) { r.Consumed = nil }, []string{">response<"}, []string{"end to end", ">consumed<"}},
		"nothing":         {empty, []string{"Nothing was acknowledged."}, []string{"NaN", "Inf"}},
		"a single second": {func(r *bench.Report) { r.Seconds = r.Seconds[:1] }, []string{"<circle class=\"dot s0\""}, []string{"NaN"}},
		"nodes and processes": {withBeside, []string{"In the node: produces", "A bar of the stages of the mean: queued 10.0 %, synced 90.0 %.", "Produce took 9.1 ms at p99 in the node, made by synced.", "As a:9644 said",
			">throttled<", "4711 java", "1.5 MiB", "What could not be read", "no such process &lt;b&gt;"}, []string{"ListOffsets", "NaN"}},
		"a backlog": {waited(bench.BacklogFigure{BuildSeconds: 1.5, Records: 1_500, DrainSeconds: 0.25, LeftRecords: 900, ProducedPerSecond: 1_000, ConsumedPerSecond: 3_400}), []string{
			"drained to 900 in 250 ms", "The second one is where", `<th scope="row">asked for</th><td>1,000</td><td>1,000</td>`, `<th scope="row">took</th><td>1.5 s</td><td>250 ms</td>`, `<th scope="col">waiting</th>`,
			"of which 5 s after 100 % of a backlog of 100,000 bytes were read"}, []string{"NaN"}},
		"a backlog that stays":   {waited(bench.BacklogFigure{BuildSeconds: 1.5, Records: 1_500}), []string{"was not drained", "The upright line is", `<td>1.5 s</td><td>–</td>`}, []string{"The second one", "NaN"}},
		"a backlog that is none": {waited(bench.BacklogFigure{BuildSeconds: 8}), []string{"The backlog of 100,000 bytes was not built", `<td>–</td><td>–</td>`}, []string{"upright line", `class="mark"`, "NaN"}},
		"no backlog":             {func(*bench.Report) {}, nil, []string{"section-backlog", ">waiting<"}},
		"older result":           {func(r *bench.Report) { r.ServiceHistogram, r.LagHistogram, r.Command = "", "", "" }, []string{"from sending"}, []string{"command that repeats"}},
		"names with marks":       {func(r *bench.Report) { r.Command = "x '<script>'" }, []string{"&lt;script&gt;"}, []string{"<script"}},
	} {
		page := runPage(t, fixed(t, c.change))
		for _, want := range c.have {
			if !strings.Contains(page, want) {
				t.Errorf("%s: no %s", name, want)
			}
		}
		for _, not := range c.lack {
			if strings.Contains(page, not) {
				t.Errorf("%s: has %s", name, not)
			}
		}
	}
}

// P3: a day takes little more than a minute does, and its greatest latency is shown.
func TestLongRunsAreBounded(t *testing.T) {
	day := runPage(t, fixed(t, func(r *bench.Report) {
		second := r.Seconds[0]
		r.Seconds = nil
		for i := range 86_400 {
			second.Second = i
			r.Seconds = append(r.Seconds, second)
		}
		r.Seconds[50_000].Produced.Latency.MaxUs = 7.77e6
		r.WindowSeconds = 86_400
	}))
	if len(day) > 400_000 || !strings.Contains(day, "Each point is the greatest of 144 seconds") || !strings.Contains(day, "7.77 s") {
		t.Errorf("%d bytes", len(day))
	}
	if most := longestLine(day); most > pointsMax {
		t.Errorf("a line of %d points", most)
	}
}

var lineOf = regexp.MustCompile(`<path class="line s\d" d="([^"]*)"`)

func longestLine(page string) (most int) {
	for _, m := range lineOf.FindAllStringSubmatch(page, -1) {
		most = max(most, strings.Count(m[1], "M")+strings.Count(m[1], "L"))
	}
	return most
}

func TestDamagedHistogram(t *testing.T) {
	r := fixed(t)
	r.Consumed.Histogram = "damaged"
	if err := Run(io.Discard, r); err == nil {
		t.Error("a page of a damaged result")
	}
	r.Produced.Histogram = "damaged"
	if err := Several(io.Discard, []Named{{"it", r}}); err == nil || !strings.Contains(err.Error(), "it: ") {
		t.Errorf("several: %v", err)
	}
}

func TestTicks(t *testing.T) {
	for want, s := range map[string]scale{
		"0 10 20 30 40 50 60":                newLinear(55, secondLabel),
		"0 0.2 0.4 0.6 0.8 1":                newLinear(0, secondLabel),
		"0 2k 4k 6k 8k 10k":                  newLinear(10_000, rateLabel),
		"0 5 10 15 20 25":                    newSpan(27, secondLabel),
		"1 ms 2 ms 5 ms 10 ms":               newLogarithmic(1500, 9000, latencyLabel),
		"10 µs 100 µs 1 ms 10 ms 100 ms 1 s": newLogarithmic(12, 700_000, latencyLabel),
		"1 µs 2 µs 5 µs 10 µs":               newLogarithmic(0, 0, latencyLabel),
		"0 % 50 90 99 99.9":                  newTail(1000),
	} {
		var got []string
		for _, tick := range s.ticks() {
			if at := s.at(tick.value); at < 0 || at > 1+1e-9 {
				t.Errorf("%s is at %v", tick.label, at)
			}
			got = append(got, tick.label)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("ticks %q, want %q", got, want)
		}
	}
}

// Every id is one element's, and each that is pointed at is there.
func TestNamesOfElements(t *testing.T) {
	page := runPage(t, fixed(t))
	seen := map[string]int{}
	for _, m := range regexp.MustCompile(` id="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		seen[m[1]]++
	}
	for id, n := range seen {
		if n != 1 {
			t.Errorf("%d elements are %s", n, id)
		}
	}
	for _, m := range regexp.MustCompile(`aria-labelledby="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		for id := range strings.FieldsSeq(m[1]) {
			if seen[id] == 0 {
				t.Errorf("no element is %s", id)
			}
		}
	}
	if len(seen) < 10 {
		t.Error(fmt.Sprint("only ", seen))
	}
}
