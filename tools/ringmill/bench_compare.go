package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ringmill/ringmill/bench"
	"github.com/ringmill/ringmill/bench/page"
)

func (a *app) benchCompareCommand() *cobra.Command {
	var failIf []string
	var html string
	cmd := &cobra.Command{
		Use:   "compare A.json B.json",
		Short: "Say how the runs of one file do against those of another",
		Long: `Compare two files of results, each with the JSON of several runs one after another, as ` + "`ringmill bench run -o json >> A.json`" + ` appends them.

The ratio of B to A is given with an interval that holds it in 95 of 100 cases, and a verdict only where the Mann-Whitney test supports one
(p below 0.05), for which each side needs four valid runs. Runs that are not valid are left out. Take the runs of both sides in turn, or use
bench ab: what disturbs one of two long series looks like a difference.`,
		Example: `  ringmill bench compare before.json after.json
  ringmill bench compare before.json after.json --fail-if 'p99>+5%'    exit status 1 if B's p99 is higher by more than 5 %, and surely higher`,
		Args:              arguments(cobra.ExactArgs(2)),
		ValidArgsFunction: completeResults,
	}
	registerFailIf(cmd, &failIf)
	registerReport(cmd, &html, "comparison")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		limits, err := parseFailIf(cmd, failIf)
		if err != nil {
			return err
		}
		var sides [2][]*bench.Report
		for i, path := range args {
			if sides[i], err = readReports(path); err != nil {
				return err
			}
		}
		return a.benchCompared(sides[0], sides[1], limits, html, commandLine(cmd, "", args...))
	}
	return cmd
}

// readReports reads the results that bench run wrote to a file with --result or -o json, one or several after each other.
func readReports(path string) ([]*bench.Report, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	reports, err := bench.ReadReports(f)
	if err != nil {
		return nil, benchFault(fmt.Errorf("%s: %w", path, err))
	}
	return reports, nil
}

// benchCompared prints a comparison, writes its page if html names a file, and says whether a limit is broken.
func (a *app) benchCompared(sideA, sideB []*bench.Report, limits []failIf, html, command string) error {
	c, err := bench.Compare(sideA, sideB)
	if err != nil {
		return benchFault(err)
	}
	if html != "" {
		if err := writeFile(html, func(w io.Writer) error { return page.Compare(w, c, sideA, sideB, command) }); err != nil {
			return err
		}
	}
	if err := a.print(c, func(w io.Writer) { benchContrasts(w, c) }); err != nil {
		return err
	}
	if lost := c.A.LostRequests + c.B.LostRequests; lost > 0 {
		return fmt.Errorf("%w: %d acknowledged requests reached no consumer", errInvalid, lost)
	}
	if c.A.Runs == 0 || c.B.Runs == 0 {
		return fmt.Errorf("%w: a side has no valid run", errInvalid)
	}
	for _, limit := range limits {
		for _, f := range c.Figures {
			if f.Measure == limit.measure && f.Verdict == bench.VerdictTooFew {
				return fmt.Errorf("%w: %d and %d valid runs say nothing of %s; it needs four on each side", errInvalid, c.A.Runs, c.B.Runs, limit.text)
			}
			if limit.broken(f) {
				return fmt.Errorf("%s is %s of A's (%s to %s), which breaks %s", f.Measure, percentage(f.Ratio), percentage(f.Low), percentage(f.High), limit.text)
			}
		}
	}
	return nil
}

