package lint

import (
	"bytes"
	"go/format"
	"go/token"
)

// CheckFormat finds files that are not as gofmt writes them.
func CheckFormat(f *File) []Finding {
	want, err := format.Source(f.Source)
	if err != nil {
		panic("BUG: a parsed file cannot be formatted: " + err.Error())
	}
	if bytes.Equal(want, f.Source) {
		return nil
	}
	line := 1 + bytes.Count(f.Source[:commonPrefix(want, f.Source)], []byte("\n"))
	return []Finding{{token.Position{Filename: f.Path, Line: line}, "not as gofmt writes it"}}
}

func commonPrefix(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}
