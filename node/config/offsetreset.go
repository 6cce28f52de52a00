package config

import (
	"math"
	"math/big"
	"regexp"
	"strings"
)

// OffsetReset says where a share group begins to read a partition (share.auto.offset.reset).
type OffsetReset struct {
	Earliest   bool
	ByDuration bool  // at the first record that is not older than DurationMS; neither of the two: at the latest
	DurationMS int64 // not negative
}

// ParseOffsetReset reads earliest, latest, or by_duration:<PnDTnHnMn.nS>. ok is false for anything else.
func ParseOffsetReset(text string) (r OffsetReset, ok bool) {
	switch text {
	case "latest":
		return OffsetReset{}, true
	case "earliest":
		return OffsetReset{Earliest: true}, true
	}
	duration, is := strings.CutPrefix(text, "by_duration:")
	if !is {
		return OffsetReset{}, false
	}
	ms, ok := parseDuration(duration)
	return OffsetReset{ByDuration: ok, DurationMS: ms}, ok
}

// javaDuration is what Java's Duration.parse reads.
var javaDuration = regexp.MustCompile(`(?i)^([-+]?)P(?:([-+]?[0-9]+)D)?(T(?:([-+]?[0-9]+)H)?(?:([-+]?[0-9]+)M)?(?:([-+]?[0-9]+)(?:[.,]([0-9]{0,9}))?S)?)?$`)

// parseDuration reads a duration as Java writes it, in milliseconds, and what is more than int64 holds as that much. ok is
// false if it is negative, or beyond what Java reads: as many seconds as int64 holds.
func parseDuration(text string) (ms int64, ok bool) {
	m := javaDuration.FindStringSubmatch(text)
	if m == nil || strings.EqualFold(m[3], "T") || m[2]+m[4]+m[5]+m[6] == "" {
		return 0, false
	}
	nanos := new(big.Int)
	for i, unit := range map[int]int64{2: 86_400_000_000_000, 4: 3_600_000_000_000, 5: 60_000_000_000, 6: 1_000_000_000} {
		nanos.Add(nanos, scaled(m[i], unit))
	}
	fraction := scaled((m[7] + "000000000")[:9], 1)
	if strings.HasPrefix(m[6], "-") {
		fraction.Neg(fraction)
	}
	nanos.Add(nanos, fraction)
	if m[1] == "-" {
		nanos.Neg(nanos)
	}
	seconds := new(big.Int).Quo(nanos, big.NewInt(1_000_000_000))
	millis := new(big.Int).Quo(nanos, big.NewInt(1_000_000))
	if ok = nanos.Sign() >= 0 && seconds.IsInt64(); ok && !millis.IsInt64() {
		return math.MaxInt64, true
	}
	return millis.Int64(), ok
}

// scaled is a number times unit; 0 for no number. Texts come in requests, so that they may be long, but not longer than
// a value may be.
func scaled(text string, unit int64) *big.Int {
	n, ok := new(big.Int).SetString(text, 10)
	if !ok {
		n = new(big.Int)
	}
	return n.Mul(n, big.NewInt(unit))
}

// resets is the Check of share.auto.offset.reset.
type resets struct{}

func offsetReset() Check { return resets{} }

func (resets) Problem(v any) (string, string) {
	if _, ok := ParseOffsetReset(v.(string)); ok {
		return "", ""
	}
	return "Invalid value `" + v.(string) + "` for configuration share.auto.offset.reset. " +
		"The value must be either 'earliest', 'latest' or of the format 'by_duration:<PnDTnHnMn.nS>'.", ""
}

func (resets) String() string { return "earliest, latest or by_duration:<PnDTnHnMn.nS>" }
