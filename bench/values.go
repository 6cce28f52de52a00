package bench

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
)

// Values are what records carry where they are not all of one size: sizes of a distribution, filled with bytes that do not compress, or
// the lines of a file.
type Values struct {
	text  string
	mean  float64
	fixed bool // all are of one size
	size  func(*rand.Rand) int
	lines [][]byte // drawn in turn in place of a size, if there are any
}

// Bounds of values: a size that Kafka's default of message.max.bytes still takes, and how much of a file is read.
const (
	valueBytesMax = 1_000_000
	linesBytesMax = 64 << 20
	weightMax     = 1e9 // of a size, to another; their sum is a number
)

// ParseValues reads what --size may be:
//
//	100                   that many bytes
//	100-2000              any size from one to the other
//	100:9,10000:1         sizes with weights: here nine of ten are of 100 bytes
//	lognormal:300,4000    a lognormal distribution of this median and 99th percentile, as lines of logs have
//	@FILE                 the lines of a file, in turn; of a larger file those of its first 64 MiB
//	payload:FILE          a whole file, in every record
//	pool:1024,0.5,1000    that many values of that size, in turn, of which that part are random bytes and the rest zeros
//
// A size may have a unit (ParseBytes). A value has at least 8 bytes, of which the first 8 are the instant at which it was due. Errors wrap ErrWorkload, or are the file's.
func ParseValues(text string) (*Values, error) {
	if path, ok := strings.CutPrefix(text, "@"); ok {
		return readLines(text, path)
	}
	v := &Values{text: text}
	var err error
	switch name, rest, _ := strings.Cut(text, ":"); {
	case name == "payload":
		err = v.payload(rest)
	case name == "pool":
		err = v.pool(rest)
	case name == "lognormal":
		err = v.lognormal(rest)
	case strings.Contains(text, ":"):
		err = v.weighted(text)
	case strings.Contains(text, "-"):
		err = v.uniform(text)
	default:
		var n int
		n, err = parseSize(text)
		v.fixed, v.mean, v.size = true, float64(n), func(*rand.Rand) int { return n }
	}
	if err != nil {
		return nil, fmt.Errorf("%w: a size of %q: %w", ErrWorkload, text, err)
	}
	return v, nil
}

func parseSize(text string) (int, error) {
	n, err := ParseBytes(text)
	if err != nil {
		return 0, errors.New("sizes are " + BytesAccepted)
	}
	return int(n), checkSize(int(n))
}

func checkSize(n int) error {
	return valueSizes.Check("bytes of a value", n)
}

func parseSizes(text, between string) (a, b int, err error) {
	first, second, _ := strings.Cut(text, between)
	if a, err = parseSize(first); err == nil {
		b, err = parseSize(second)
	}
	if err == nil && b <= a {
		err = errors.New("the second is to be the greater one")
	}
	return a, b, err
}

func (v *Values) uniform(text string) error {
	least, most, err := parseSizes(text, "-")
	v.mean = float64(least+most) / 2
	v.size = func(r *rand.Rand) int { return least + r.IntN(most-least+1) }
	return err
}

// lognormal: the 99th percentile lies 2.326 standard deviations above the median's logarithm.
func (v *Values) lognormal(text string) error {
	median, p99, err := parseSizes(text, ",")
	mu := math.Log(float64(median))
	sigma := (math.Log(float64(p99)) - mu) / 2.3263478740408408
	v.mean = min(math.Exp(mu+sigma*sigma/2), valueBytesMax)
	v.size = func(r *rand.Rand) int {
		return int(min(max(math.Exp(mu+sigma*r.NormFloat64()), stampBytes), valueBytesMax))
	}
	return err
}

