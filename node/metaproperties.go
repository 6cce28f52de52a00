package node

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/magiconair/properties"

	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/wire"
)

// metaProperties is a log directory's meta.properties (Kafka's MetaProperties, version 1).
type metaProperties struct {
	ClusterID, NodeID, DirectoryID string
}

// readMetaProperties reads a directory's file; nil if there is none.
func readMetaProperties(d *logDir) (*metaProperties, error) {
	path := filepath.Join(d.path, segment.MetaPropertiesFile)
	text, err := d.fs.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, startError(path, err)
	}
	loader := properties.Loader{Encoding: properties.UTF8, DisableExpansion: true}
	p, err := loader.LoadBytes(text)
	if err != nil {
		return nil, &StartError{Path: path, Problem: err.Error(), Cure: "restore it from a copy"}
	}
	if v := p.GetString("version", ""); v != "1" && v != "0" {
		return nil, &StartError{Path: path, Problem: fmt.Sprintf("version %q is not known", v), Cure: "use a newer ringmill, or restore the file"}
	}
	return &metaProperties{
		ClusterID: p.GetString("cluster.id", ""), NodeID: p.GetString("node.id", ""), DirectoryID: p.GetString("directory.id", ""),
	}, nil
}

// writeMetaProperties writes a directory's file as Kafka does, unless it says the same already.
func writeMetaProperties(d *logDir, cluster string, node wire.NodeID) error {
	old, err := readMetaProperties(d)
	if err != nil {
		return err
	}
	want := metaProperties{ClusterID: cluster, NodeID: fmt.Sprint(node)}
	if old != nil {
		want.DirectoryID = old.DirectoryID
	}
	if want.DirectoryID == "" {
		want.DirectoryID = newDirectoryID()
	}
	if old != nil && *old == want {
		return nil
	}
	text := fmt.Sprintf("#\nnode.id=%s\ndirectory.id=%s\nversion=1\ncluster.id=%s\n", want.NodeID, want.DirectoryID, want.ClusterID)
	return d.fs.WriteFileAtomic(filepath.Join(d.path, segment.MetaPropertiesFile), []byte(text))
}
