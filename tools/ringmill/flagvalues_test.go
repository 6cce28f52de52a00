package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/ringmill/ringmill/bench"
)

// A value that a flag does not take is told with the flag and what it takes, never with the words of a parser.
func TestFlagFaults(t *testing.T) {
	for args, want := range map[string]string{
		"bench run --backlog 1G":                     `--backlog "1G": must be a whole number of bytes, or of kB, MB, GB, TB, KiB, MiB, GiB or TiB, as 65536, 500MB or 1GiB`,
		"bench run --size 1K":                        `--size: a size of "1K": sizes are a whole number of bytes, or of kB,`,
		"bench run --size 1K-2K":                     `--size: a size of "1K-2K": sizes are a whole number of bytes, or of kB,`,
		"bench verify --size 1.5KiB":                 `--size "1.5KiB": must be a whole number of bytes, or of kB,`,
		"bench run --duration 10":                    `--duration "10": must be a time with its unit, as 500ms, 10s or 1h30m`,
		"bench run --rate 5k":                        `--rate "5k": must be a number, as 1000, 0.5 or 1e6`,
		"bench run --rate 1e999":                     `--rate "1e999": out of range: must be a number`,
		"bench run --producers two":                  `--producers "two": must be a whole number`,
		"bench run --producers 99999999999999999999": `--producers "99999999999999999999": out of range: must be a whole number`,
		"bench run --seed -1":                        `--seed "-1": must be a whole number from 0 on`,
		"bench run --pid a,b":                        `--pid "a,b": must be whole numbers, as 1,2,3`,
		"bench sweep --over linger=5":                `--over linger: --linger "5": must be a time with its unit`,
		"bench verify --keep=maybe":                  `--keep "maybe": must be true or false`,
		"consume t -p x":                             `--partition "x": must be whole numbers, as 1,2,3`,
		"cluster balance --throttle 50M":             `--throttle "50M": must be a whole number of bytes, or of kB,`,
		"txn abort --producer-epoch 70000":           `--producer-epoch "70000": out of range: must be a whole number`,
		"topic list -o yaml":                         `--output "yaml": must be text or json`,
		"group reset g --all-topics --to-time noon":  `--to-time "noon": must be a time`,
	} {
		var errs bytes.Buffer
		code := (&app{stdin: strings.NewReader(""), stdout: &errs, stderr: &errs}).run(t.Context(), strings.Fields(args))
		if code != statusUsage || !strings.HasPrefix(errs.String(), "ringmill: "+want) || strings.Count(errs.String(), "\n") != 1 {
			t.Errorf("%s: status %d: %s", args, code, errs.String())
		}
	}
}

// Sizes are read with units and without, and every notation that whole numbers have is one still.
func TestSizesWithUnits(t *testing.T) {
	for args, want := range map[string]bench.ReportConfig{
		"--backlog 1GiB":               {BacklogBytes: 1 << 30, RecordBytes: 100},
		"--backlog 500MB":              {BacklogBytes: 500_000_000, RecordBytes: 100},
		"--backlog 0x10":               {BacklogBytes: 16, RecordBytes: 100},
		"--backlog 1_000":              {BacklogBytes: 1000, RecordBytes: 100},
		"--size 2KiB":                  {RecordBytes: 2048},
		"--size 0100":                  {RecordBytes: 100},
		"--size 1kB-3kB":               {RecordBytes: 2000, Values: "1kB-3kB"},
		"--size 100:9,1KiB:1":          {RecordBytes: 192, Values: "100:9,1KiB:1"},
		"--size pool:1KiB,0.5,10 -r 5": {RecordBytes: 1024, Values: "pool:1KiB,0.5,10"},
	} {
		var c bench.ReportConfig
		code, said := told(t, &c, append([]string{"bench", "run", "--dry-run"}, strings.Fields(args)...)...)
		if code != statusOK || c.BacklogBytes != want.BacklogBytes || c.RecordBytes != want.RecordBytes || c.Values != want.Values {
			t.Errorf("%s: status %d, %+v: %s", args, code, c, said)
		}
	}
}
