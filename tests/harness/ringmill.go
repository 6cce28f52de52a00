package harness

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sort"
	"sync"
	"testing"
	"time"
)

// Binary builds ringmill as it ships (CGO off) and returns its path; the build cache makes the second call cheap.
func Binary(tb testing.TB) string {
	tb.Helper()
	path, err := builtBinary()
	if err != nil {
		tb.Fatal(err)
	}
	return path
}

var builtBinary = sync.OnceValues(func() (string, error) {
	if path := os.Getenv("RINGMILL_TEST_BINARY"); path != "" {
		return filepath.Abs(path)
	}
	root := filepath.Clean(Root())
	sum := sha256.Sum256([]byte(root)) // two checkouts must not swap binaries
	var path string
	err := locked("build", func(cache string) error {
		path = filepath.Join(cache, "bin-"+hex.EncodeToString(sum[:4]), "ringmill")
		cmd := Command{Dir: root, Timeout: 5 * time.Minute, Env: []string{"CGO_ENABLED=0"},
			Argv: []string{"go", "build", "-o", path, "./tools/ringmill"}}
		if _, stderr, err := cmd.Try(); err != nil {
			return fmt.Errorf("build ringmill: %w\n%s", err, stderr)
		}
		return nil
	})
	return path, err
})

// RingmillCommand is the command line of a ringmill subcommand.
func RingmillCommand(tb testing.TB, args ...string) []string {
	tb.Helper()
	return append([]string{Binary(tb)}, args...)
}

func (n *Node) ringmillCommand() ([]string, error) {
	path, err := builtBinary()
	if err != nil {
		return nil, err
	}
	argv := []string{path, "serve", "--listen", n.Address, "--data", n.options.Data}
	if n.options.ConfigFile != "" {
		argv = append(argv, "--config", n.options.ConfigFile)
	}
	for _, kv := range n.settings() {
		argv = append(argv, "--set", kv)
	}
	return argv, nil
}

// settings are the node's properties as sorted "key=value". A given file speaks for itself: no defaults over it.
func (n *Node) settings() []string {
	all := map[string]string{}
	if n.Peer == Ringmill {
		all["ringmill.http.listen"] = n.HTTP
		if engine := os.Getenv("RINGMILL_TEST_ENGINE"); engine != "" {
			all["ringmill.engine"] = engine
		}
	}
	if n.options.ConfigFile == "" {
		for k, v := range defaults {
			all[k] = v
		}
	}
	for k, v := range n.options.Properties {
		all[k] = v
	}
	out := make([]string, 0, len(all))
	for k, v := range all {
		out = append(out, k+"="+v)
	}
	sort.Strings(out)
	return out
}

var probeClient = &http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}

// readyz asks the node's own readiness probe.
func (n *Node) readyz() error {
	status, err := n.Get("/readyz")
	if err != nil {
		return err
	}
	if status != http.StatusOK {
		return fmt.Errorf("/readyz answers %d", status)
	}
	return nil
}

// Get returns the status of one of the node's HTTP pages.
func (n *Node) Get(path string) (status int, err error) {
	answer, err := probeClient.Get("http://" + n.HTTP + path)
	if err != nil {
		return 0, err
	}
	return answer.StatusCode, answer.Body.Close()
}
