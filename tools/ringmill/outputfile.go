package main

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
)

// registerOutput registers a flag that names a file which a command writes. That the file cannot be written is said before anything runs.
func registerOutput(cmd *cobra.Command, path *string, name, usage string) {
	cmd.Flags().StringVar(path, name, "", usage)
	before := cmd.PreRunE
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		if before != nil {
			if err := before(cmd, args); err != nil {
				return err
			}
		}
		if *path == "" {
			return nil
		}
		if err := writable(*path); err != nil {
			return wrongUse(cmd, "--%s %s: %s", name, *path, err)
		}
		return nil
	}
}

// writable says what is in the way of writing a file, which is not touched for it.
func writable(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return unix.Faccessat(unix.AT_FDCWD, filepath.Dir(path), unix.W_OK|unix.X_OK, unix.AT_EACCESS)
	case err != nil:
		return errors.Unwrap(err)
	case info.IsDir():
		return unix.EISDIR
	}
	return unix.Faccessat(unix.AT_FDCWD, path, unix.W_OK, unix.AT_EACCESS)
}

// outputFile is a file that is written. A regular one, and one that there is none of, is written beside its place and put there by commit, so that an
// older one outlives a write that fails. What else there is, a device or a pipe, is written in place and never removed.
type outputFile struct {
	*os.File
	path, target string // as it was named, and what it is put in the place of; that is empty if it is written in place
	failed       error  // of the first write that did
}

// createOutput opens one. Errors are those of os.OpenFile.
func createOutput(path string) (*outputFile, error) {
	if target, mode := replaceable(path); target != "" {
		beside, err := os.OpenFile(filepath.Join(filepath.Dir(target), ".ringmill-"+rand.Text()[:13]), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		switch {
		case err == nil:
			f := &outputFile{File: beside, path: path, target: target}
			if mode != 0 {
				_ = beside.Chmod(mode)
			}
			return f, nil
		case mode == 0 || !errors.Is(err, os.ErrPermission): // else it is a file that may be written in a directory that may not
			return nil, err
		}
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return nil, err
	}
	return &outputFile{File: file, path: path}, nil
}

// replaceable is the file that a path stands for, links followed, and the mode that it has, 0 if it is not there yet; "" if what is there is written in
// place. What is open already, as /dev/stdout, has a place among other output.
func replaceable(path string) (target string, mode os.FileMode) {
	target, err := filepath.EvalSymlinks(path)
	if errors.Is(err, os.ErrNotExist) {
		if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
			return path, 0
		}
		return "", 0 // a link to nothing
	}
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || strings.HasPrefix(path, "/dev/") || strings.HasPrefix(path, "/proc/") {
		return "", 0
	}
	return target, info.Mode().Perm()
}

func (f *outputFile) Write(p []byte) (int, error) {
	n, err := f.File.Write(p)
	f.failed = cmp.Or(f.failed, err)
	return n, err
}

// commit closes the file and puts it into its place. If what it was to have could not be made or written, which failed says, what was there before is left.
func (f *outputFile) commit(failed error) error {
	err := errors.Join(cmp.Or(failed, f.failed), f.Close())
	if f.target != "" && err == nil {
		err = os.Rename(f.Name(), f.target)
	}
	if err == nil {
		return nil
	}
	f.leave()
	return fmt.Errorf("%s: %w", f.path, err)
}

// leave closes a file that is not to be, and leaves what was there before. After commit it does nothing.
func (f *outputFile) leave() {
	_ = f.Close()
	if f.target != "" {
		_ = os.Remove(f.Name())
	}
}

// writeFile writes a file whole or, if that fails, leaves what was there before.
func writeFile(path string, write func(io.Writer) error) error {
	file, err := createOutput(path)
	if err != nil {
		return err
	}
	return file.commit(write(file))
}

// writeResult writes a result as JSON.
func writeResult(path string, result any) error {
	text, err := json.MarshalIndent(result, "", "  ")
	if err != nil {
		return err
	}
	return writeFile(path, func(w io.Writer) error {
		_, err := w.Write(append(text, '\n'))
		return err
	})
}

// appendFile adds text to a file; of a regular one, all of it or nothing.
func appendFile(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err == nil {
		if _, err = io.Copy(f, bytes.NewReader(text)); err != nil && info.Mode().IsRegular() {
			err = errors.Join(err, f.Truncate(info.Size()))
		}
	}
	return errors.Join(err, f.Close())
}
