package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// Cache is the folder that outlives a run: $CONF_CACHE, else ringmill-conformance in the user's cache folder.
// The shell suites under tests/compat use the same folder and the same names in it.
func Cache() (string, error) {
	dir := os.Getenv("CONF_CACHE")
	if dir == "" {
		base := os.Getenv("XDG_CACHE_HOME")
		if base == "" {
			home, err := os.UserHomeDir()
			if err != nil {
				return "", fmt.Errorf("harness: no cache folder: %w", err)
			}
			base = filepath.Join(home, ".cache")
		}
		dir = filepath.Join(base, "ringmill-conformance")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("harness: cache folder: %w", err)
	}
	return filepath.Abs(dir)
}

// Root is the checkout around the working directory: tests run in their package's folder. A path that the compiler noted would not do, since
// -trimpath takes it away.
func Root() string {
	dir, err := os.Getwd()
	if err != nil {
		panic("BUG: no working directory: " + err.Error())
	}
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, "go.mod")); err == nil {
			return at
		}
		if at == filepath.Dir(at) {
			panic("BUG: no go.mod above " + dir)
		}
	}
}

// locked runs f while this process holds the cache's lock of that name: other test binaries wait.
func locked(name string, f func(cache string) error) error {
	cache, err := Cache()
	if err != nil {
		return err
	}
	lock, err := os.OpenFile(filepath.Join(cache, name+".lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return fmt.Errorf("harness: lock %s: %w", name, err)
	}
	defer lock.Close() // releases the lock
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return fmt.Errorf("harness: lock %s: %w", name, err)
	}
	return f(cache)
}
