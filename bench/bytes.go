package bench

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
)

// byteUnits are what a number of bytes may be of, whatever the case of their letters: powers of a thousand, and with an i of 1,024.
var byteUnits = map[string]int64{"": 1, "b": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40}

// BytesAccepted says in words what ParseBytes reads.
const BytesAccepted = "a whole number of bytes, or of kB, MB, GB, TB, KiB, MiB, GiB or TiB, as 65536, 500MB or 1GiB"

// ParseBytes reads a number of bytes, with a unit or without: 65536, 500MB, 1 GiB. Errors wrap ErrWorkload.
func ParseBytes(text string) (int64, error) {
	text = strings.TrimSpace(text)
	digits := strings.TrimRightFunc(text, unicode.IsLetter)
	unit, known := byteUnits[strings.ToLower(text[len(digits):])]
	n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
	if err != nil || !known || n > math.MaxInt64/unit || n < math.MinInt64/unit {
		return 0, fmt.Errorf("%w: must be %s", ErrWorkload, BytesAccepted)
	}
	return n * unit, nil
}
