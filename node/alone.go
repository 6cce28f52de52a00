package node

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/control/member"
	"github.com/ringmill/ringmill/control/quorum"
	"github.com/ringmill/ringmill/node/config"
	"github.com/ringmill/ringmill/wire"
)

// aloneSuffix is behind the name of the directory with the metadata of a node that has run alone, once a cluster has begun with it.
const aloneSuffix = ".alone"

// takeAlone looks at the metadata of a node that has run alone: a cluster begins with it where the configuration says so. The quorum's
// directory comes first, whole or not at all, and decides: a start after a crash between the two goes on with the cluster.
func (c *cluster) takeAlone() error {
	n := c.node
	name := filepath.Join(n.state.path, image.LogName)
	_, err := n.seams.fs.Stat(name)
	ranAlone := err == nil
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return startError(name, err)
	}
	id, err := quorum.ReadIdentity(n.seams.fs, n.quorumDir())
	belongs := !errors.Is(err, quorum.ErrNoQuorum)
	begins := n.Config().BootstrapAlone == config.AloneBegin
	switch {
	case belongs && err != nil:
		return quorumError(n.quorumDir(), err)
	case !ranAlone && (belongs || !begins):
		return nil
	case !ranAlone:
		return &StartError{Path: name, Problem: "the node has not run alone: it has nothing to begin a cluster with",
			Cure: "leave ringmill.bootstrap.alone out; fresh nodes begin a cluster with ringmill.bootstrap.expect"}
	case !belongs && !begins:
		return &StartError{Path: name, Problem: "the node has run alone so far, and its metadata is its own",
			Cure: "start it without seeds and ringmill.bootstrap.expect; or with --set ringmill.bootstrap.alone=begin, to begin a cluster with it; or give the cluster's node another data directory with --data"}
	}
	if err := n.canPutAloneAway(); err != nil {
		return err
	}
	m, err := n.readAlone()
	if err != nil {
		return err
	}
	if !belongs {
		err = c.beginAlone(m)
	} else if m.ClusterID() != id.ClusterID {
		err = &StartError{Path: name, Problem: fmt.Sprintf("the metadata is of cluster %s, the node belongs to %s", m.ClusterID(), id.ClusterID), Cure: "move the file away"}
	}
	if err != nil {
		return err
	}
	return n.putAloneAway()
}

// readAlone reads the metadata of a node of its own.
func (n *Node) readAlone() (*image.Image, error) {
	store, err := n.openStore(n.seams.fs)
	if err != nil {
		return nil, err
	}
	return store.Image(), store.Close()
}

// beginAlone makes the quorum of a cluster that begins with this node as its only voter, and with the metadata that it has.
func (c *cluster) beginAlone(m *image.Image) error {
	n := c.node
	if m.ClusterID() == "" {
		return &StartError{Path: filepath.Join(n.state.path, image.LogName), Problem: "the metadata is empty: there is nothing to begin a cluster with",
			Cure: "restore " + n.state.path + " from a copy; or start the node once as one of its own, without the properties of a cluster: it makes its metadata, or says what is missing"}
	}
	if this := n.Config().NodeID; m.NodeID() != this {
		return ownedByOther(n.state.path, m.NodeID(), this)
	}
	dirs, err := n.allLogDirs()
	if err != nil {
		return err
	}
	directory := wire.UUID(newUUID())
	// A node that a cluster knows already comes back with its partitions, one that nobody knows has nothing (controller.RegisterBroker).
	first, err := m.Clustered(image.Broker{ID: m.NodeID(), DirectoryID: directory, LogDirs: dirs, Fenced: true, Version: Version()})
	if err != nil {
		return &StartError{Path: n.state.path, Problem: err.Error(), Cure: "start it without ringmill.bootstrap.alone, as before"}
	}
	self := member.Voter{NodeID: m.NodeID(), DirectoryID: directory, Addr: c.address()}
	voter, err := c.voter(self)
	if err != nil {
		return err
	}
	id := quorum.Identity{NodeID: self.NodeID, DirectoryID: self.DirectoryID, ClusterID: m.ClusterID()}
	if err := quorum.Create(n.seams.fs, n.quorumDir(), id, []quorum.Member{voter}, first.AppendSnapshot(nil)); err != nil {
		return startError(n.quorumDir(), err)
	}
	slog.Info("a cluster begins with this node and what it has", "cluster", id.ClusterID, "node", int(id.NodeID), "topics", first.TopicCount())
	return nil
}

// allLogDirs gives the ids of the log directories, all of which must be those of the last start.
func (n *Node) allLogDirs() ([]wire.UUID, error) {
	formatted, err := n.formattedDirs()
	if err != nil {
		return nil, err
	}
	switch where, err := n.dirMissing(formatted); {
	case err != nil:
		return nil, err
	case where != "":
		return nil, &StartError{Path: where, Problem: "the log directory of the last start is missing, or a new one was added", Cure: "begin the cluster with the log.dirs of the last start"}
	}
	return n.logDirIDs()
}

// aloneDir is the directory of the metadata of a node of its own.
func (n *Node) aloneDir() string { return filepath.Dir(filepath.Join(n.state.path, image.LogName)) }

// canPutAloneAway looks, before there is a quorum and no way back, whether there is a place for putAloneAway.
func (n *Node) canPutAloneAway() error {
	aside := n.aloneDir() + aloneSuffix
	switch _, err := n.seams.fs.Stat(aside); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return startError(aside, err)
	}
	return &StartError{Path: aside, Problem: "it is there already, of an earlier time when a cluster began with this node, and the metadata of now is to be put there",
		Cure: "move it out of " + n.state.path}
}

// putAloneAway keeps the metadata that counts no more under another name.
func (n *Node) putAloneAway() error {
	dir := n.aloneDir()
	if err := errors.Join(n.seams.fs.Rename(dir, dir+aloneSuffix), n.seams.fs.SyncDir(n.state.path)); err != nil {
		return startError(dir, err)
	}
	return nil
}
