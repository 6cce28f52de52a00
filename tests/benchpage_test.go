package tests

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ringmill/ringmill/tests/harness"
)

// views are those that a page of results has to be readable in.
var views = []harness.View{
	{Width: 1280, Height: 800, Scheme: "light"}, {Width: 1280, Height: 800, Scheme: "dark"},
	{Width: 390, Height: 844, Scheme: "light"}, {Width: 390, Height: 844, Scheme: "dark"},
}

// plot is one of a page as the browser has it.
type plot struct {
	ID, Title, Desc string
	// Lines are how many points each line has, Width is what it is shown with, in pixels.
	Lines []int
	Parts int
	Width float64
	// Letters is the least height of its letters as they are shown.
	Letters float64
}

// plotsShown lists the plots that are not hidden.
const plotsShown = `[...document.querySelectorAll('.plot svg')].filter(s => s.getBoundingClientRect().width > 0).map(s => ({
  ID: s.closest('section').id, Title: s.querySelector('title')?.textContent ?? '', Desc: s.querySelector('desc')?.textContent ?? '',
  Lines: [...s.querySelectorAll('path.line')].map(p => (p.getAttribute('d').match(/[ML]/g) ?? []).length),
  Parts: [...s.querySelectorAll('rect.part')].filter(r => r.getBoundingClientRect().width > 0).length,
  Width: s.getBoundingClientRect().width,
  Letters: Math.min(...[...s.querySelectorAll('text')].map(t => t.getBoundingClientRect().height), 100),
}))`

// A run's page, and that of several, in a browser: nothing is asked for, nothing overflows, every plot has its data, and what is said of
// the scheme is kept.
func TestBenchPages(t *testing.T) {
	t.Parallel()
	browser := harness.StartBrowser(t)
	node, dir := harness.Shared(t), t.TempDir()
	if keep := os.Getenv("RINGMILL_TEST_KEEP"); keep != "" {
		dir = keep // the screenshots can be looked at
	}
	measure := func(page, result string, flags ...string) {
		// a busy machine makes a run invalid, whose page is one too
		_, stderr, _ := harness.Command{Argv: harness.RingmillCommand(t, append([]string{"bench", "run", "-b", node.Address, "--node-metrics", node.HTTP, "--warm-up", "500ms", "-p", "2",
			"--result", filepath.Join(dir, result), "--report", filepath.Join(dir, page)}, flags...)...)}.Try()
		if _, err := os.Stat(filepath.Join(dir, page)); err != nil {
			t.Fatalf("%v\n%s", err, stderr)
		}
	}
	report := []string{"bench", "report", "--html", filepath.Join(dir, "several.html")}
	for _, rate := range []string{"200", "600", "2000"} {
		measure("run.html", rate+".json", "--client", "franz", "--rate", rate, "--duration", "3s")
		report = append(report, filepath.Join(dir, rate+".json"))
	}
	harness.Command{Argv: harness.RingmillCommand(t, report...)}.Output(t)
	measure("backlog.html", "backlog.json", "--rate", "5000", "--backlog", "500000", "--duration", "2s")
	// those of longer measurements are made of results that bench/page keeps
	kept, err := filepath.Abs("../bench/page/testdata")
	if err != nil {
		t.Fatal(err)
	}
	for name, wantPlots := range map[string]map[string]int{ // the lines that are to have three points or more
		"run":     {"section-percentiles": 3, "section-latency": 3, "section-throughput": 2, "section-parts": 0, "section-parts-time": 3, "section-stages-produce": 0, "section-stages-fetch": 0},
		"backlog": {"section-percentiles": 3, "section-latency": 3, "section-throughput": 2, "section-backlog": 1, "section-parts": 0, "section-parts-time": 3, "section-stages-produce": 0, "section-stages-fetch": 0},
		"several": {"section-curve": 3, "section-percentiles": 3},
		"ab":      {"section-ratios": 0, "section-p99": 2, "section-rate": 2, "section-stages-produce": 0, "section-stages-fetch": 0},
		"choices": {"section-rates": 0, "section-latencies": 0, "section-stages-produce": 0},
		"sweep":   {"section-rates": 0, "section-latencies": 0, "section-runs": 3},
		"compare": {"section-ratios": 0, "section-p99": 2, "section-rate": 2},
		"quick":   {"section-shares": 0, "section-curve": 3, "section-percentiles": 3},
	} {
		for _, view := range views {
			t.Run(fmt.Sprintf("%s/%d/%s", name, view.Width, view.Scheme), func(t *testing.T) {
				from := dir
				if !slices.Contains([]string{"run", "several", "backlog"}, name) {
					from = kept
				}
				p := browser.Open(t, filepath.Join(from, name+".html"), view)
				checkPage(t, p, view, wantPlots)
				p.Screenshot(t, filepath.Join(dir, fmt.Sprintf("%s-%d-%s.png", name, view.Width, view.Scheme)))
			})
		}
	}
}

