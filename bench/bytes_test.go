package bench

import (
	"errors"
	"math"
	"strings"
	"testing"
)

func TestParseBytes(t *testing.T) {
	for text, want := range map[string]int64{"0": 0, "65536": 65536, "-1": -1, "100B": 100, "1kB": 1000, "1KB": 1000, "500MB": 500_000_000, "2GB": 2_000_000_000, "1TB": 1e12, "1KiB": 1024, " 64 MiB ": 64 << 20,
		"1GiB": 1 << 30, "1gib": 1 << 30, "1TiB": 1 << 40, "9223372036854775807": math.MaxInt64} {
		if n, err := ParseBytes(text); err != nil || n != want {
			t.Errorf("%q: %d, %v, want %d", text, n, err, want)
		}
	}
	for _, text := range []string{"", "GB", "1.5GiB", "1G", "1K", "1 giga", "1e3", "0x10", "9223372036854775808", "9007199254740993TiB", "-9007199254740993TiB"} {
		if n, err := ParseBytes(text); !errors.Is(err, ErrWorkload) || !strings.Contains(err.Error(), "500MB or 1GiB") {
			t.Errorf("%q: %d, %v", text, n, err)
		}
	}
}
