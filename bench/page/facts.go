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
		{"topic", fmt.Sprintf("%s, %d partitions, %s", c.Topic, c.Partitions, replicas(c.ReplicationFactor))},
		{"rate", rate},
		{"records", recordsOf(c)},
		{"client", clientsOf(c)},
		{"acks", acks(c.Acks)},
	}}
	if c.BatchRecords > 0 {
		f.Rows = append(f.Rows, [2]string{"requests", fmt.Sprintf("%d records each, up to %d out on a connection", c.BatchRecords, c.MaxInFlight)})
	} else {
		f.Rows = append(f.Rows, [2]string{"batches", fmt.Sprintf("codec %s, linger %g ms", c.Codec, c.LingerSeconds*1e3)})
	}
	if c.TransactionRecords > 0 {
		f.Rows = append(f.Rows, [2]string{"transactions", fmt.Sprintf("of %s records", bench.FormatCount(float64(c.TransactionRecords)))})
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
		[2]string{"time", fmt.Sprintf("%g s left out, then %g s measured, of which there were %.3g", c.WarmUpSeconds, r.WindowSeconds, r.ElapsedSeconds)},
		[2]string{"client's CPU", fmt.Sprintf("%.0f %% of %d processors", r.Client.Share*100, r.Client.Processors)},
		[2]string{"lost", fmt.Sprintf("%s of %s acknowledged requests", bench.FormatCount(float64(r.LostRequests)), bench.FormatCount(float64(r.DueRequests)))})
	return f
}

func clientsOf(c *bench.ReportConfig) string {
	said := fmt.Sprintf("%s, %d producers, %d consumers", c.Client, c.Producers, c.Consumers)
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
		said += ", " + bench.FormatCount(float64(c.Keys)) + " keys"
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
	return fmt.Sprintf("%d replicas", n)
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
