package main

import (
	"bytes"
	"strings"
	"sync"
)

// Bounds of what is kept of the lines that a process writes, to tell why it ended: an error is one line, which its log may have come before.
const (
	lastLinesKept = 5
	lastLineBytes = 300
)

// lastLines keeps the last lines that are written to it. Its methods are safe for any goroutine.
type lastLines struct {
	mu    sync.Mutex
	lines []string // the last one may not be whole yet
	whole bool
}

func (l *lastLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for part := range bytes.Lines(p) {
		text, whole := bytes.CutSuffix(part, []byte("\n"))
		if len(l.lines) == 0 || l.whole {
			l.lines = append(l.lines, "")
			l.lines = l.lines[max(0, len(l.lines)-lastLinesKept):]
		}
		last := &l.lines[len(l.lines)-1]
		*last += string(text[:min(len(text), max(0, lastLineBytes-len(*last)))])
		l.whole = whole
	}
	return len(p), nil
}

// told is what follows the sentence that a process has ended.
func (l *lastLines) told() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var said []string
	for _, line := range l.lines {
		if line = strings.TrimSpace(strings.ToValidUTF8(line, "\ufffd")); line != "" {
			said = append(said, line)
		}
	}
	if len(said) == 0 {
		return ", and said nothing on standard error"
	}
	return ", and said on standard error: " + strings.Join(said, " | ")
}
