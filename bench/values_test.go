package bench

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ringmill/ringmill/wire"
)

func TestSizesOfValues(t *testing.T) {
	for text, c := range map[string]struct {
		least, most int
		mean        int
		p50, p99    int // of 20,000, to a tenth; 0 is not looked at
	}{
		"100":                {100, 100, 100, 100, 100},
		"100-2000":           {100, 2000, 1050, 1050, 1981},
		"100:9,10000:1":      {100, 10_000, 1090, 100, 10_000},
		"lognormal:300,4000": {8, valueBytesMax, 558, 300, 4000},
		"8":                  {8, 8, 8, 8, 8},
	} {
		v, err := ParseValues(text)
		if err != nil {
			t.Fatal(err)
		}
		d, sum := v.draw(1), 0
		sizes := make([]int, 20_000)
		for i := range sizes {
			sizes[i] = len(d.next())
			sum += sizes[i]
		}
		slices.Sort(sizes)
		if sizes[0] < c.least || sizes[len(sizes)-1] > c.most {
			t.Errorf("%s: from %d to %d", text, sizes[0], sizes[len(sizes)-1])
		}
		near := func(got, want int) bool { return math.Abs(float64(got-want)) <= float64(want)/10 }
		if p50, p99 := sizes[10_000], sizes[19_800]; !near(p50, c.p50) || !near(p99, c.p99) {
			t.Errorf("%s: p50 %d, p99 %d", text, p50, p99)
		}
		if v.MeanBytes() != c.mean || !near(sum/len(sizes), c.mean) {
			t.Errorf("%s: mean %d, of those drawn %d", text, v.MeanBytes(), sum/len(sizes))
		}
		if again := v.draw(1); len(again.next()) != len(v.draw(1).next()) {
			t.Errorf("%s: another run has other sizes", text)
		}
	}
}

