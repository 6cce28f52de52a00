package main

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain is the program itself where the test binary is called ringmill.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"ringmill": main,
	})
}

// Scripts that need no node.
func TestOffline(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata/offline", Cmds: map[string]func(*testscript.TestScript, bool, []string){"measure": measure}})
}
