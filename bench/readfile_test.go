package bench

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A file that does not end is not read to its end.
func TestReadFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("12345"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path string
		most int
		want string // "" of an error
	}{{path, 5, "12345"}, {path, 6, "12345"}, {path, 4, ""}, {"/dev/zero", 1 << 20, ""}, {path + "s", 5, ""}} {
		if text, err := ReadFile(c.path, c.most); string(text) != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s to %d: %q, %v", c.path, c.most, text, err)
		}
	}
	if _, err := ParseValues("payload:/dev/zero"); !errors.Is(err, ErrWorkload) || !strings.Contains(err.Error(), "more than 1000000 bytes") {
		t.Error(err)
	}
}
