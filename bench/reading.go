package bench

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Reading is the result in a sentence for people who read nothing else, with another one if it is not to be believed.
func (r *Report) Reading() string {
	var said string
	p := &r.Produced
	switch {
	case p.Records == 0:
		said = "Nothing was acknowledged."
	case r.Loop == "closed":
		said = fmt.Sprintf("With %s out at all times, %s records/s (%s) were acknowledged, half of the requests within %s and 99 %% within %s.",
			Counted(r.Config.Producers*max(r.Config.MaxInFlight, 1), "request"), FormatCount(p.RecordsPerSecond), FormatBytes(p.BytesPerSecond), FormatLatency(p.Latency.P50Us), FormatLatency(p.Latency.P99Us))
	default:
		said = fmt.Sprintf("At %s records/s (%s), half were acknowledged within %s of the instant at which they were due, 99 %% within %s, and the slowest after %s.",
			FormatCount(p.RecordsPerSecond), FormatBytes(p.BytesPerSecond), FormatLatency(p.Latency.P50Us), FormatLatency(p.Latency.P99Us), FormatLatency(p.Latency.MaxUs))
	}
	if r.Consumed != nil && r.Consumed.Records > 0 {
		said += fmt.Sprintf(" Consumers had 99 %% within %s.", FormatLatency(r.Consumed.Latency.P99Us))
	}
	switch r.Verdict {
	case VerdictInvalid:
		said += " The figures are not to be believed: " + strings.Join(r.Reasons, "; ") + "."
	case VerdictPartial:
		said += fmt.Sprintf(" The run broke off after %s of %s: what was not answered by then is in no figure.", seconds(r.ElapsedSeconds), seconds(r.WindowSeconds))
	}
	return said
}

// Counted is a number of things: 1 request, 12,500 requests.
func Counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return FormatCount(float64(n)) + " " + noun + "s"
}

func seconds(s float64) string { return threeDigits(s) + " s" }

// FormatLatency is microseconds with a unit that fits, to three digits: 1.25 ms.
func FormatLatency(us float64) string {
	switch {
	case us < 1e3:
		return threeDigits(us) + " µs"
	case us < 1e6:
		return threeDigits(us/1e3) + " ms"
	}
	return threeDigits(us/1e6) + " s"
}

// Format is FormatLatency of one of a figure's values, which has none where nothing was counted: "-".
func (f *LatencyFigure) Format(us float64) string {
	if f.Count == 0 {
		return "-"
	}
	return FormatLatency(us)
}

// FormatDifference is FormatLatency of a difference, with its sign.
func FormatDifference(us float64) string {
	if us < 0 {
		return "-" + FormatLatency(-us)
	}
	return "+" + FormatLatency(us)
}

// FormatDuration is FormatLatency of a duration.
func FormatDuration(d time.Duration) string { return FormatLatency(float64(d.Nanoseconds()) / 1e3) }

// FormatBytes is bytes a second with a unit that fits: 12.5 MB/s.
func FormatBytes(perSecond float64) string {
	switch {
	case perSecond < 1e3:
		return threeDigits(perSecond) + " B/s"
	case perSecond < 1e6:
		return threeDigits(perSecond/1e3) + " kB/s"
	case perSecond < 1e9:
		return threeDigits(perSecond/1e6) + " MB/s"
	}
	return threeDigits(perSecond/1e9) + " GB/s"
}

// FormatCount is a whole number with its thousands apart: 12,500.
func FormatCount(n float64) string {
	digits := strconv.FormatFloat(math.Round(n), 'f', 0, 64)
	for at := len(digits) - 3; at > 0 && digits[at-1] != '-'; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}

// threeDigits leaves out what is behind the third digit, and zeros at the end of a fraction.
func threeDigits(v float64) string {
	decimals := 0
	switch size := math.Abs(v); {
	case size < 9.995:
		decimals = 2
	case size < 99.95:
		decimals = 1
	}
	text := strconv.FormatFloat(v, 'f', decimals, 64)
	if decimals > 0 {
		text = strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
	}
	return text
}
