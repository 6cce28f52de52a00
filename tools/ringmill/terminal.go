package main

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// terminal is one that text can be painted over in.
type terminal struct{ file *os.File }

// terminalOf tells whether w is one.
func terminalOf(w io.Writer) (terminal, bool) {
	file, ok := w.(*standardFile)
	if !ok || os.Getenv("TERM") == "dumb" {
		return terminal{}, false
	}
	_, err := unix.IoctlGetTermios(int(file.Fd()), unix.TCGETS)
	return terminal{file.File}, err == nil
}

// size is in columns and rows; 80 and 24 if it does not say (a serial line).
func (t terminal) size() (columns, rows int) {
	size, err := unix.IoctlGetWinsize(int(t.file.Fd()), unix.TIOCGWINSZ)
	if err != nil || size.Col == 0 || size.Row == 0 {
		return 80, 24
	}
	return int(size.Col), int(size.Row)
}
