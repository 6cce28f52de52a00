package quorum

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"

	"go.etcd.io/raft/v3"

	"github.com/ringmill/ringmill/wire"
)

// Identity says whose quorum directory it is. It never changes: a node that loses its directory comes back with another
// DirectoryID and is another member (KIP-853).
type Identity struct {
	NodeID      wire.NodeID
	DirectoryID wire.UUID // random, made together with the directory; see ValidDirectoryID
	ClusterID   string
}

// RaftID is the name under which the raft library knows a directory: the first 8 bytes of its id.
func RaftID(directory wire.UUID) uint64 { return binary.BigEndian.Uint64(directory[:]) }

// ValidDirectoryID reports whether a random UUID may name a quorum directory: three raft ids are taken by the raft library.
func ValidDirectoryID(directory wire.UUID) bool { return validRaftID(RaftID(directory)) }

func validRaftID(id uint64) bool { return id != raft.None && !raft.IsLocalMsgTarget(id) }

// identityName is the identity's file. It is written once, when the directory is made.
const identityName = "identity"

// identityVersion is the version of the directory's format as a whole; a greater one is refused.
const identityVersion = 1

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (id Identity) check() error {
	switch {
	case id.NodeID < 0:
		return fmt.Errorf("%w: node id %d", ErrIdentity, id.NodeID)
	case !ValidDirectoryID(id.DirectoryID):
		return fmt.Errorf("%w: directory id %s", ErrIdentity, id.DirectoryID)
	case id.ClusterID == "" || strings.ContainsAny(id.ClusterID, "\r\n"):
		return fmt.Errorf("%w: cluster id %q", ErrIdentity, id.ClusterID)
	}
	return nil
}

// appendTo writes the identity as lines that a person can read, the last of which is the checksum of those before it.
func (id Identity) appendTo(dst []byte) []byte {
	lines := fmt.Appendf(nil, "version=%d\ncluster.id=%s\nnode.id=%d\ndirectory.id=%s\n", identityVersion, id.ClusterID, id.NodeID, id.DirectoryID)
	return append(dst, sealLines(lines)...)
}

// sealLines adds a last line, the checksum of those before it.
func sealLines(lines []byte) []byte {
	return fmt.Appendf(lines, "crc32c=%08x\n", crc32.Checksum(lines, castagnoli))
}

// unsealLines gives the lines before the checksum, if it is theirs.
func unsealLines(data []byte) (string, error) {
	text := string(data)
	at := strings.Index(text, "crc32c=")
	if at < 0 || text[at:] != fmt.Sprintf("crc32c=%08x\n", crc32.Checksum(data[:at], castagnoli)) {
		return "", errChecksum
	}
	return text[:at], nil
}

// readIdentity reads what appendTo wrote, to the letter.
func readIdentity(data []byte) (id Identity, err error) {
	text, err := unsealLines(data)
	if err != nil {
		return id, err
	}
	lines := strings.Split(text, "\n")
	if lines[0] != fmt.Sprintf("version=%d", identityVersion) {
		return id, fmt.Errorf("%w: %q", ErrNewerFormat, lines[0])
	}
	if len(lines) != 5 {
		return id, fmt.Errorf("%w: %d lines", errFormat, len(lines))
	}
	node, err := strconv.ParseInt(strings.TrimPrefix(lines[2], "node.id="), 10, 32)
	if err != nil {
		return id, fmt.Errorf("%w: %q", errFormat, lines[2])
	}
	directory, ok := wire.ParseUUID(strings.TrimPrefix(lines[3], "directory.id="))
	if !ok {
		return id, fmt.Errorf("%w: %q", errFormat, lines[3])
	}
	id = Identity{NodeID: wire.NodeID(node), DirectoryID: directory, ClusterID: strings.TrimPrefix(lines[1], "cluster.id=")}
	if string(id.appendTo(nil)) != string(data) {
		return Identity{}, fmt.Errorf("%w: not as it is written", errFormat)
	}
	return id, id.check()
}
