package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain is the program itself where the test binary is called ringmill.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"ringmill": main,
	})
}

// linkProgram gives the program a path: TestMain is it by this name.
func linkProgram(t *testing.T) (path string) {
	t.Helper()
	self, err := os.Executable()
	path = filepath.Join(t.TempDir(), "ringmill")
	if err == nil {
		err = os.Symlink(self, path)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Scripts that need no node.
func TestOffline(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata/offline", Cmds: map[string]func(*testscript.TestScript, bool, []string){"measure": measure}})
}
