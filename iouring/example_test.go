package iouring_test

import (
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/ringmill/ringmill/iouring"
)

// A loop owns its engine: it locks its thread, starts operations, and turns in Poll.
func Example() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	engine, _, err := iouring.New("auto", iouring.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer engine.Close()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		fmt.Println(err)
		return
	}

	const greeting iouring.Token = 1
	engine.Recv(greeting, pair[0])
	if _, err := iouring.SendNoWait(pair[1], []byte("hello"), false); err != nil {
		fmt.Println(err)
	}

	events := make([]iouring.Event, 64)
	n, err := engine.Poll(events, -1)
	for _, ev := range events[:n] {
		fmt.Printf("%s of token %d: %s\n", ev.Kind, ev.Token, ev.Buf)
		engine.ReleaseBuffer(ev.BufID)
	}
	if err != nil {
		fmt.Println(err)
	}

	engine.CancelFD(pair[0])
	_ = unix.Close(pair[0])
	_ = unix.Close(pair[1])
	// Output: recv of token 1: hello
}
