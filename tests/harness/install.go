package harness

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// unavailable ends a test whose client could not be had: a skip with the reason, or a failure in CI.
func unavailable(tb testing.TB, what string, err error) {
	tb.Helper()
	if os.Getenv("CI") == "true" {
		tb.Fatalf("%s could not be installed: %v", what, err)
	}
	tb.Skipf("%s could not be installed: %v", what, err)
}

// install runs one step of a package manager; its last words come back in the error.
func install(dir string, argv ...string) error {
	cmd := Command{Argv: argv, Dir: dir, Timeout: 8 * time.Minute, Env: []string{"DEBIAN_FRONTEND=noninteractive"}}
	stdout, stderr, err := cmd.Try()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(argv, " "), err, cut(strings.TrimSpace(stdout+stderr)))
	}
	return nil
}

var aptUpdate = sync.OnceValue(func() error { return install("", "apt-get", "update", "-q") })

// Apt makes sure that the file of a Debian package is there, installing the packages if it is not.
func Apt(tb testing.TB, file string, packages ...string) {
	tb.Helper()
	if present(file) {
		return
	}
	err := locked("apt", func(string) error {
		if present(file) {
			return nil
		}
		if os.Geteuid() != 0 {
			return errors.New("installing Debian packages needs root")
		}
		// seconds: another package manager may be at work, as on a machine that has just started
		argv := append([]string{"apt-get", "install", "-y", "-q", "--no-install-recommends", "-o", "DPkg::Lock::Timeout=300"}, packages...)
		if install("", argv...) == nil {
			return nil
		}
		if err := aptUpdate(); err != nil { // the lists may be absent or old
			return err
		}
		return install("", argv...)
	})
	if err != nil {
		unavailable(tb, strings.Join(packages, ", "), err)
	}
}

// present tells whether a program is on PATH, or a file is there.
func present(file string) bool {
	if filepath.IsAbs(file) {
		_, err := os.Stat(file)
		return err == nil
	}
	_, err := exec.LookPath(file)
	return err == nil
}

// Unpacked downloads Debian packages and unpacks them into a cache folder without installing them: for agents whose
// packages conflict with one another. It returns the folder that stands for "/".
func Unpacked(tb testing.TB, name string, packages ...string) string {
	tb.Helper()
	var root string
	err := locked("apt", func(cache string) error {
		root = filepath.Join(cache, "debian", name)
		return once(root, func(work string) error {
			if err := aptUpdate(); err != nil {
				return err
			}
			if err := install(work, append([]string{"apt-get", "download", "-q"}, packages...)...); err != nil {
				return err
			}
			files, _ := filepath.Glob(filepath.Join(work, "*.deb"))
			for _, file := range files {
				if err := install(work, "dpkg", "-x", file, work); err != nil {
					return err
				}
			}
			return nil
		})
	})
	if err != nil {
		unavailable(tb, name, err)
	}
	return root
}

// once fills dir by build unless it stands: built beside it and renamed, so that an interrupted install leaves nothing.
func once(dir string, build func(work string) error) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	work := dir + ".part"
	if err := os.RemoveAll(work); err != nil {
		return fmt.Errorf("harness: %w", err)
	}
	if err := os.MkdirAll(work, 0o755); err != nil {
		return fmt.Errorf("harness: %w", err)
	}
	if err := build(work); err != nil {
		return err
	}
	return os.Rename(work, dir)
}

// Python returns the interpreter of a virtual environment in the cache that can import module, made with pip if needed.
func Python(tb testing.TB, venv, module string, requirements ...string) string {
	tb.Helper()
	Apt(tb, "python3", "python3", "python3-venv")
	var python string
	err := locked("pip-"+venv, func(cache string) error {
		dir := filepath.Join(cache, venv)
		python = filepath.Join(dir, "bin", "python")
		if install("", python, "-c", "import "+module) == nil {
			return nil
		}
		if err := install("", "python3", "-m", "venv", dir); err != nil {
			return err
		}
		return install("", append([]string{python, "-m", "pip", "install", "-q"}, requirements...)...)
	})
	if err != nil {
		unavailable(tb, strings.Join(requirements, ", "), err)
	}
	return python
}

// NodeModules returns a cache folder whose node_modules holds the packages.
func NodeModules(tb testing.TB, name string, packages ...string) string {
	tb.Helper()
	var dir string
	err := locked("npm-"+name, func(cache string) error {
		dir = filepath.Join(cache, name)
		if allModules(dir, packages) {
			return nil
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		if err := install(dir, "npm", "init", "-y"); err != nil {
			return err
		}
		return install(dir, append([]string{"npm", "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts"}, packages...)...)
	})
	if err != nil {
		unavailable(tb, strings.Join(packages, ", "), err)
	}
	return dir
}

func allModules(dir string, packages []string) bool {
	for _, p := range packages {
		name := p[:strings.LastIndex(p, "@")]
		if _, err := os.Stat(filepath.Join(dir, "node_modules", name, "package.json")); err != nil {
			return false
		}
	}
	return true
}
