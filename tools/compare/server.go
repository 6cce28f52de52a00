package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"github.com/ringmill/ringmill/bench"
)

// server is one of those that are compared, or a node of a cluster: a process that can be started again in its directory.
type server struct {
	name, address string
	id            int32 // in a cluster
	argv, env     []string
	log           string
	// policy gives the topic properties of a durability; nil where topics have none.
	policy map[durability]map[string]string
	cmd    *exec.Cmd
}

// durability is when a produce is acknowledged; see the package's documentation.
type durability string

const (
	durable durability = "durable"
	cache   durability = "cache"
)

// durabilities and kafkaDurabilities are the topic properties that give them.
var (
	durabilities      = map[durability]map[string]string{durable: {"ringmill.flush.policy": "commit"}, cache: {"ringmill.flush.policy": "cache"}}
	kafkaDurabilities = map[durability]map[string]string{durable: {"flush.messages": "1"}, cache: nil}
)

// newServers lays out both with directories of their own under dir.
func newServers(o options, dir string) (ringmill, kafka *server, err error) {
	ports, err := freePorts(4)
	if err != nil {
		return nil, nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, nil, err
	}
	ringmill = &server{
		name: "ringmill", address: loopback(ports[0]), log: filepath.Join(dir, "ringmill.log"),
		argv: []string{o.ringmill, "serve", "--listen", loopback(ports[0]), "--data", filepath.Join(dir, "ringmill"),
			"--set", "ringmill.http.listen=" + loopback(ports[1]), "--set", "log.segment.delete.delay.ms=0"},
		policy: durabilities,
	}
	// The script's thread counts are for tests; here Kafka has its own. Deleted topics go at once in both.
	kafka = &server{
		name: "kafka", address: loopback(ports[2]), log: filepath.Join(dir, "kafka.log"), argv: []string{o.kafka},
		env: []string{"PORT=" + strconv.Itoa(ports[2]), "NAME=kafka", "FOREGROUND=1", "HEAP=1g", "KAFKA_DATA=" + dir,
			"EXTRA=num.network.threads=3 num.io.threads=8 log.segment.delete.delay.ms=0"},
		policy: kafkaDurabilities,
	}
	return ringmill, kafka, nil
}

// freePorts finds n ports that are free and have a free one above: Kafka's controller takes that.
func freePorts(n int) ([]int, error) {
	var ports []int
	for port := 24000; port < 32000 && len(ports) < n; port += 2 {
		if bindable(port) && bindable(port+1) {
			ports = append(ports, port)
		}
	}
	if len(ports) < n {
		return nil, fmt.Errorf("no %d free ports between 24000 and 32000", n)
	}
	return ports, nil
}

func bindable(port int) bool {
	listener, err := net.Listen("tcp", loopback(port))
	return err == nil && listener.Close() == nil
}

func loopback(port int) string { return "127.0.0.1:" + strconv.Itoa(port) }

// start runs the process and returns the time until a client can work with it, and with each of topic's partitions unless
// topic is empty (bench.Ready).
func (s *server) start(ctx context.Context, topic string, partitions int) (time.Duration, error) {
	began := bench.Now()
	if err := s.launch(); err != nil {
		return 0, err
	}
	for ; !bench.Ready(ctx, s.address, topic, partitions); time.Sleep(2 * time.Millisecond) {
		if bench.Now().Sub(began) > time.Minute || ctx.Err() != nil {
			return 0, fmt.Errorf("%s does not serve; its output is in %s", s.name, s.log)
		}
	}
	return bench.Now().Sub(began), nil
}

// launch runs the process.
func (s *server) launch() error {
	log, err := os.OpenFile(s.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	s.cmd = exec.Command(s.argv[0], s.argv[1:]...)
	s.cmd.Env = append(os.Environ(), s.env...)
	s.cmd.Stdout, s.cmd.Stderr = log, log
	// Pdeathsig follows the thread that forked, so main must stay on its own (prctl(2)); main's init locks it.
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	if err := s.cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", s.name, err)
	}
	return nil
}

func init() { runtime.LockOSThread() }

func (s *server) pid() int { return s.cmd.Process.Pid }

// stop ends the process with sig and waits for it.
func (s *server) stop(sig syscall.Signal) {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Signal(sig) // it may have ended by itself
	_ = s.cmd.Wait()              // the status of a killed process says nothing
	s.cmd = nil
}
