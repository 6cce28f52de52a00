package member

import (
	"strconv"

	"github.com/ringmill/ringmill/wire"
)

// Info is what a node tells the others of itself.
type Info struct {
	NodeID       wire.NodeID
	DirectoryID  wire.UUID // of its quorum directory: a node with a lost disk is another member
	ClusterID    string    // "" as long as the node belongs to none
	Addr         string    // host:port of its inter-broker listener
	Rack         string
	Version      string // the release, for what an upgrade looks at
	Expect       int    // ringmill.bootstrap.expect
	Bootstrapped bool   // whether it has a quorum directory, as a voter or a learner
}

// The tags of serf that an Info is told in. They stand together in 512 bytes (memberlist.MetaMaxSize), so the names are short.
const (
	tagNodeID       = "id"
	tagDirectoryID  = "dir"
	tagClusterID    = "cluster"
	tagAddr         = "addr"
	tagRack         = "rack"
	tagVersion      = "version"
	tagExpect       = "expect"
	tagBootstrapped = "boot"
)

// Tags writes the Info as serf's tags. What is empty is left out.
func (i Info) Tags() map[string]string {
	tags := map[string]string{
		tagNodeID: strconv.Itoa(int(i.NodeID)), tagDirectoryID: i.DirectoryID.String(), tagExpect: strconv.Itoa(i.Expect),
	}
	for name, value := range map[string]string{tagClusterID: i.ClusterID, tagAddr: i.Addr, tagRack: i.Rack, tagVersion: i.Version} {
		if value != "" {
			tags[name] = value
		}
	}
	if i.Bootstrapped {
		tags[tagBootstrapped] = "1"
	}
	return tags
}

// ReadTags reads what Tags wrote; ok is false for a member of serf that is no ringmill node. Unknown tags are let be: a
// later release may have more.
func ReadTags(tags map[string]string) (i Info, ok bool) {
	id, err := strconv.ParseInt(tags[tagNodeID], 10, 32)
	if err != nil || id < 0 {
		return Info{}, false
	}
	i = Info{
		NodeID: wire.NodeID(id), ClusterID: tags[tagClusterID], Addr: tags[tagAddr], Rack: tags[tagRack], Version: tags[tagVersion],
		Bootstrapped: tags[tagBootstrapped] == "1",
	}
	if i.DirectoryID, ok = wire.ParseUUID(tags[tagDirectoryID]); !ok {
		return Info{}, false
	}
	if i.Expect, err = strconv.Atoi(tags[tagExpect]); err != nil || i.Expect < 1 {
		return Info{}, false
	}
	return i, true
}
