package harness

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// Tools is one Java process that runs Apache Kafka's command line tools, one at a time: tests/peers/apps/Tools.java says how
// they speak. A tool of its own process takes two seconds, here a tenth of one.
type Tools struct {
	process *process
	input   io.Writer
	output  *bufio.Reader
	log     string // standard error of the process itself
}

// Outcome is what a tool left.
type Outcome struct {
	Status         int // exit status
	Stdout, Stderr string
}

// toolPatience is far beyond what any tool needs: its clients give up after a minute.
const toolPatience = 2 * time.Minute

// StartTools starts the process for the length of the test.
func StartTools(tb testing.TB) *Tools {
	tb.Helper()
	argv := JavaApp(tb, "Tools")
	cmd := exec.Command(argv[0], argv[1:]...)
	input, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	t := &Tools{input: input, output: bufio.NewReader(output), log: filepath.Join(tb.TempDir(), "tools.log")}
	if t.process, err = spawnCommand(t.log, cmd); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = t.process.signal(syscall.SIGKILL, 10*time.Second) })
	return t
}

// Run runs the main method of a class to its end. A tool that does not end within minutes ends the process and the test.
func (t *Tools) Run(tb testing.TB, input, class string, args ...string) Outcome {
	tb.Helper()
	answer := make(chan struct{})
	var outcome Outcome
	var err error
	go func() {
		defer close(answer)
		outcome, err = t.ask(input, class, args)
	}()
	select {
	case <-answer:
	case <-time.After(toolPatience):
		_ = t.process.signal(syscall.SIGKILL, 10*time.Second)
		<-answer
		tb.Fatalf("%s %q did not end within %v", class, args, toolPatience)
	}
	if err != nil {
		tb.Fatalf("%s %q: %v\n%s", class, args, err, tail(t.log, 40))
	}
	return outcome
}

func (t *Tools) ask(input, class string, args []string) (Outcome, error) {
	request := appendString(nil, class)
	request = binary.BigEndian.AppendUint32(request, uint32(len(args)))
	for _, arg := range args {
		request = appendString(request, arg)
	}
	if _, err := t.input.Write(appendString(request, input)); err != nil {
		return Outcome{}, fmt.Errorf("harness: ask the tools' process: %w", err)
	}
	var status int32
	if err := binary.Read(t.output, binary.BigEndian, &status); err != nil {
		return Outcome{}, fmt.Errorf("harness: status from the tools' process: %w", err)
	}
	stdout, err := readString(t.output)
	if err != nil {
		return Outcome{}, err
	}
	stderr, err := readString(t.output)
	return Outcome{int(status), stdout, stderr}, err
}

func appendString(dst []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint32(dst, uint32(len(s))), s...)
}

func readString(from io.Reader) (string, error) {
	var size uint32
	if err := binary.Read(from, binary.BigEndian, &size); err != nil {
		return "", fmt.Errorf("harness: output from the tools' process: %w", err)
	}
	text := make([]byte, size)
	if _, err := io.ReadFull(from, text); err != nil {
		return "", fmt.Errorf("harness: output of %d bytes from the tools' process: %w", size, err)
	}
	return string(text), nil
}
