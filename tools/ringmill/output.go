package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

// outputFormat is the value of -o.
type outputFormat string

const (
	outputText outputFormat = "text"
	outputJSON outputFormat = "json"
)

// register adds -o to the command and everything below it.
func (f *outputFormat) register(root *cobra.Command) {
	*f = outputText
	root.PersistentFlags().VarP(f, "output", "o", "how results are written: text or json")
	completeFlag(root, "output", "text\tfor people", "json\tfor programs")
}

// Set, String and Type make outputFormat a flag.
func (f *outputFormat) Set(s string) error {
	switch outputFormat(s) {
	case outputText, outputJSON:
		*f = outputFormat(s)
		return nil
	}
	return fmt.Errorf("must be text or json")
}

func (f *outputFormat) String() string { return string(*f) }

// Type is the placeholder in help.
func (f *outputFormat) Type() string { return "format" }

// print writes v as JSON or, as -o says, what text writes.
func (a *app) print(v any, text func(w io.Writer)) error {
	if a.output == outputJSON {
		return writeJSON(a.stdout, v)
	}
	w := &firstError{w: a.stdout}
	text(w)
	return w.err
}

// writeJSON writes v as one line.
func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// firstError remembers the first failed write, so that text needs no error checks of its own.
type firstError struct {
	w   io.Writer
	err error
}

func (f *firstError) Write(p []byte) (int, error) {
	if f.err == nil {
		_, f.err = f.w.Write(p)
	}
	return len(p), f.err
}

// table writes columns aligned under their headings.
func table(w io.Writer, headings []string, rows [][]string) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, strings.Join(headings, "\t"))
	for _, r := range rows {
		fmt.Fprintln(t, strings.Join(r, "\t"))
	}
	t.Flush()
}

// counted is a number with its noun: "1 voter", "3 voters". A plural that is more than an s is given as well.
func counted(n int, one string, more ...string) string {
	switch {
	case n == 1:
		return "1 " + one
	case len(more) > 0:
		return fmt.Sprintf("%d %s", n, more[0])
	}
	return fmt.Sprintf("%d %ss", n, one)
}

// orDash stands in for what is not there.
func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// joined writes numbers as 1,2,3.
func joined(ns []int32) string {
	var s []string
	for _, n := range ns {
		s = append(s, fmt.Sprint(n))
	}
	return orDash(strings.Join(s, ","))
}