func TestLinesAsValues(t *testing.T) {
	file := filepath.Join(t.TempDir(), "lines")
	if err := os.WriteFile(file, []byte("GET /index.html\n\nPOST /form 200\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	v, err := ParseValues("@" + file)
	if err != nil {
		t.Fatal(err)
	}
	d := v.draw(7)
	var got []string
	for range 6 {
		got = append(got, string(d.next()))
	}
	slices.Sort(got)
	if want := []string{"        ", "        ", "GET /index.html", "GET /index.html", "POST /form 200", "POST /form 200"}; !slices.Equal(got, want) || v.MeanBytes() != 12 || v.Fixed() {
		t.Errorf("%q of %d bytes", got, v.MeanBytes())
	}
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := ParseValues("@" + file); !errors.Is(err, ErrWorkload) {
		t.Errorf("no line: %v", err)
	}
	if _, err := ParseValues("@" + file + "none"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

// A whole file is one value, and a pool has values that compress as far as was asked for.
func TestPayloads(t *testing.T) {
	file := filepath.Join(t.TempDir(), "payload")
	if err := os.WriteFile(file, []byte("one\ntwo\n, and no more"), 0o644); err != nil {
		t.Fatal(err)
	}
	v, err := ParseValues("payload:" + file)
	if err != nil {
		t.Fatal(err)
	}
	if d := v.draw(3); string(d.next())+string(d.next()) != "one\ntwo\n, and no moreone\ntwo\n, and no more" || v.MeanBytes() != 21 {
		t.Errorf("%d bytes in the mean", v.MeanBytes())
	}
	if v, err = ParseValues("pool:1000,0.25,7"); err != nil {
		t.Fatal(err)
	}
	d, seen := v.draw(1), map[string]int{}
	for range 70 {
		value := d.next()
		if zeros := bytes.Count(value[250:], []byte{0}); zeros != 750 || bytes.Count(value[:250], []byte{0}) > 10 || len(value) != 1000 {
			t.Fatalf("%d bytes, %d zeros at the end", len(value), zeros)
		}
		seen[string(value)]++
	}
	if len(seen) != 7 || seen[string(d.next())] != 10 {
		t.Errorf("%d values of 7", len(seen))
	}
}

func TestUnusableSizes(t *testing.T) {
	for _, text := range []string{"pool:1000,0.5", "pool:7,0.5,1", "pool:100,1.5,1", "pool:100,NaN,1", "pool:100,0,0", "pool:1000000,0.5,68", "pool:100,1,1,1", "", "x", "7", "1000001", "100-", "200-100", "100-100", "-5", "100:1,x:1", "100:0", "100:-1", "100:NaN", "100:Inf", "lognormal:300", "lognormal:4000,300", "lognormal:"} {
		if _, err := ParseValues(text); !errors.Is(err, ErrWorkload) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// A producer sends batches of many sizes in turn, each with keys of the partition that it goes to.
func TestFramesDiffer(t *testing.T) {
	values, err := ParseValues("20-3000")
	if err != nil {
		t.Fatal(err)
	}
	trial := &Trial{Partitions: 3, Keys: 1000, BatchRecords: 7, Values: values, Topic: "t"}
	load := &Workload{Topic: "t", Acks: -1}
	frames, err := trial.frames(load, 0)
	if err != nil {
		t.Fatal(err)
	}
	if len(frames) < 100 {
		t.Fatalf("only %d batches", len(frames))
	}
	drawn := newKeys(trial, 0)
	sizes, seen := map[int64]bool{}, map[string]bool{}
	for i, f := range frames {
		partition := int32(i % 3)
		f.aim(partition, drawn)
		f.stamp(Instant(i))
		checkFrame(t, f, Instant(i), partition, seen)
		sizes[f.valueBytes] = true
	}
	if len(sizes) < 90 || len(seen) < 500 {
		t.Errorf("%d sizes and %d keys", len(sizes), len(seen))
	}
}

func checkFrame(t *testing.T, f *rawFrame, due Instant, partition int32, seen map[string]bool) {
	t.Helper()
	if err := f.batch.Check(); err != nil {
		t.Fatal(err)
	}
	if got, err := stampOf(f.batch); got != due || err != nil {
		t.Errorf("due at %d: %v", got, err)
	}
	if bytes, err := valueBytes(f.batch); bytes != f.valueBytes || err != nil || int(f.records) != 7 || int(f.batch.RecordCount()) != 7 {
		t.Errorf("%d records of %d bytes, told %d of %d: %v", f.batch.RecordCount(), bytes, f.records, f.valueBytes, err)
	}
	records, err := f.batch.Records(nil)
	if err != nil {
		t.Fatal(err)
	}
	for rec, ok := records.Next(); ok; rec, ok = records.Next() {
		n := 0
		for _, digit := range rec.Key {
			n = n*10 + int(digit-'0')
		}
		if seen[string(rec.Key)] = true; n >= 1000 || n%3 != int(partition) {
			t.Errorf("key %q in partition %d", rec.Key, partition)
		}
	}
}

// Every key has a partition, and a partition that has none takes another's.
func TestFewerKeysThanPartitions(t *testing.T) {
	k := newKeys(&Trial{Keys: 2, Partitions: 3}, 0)
	for partition, want := range []string{"0000000000", "0000000001", "0000000000"} {
		key := make([]byte, keyBytes)
		if k.put(key, int32(partition)); string(key) != want {
			t.Errorf("partition %d has key %s, want %s", partition, key, want)
		}
	}
}

// Keys in turn come equally often, by a client that chooses the partition as by one that is given it.
func TestKeysInTurn(t *testing.T) {
	trial := &Trial{Keys: 8, Partitions: 3, KeyChoice: KeysInTurn}
	chosen, given := newKeys(trial, 0), newKeys(trial, 0)
	seen, byPartition := map[string]int{}, map[string]int{}
	for i := range 240 {
		seen[string(chosen.next())]++
		key := make([]byte, keyBytes)
		given.put(key, int32(i%3))
		byPartition[string(key)]++
	}
	for i := range 8 {
		key := make([]byte, keyBytes)
		putKey(key, i)
		own := 3 // keys of partitions 0 and 1; partition 2 has 2
		if i%3 == 2 {
			own = 2
		}
		if seen[string(key)] != 30 || byPartition[string(key)] < 80/own || byPartition[string(key)] > 80/own+1 {
			t.Errorf("key %s came %d times, and %d times in its partition", key, seen[string(key)], byPartition[string(key)])
		}
	}
}

// Batches stay below what a node takes, however large single values are.
func TestBatchesOfLargeValues(t *testing.T) {
	values, err := ParseValues("100:1,400000:1")
	if err != nil {
		t.Fatal(err)
	}
	frames, err := (&Trial{Partitions: 1, BatchRecords: 10, Values: values}).frames(&Workload{Topic: "t", Acks: -1}, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range frames {
		if len(f.batch) > batchBytesMax+wire.RecordBatchOverhead+100 || f.records < 1 {
			t.Errorf("%d records in %d bytes", f.records, len(f.batch))
		}
	}
}