func (v *Values) weighted(text string) error {
	var sizes []int
	var upTo []float64 // sums of the weights
	sum := 0.0
	for part := range strings.SplitSeq(text, ",") {
		size, weight, _ := strings.Cut(part, ":")
		n, err := parseSize(size)
		if err != nil {
			return err
		}
		w, err := strconv.ParseFloat(weight, 64)
		if err != nil || !(w >= 1/weightMax && w <= weightMax) {
			return fmt.Errorf("%q is no weight above 0, to %v", weight, weightMax)
		}
		sum += w
		sizes, upTo = append(sizes, n), append(upTo, sum)
		v.mean += float64(n) * w
	}
	v.mean /= sum
	v.size = func(r *rand.Rand) int {
		at := r.Float64() * sum
		for i, limit := range upTo {
			if at < limit {
				return sizes[i]
			}
		}
		return sizes[len(sizes)-1]
	}
	return nil
}

// payload is one value: a file.
func (v *Values) payload(path string) error {
	value, err := ReadFile(path, valueBytesMax)
	if err != nil {
		return err
	}
	v.lines, v.mean = [][]byte{value}, float64(len(value))
	return checkSize(len(value))
}

// pool is values whose first bytes do not compress and whose others do.
func (v *Values) pool(text string) error {
	parts := strings.Split(text, ",")
	if len(parts) != 3 {
		return errors.New("as pool:1024,0.5,1000: bytes, the random part of them, how many values")
	}
	size, err := parseSize(parts[0])
	if err != nil {
		return err
	}
	part, err := strconv.ParseFloat(parts[1], 64)
	if err != nil || !(part >= 0 && part <= 1) {
		return fmt.Errorf("a random part of %q: from 0 to 1", parts[1])
	}
	count, err := strconv.Atoi(parts[2])
	if err != nil || count < 1 || count > linesBytesMax/size {
		return fmt.Errorf("%q values: from 1 to %d, which are 64 MiB", parts[2], linesBytesMax/size)
	}
	for i := range count {
		value := make([]byte, size)
		fillRandom(value[:int(float64(size)*part)], uint64(i+1))
		v.lines = append(v.lines, value)
	}
	v.mean = float64(size)
	return nil
}

func readLines(text, path string) (*Values, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	v := &Values{text: text}
	scanner := bufio.NewScanner(io.LimitReader(file, linesBytesMax))
	scanner.Buffer(nil, valueBytesMax)
	total := 0
	for scanner.Scan() {
		line := append(make([]byte, 0, max(len(scanner.Bytes()), stampBytes)), scanner.Bytes()...)
		for len(line) < stampBytes {
			line = append(line, ' ')
		}
		v.lines = append(v.lines, line)
		total += len(line)
	}
	if err := scanner.Err(); err != nil {
		return nil, fmt.Errorf("%w: the lines of %s: %w", ErrWorkload, path, err)
	}
	if len(v.lines) == 0 {
		return nil, fmt.Errorf("%w: %s has no line", ErrWorkload, path)
	}
	v.mean = float64(total) / float64(len(v.lines))
	return v, nil
}

// Fixed tells that all are of one size.
func (v *Values) Fixed() bool { return v.fixed }

// MeanBytes is the mean size, to the next whole byte.
func (v *Values) MeanBytes() int { return int(math.Round(v.mean)) }

// drawing draws a producer's values, the same ones in each run of the same seed.
type drawing struct {
	values *Values
	random *rand.Rand
	line   int
	filled []byte // random bytes, of which each value has some
}

// filledBytes is how many bytes there are beyond the greatest value, for values to begin in.
const filledBytes = 4096

func (v *Values) draw(seed uint64) *drawing {
	d := &drawing{values: v, random: rand.New(rand.NewPCG(seed, randomValues))}
	if v.lines != nil {
		d.line = d.random.IntN(len(v.lines))
	}
	return d
}

// next is a value, which is the caller's.
func (d *drawing) next() []byte {
	if lines := d.values.lines; lines != nil {
		d.line = (d.line + 1) % len(lines)
		return append([]byte(nil), lines[d.line]...)
	}
	value := make([]byte, d.values.size(d.random))
	if need := len(value) + filledBytes; len(d.filled) < need {
		d.filled = make([]byte, need)
		fillRandom(d.filled, d.random.Uint64())
	}
	copy(value, d.filled[d.random.IntN(filledBytes):])
	return value
}
