package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ringmill/ringmill/bench"
	"github.com/ringmill/ringmill/bench/omb"
)

// benchPlan is --dry-run: what a run would make, do, read and write, and how long it would take.
func (a *app) benchPlan(f *benchRunFlags) error {
	c := f.trial.Config()
	return a.print(c, func(w io.Writer) {
		for _, line := range slices.Concat(planOfTopics(&c), f.planOfLoad(&c), f.planOfTime(&c), f.planOfAccess(&a.client), f.planBeside()) {
			fmt.Fprintln(w, line)
		}
	})
}

func planOfTopics(c *bench.ReportConfig) (lines []string) {
	replicas := "as many replicas as the cluster has by default"
	if c.ReplicationFactor > 0 {
		replicas = counted(c.ReplicationFactor, "replica")
	}
	topics := "a topic " + c.Topic
	if c.Topics > 1 {
		topics = fmt.Sprintf("%d topics %s-0000 to -%04d, each", c.Topics, c.Topic, c.Topics-1)
	}
	lines = append(lines, fmt.Sprintf("%s of %s with %s at %s, made and removed", topics, counted(c.Partitions, "partition"), replicas, strings.Join(c.Addresses, ",")))
	return append(lines, planOfProperties("topic", c.TopicProperties)...)
}

// planOfProperties are those of topics or clients, if there are some.
func planOfProperties(whose string, all map[string]string) (lines []string) {
	var set []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		set = append(set, name+"="+all[name])
	}
	if set == nil {
		return nil
	}
	return []string{whose + " properties: " + strings.Join(set, " ")}
}

func (f *benchRunFlags) planOfLoad(c *bench.ReportConfig) (lines []string) {
	each := ""
	if c.Topics > 1 {
		each = " of each topic"
	}
	what := cmp.Or(c.Values, strconv.Itoa(c.RecordBytes)) + " bytes"
	if c.Keys > 0 {
		what += fmt.Sprintf(" with %s", counted(c.Keys, "key"))
		if c.KeyChoice != "" {
			what += " " + c.KeyChoice
		}
	}
	if c.TransactionRecords > 0 {
		what += fmt.Sprintf(", in transactions of %d", c.TransactionRecords)
	}
	load := "as many records as are acknowledged,"
	switch {
	case f.omb.search:
		load = "together at the highest rate at which nobody falls behind,"
	case c.RatePerSecond > 0:
		load = fmt.Sprintf("together %.6g records/s", c.RatePerSecond)
	}
	if c.Arrival != "" {
		load += " (" + c.Arrival + ")"
	}
	consumers := "no consumer"
	if c.Consumers > 0 {
		consumers = counted(c.Consumers, "consumer") + each
	}
	if c.Subscriptions > 1 && c.Consumers > 0 {
		consumers = fmt.Sprintf("%d subscriptions%s with %s", c.Subscriptions, each, counted(c.Consumers, "consumer"))
	}
	lines = append(lines, fmt.Sprintf("%s%s, %s of %s, acks %s; %s", counted(c.Producers, c.Client+" producer"), each, load, what, f.acks, consumers))
	if c.BatchRecords > 0 {
		lines = append(lines, fmt.Sprintf("%s a request, up to %s out on a connection", counted(c.BatchRecords, "record"), counted(c.MaxInFlight, "request")))
	} else {
		lines = append(lines, fmt.Sprintf("linger %v, codec %s", f.trial.Linger, c.Codec))
	}
	if c.Seed != 0 {
		lines = append(lines, fmt.Sprintf("gaps, keys and values begin with the seed %d", c.Seed))
	}
	return slices.Concat(lines, planOfProperties("producer", c.ProducerProperties), planOfProperties("consumer", c.ConsumerProperties))
}

func (f *benchRunFlags) planOfTime(c *bench.ReportConfig) (lines []string) {
	t := &f.trial
	if f.omb.search {
		lines = append(lines, fmt.Sprintf("the rate is looked for from %s records/s on: each one is tried for %v, on a topic of its own", bench.FormatCount(omb.RateFrom), min(t.WarmUp, tryWarmUp)+min(t.Duration, tryDuration)))
	}
	more := ""
	if b := t.Backlog; b != nil {
		waiting, _ := (&bench.BacklogFigure{Bytes: b.Bytes, Drained: b.Drained}).Asked(c.RecordBytes)
		lines = append(lines, fmt.Sprintf("consumers leave %s bytes behind, which are %s records, and have read %.4g %% of them again before what is measured begins",
			bench.FormatCount(float64(b.Bytes)), bench.FormatCount(float64(waiting)), b.Drained*100))
		more = " and what the backlog takes"
	}
	lines = append(lines, fmt.Sprintf("%v left out, then %v measured: %v in all%s, beside what it takes to make and remove topics", t.WarmUp, t.Duration, (t.WarmUp+t.Duration).Round(time.Millisecond), more))
	return append(lines, fmt.Sprintf("given up where nothing is answered for %v", time.Duration(c.PatienceSeconds*float64(time.Second))))
}

// planOfAccess is how clients get to the nodes, where these are not open to everybody.
func (f *benchRunFlags) planOfAccess(client *clientFlags) (lines []string) {
	access := &client.access
	if f.trial.Dial != nil {
		trusted := "whom the machine trusts"
		switch {
		case access.insecure:
			trusted = "whoever answers"
		case access.ca != "":
			trusted = access.ca
		}
		line := "connects with TLS, and trusts " + trusted
		if access.certificate != "" {
			line += fmt.Sprintf("; its own certificate is in %s, its key in %s", access.certificate, access.key)
		}
		lines = append(lines, line)
	}
	if f.trial.SASL != nil {
		lines = append(lines, fmt.Sprintf("authenticates as %s with %s", access.user, f.trial.SASL.Name()))
	}
	return lines
}

// planBeside is what is read beside the run, and what is written.
func (f *benchRunFlags) planBeside() (lines []string) {
	if at := f.trial.StatusAddresses; len(at) > 0 {
		lines = append(lines, "reads the stages of requests at "+strings.Join(at, ","))
	}
	if pids := f.trial.PIDs; len(pids) > 0 {
		lines = append(lines, "reads what is used by the processes "+strings.Trim(fmt.Sprint(pids), "[]"))
	}
	for _, file := range []struct{ path, flag string }{{f.result, "result"}, {f.log, "hlog"}, {f.page, "report"}, {f.omb.result, "omb-json"}} {
		if file.path != "" {
			lines = append(lines, fmt.Sprintf("writes %s (--%s)", file.path, file.flag))
		}
	}
	return append(lines, "starts no node")
}
