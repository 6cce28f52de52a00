package page

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ringmill/ringmill/bench"
)

func configurationOf(r *bench.Report) facts {
	c := &r.Config
	rate := "as many as are acknowledged (closed loop)"
	if c.RatePerSecond > 0 {
		rate = bench.FormatCount(c.RatePerSecond) + " records/s"
		if c.Arrival != "" {
			rate += ", " + c.Arrival
		}
	}
	f := facts{Title: "Configuration", Rows: [][2]string{
		{"nodes", strings.Join(c.Addresses, ", ")},
		{"topic", fmt.Sprintf("%s, %s, %s", c.Topic, bench.Counted(c.Partitions, "partition"), replicas(c.ReplicationFactor))},
		{"rate", rate},
		{"records", recordsOf(c)},
		{"client", clientsOf(c)},
		{"acks", acks(c.Acks)},
	}}
	if c.BatchRecords > 0 {
		f.Rows = append(f.Rows, [2]string{"requests", fmt.Sprintf("%s each, up to %d out on a connection", bench.Counted(c.BatchRecords, "record"), c.MaxInFlight)})
	} else {
		f.Rows = append(f.Rows, [2]string{"batches", fmt.Sprintf("codec %s, linger %g ms", c.Codec, c.LingerSeconds*1e3)})
	}
	if c.TransactionRecords > 0 {
		f.Rows = append(f.Rows, [2]string{"transactions", "of " + bench.Counted(c.TransactionRecords, "record")})
	}
	for _, of := range []struct {
		name       string
		properties map[string]string
	}{{"topics' properties", c.TopicProperties}, {"producers' properties", c.ProducerProperties}, {"consumers' properties", c.ConsumerProperties}} {
		if len(of.properties) > 0 {
			f.Rows = append(f.Rows, [2]string{of.name, propertiesOf(of.properties)})
		}
	}
	f.Rows = append(f.Rows,
		[2]string{"time", timeOf(r)},
		[2]string{"client's CPU", fmt.Sprintf("%.0f %% of %d processors", r.Client.Share*100, r.Client.Processors)},
		[2]string{"lost", fmt.Sprintf("%s of %s acknowledged requests", count(r.LostRequests), count(r.DueRequests))})
	return f
}

// timeOf is how long was measured, and what for.
func timeOf(r *bench.Report) string {
	said := fmt.Sprintf("%g s left out, then %.4g s measured", r.Config.WarmUpSeconds, r.WindowSeconds)
	if r.Verdict == bench.VerdictPartial {
		said = fmt.Sprintf("%g s left out, then %.4g of %.4g s measured", r.Config.WarmUpSeconds, r.ElapsedSeconds, r.WindowSeconds)
	}
	if c := &r.Config; c.BacklogBytes > 0 {
		said += fmt.Sprintf(", of which %g s after %.4g %% of a backlog of %s bytes were read", c.DurationSeconds, c.BacklogDrained*100, count(c.BacklogBytes))
	}
	return said
}

func clientsOf(c *bench.ReportConfig) string {
	said := fmt.Sprintf("%s, %s, %s", c.Client, bench.Counted(c.Producers, "producer"), bench.Counted(c.Consumers, "consumer"))
	if c.Subscriptions > 1 {
		said += fmt.Sprintf(" of each of %d subscriptions", c.Subscriptions)
	}
	if c.Topics > 1 {
		said += fmt.Sprintf(", on each of %d topics", c.Topics)
	}
	return said
}

// propertiesOf are NAME=VALUE.
func propertiesOf(all map[string]string) string {
	var said []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		said = append(said, name+"="+all[name])
	}
	return strings.Join(said, ", ")
}

func recordsOf(c *bench.ReportConfig) string {
	said := fmt.Sprintf("%d bytes", c.RecordBytes)
	if c.Values != "" {
		said = fmt.Sprintf("%s, %d bytes in the mean", c.Values, c.RecordBytes)
	}
	if c.Keys > 0 {
		said += ", " + count(c.Keys) + " keys"
		if c.KeyChoice != "" {
			said += ", " + c.KeyChoice
		}
	}
	return said
}

func replicas(n int) string {
	if n < 0 {
		return "replicas by the cluster's default"
	}
	return bench.Counted(n, "replica")
}

func acks(n int16) string {
	if n == -1 {
		return "all in-sync replicas"
	}
	return fmt.Sprint(n)
}

func hostOf(r *bench.Report) facts {
	h := &r.Host
	f := facts{Title: "The client's host"}
	add := func(name, value string) {
		if value != "" {
			f.Rows = append(f.Rows, [2]string{name, value})
		}
	}
	add("processor", fmt.Sprintf("%s, %d usable", unknown(h.Processor), h.Processors))
	add("memory", fmt.Sprintf("%.1f GiB", float64(h.MemoryBytes)/(1<<30)))
	add("kernel", h.Kernel)
	add("file system", h.FileSystem)
	add("governor", h.Governor)
	add("Go", h.Go)
	add("ringmill", strings.TrimSpace(h.Version+" "+h.Revision))
	return f
}

func unknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}
