package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// A write that fails leaves what was there, be it a file, a link, a device, or nothing.
func TestWriteFile(t *testing.T) {
	fault := errors.New("fault")
	whole := func(w io.Writer) error { _, err := io.WriteString(w, "new"); return err }
	half := func(w io.Writer) error { _, err := io.WriteString(w, "ne"); return errors.Join(err, fault) }
	for _, c := range []struct {
		name, path string
		write      func(io.Writer) error
		wrong      error
		want       map[string]string // files and links that are there after
	}{
		{"a new file", "none", whole, nil, map[string]string{"none": "new", "old": "old", "link": "-> old", "loose": "-> gone", "full": "-> /dev/full"}},
		{"no new file", "none", half, fault, map[string]string{"old": "old", "link": "-> old", "loose": "-> gone", "full": "-> /dev/full"}},
		{"an older file", "old", whole, nil, map[string]string{"old": "new", "link": "-> old", "loose": "-> gone", "full": "-> /dev/full"}},
		{"an older file kept", "old", half, fault, map[string]string{"old": "old", "link": "-> old", "loose": "-> gone", "full": "-> /dev/full"}},
		{"behind a link", "link", whole, nil, map[string]string{"old": "new", "link": "-> old", "loose": "-> gone", "full": "-> /dev/full"}},
		{"kept behind a link", "link", half, fault, map[string]string{"old": "old", "link": "-> old", "loose": "-> gone", "full": "-> /dev/full"}},
		{"a link to nothing", "loose", whole, nil, map[string]string{"old": "old", "gone": "new", "link": "-> old", "loose": "-> gone", "full": "-> /dev/full"}},
		{"a full device", "full", whole, unix.ENOSPC, map[string]string{"old": "old", "link": "-> old", "loose": "-> gone", "full": "-> /dev/full"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			in := func(name string) string { return filepath.Join(dir, name) }
			err := errors.Join(os.WriteFile(in("old"), []byte("old"), 0o604), os.Chmod(in("old"), 0o604), os.Symlink("old", in("link")), os.Symlink("gone", in("loose")), os.Symlink("/dev/full", in("full")))
			if err != nil {
				t.Fatal(err)
			}
			if err := writeFile(in(c.path), c.write); !errors.Is(err, c.wrong) || err != nil && !strings.Contains(err.Error(), in(c.path)) {
				t.Errorf("%v, want %v", err, c.wrong)
			}
			there, err := os.ReadDir(dir)
			if err != nil || len(there) != len(c.want) {
				t.Errorf("%v, %v", there, err)
			}
			for name, want := range c.want {
				got, isLink := os.Readlink(in(name))
				if got = "-> " + got; isLink != nil {
					text, err := os.ReadFile(in(name))
					if got = string(text); err != nil {
						t.Error(err)
					}
				}
				if got != want {
					t.Errorf("%s is %q, want %q", name, got, want)
				}
			}
			if info, err := os.Stat(in("old")); err != nil || info.Mode() != 0o604 {
				t.Errorf("mode %v, %v", info.Mode(), err)
			}
			if info, err := os.Stat("/dev/full"); err != nil || info.Mode()&os.ModeCharDevice == 0 {
				t.Fatalf("/dev/full is %v, %v", info.Mode(), err)
			}
		})
	}
}

// That a file cannot be written is said before anything runs, and an older one is not touched.
func TestOutputsAreLookedAtBeforeTheRun(t *testing.T) {
	dir := t.TempDir()
	for command, flags := range map[string][]string{
		"run": {"result", "report", "hlog", "omb-json"}, "quick": {"result", "report"}, "sweep --bound p99<10ms": {"report"},
		"tune --dir " + dir: {"result"}, "ab a:1 b:1": {"result-a", "result-b", "report"}, "compare a b": {"report"}, "report a": {"html"},
	} {
		for _, flag := range flags {
			for path, why := range map[string]string{dir: "is a directory", filepath.Join(dir, "none", "x"): "no such file"} {
				var errs bytes.Buffer
				args := append(append([]string{"bench"}, strings.Fields(command)...), "--"+flag, path)
				code := (&app{stdin: strings.NewReader(""), stdout: io.Discard, stderr: &errs}).run(t.Context(), args)
				if code != statusUsage || !strings.Contains(errs.String(), "--"+flag+" "+path) || !strings.Contains(errs.String(), why) {
					t.Errorf("%s: status %d: %s", strings.Join(args, " "), code, errs.String())
				}
			}
		}
	}
	if there, err := os.ReadDir(dir); err != nil || len(there) > 0 {
		t.Errorf("%v, %v", there, err)
	}
}

// Of a line that cannot be appended whole nothing is left.
func TestAppendFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs.json")
	for _, line := range []string{"one\n", "two\n"} {
		if err := appendFile(path, []byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "one\ntwo\n" {
		t.Errorf("%q, %v", text, err)
	}
	if err := appendFile("/dev/full", []byte("x")); !errors.Is(err, unix.ENOSPC) {
		t.Error(err)
	}
}
