package faults

import (
	"fmt"
	"io"
	"net"
	"os"
	"testing"

	"github.com/ringmill/ringmill/tests/eos"
	"github.com/ringmill/ringmill/tests/harness"
)

// echoMark is the first argument of a test binary that is started as a server that sends back what it is sent.
const echoMark = "faults-echo"

func TestMain(m *testing.M) {
	eos.RunIfClient()
	if len(os.Args) == 3 && os.Args[1] == echoMark {
		fmt.Fprintln(os.Stderr, serveEcho(os.Args[2]))
		os.Exit(1)
	}
	harness.Main(m)
}

func serveEcho(address string) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	for {
		conn, err := listener.Accept()
		if err != nil {
			return err
		}
		go func() { _, _ = io.Copy(conn, conn); conn.Close() }()
	}
}

func executable(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}
