package main

import (
	"io"
	"strings"
	"testing"
)

func TestLastLines(t *testing.T) {
	long := strings.Repeat("x", 1000)
	for text, want := range map[string]string{
		"": ", and said nothing on standard error", "\n \n": ", and said nothing on standard error", "one": ": one", "one\ntwo\n": ": one | two", "1\n2\n3\n4\n5\n6\n7": ": 3 | 4 | 5 | 6 | 7",
		long + "\nlast\n": ": " + long[:lastLineBytes] + " | last", "\xff\n": ": \ufffd",
	} {
		for _, size := range []int{1, 3, 5000} { // of the writes that it comes in
			var l lastLines
			for rest := text; rest != ""; rest = rest[min(size, len(rest)):] {
				if n, err := io.WriteString(&l, rest[:min(size, len(rest))]); err != nil || n != min(size, len(rest)) {
					t.Fatal(n, err)
				}
			}
			if got := l.told(); !strings.HasSuffix(got, want) {
				t.Errorf("%.20q in writes of %d: %s", text, size, got)
			}
		}
	}
}
