package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, end := untilEnded(context.Background())
	os.Exit(run(ctx, end, os.Args[1:]))
}

// untilEnded is a context that ends when the process is asked to end in an orderly way: by an interruption or SIGTERM, of which a second one ends it at
// once, or because its terminal goes away. A terminal that goes sends SIGHUP, and a shell beside it another: both are one wish. Under nohup it is ignored.
//
// SIGPIPE is taken so that it does not kill: of a socket it means nothing, and of standard output and error standardFile knows.
func untilEnded(parent context.Context) (ctx context.Context, end context.CancelFunc) {
	ctx, end = context.WithCancel(parent)
	asked, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(asked, func() {
		stop()
		end()
	})
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	if !signal.Ignored(syscall.SIGHUP) {
		gone := make(chan os.Signal, 1)
		signal.Notify(gone, syscall.SIGHUP)
		go func() {
			<-gone
			end()
		}()
	}
	return ctx, end
}

// run is the process without its exit. end asks for an orderly one.
func run(ctx context.Context, end func(), args []string) int {
	a := &app{stdin: os.Stdin, stdout: &standardFile{os.Stdout, end}, stderr: &standardFile{os.Stderr, end}}
	return a.run(ctx, args)
}

// standardFile is standard output or error. That nobody reads it any more asks for an orderly end: what a command has begun is put away.
type standardFile struct {
	*os.File
	end func()
}

// errUnread is of what nobody reads any more.
var errUnread = errors.New("nobody reads the output")

func (f *standardFile) Write(p []byte) (int, error) {
	n, err := f.File.Write(p)
	if errors.Is(err, syscall.EPIPE) {
		f.end()
		err = fmt.Errorf("%w: %w", errUnread, err)
	}
	return n, err
}
