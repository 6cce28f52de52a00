package main

import (
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ringmill/ringmill/bench"
	"github.com/ringmill/ringmill/bench/page"
)

func (a *app) benchReportCommand() *cobra.Command {
	var html string
	cmd := &cobra.Command{
		Use:   "report RESULT.json...",
		Short: "Show results of bench run again, or hold several against each other",
		Long: `Show results that bench run wrote with --result or -o json: one as its summary and page, several as throughput against latency.

The page is one HTML file that asks for nothing else.`,
		Example: `  ringmill bench report run.json --html run.html
  ringmill bench report 1000.json 5000.json 20000.json --html curve.html`,
		Args:              arguments(cobra.MinimumNArgs(1)),
		ValidArgsFunction: completeResults,
		RunE:              func(_ *cobra.Command, args []string) error { return a.benchReport(args, html) },
	}
	registerOutput(cmd, &html, "html", "a `file` to write the page to")
	return cmd
}

func (a *app) benchReport(paths []string, html string) error {
	var results []page.Named
	var reports []*bench.Report
	for _, path := range paths {
		all, err := readReports(path)
		if err != nil {
			return err
		}
		name := strings.TrimSuffix(filepath.Base(path), ".json")
		for i, r := range all {
			if len(all) > 1 {
				results = append(results, page.Named{Name: fmt.Sprintf("%s %d", name, i+1), Report: r})
			} else {
				results = append(results, page.Named{Name: name, Report: r})
			}
		}
		reports = append(reports, all...)
	}
	if html != "" {
		write := func(w io.Writer) error { return page.Several(w, results) }
		if len(results) == 1 {
			write = func(w io.Writer) error { return page.Run(w, reports[0]) }
		}
		if err := writeFile(html, write); err != nil {
			return err
		}
	}
	return a.print(reports, func(w io.Writer) {
		if len(reports) == 1 {
			benchSummary(w, reports[0])
			return
		}
		benchTable(w, results)
	})
}

// benchTable is a line for each of several results.
func benchTable(w io.Writer, results []page.Named) {
	var rows [][]string
	for _, r := range results {
		rows = append(rows, slices.Concat([]string{r.Name, r.Report.Verdict}, loadCells(&r.Report.Produced), []string{r.Report.Produced.Latency.Format(r.Report.Produced.Latency.MaxUs), endToEndCell(r.Report)}))
	}
	table(w, []string{"RESULT", "VERDICT", "RECORDS/S", "BYTES/S", "P50", "P99", "P99.9", "MAX", "END TO END P99"}, rows)
}

// loadCells are what tables have of the records of a run: RECORDS/S, BYTES/S, P50, P99 and P99.9.
func loadCells(p *bench.ReportStream) []string {
	l := &p.Latency
	return []string{bench.FormatCount(p.RecordsPerSecond), bench.FormatBytes(p.BytesPerSecond), l.Format(l.P50Us), l.Format(l.P99Us), l.Format(l.P999Us)}
}

// endToEndCell is the p99 of what consumers have.
func endToEndCell(r *bench.Report) string {
	if r.Consumed == nil {
		return "-"
	}
	return r.Consumed.Latency.Format(r.Consumed.Latency.P99Us)
}

// completeResults completes names of files of results.
func completeResults(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{"json"}, cobra.ShellCompDirectiveFilterFileExt
}

// unrepeated are flags that say where a result goes, and not what is run.
var unrepeated = []string{"result", "result-a", "result-b", "hlog", "report", "output", "omb-json", "dry-run", "bootstrap", "bootstrap-server"}

// commandLine is what a shell repeats a command with: the flags that were given, the nodes, wherever they were named, unless there are none, and
// what else the command takes.
func commandLine(cmd *cobra.Command, bootstrap string, args ...string) string {
	words := []string{cmd.CommandPath()}
	if bootstrap != "" {
		words = append(words, "--bootstrap", shellWord(bootstrap))
	}
	for _, arg := range args {
		words = append(words, shellWord(arg))
	}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		several, is := f.Value.(pflag.SliceValue)
		switch {
		case slices.Contains(unrepeated, f.Name):
		case is:
			for _, value := range several.GetSlice() {
				words = append(words, "--"+f.Name, shellWord(value))
			}
		case f.Value.Type() == "bool":
			words = append(words, "--"+f.Name+"="+f.Value.String())
		default:
			words = append(words, "--"+f.Name, shellWord(f.Value.String()))
		}
	})
	return strings.Join(words, " ")
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:,=@%+-]+$`)

// shellWord quotes what a shell would not take as one word.
func shellWord(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