func checkPage(t *testing.T, p *harness.Page, view harness.View, wantPlots map[string]int) {
	t.Helper()
	if said := p.Messages(); len(said) > 0 {
		t.Errorf("the console says %v", said)
	}
	if asked := p.Requests(t); len(asked) != 1 || !strings.HasPrefix(asked[0], "file:") {
		t.Errorf("asks for %v", asked)
	}
	var width struct{ Needed, Shown float64 }
	p.Eval(t, `({Needed: document.documentElement.scrollWidth, Shown: document.documentElement.clientWidth})`, &width)
	if width.Needed > width.Shown || int(width.Shown) != view.Width {
		t.Errorf("%v pixels wide in a window of %v", width.Needed, width.Shown)
	}
	var scheme struct{ Paper, Ink float64 }
	p.Eval(t, `(() => { const sum = c => c.match(/\d+/g).slice(0, 3).reduce((a, b) => a + +b, 0); const s = getComputedStyle(document.body);
	  return {Paper: sum(s.backgroundColor), Ink: sum(s.color)}; })()`, &scheme)
	if dark := scheme.Paper < scheme.Ink; dark != (view.Scheme == "dark") {
		t.Errorf("%s has paper of %v and ink of %v", view.Scheme, scheme.Paper, scheme.Ink)
	}
	var plots []plot
	p.Eval(t, plotsShown, &plots)
	seen := map[string]bool{}
	for _, shown := range plots {
		checkPlot(t, shown, wantPlots)
		if seen[shown.ID] {
			t.Errorf("%s shows two plots", shown.ID)
		}
		seen[shown.ID] = true
	}
	if len(seen) != len(wantPlots) {
		t.Errorf("plots %v, want %v", seen, wantPlots)
	}
	checkWords(t, p)
}

func checkPlot(t *testing.T, shown plot, wantPlots map[string]int) {
	t.Helper()
	want, known := wantPlots[shown.ID]
	drawn := 0
	for _, points := range shown.Lines {
		if points >= 3 {
			drawn++
		}
	}
	if !known || drawn < want || want == 0 && shown.Parts < 2 {
		t.Errorf("%s has lines of %v points and %d parts", shown.ID, shown.Lines, shown.Parts)
	}
	if shown.Title == "" || shown.Desc == "" {
		t.Errorf("%s is %q for who cannot see it: %q", shown.ID, shown.Title, shown.Desc)
	}
	if shown.Width < 300 || shown.Letters < 10 {
		t.Errorf("%s is %v pixels wide with letters of %v", shown.ID, shown.Width, shown.Letters)
	}
}

// checkWords: a verdict in words, and a table beside every plot.
func checkWords(t *testing.T, p *harness.Page) {
	t.Helper()
	var words struct {
		Verdict, Reading string
		Bare             int // plots without a table
		Headless         int // tables without headings or a caption
		Cut              int // names that run into their values
	}
	p.Eval(t, `({Verdict: document.querySelector('.verdict strong').textContent, Reading: document.querySelector('.reading').textContent,
	  Bare: [...document.querySelectorAll('section:has(.plot)')].filter(s => !s.querySelector('tbody tr')).length,
	  Headless: [...document.querySelectorAll('table')].filter(t => !t.caption || !t.querySelector('th[scope=col]') || !t.querySelector('th[scope=row]')).length,
	  Cut: [...document.querySelectorAll('dt')].filter(d => d.scrollWidth > d.clientWidth).length})`, &words)
	if words.Verdict == "" || words.Reading == "" || words.Bare+words.Headless+words.Cut > 0 {
		t.Errorf("%+v", words)
	}
}
