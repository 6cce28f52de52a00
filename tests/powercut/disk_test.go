package powercut

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// The harness must bite: what was synced is there after the cut, what was not is gone, and a sync after it fails.
func TestCutKeepsOnlyWhatWasSynced(t *testing.T) {
	for _, kind := range []string{"ext4", "xfs"} {
		t.Run(kind, func(t *testing.T) {
			disk := New(t, kind, 320<<20) // mkfs.xfs wants 300 MiB
			path := filepath.Join(disk.Dir, "file")
			file, err := os.Create(path)
			if err != nil {
				t.Fatal(err)
			}
			synced := bytes.Repeat([]byte{1}, 4096)
			if _, err := file.Write(synced); err != nil {
				t.Fatal(err)
			}
			if err := file.Sync(); err != nil {
				t.Fatal(err)
			}
			root, err := os.Open(disk.Dir)
			if err != nil {
				t.Fatal(err)
			}
			if err := root.Sync(); err != nil {
				t.Fatal(err)
			}
			root.Close()
			if _, err := file.Write(bytes.Repeat([]byte{2}, 8192)); err != nil {
				t.Fatal(err)
			}
			disk.Cut(t)
			if err := file.Sync(); err == nil {
				t.Error("a sync after the cut succeeded")
			}
			file.Close()
			disk.Remount(t)
			got, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, synced) {
				t.Errorf("%d bytes survived, want the 4096 synced ones", len(got))
			}
		})
	}
}
