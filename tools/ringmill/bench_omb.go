package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/ringmill/ringmill/bench"
	"github.com/ringmill/ringmill/bench/omb"
)

// ombFlags are the files of OpenMessaging Benchmark that a run is made of, and the one that it writes.
type ombFlags struct {
	workload, driver, result string

	workloadName, driverName string // in the result
	search                   bool   // the rate is to be found
}

func (f *ombFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.workload, "workload", "", "an OpenMessaging Benchmark workload `file`, which stands for the flags that are not given, --client franz among them")
	flags.StringVar(&f.driver, "driver", "", "an OpenMessaging Benchmark driver `file` for Kafka, likewise")
	registerOutput(cmd, &f.result, "omb-json", "a `file` to write the result to in OpenMessaging Benchmark's JSON, too")
}

// rawWithout are settings of a driver that a raw client has nothing to do with.
var rawWithout = []string{"linger", "codec", "producer-property", "consumer-property"}

// readOMB has the flags that were not given say what the files do. What the files say in vain is told on standard error, a line each.
func (a *app) readOMB(cmd *cobra.Command, f *benchRunFlags) error {
	f.omb.workloadName, f.omb.driverName = "ringmill bench run", "Kafka"
	var settings []bench.Setting
	var notes []string
	if f.omb.workload != "" {
		workload, vain, err := omb.ReadWorkload(f.omb.workload)
		if err != nil {
			return wrongLoad(cmd, fmt.Errorf("--workload: %w", err))
		}
		if settings, err = workload.Settings(); err != nil {
			return wrongLoad(cmd, fmt.Errorf("--workload: %w", err))
		}
		f.omb.workloadName, notes = workload.Name, vain
		f.omb.search = workload.ProducerRate == 0 && !cmd.Flags().Changed("rate")
		if f.omb.search && workload.ConsumerBacklogSizeGB > 0 {
			return wrongUse(cmd, "--workload: %s: consumerBacklogSizeGB with a producerRate of 0: no rate can be looked for while a backlog is built; give --rate", f.omb.workload)
		}
	}
	if f.omb.driver != "" {
		driver, vain, err := omb.ReadDriver(f.omb.driver)
		if err != nil {
			return wrongLoad(cmd, fmt.Errorf("--driver: %w", err))
		}
		more, access, vainToo, err := driver.Settings()
		if err != nil {
			return wrongLoad(cmd, fmt.Errorf("--driver: %w", err))
		}
		f.omb.driverName, settings, notes = driver.Name, append(settings, more...), slices.Concat(notes, vain, vainToo)
		notes = append(notes, a.client.access.from(cmd, f.omb.driver, access)...)
	}
	more, err := f.stand(cmd, settings)
	if err != nil {
		return wrongUse(cmd, "%s", err)
	}
	for _, note := range append(notes, more...) {
		fmt.Fprintln(a.stderr, note)
	}
	if f.omb.search {
		f.trial.Rate = omb.RateFrom
	}
	return nil
}

// stand sets the flags that were not given.
func (f *benchRunFlags) stand(cmd *cobra.Command, settings []bench.Setting) (notes []string, err error) {
	flags := cmd.Flags()
	for _, s := range settings {
		flag := flags.Lookup(s.Name)
		switch {
		case s.Name == "bootstrap":
			if note := f.omb.nodes(cmd, flag.Value.String(), s.Value); note != "" {
				notes = append(notes, note)
			}
			if bootstrapGiven(cmd) {
				continue
			}
		case flag.Changed:
			continue
		case slices.Contains(rawWithout, s.Name) && f.client == string(bench.ClientRaw):
			notes = append(notes, fmt.Sprintf("%s: --%s %s: a raw client has none, passed over", f.omb.driver, s.Name, s.Value))
			continue
		}
		if err := flag.Value.Set(s.Value); err != nil {
			return nil, fmt.Errorf("%s: %w", f.omb.driver, flagFault(flag, s.Value, err))
		}
	}
	return notes, nil
}

// nodes says which nodes count where a driver file and what stands beside it, --bootstrap or else the environment, name different ones.
func (f *ombFlags) nodes(cmd *cobra.Command, beside, inFile string) (note string) {
	file := fmt.Sprintf("%s: bootstrap.servers=%s", f.driver, inFile)
	switch {
	case beside == inFile:
		return ""
	case bootstrapGiven(cmd):
		return fmt.Sprintf("%s: passed over, --bootstrap %s counts", file, beside)
	case os.Getenv(bootstrapVariable) != "":
		return fmt.Sprintf("%s counts, %s=%s is passed over", file, bootstrapVariable, beside)
	}
	return ""
}

