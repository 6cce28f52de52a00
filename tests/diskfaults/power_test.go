package diskfaults

import (
	"testing"
	"time"

	"github.com/ringmill/ringmill/tests/harness"
)

// cutOne ends the power of one node.
func (r *round) cutOne() {
	r.t.Helper()
	i, node := r.node()
	r.fault("power cut of a node", "power cuts", 1, func() {
		r.cut(i)
		node.Restart(r.t)
	})
}

// cutAll ends the power of all nodes at about the same time: all disks go before all processes, or the other way round.
func (r *round) cutAll() {
	r.t.Helper()
	r.fault("power cut of all nodes", "power cuts", 1, func() {
		disksFirst := r.random.IntN(2) == 0
		order := r.random.Perm(len(r.disks))
		for _, first := range []bool{true, false} {
			for _, i := range order {
				if first == disksFirst {
					r.disks[i].Cut(r.t)
				} else {
					r.cluster.Nodes[i].Kill(r.t)
				}
			}
			time.Sleep(time.Duration(r.random.IntN(20)) * time.Millisecond)
		}
		for _, disk := range r.disks {
			disk.Remount(r.t)
		}
		r.cluster.Restart(r.t)
	})
}

// cut ends a node and its disk as one, in either order: a node that lives on for an instant must not acknowledge what its disk refuses.
func (r *round) cut(i int) {
	r.t.Helper()
	node, disk := r.cluster.Nodes[i], r.disks[i]
	if r.random.IntN(2) == 0 {
		node.Kill(r.t)
		disk.Cut(r.t)
	} else {
		disk.Cut(r.t)
		time.Sleep(time.Duration(r.random.IntN(20)) * time.Millisecond)
		node.Kill(r.t)
	}
	disk.Remount(r.t)
}

// cutsInARound bounds a history: a cluster and its records are new after so many.
const cutsInARound = 10

// TestPowerCuts: under ringmill.flush.policy=commit, the default, nothing that was acknowledged is lost when the power of one node goes, or
// that of all.
func TestPowerCuts(t *testing.T) {
	cuts := harness.Setting(t, "RINGMILL_TEST_CUTS", 2)
	kinds := []string{"ext4", "xfs"}
	for done := 0; done < cuts; {
		r := begin(t, kinds[(done/cutsInARound)%2], nil)
		for range min(cutsInARound, cuts-done) {
			if done++; done%2 == 0 {
				r.cutOne()
			} else {
				r.cutAll()
			}
		}
		if r.end("power cuts"); t.Failed() {
			t.Fatalf("after %d cuts", done)
		}
	}
}
