package node

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/wire"
)

// readMetaProperties reads a directory's meta.properties; nil if there is none.
func readMetaProperties(d *logDir) (*segment.MetaProperties, error) {
	path := filepath.Join(d.path, segment.MetaPropertiesFile)
	text, err := d.fs.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, startError(path, err)
	}
	p, err := segment.ReadMetaProperties(text)
	if err != nil {
		return nil, &StartError{Path: path, Problem: err.Error(), Cure: "restore it from a copy; if it was edited, remove a first line that has a checksum"}
	}
	return &p, nil
}

// writeMetaProperties writes a directory's file as Kafka does, unless it says the same already.
func writeMetaProperties(d *logDir, cluster string, node wire.NodeID) error {
	old, err := readMetaProperties(d)
	if err != nil {
		return err
	}
	want := segment.MetaProperties{Version: 1, ClusterID: cluster, NodeID: node}
	if old != nil {
		want.DirectoryID = old.DirectoryID
	}
	if want.DirectoryID == "" {
		want.DirectoryID = newUUID().String()
	}
	if old != nil && *old == want {
		return nil
	}
	return d.fs.WriteFileAtomic(filepath.Join(d.path, segment.MetaPropertiesFile), want.AppendTo(nil))
}
