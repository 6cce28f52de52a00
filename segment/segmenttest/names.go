package segmenttest

import (
	"io/fs"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"syscall"
)

// node is a file or, if children is not nil, a directory.
type node struct {
	children map[string]*node // names as processes see them
	durable  map[string]*node // names that a power cut cannot take
	content
}

func newDir() *node         { return &node{children: map[string]*node{}, durable: map[string]*node{}} }
func (n *node) isDir() bool { return n.children != nil }

// entry is a place for a name.
type entry struct {
	dir  *node
	name string
}

// nameOp is a change of names that no SyncDir has covered yet: at gives up child (remove), or gets it (create), or both of
// two entries change as one (rename: from gives up, at gets).
type nameOp struct {
	from, at entry // from.dir is nil but for a rename
	child    *node // nil: at is removed
}

// durableNames gives the map in which a directory's durable names are to be read and changed.
type durableNames func(dir *node) map[string]*node

// ownNames changes the file system itself.
func ownNames(dir *node) map[string]*node { return dir.durable }

// overlayNames changes copies, so that one power cut can be played more than once.
func overlayNames() durableNames {
	copies := map[*node]map[string]*node{}
	return func(dir *node) map[string]*node {
		if copies[dir] == nil {
			copies[dir] = maps.Clone(dir.durable)
		}
		return copies[dir]
	}
}

func (op nameOp) persist(names durableNames) {
	if op.from.dir != nil {
		delete(names(op.from.dir), op.from.name)
	}
	if op.child == nil {
		delete(names(op.at.dir), op.at.name)
		return
	}
	names(op.at.dir)[op.at.name] = op.child
}

func (op nameOp) touches(entries map[entry]bool) bool {
	return entries[op.at] || op.from.dir != nil && entries[op.from]
}

func (op nameOp) addTo(entries map[entry]bool) {
	entries[op.at] = true
	if op.from.dir != nil {
		entries[op.from] = true
	}
}

// apply makes the change visible and leaves it pending.
func (f *FS) apply(op nameOp) {
	if op.from.dir != nil {
		delete(op.from.dir.children, op.from.name)
	}
	if op.child == nil {
		delete(op.at.dir.children, op.at.name)
	} else {
		op.at.dir.children[op.at.name] = op.child
	}
	f.pending = append(f.pending, op)
}

// syncDir persists the pending changes in dir, and those before them on the same names in other directories.
func (f *FS) syncDir(dir *node) {
	needed, take := map[entry]bool{}, make([]bool, len(f.pending))
	for i, op := range slices.Backward(f.pending) {
		if op.at.dir == dir || op.from.dir == dir || op.touches(needed) {
			op.addTo(needed)
			take[i] = true
		}
	}
	var rest []nameOp
	for i, op := range f.pending {
		if take[i] {
			op.persist(ownNames)
		} else {
			rest = append(rest, op)
		}
	}
	f.pending = rest
}

// crashNames gives the names after a power cut: a random part of what is pending got there, never a change whose forerunner
// on the same name is lost.
func (f *FS) crashNames() durableNames {
	kept := [...]int{0, 50, 90, 100}[f.rng.IntN(4)]
	names, lost := overlayNames(), map[entry]bool{}
	for _, op := range f.pending {
		if !op.touches(lost) && f.rng.IntN(100) < kept {
			op.persist(names)
			continue
		}
		op.addTo(lost)
	}
	return names
}

// remains copies the tree of durable names with what the power cut leaves of each file, all of it durable.
func (n *node) remains(rng *rand.Rand, names durableNames) *node {
	if !n.isDir() {
		left := n.crash(rng)
		return &node{content: content{data: left, synced: slices.Clone(left)}}
	}
	dir, from := newDir(), names(n)
	for _, name := range slices.Sorted(maps.Keys(from)) {
		child := from[name].remains(rng, names)
		dir.children[name], dir.durable[name] = child, child
	}
	return dir
}

func split(name string) []string {
	clean := strings.Trim(path.Clean("/"+name), "/")
	if clean == "" {
		return nil
	}
	return strings.Split(clean, "/")
}

// lookup walks to name; fs.ErrNotExist if it is not there.
func (f *FS) lookup(name string) (*node, error) {
	at := f.root
	for _, part := range split(name) {
		child, ok := at.children[part]
		if !ok {
			return nil, fs.ErrNotExist
		}
		at = child
	}
	return at, nil
}

// place gives the entry that name is or would be in; its directory must exist.
func (f *FS) place(name string) (entry, error) {
	parts := split(name)
	if len(parts) == 0 {
		return entry{}, fs.ErrInvalid
	}
	last := len(parts) - 1
	dir, err := f.lookup(strings.Join(parts[:last], "/"))
	if err != nil {
		return entry{}, err
	}
	if !dir.isDir() {
		return entry{}, syscall.ENOTDIR
	}
	return entry{dir, parts[last]}, nil
}
