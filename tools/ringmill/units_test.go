package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

func TestStartOffset(t *testing.T) {
	const start, end, atTime = 10, 20, 15
	for text, want := range map[string]int64{
		"start": 10, "end": 20, "12": 12, "3": 10, "99": 20, "-4": 16, "-99": 10, "-0": 20, "@1700000000000": 15,
	} {
		var s startOffset
		if err := s.Set(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if got := s.between(start, end, atTime); got != want {
			t.Errorf("%s begins at %d, want %d", text, got, want)
		}
		if s.String() != text {
			t.Errorf("%s is written %s", text, s.String())
		}
	}
	for _, text := range []string{"", "now", "--1", "@", "@-1", "1.5", "9223372036854775808"} {
		if err := new(startOffset).Set(text); err == nil {
			t.Errorf("%q is no offset", text)
		}
	}
}

func TestEndTracker(t *testing.T) {
	stopped := false
	ends := newEndTracker(true, func() { stopped = true })
	ends.assign(0, 0, 3)
	ends.assign(1, 5, 5) // nothing to read
	ends.assigned()
	record := func(p int32, offset int64) *kgo.Record { return &kgo.Record{Partition: p, Offset: offset} }
	ends.passed(record(0, 1))
	if stopped || ends.beyond(record(0, 2)) || !ends.beyond(record(0, 3)) || !ends.beyond(record(1, 5)) {
		t.Fatalf("stopped %v", stopped)
	}
	if ends.passed(record(0, 2)); !stopped {
		t.Error("all is read, and the reading goes on")
	}
}

func TestEndTrackerWithNothingToRead(t *testing.T) {
	for _, enabled := range []bool{true, false} {
		stopped := false
		ends := newEndTracker(enabled, func() { stopped = true })
		ends.assign(0, 3, 3)
		if ends.assigned(); stopped != enabled {
			t.Errorf("-e %v: stopped %v", enabled, stopped)
		}
	}
}

func TestLag(t *testing.T) {
	for _, tt := range []struct{ committed, start, end, want int64 }{
		{5, 0, 7, 2}, {7, 0, 7, 0}, {9, 0, 7, 0}, {-1, 3, 7, 4}, {1, 3, 7, 4}, {5, 0, -1, -1}, {-1, -1, 7, -1},
	} {
		p := &groupPartition{CommittedOffset: tt.committed, StartOffset: tt.start, EndOffset: tt.end}
		if got := lag(p); got != tt.want {
			t.Errorf("%+v: %d", tt, got)
		}
	}
}

func TestRecordAsJSON(t *testing.T) {
	var out bytes.Buffer
	r := &kgo.Record{Topic: "t", Offset: 1, Key: []byte{0xff}, Value: []byte("<ü>"), Headers: []kgo.RecordHeader{{Key: "h"}}}
	if err := writeJSON(&out, recordAsJSON(r)); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); !strings.HasPrefix(got, `{"topic":"t","partition":0,"offset":1,"timestamp":`) ||
		!strings.HasSuffix(got, `,"keyBase64":"/w==","value":"<ü>","headers":[{"name":"h"}]}`+"\n") {
		t.Error(got)
	}
}

func TestJSONLines(t *testing.T) {
	var out bytes.Buffer
	j := &jsonLines{w: &out}
	for _, part := range []string{"one \"line\"\ntw", "o\n", "cut"} {
		if n, err := io.WriteString(j, part); n != len(part) || err != nil {
			t.Fatal(n, err)
		}
	}
	if got, want := out.String(), `{"message":"one \"line\""}`+"\n"+`{"message":"two"}`+"\n"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// An interrupt ends the reading even though standard input stays open and silent.
func TestReadLinesEndsWithTheContext(t *testing.T) {
	silent, write := io.Pipe()
	defer write.Close()
	ctx, cancel := context.WithCancel(t.Context())
	a := &app{stdin: silent}
	go func() {
		_, _ = io.WriteString(write, "one\n")
	}()
	var got []string
	err := a.readLines(ctx, func(line []byte) error {
		got = append(got, string(line))
		cancel()
		return nil
	})
	if err != nil || len(got) != 1 || got[0] != "one" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestReadLines(t *testing.T) {
	for text, want := range map[string]string{"": "", "a": "a|", "a\n\nb\r\n": "a||b|", "\n": "|"} {
		var got string
		a := &app{stdin: strings.NewReader(text)}
		err := a.readLines(t.Context(), func(line []byte) error { got += string(line) + "|"; return nil })
		if err != nil || got != want {
			t.Errorf("%q reads as %q, %v", text, got, err)
		}
	}
	failure := errors.New("refused")
	a := &app{stdin: strings.NewReader("a\nb\n")}
	if err := a.readLines(t.Context(), func([]byte) error { return failure }); err != failure {
		t.Errorf("error %v", err)
	}
}
