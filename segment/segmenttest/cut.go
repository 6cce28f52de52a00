package segmenttest

import (
	"errors"
	"testing"

	"github.com/ringmill/ringmill/segment"
)

// CutEverywhere plays run once to the end, and then once for each of its operations that change something, with the power
// cut just before that operation; after each cut it hands outcomes different remains to check. run stops at the first error
// it gets and must be deterministic; an error of it that is not the power cut fails the test. check also sees the play to the
// end (cut == -1, power cut after it), in which all that run was promised must be there.
func CutEverywhere(t *testing.T, outcomes int, run func(fsys segment.FS) error, check func(t *testing.T, fsys *FS, cut int)) {
	t.Helper()
	whole := New(1)
	if err := run(whole); err != nil {
		t.Fatalf("run without a fault: %v", err)
	}
	for i := 0; i < outcomes; i++ {
		check(t, whole.Crash(), -1)
	}
	for cut := range whole.Ops() {
		fsys := New(uint64(cut) + 2)
		fsys.CutAt(cut)
		if err := run(fsys); !errors.Is(err, ErrPowerCut) {
			t.Fatalf("run cut at operation %d: %v", cut, err)
		}
		for i := 0; i < outcomes && !t.Failed(); i++ {
			check(t, fsys.Crash(), cut)
		}
	}
}
