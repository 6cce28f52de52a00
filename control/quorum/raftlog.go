package quorum

import "fmt"

// raftLogger hands the raft library's warnings on. What it calls a panic is one, and guard makes an error of it.
type raftLogger struct{ warn func(line string) }

// raftPanic is what the raft library has to say when it finds its state impossible.
type raftPanic string

func (l raftLogger) line(s string) {
	if l.warn != nil {
		l.warn(s)
	}
}

func (raftLogger) Debug(...any)                  {}
func (raftLogger) Debugf(string, ...any)         {}
func (raftLogger) Info(...any)                   {}
func (raftLogger) Infof(string, ...any)          {}
func (l raftLogger) Warning(v ...any)            { l.line(fmt.Sprint(v...)) }
func (l raftLogger) Warningf(f string, v ...any) { l.line(fmt.Sprintf(f, v...)) }
func (l raftLogger) Error(v ...any)              { l.line(fmt.Sprint(v...)) }
func (l raftLogger) Errorf(f string, v ...any)   { l.line(fmt.Sprintf(f, v...)) }
func (raftLogger) Fatal(v ...any)                { panic(raftPanic(fmt.Sprint(v...))) }
func (raftLogger) Fatalf(f string, v ...any)     { panic(raftPanic(fmt.Sprintf(f, v...))) }
func (raftLogger) Panic(v ...any)                { panic(raftPanic(fmt.Sprint(v...))) }
func (raftLogger) Panicf(f string, v ...any)     { panic(raftPanic(fmt.Sprintf(f, v...))) }
