package bench_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ringmill/ringmill/bench"
)

func TestFormats(t *testing.T) {
	for us, want := range map[float64]string{0: "0 µs", 0.5: "0.5 µs", 999.4: "999 µs", 1000: "1 ms", 1234: "1.23 ms", 12_345: "12.3 ms", 99_960: "100 ms", 123_456: "123 ms", 1.5e6: "1.5 s", 6e8: "600 s"} {
		if got := bench.FormatLatency(us); got != want {
			t.Errorf("%v µs is %q, want %q", us, got, want)
		}
	}
	for n, want := range map[float64]string{0: "0", 999: "999", 1000: "1,000", 1234567.8: "1,234,568", -1000: "-1,000"} {
		if got := bench.FormatCount(n); got != want {
			t.Errorf("%v is %q, want %q", n, got, want)
		}
	}
	for n, want := range map[float64]string{12: "12 B/s", 1500: "1.5 kB/s", 12.5e6: "12.5 MB/s", 2e9: "2 GB/s"} {
		if got := bench.FormatBytes(n); got != want {
			t.Errorf("%v is %q, want %q", n, got, want)
		}
	}
	if got := bench.FormatDuration(1500 * time.Microsecond); got != "1.5 ms" {
		t.Error(got)
	}
}

func TestReading(t *testing.T) {
	stream := bench.ReportStream{StreamFigures: bench.StreamFigures{Records: 10, Latency: bench.LatencyFigure{P50Us: 1500, P99Us: 20_000, MaxUs: 3e6}}, RecordsPerSecond: 12_500, BytesPerSecond: 1.25e6}
	open := bench.Report{Loop: "open", Verdict: bench.VerdictValid, Produced: stream, Consumed: &stream}
	closed := bench.Report{Loop: "closed", Verdict: bench.VerdictInvalid, Reasons: []string{"so", "and so"}, Produced: stream, Config: bench.ReportConfig{Producers: 2, MaxInFlight: 5}}
	for want, r := range map[string]bench.Report{
		"At 12,500 records/s (1.25 MB/s), half were acknowledged within 1.5 ms of the instant at which they were due, 99 % within 20 ms, and the slowest after 3 s. Consumers had 99 % within 20 ms.":  open,
		"With 10 requests out at all times, 12,500 records/s (1.25 MB/s) were acknowledged, half of the requests within 1.5 ms and 99 % within 20 ms. The figures are not to be believed: so; and so.": closed,
		"Nothing was acknowledged. The run broke off after 1.5 s of 10 s: what was not answered by then is in no figure.":                                                                              {Loop: "open", Verdict: bench.VerdictPartial, ElapsedSeconds: 1.5, WindowSeconds: 10},
	} {
		if got := r.Reading(); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
	if strings.Contains(open.Reading(), "believed") {
		t.Error("a valid run is doubted")
	}
}
