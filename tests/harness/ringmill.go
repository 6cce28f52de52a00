package harness

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
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
	var path string
	err := locked("build", func(cache string) (err error) {
		path, err = build(buildDir(cache), "ringmill")
		return err
	})
	return path, err
})

// buildDir is where this checkout's binaries are kept in the cache: two checkouts must not swap them.
func buildDir(cache string) string {
	sum := sha256.Sum256([]byte(filepath.Clean(Root())))
	return filepath.Join(cache, "bin-"+hex.EncodeToString(sum[:4]))
}

// build builds ringmill as it ships, but for flags of go build.
func build(dir, name string, flags ...string) (path string, err error) {
	path = filepath.Join(dir, name)
	argv := slices.Concat([]string{"go", "build", "-o", path}, flags, []string{"./tools/ringmill"})
	cmd := Command{Dir: Root(), Timeout: 5 * time.Minute, Env: []string{"CGO_ENABLED=0"}, Argv: argv}
	if _, stderr, err := cmd.Try(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", name, err, stderr)
	}
	return path, nil
}

// RingmillCommand is the command line of a ringmill subcommand.
func RingmillCommand(tb testing.TB, args ...string) []string {
	tb.Helper()
	return append([]string{Binary(tb)}, args...)
}

func (n *Node) ringmillCommand() (argv, env []string, err error) {
	binary := builtBinary
	if clock := n.options.Place.Clock; clock != nil {
		binary, env = clockedBinary, clock.environment()
	}
	path, err := binary()
	if err != nil {
		return nil, nil, err
	}
	argv = []string{path, "serve", "--listen", n.Address, "--data", n.options.Data}
	if n.options.ConfigFile != "" {
		argv = append(argv, "--config", n.options.ConfigFile)
	}
	for _, kv := range n.settings() {
		argv = append(argv, "--set", kv)
	}
	return argv, env, nil
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
	answer, err := n.web(2 * time.Second).Get("http://" + n.HTTP + path)
	if err != nil {
		return 0, err
	}
	return answer.StatusCode, answer.Body.Close()
}