func benchContrasts(w io.Writer, c *bench.Comparison) {
	for _, side := range []struct {
		name string
		of   bench.Side
	}{{"A", c.A}, {"B", c.B}} {
		fmt.Fprintf(w, "%s: %d runs at %s\n", side.name, side.of.Runs, strings.Join(side.of.Addresses, ","))
		for _, why := range side.of.LeftOut {
			fmt.Fprintf(w, "   left out, %s\n", why)
		}
		if side.of.LostRequests > 0 {
			fmt.Fprintf(w, "   LOST: %d acknowledged requests reached no consumer; no other figure counts\n", side.of.LostRequests)
		}
	}
	for _, d := range c.Differs {
		fmt.Fprintf(w, "they differ in %s\n", d)
	}
	var rows [][]string
	for _, f := range c.Figures {
		interval, verdict := "-", f.Verdict
		if f.Low > 0 {
			interval = fmt.Sprintf("%.3f to %.3f", f.Low, f.High)
		}
		if f.Verdict == bench.VerdictSame {
			verdict = fmt.Sprintf("%s; %s would be", f.Verdict, percentage(f.Visible()))
		}
		rows = append(rows, []string{f.Measure, figure(f.A) + " " + f.Unit, figure(f.B) + " " + f.Unit, fmt.Sprintf("%.3f", f.Ratio),
			interval, fmt.Sprintf("%.3f", f.P), percentage(f.Noise), verdict})
	}
	if len(rows) > 0 {
		table(w, []string{"MEASURE", "A", "B", "B/A", "95 % INTERVAL", "P", "RUN TO RUN", "B IS"}, rows)
	}
	benchStagesCompared(w, c.Stages)
}

// benchStagesCompared says where the difference lies in the nodes.
func benchStagesCompared(w io.Writer, c *bench.StageComparison) {
	if c == nil {
		return
	}
	var rows [][]string
	for _, f := range c.Stages {
		rows = append(rows, []string{f.API + " " + f.Stage, bench.FormatLatency(f.A), bench.FormatLatency(f.B), bench.FormatDifference(f.B - f.A), f.Verdict})
	}
	table(w, []string{"IN THE NODE, MEAN", "A", "B", "B-A", "B IS"}, rows)
	for _, said := range c.Readings {
		fmt.Fprintln(w, said)
	}
}

// figure writes a measured value: four digits of it, and what is larger as a whole number.
func figure(v float64) string {
	if v >= 1000 {
		return bench.FormatCount(v)
	}
	return fmt.Sprintf("%.4g", v)
}

func percentage(part float64) string { return fmt.Sprintf("%.1f %%", part*100) }

// failIf is a limit to what B may be, as p99>+5%.
type failIf struct {
	text, measure string
	ratio         float64
}

func registerFailIf(cmd *cobra.Command, texts *[]string) {
	cmd.Flags().StringArrayVar(texts, "fail-if", nil, "fail if B differs by more, and surely, as p99>+5% or rate<-5%; may be given several times")
	completeFlag(cmd, "fail-if")
}

func parseFailIf(cmd *cobra.Command, texts []string) (limits []failIf, err error) {
	for _, text := range texts {
		at := strings.IndexAny(text, "<>")
		if at < 0 || len(text) < at+2 {
			return nil, wrongUse(cmd, "--fail-if %q: as p99>+5%% or rate<-5%%", text)
		}
		m, err := bench.MeasureNamed(text[:at])
		if err != nil {
			return nil, wrongLoad(cmd, fmt.Errorf("--fail-if %q: %w", text, err))
		}
		percent, err := strconv.ParseFloat(strings.TrimSuffix(text[at+1:], "%"), 64)
		if up := text[at] == '>'; err != nil || !strings.HasSuffix(text, "%") || percent < 0 == up && percent != 0 || !(percent > -100 && percent < math.Inf(1)) {
			return nil, wrongUse(cmd, "--fail-if %q: as p99>+5%% or rate<-5%%", text)
		}
		if up := text[at] == '>'; up == m.MoreBetter {
			return nil, wrongUse(cmd, "--fail-if %q: that is no loss", text)
		}
		limits = append(limits, failIf{text, m.Name, 1 + percent/100})
	}
	return limits, nil
}

// broken: the difference is there beyond doubt, and it is beyond the limit.
func (l failIf) broken(c bench.Contrast) bool {
	if c.Measure != l.measure || c.Verdict != bench.VerdictWorse {
		return false
	}
	if c.Ratio > 1 {
		return c.Ratio > l.ratio
	}
	return c.Ratio < l.ratio
}