// from takes what a driver file says where nothing was given. What counts is told where both say something.
func (f *accessFlags) from(cmd *cobra.Command, file string, a omb.Access) (notes []string) {
	given := func(flags ...string) string {
		if i := slices.IndexFunc(flags, cmd.Flags().Changed); i >= 0 {
			return flags[i]
		}
		return ""
	}
	note := func(format string, args ...any) { notes = append(notes, file+": "+fmt.Sprintf(format, args...)) }
	switch flag := given("tls", "tls-ca", "tls-cert", "tls-key", "tls-insecure"); {
	case flag == "":
		f.tls, f.ca, f.certificate, f.key = a.TLS, a.CA, a.Certificate, a.Key
	case a.TLS:
		note("security.protocol and ssl.…: passed over, --%s counts", flag)
	}
	if a.Mechanism == "" {
		return notes
	}
	if given("sasl") != "" {
		note("sasl.mechanism and sasl.jaas.config: passed over, --sasl counts")
		return notes
	}
	f.mechanism = a.Mechanism
	switch user := os.Getenv(userVariable); {
	case a.User == "":
	case given("sasl-user") != "":
		if f.user != a.User {
			note("username %q of sasl.jaas.config: passed over, --sasl-user %s counts", a.User, f.user)
		}
	default:
		if user != "" && user != a.User {
			note("username %q of sasl.jaas.config counts, %s=%s is passed over", a.User, userVariable, user)
		}
		f.user = a.User
	}
	switch password := os.Getenv(passwordVariable); {
	case a.Password == "":
	case given("sasl-password-file") != "":
		note("the password of sasl.jaas.config: passed over, --sasl-password-file counts")
	default:
		if password != "" && password != a.Password {
			note("the password of sasl.jaas.config counts, that of %s is passed over", passwordVariable)
		}
		f.password = a.Password
	}
	return notes
}

// write writes the result of a run in OpenMessaging Benchmark's form.
func (f *ombFlags) write(periods *omb.Periods, report *bench.Report) error {
	return writeResult(f.result, periods.Result(f.workloadName, f.driverName, report.Config))
}

// How long a rate is tried, if the run itself is no shorter, and how near the rate that is found is to one that does not hold.
const (
	tryWarmUp    = 2 * time.Second
	tryDuration  = 10 * time.Second
	tryPrecision = 1.05
)

// benchFindRate looks for the highest rate at which nobody falls behind, as OpenMessaging Benchmark does for a producerRate of 0. If it was the
// client that fell behind, the error is errInvalid, and the rate is what the client can do. The last run comes with it: one that broke off is all
// that a search which ends there has.
func (a *app) benchFindRate(ctx context.Context, t bench.Trial) (found bench.Found, last *ombTry, err error) {
	t.Log = nil
	t.WarmUp, t.Duration = min(t.WarmUp, tryWarmUp), min(t.Duration, tryDuration)
	limited := false
	found, err = bench.Search{From: t.Rate, Precision: tryPrecision, Confirm: 1, Try: func(ctx context.Context, rate float64) (string, error) {
		periods := omb.NewPeriods(&t)
		t.Rate, t.Progress = rate, periods.Add
		r, err := benchTried(ctx, t)
		if r == nil {
			return "", err
		}
		last = &ombTry{r, periods}
		if ctx.Err() != nil {
			return "", err
		}
		broken := bench.Held(r, nil)
		if broken == "" {
			broken = bench.HeldBacklog(r, omb.BacklogMax)
		}
		fmt.Fprintf(a.stderr, "%s\n", benchLine(r))
		if broken != "" {
			fmt.Fprintf(a.stderr, "  does not hold: %s\n", broken)
			limited = r.ClientsFault(limited)
		}
		return broken, nil
	}}.Run(ctx)
	switch {
	case errors.Is(err, bench.ErrNoRate):
		err = noRate(limited, "", found.Broken)
	case err == nil && limited:
		err = fmt.Errorf("%w: the client was the limit at %.4g/s, not the node", errInvalid, found.Above)
	}
	return found, last, err
}

// ombTry is one run of a search for a rate.
type ombTry struct {
	report  *bench.Report
	periods *omb.Periods
}
